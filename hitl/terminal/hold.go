package terminal

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/fairlead-go/fairlead/hitl"
)

// A Hold keeps what others write off a terminal while a question is open there: a server's standard error, a log. Else
// their lines could look like another question, and the person's answer would be to the one above. Mark the lines of a
// server before they come here, so that they cannot be taken for one at any other time either. The zero value is ready, and it is
// safe for concurrent use.
type Hold struct {
	mu     sync.Mutex
	open   int // questions
	writes []held
	size   int
	lost   int // lines that were not kept
}

// held is what was written to one of the Hold's writers.
type held struct {
	to   io.Writer
	text []byte
}

// maxHeld is how many bytes are kept while a question is open.
const maxHeld = 64 << 10

// Writer returns a writer that writes to out, whole lines at a time if they come so, once no question is open. Of that
// comes meanwhile it keeps 64 KiB, and writes how many lines more there were. An error of out is returned if no question is
// open.
func (h *Hold) Writer(out io.Writer) io.Writer { return &holdWriter{h, out} }

type holdWriter struct {
	hold *Hold
	out  io.Writer
}

func (w *holdWriter) Write(text []byte) (int, error) {
	h := w.hold
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.open == 0:
		return w.out.Write(text)
	case h.size+len(text) > maxHeld:
		h.lost += max(bytes.Count(text, []byte("\n")), 1)
	default:
		h.writes, h.size = append(h.writes, held{w.out, bytes.Clone(text)}), h.size+len(text)
	}
	return len(text), nil
}

// begin holds back what is written from now on.
func (h *Hold) begin() {
	if h != nil {
		h.mu.Lock()
		h.open++
		h.mu.Unlock()
	}
}

// end writes what was held back, unless another question is open.
func (h *Hold) end() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open--; h.open > 0 {
		return
	}
	var last io.Writer
	for _, w := range h.writes {
		_, _ = w.to.Write(w.text) // a broken terminal gets nothing
		last = w.to
	}
	if h.lost > 0 && last != nil {
		_, _ = fmt.Fprintf(last, "… %d lines more came while a question was open, and are left out\n", h.lost)
	}
	h.writes, h.size, h.lost = nil, 0, 0
}

// Sharing is [New] for a terminal that others write to as well, by the writers of the Hold: while a question is open they
// are held back.
func Sharing(h *Hold, in io.Reader, out io.Writer) hitl.Confirmer {
	t := &terminal{lines: newReader(in, out), out: out}
	t.lines.hold = h
	return t
}
