package audit

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/internal/logfile"
)

// A line is one record in a file: with its number, and with the hash of the line before it, so
// that none can be changed, moved or removed unnoticed.
type line struct {
	Seq  int64  `json:"seq"`
	Prev string `json:"prev"`
	Record

	Found  *found   `json:"found,omitempty"`  // of a recovered record
	Before *Earlier `json:"before,omitempty"` // of a continued record
}

func encodeLine(l line) ([]byte, error) { return json.Marshal(l) }

// found is the damage that a writer found, in the record that repairs it.
type found struct {
	Bytes      int64  `json:"bytes"`                // right before this line, that are not a record
	SHA256     string `json:"sha256,omitempty"`     // of these
	Lost       int64  `json:"lost,omitempty"`       // records that had not reached the disk
	Unattested int64  `json:"unattested,omitempty"` // records that were not in the head yet
}

// torn ends a line that was cut off, and makes no record of it.
const torn = " torn\n"

func hashOf(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

// A callID names a call in a file.
type callID struct {
	run string
	n   int64
}

// A begun is an intent, in its line, and its number.
type begun struct {
	record int64
	line   []byte
}

// A replay is the state of a file, read from its beginning: where the chain of hashes is, which calls have begun and
// not ended, and what is damaged. Of a line only what these need is kept, since a file may have millions of them.
//
// Bytes that are not a record are junk. A crash can leave junk only at the end of a file: a line that was cut
// off, which the next writer ends with torn. So junk is accepted only if the record that follows it is a
// Recovered one that has its length and hash. Anything else that does not follow is a fault, and reading stops
// there.
type replay struct {
	records   int64
	hash      []byte           // of the last one, in the form that the next has it
	bytes     int64            // up to the end of the last record
	junk      bytes.Buffer     // bytes after the last record
	open      map[callID]begun // intents without an end; nil once it is not needed
	spare     []byte           // the line of an intent that has ended, to be used again
	inDoubt   []Record         // the intents of calls that ended as Unknown, and that nothing has settled
	start     []byte           // of the next record
	short     line             // the skimmed part of a line
	skimmed   []byte           // the last line, unless it was decoded
	recovered int64
	before    *Earlier         // the file that this one goes on after, nil for none
	first     string           // the hash of the first record
	since     time.Time        // of the first record
	passed    map[int64]string // the hashes at the counts that were asked for
	fault     string           // damage that a crash cannot cause
}

// replayed reads a file, and keeps the hashes after the given numbers of records.
func replayed(in io.Reader, counts ...int64) (*replay, error) {
	r := &replay{open: make(map[callID]begun), passed: make(map[int64]string)}
	for _, n := range counts {
		r.passed[n] = ""
	}
	return r, r.read(in)
}

func (r *replay) read(in io.Reader) error {
	for text, err := range logfile.Lines(in) {
		if err != nil {
			return err
		}
		if r.fault == "" {
			r.take(text)
		}
	}
	if len(r.skimmed) > 0 && !json.Valid(r.skimmed) { // no later record has its hash
		r.fault = fmt.Sprintf("record %d is not JSON: it was changed", r.records)
	}
	r.skimmed = r.skimmed[:0]
	return nil
}

// take reads one line, with its end if it has one.
func (r *replay) take(text []byte) {
	body, whole := bytes.CutSuffix(text, []byte("\n"))
	r.skimmed = r.skimmed[:0]
	if whole && r.skim(body) {
		r.skimmed = append(r.skimmed, body...)
		r.accept(body, &r.short)
		return
	}
	var l line
	if whole && json.Unmarshal(body, &l) == nil && l.Seq == r.records+1 && l.Prev == string(r.hash) && r.explains(&l) {
		r.accept(body, &l)
		return
	}
	if whole && !bytes.HasSuffix(text, []byte(torn)) {
		r.fault = fmt.Sprintf("what follows record %d does not belong there: a record was changed, taken out or put in", r.records)
		return
	}
	r.junk.Write(text)
}

func (r *replay) explains(l *line) bool {
	if (l.Kind == Recovered) != (l.Found != nil) {
		return false
	}
	if (l.Kind == Continued) != (l.Before != nil) || l.Before != nil && r.records > 0 {
		return false
	}
	if l.Found == nil {
		return r.junk.Len() == 0
	}
	return l.Found.Bytes == int64(r.junk.Len()) && (r.junk.Len() == 0 || l.Found.SHA256 == hashOf(r.junk.Bytes()))
}

func (r *replay) point() logfile.Point {
	return logfile.Point{Records: r.records, Hash: string(r.hash)}
}

func (r *replay) size() int64 { return r.bytes + int64(r.junk.Len()) }

func (r *replay) accept(body []byte, l *line) {
	r.bytes = r.size() + int64(len(body)) + 1
	r.junk.Reset()
	sum := sha256.Sum256(body)
	r.records, r.hash = r.records+1, hex.AppendEncode(r.hash[:0], sum[:])
	if _, asked := r.passed[r.records]; asked {
		r.passed[r.records] = string(r.hash)
	}
	if r.records == 1 {
		r.begin(body)
	}
	if r.open == nil {
		return
	}
	id := callID{l.Run, l.N}
	switch l.Kind {
	case Intent:
		r.open[id] = begun{r.records, append(r.spare[:0], body...)}
		r.spare = nil
	case End:
		b, open := r.open[id]
		if settles := settles(&l.Record); settles || l.Outcome == Unknown { // decoded
			intent := l.Record
			if open {
				intent = r.decode(b)
			}
			if settles {
				r.settle(&l.Record, intent.Arguments)
			}
			if l.Outcome == Unknown {
				r.inDoubt = append(r.inDoubt, intent)
			}
		}
		if open {
			r.spare = b.line
			delete(r.open, id)
		}
	case Recovered:
		r.recovered++
	}
}

// begin keeps what the first line of a file has about it.
func (r *replay) begin(body []byte) {
	var l line
	r.first = string(r.hash)
	if json.Unmarshal(body, &l) == nil { // or reading reports it
		r.before, r.since = l.Before, l.Time
	}
}

func (r *replay) decode(b begun) Record {
	var l line
	if err := json.Unmarshal(b.line, &l); err != nil {
		r.fault = fmt.Sprintf("record %d is not JSON: it was changed", b.record)
	}
	return l.Record
}

// settle removes the calls that package doubt's decisions in a record have settled: those of
// the same tool with the same arguments.
func (r *replay) settle(end *Record, arguments []byte) {
	r.inDoubt = slices.DeleteFunc(r.inDoubt, func(c Record) bool {
		return c.Scope == end.Scope && c.Server == end.Server && c.Tool == end.Tool && bytes.Equal(c.Arguments, arguments)
	})
}

// settles reports whether package doubt has settled earlier calls by this one.
func settles(end *Record) bool {
	return slices.ContainsFunc(end.Decisions, func(d Decision) bool { return d.Stage == "doubt" && strings.HasPrefix(d.What, "settled") })
}

func (r *replay) interrupted() (all []Record) {
	for _, b := range slices.SortedFunc(maps.Values(r.open), func(a, b begun) int { return cmp.Compare(a.record, b.record) }) {
		all = append(all, r.decode(b))
	}
	return all
}
