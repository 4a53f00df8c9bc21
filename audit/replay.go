package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/fairlead-go/fairlead/internal/logfile"
)

// A line is one record as it stands in a file: with its number, and with the hash of
// the line before it, so that none can be changed, moved or taken out unseen.
type line struct {
	Seq  int64  `json:"seq"`
	Prev string `json:"prev"`
	Record

	Found *found `json:"found,omitempty"` // of a recovered record
}

// found is what a writer found that the last one had left behind.
type found struct {
	Bytes      int64  `json:"bytes"`                // right before this line, that are no record
	SHA256     string `json:"sha256,omitempty"`     // of these
	Lost       int64  `json:"lost,omitempty"`       // records that had not reached the disk
	Unattested int64  `json:"unattested,omitempty"` // records that the head did not know yet
}

// torn ends a line that was cut off, and makes no record of it.
const torn = " torn\n"

// A point is a place in a file: after so many records, the last of which has the
// hash.
type point struct {
	Records int64  `json:"records"`
	Hash    string `json:"hash"`
}

func hashOf(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

type callID struct {
	run string
	n   int64
}

// A replay is what a file says, read from its beginning.
type replay struct {
	point

	bytes     int64             // up to the end of the last record
	junk      bytes.Buffer      // after the last record, what is no record
	open      map[callID]Record // nil once it matters no more
	order     []callID
	recovered int64
	passed    map[int64]string // the hashes at the counts that were asked for
	fault     string           // what no crash leaves behind
}

// replayed reads a file, and remembers the hashes after the given numbers of records.
func replayed(in io.Reader, counts ...int64) (*replay, error) {
	r := &replay{open: make(map[callID]Record), passed: make(map[int64]string)}
	for _, n := range counts {
		r.passed[n] = ""
	}
	return r, r.read(in)
}

// read reads what follows.
func (r *replay) read(in io.Reader) error {
	for text, err := range logfile.Lines(in) {
		if err != nil {
			return err
		}
		if r.fault == "" {
			r.take(text)
		}
	}
	return nil
}

// take reads one line, its end included where there is one.
func (r *replay) take(text []byte) {
	body, whole := bytes.CutSuffix(text, []byte("\n"))
	var l line
	if whole && json.Unmarshal(body, &l) == nil && l.Seq == r.Records+1 && l.Prev == r.Hash && r.explains(&l) {
		r.accept(body, &l)
		return
	}
	if whole && !bytes.HasSuffix(text, []byte(torn)) {
		r.fault = fmt.Sprintf("what follows record %d does not belong there: a record was changed, taken out or put in", r.Records)
		return
	}
	r.junk.Write(text)
}

// explains reports whether the line speaks of exactly the junk before it.
func (r *replay) explains(l *line) bool {
	if (l.Kind == Recovered) != (l.Found != nil) {
		return false
	}
	if l.Found == nil {
		return r.junk.Len() == 0
	}
	return l.Found.Bytes == int64(r.junk.Len()) && (r.junk.Len() == 0 || l.Found.SHA256 == hashOf(r.junk.Bytes()))
}

// size is how much was read.
func (r *replay) size() int64 { return r.bytes + int64(r.junk.Len()) }

func (r *replay) accept(body []byte, l *line) {
	r.bytes = r.size() + int64(len(body)) + 1
	r.junk.Reset()
	r.point = point{r.Records + 1, hashOf(body)}
	if _, asked := r.passed[r.Records]; asked {
		r.passed[r.Records] = r.Hash
	}
	if r.open == nil {
		return
	}
	id := callID{l.Run, l.N}
	switch l.Kind {
	case Intent:
		if _, there := r.open[id]; !there {
			r.order = append(r.order, id)
		}
		r.open[id] = l.Record
	case End:
		delete(r.open, id)
	case Recovered:
		r.recovered++
	}
}

// interrupted returns the intents without an end, in their order.
func (r *replay) interrupted() []Record {
	var all []Record
	for _, id := range r.order {
		if intent, open := r.open[id]; open {
			all = append(all, intent)
			delete(r.open, id) // an id may stand in the order twice
		}
	}
	return all
}
