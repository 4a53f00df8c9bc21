package audit

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-go/fairlead/internal/logfile"
)

// A line is one record in a file: with its number, and with the hash of the line before it, so
// that none can be changed, moved or removed unnoticed.
type line struct {
	Seq  int64  `json:"seq"`
	Prev string `json:"prev"`
	Record

	Found *found `json:"found,omitempty"` // of a recovered record
}

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

type callID struct {
	run string
	n   int64
}

// A begun is an intent, in its line, and its number.
type begun struct {
	record int64
	line   []byte
}

// A replay is the state of a file, read from its beginning.
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

// skim reads the kind and the call of a line that is written as [File] writes it, follows the
// last record and needs no more. It reports false for every other line, which is decoded:
// decoding takes twenty times as long. The next hash covers the unread rest.
func (r *replay) skim(body []byte) bool {
	r.start = append(strconv.AppendInt(append(r.start[:0], `{"seq":`...), r.records+1, 10), `,"prev":"`...)
	r.start = append(append(r.start, r.hash...), `","time":"`...)
	body, follows := bytes.CutPrefix(body, r.start)
	if !follows || r.junk.Len() > 0 || !bytes.HasSuffix(body, []byte("}")) {
		return false
	}
	_, body, _ = bytes.Cut(body, []byte(`"`)) // the time
	kind, body := member(body, `,"kind":"`, '"')
	run, body := member(body, `,"run":"`, '"')
	n, body := member(body, `,"n":`, ',')
	if string(run) != r.short.Run {
		r.short.Run = string(run) // most lines have that of the line before
	}
	r.short.N, _ = strconv.ParseInt(string(n), 10, 64)
	if r.short.N <= 0 || bytes.IndexByte(run, '\\') >= 0 || bytes.HasSuffix(body, []byte("}}")) && bytes.Contains(body, []byte(`"found":`)) {
		return false
	}
	switch string(kind) {
	case string(Intent):
		r.short.Kind = Intent
		return true
	case string(End):
		r.short.Kind = End
		_, body, ended := bytes.Cut(body, []byte(`outcome":"`))
		return ended && !bytes.HasPrefix(body, []byte(Unknown)) && !bytes.Contains(body, []byte(`doubt"`))
	}
	return false
}

// member returns the value that follows, up to its end, and what comes after it; nil if something else follows.
func member(body []byte, name string, end byte) (value, rest []byte) {
	if at := bytes.IndexByte(body[min(len(name), len(body)):], end); at >= 0 && string(body[:len(name)]) == name {
		return body[len(name) : len(name)+at], body[len(name)+at+1:]
	}
	return nil, nil
}

func (r *replay) explains(l *line) bool {
	if (l.Kind == Recovered) != (l.Found != nil) {
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
		if l.Outcome != "" { // decoded
			intent := l.Record
			if open {
				intent = r.decode(b)
			}
			r.settle(&l.Record, intent.Arguments)
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
	if slices.ContainsFunc(end.Decisions, func(d Decision) bool { return d.Stage == "doubt" && strings.HasPrefix(d.What, "settled") }) {
		r.inDoubt = slices.DeleteFunc(r.inDoubt, func(c Record) bool {
			return c.Scope == end.Scope && c.Server == end.Server && c.Tool == end.Tool && bytes.Equal(c.Arguments, arguments)
		})
	}
}

func (r *replay) interrupted() (all []Record) {
	for _, b := range slices.SortedFunc(maps.Values(r.open), func(a, b begun) int { return cmp.Compare(a.record, b.record) }) {
		all = append(all, r.decode(b))
	}
	return all
}

// A State is the state of a file. The zero value is Damaged.
type State uint8

// The states of a file.
const (
	Damaged     State = iota // something was changed or is missing
	NotAttested              // the records are one chain, but without a head the end may be missing
	Interrupted              // a writer was interrupted, or is at work; opening the file repairs and marks it
	Whole                    // every record is there, up to the head's
)

// String returns the state in words.
func (s State) String() string {
	return [...]string{"damaged", "valid prefix, end not attested", "interrupted", "whole"}[min(s, Whole)]
}

// A Report is what [Verify] found.
type Report struct {
	State   State
	Problem string // what is wrong, and where; "" for Whole
	Records int64  // that are one chain, from the beginning
	// Hash is that of the last of these. A copy of it and the number, kept elsewhere, also
	// shows whether file and head were both replaced.
	Hash string
	// Open are the intents without an end: it is unknown whether the calls happened.
	Open []Record
	// Recovered is how often a start found that the writer before it had been interrupted.
	Recovered int64
}

// Verify reads the file of a [File] and its head and reports whether records were changed,
// removed or cut off. It changes nothing. The error is that of reading.
//
// The hashes have no key: a program that can write both file and head can replace both.
// Keep [Report.Hash] out of its reach.
func Verify(name string) (Report, error) {
	h, headErr := logfile.ReadHead(name) // before the records: a writer goes the other way
	if headErr != nil && !errors.Is(headErr, logfile.ErrHead) {
		return Report{}, fmt.Errorf("audit: %w", headErr)
	}
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return Report{}, fmt.Errorf("audit: %w", err)
	}
	defer f.Close()
	var counts []int64
	if h != nil {
		counts = []int64{h.Synced.Records, h.Written.Records}
	}
	r, err := replayed(f, counts...)
	if err != nil {
		return Report{}, fmt.Errorf("audit: %w", err)
	}
	report := Report{Records: r.records, Hash: string(r.hash), Recovered: r.recovered, Open: r.interrupted()}
	report.State, report.Problem = judge(h, headErr, r)
	return report, nil
}

func judge(h *logfile.Head, headErr error, r *replay) (State, string) {
	switch {
	case r.fault != "":
		return Damaged, r.fault
	case headErr != nil:
		return Damaged, headErr.Error()
	case h == nil && r.junk.Len() > 0:
		return NotAttested, fmt.Sprintf("there is no head, and the last %d bytes are a record that was cut off", r.junk.Len())
	case h == nil:
		return NotAttested, "there is no head: records may be missing at the end"
	}
	fault, lost := disagrees(h, r)
	switch {
	case fault != "":
		return Damaged, fault
	case lost > 0:
		return Damaged, fmt.Sprintf("%d records are missing at the end; they had not been synced, so a loss of power may have taken them", lost)
	case r.junk.Len() > 0:
		return Interrupted, fmt.Sprintf("the last %d bytes are a record that was cut off", r.junk.Len())
	case r.records > h.Written.Records:
		return Interrupted, fmt.Sprintf("the head does not know the last %d records yet", r.records-h.Written.Records)
	}
	return Whole, ""
}

// disagrees reports how the records contradict the head, and how many records are missing
// that the head does not promise to keep.
func disagrees(h *logfile.Head, r *replay) (fault string, lost int64) {
	switch {
	case r.fault != "":
		return r.fault, 0
	case r.records < h.Synced.Records:
		return fmt.Sprintf("%d records are there and there were %d: the end is missing or was changed", r.records, h.Written.Records), 0
	case r.passed[h.Synced.Records] != h.Synced.Hash:
		return fmt.Sprintf("record %d is not the one that the head speaks of", h.Synced.Records), 0
	case r.records < h.Written.Records:
		return "", h.Written.Records - r.records
	case r.passed[h.Written.Records] != h.Written.Hash:
		return fmt.Sprintf("record %d is not the one that the head speaks of", h.Written.Records), 0
	}
	return "", 0
}
