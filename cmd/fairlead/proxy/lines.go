package proxy

// Over stdio, each line is a message. A lineWriter writes them on a goroutine of its own, which takes all that is there
// already in one write: with many calls at once that saves system calls.

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
)

// maxLine is the most bytes of a line, of an event, and of a response over HTTP.
const maxLine = 64 << 20

// eachMessage hands over each message until the end, or the first line that is too long. Other lines are stray. A line takes
// its room of what hold returns, which may be nil.
func eachMessage(in io.Reader, hold func() *held, take func(*message), stray func(line []byte)) error {
	r := bufio.NewReaderSize(in, 256<<10)
	for {
		h := hold()
		line, err := readLine(r, h)
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if parse(line, func(m *message) { m.held = h; take(m) }) != nil {
				stray(line)
			}
		}
		h.handed()
		if err != nil {
			return err
		}
	}
}

// unbounded is the room of a client's lines, and of those that are passed on as they are.
func unbounded() *held { return nil }

// readLine reads a line with its end. It is the caller's. It takes room for it.
func readLine(r *bufio.Reader, h *held) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, fmt.Errorf("a line has more than %d bytes", maxLine)
		}
		if line, err = extend(line, part, h, err); !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// extend appends to a text whose room grows with it, by half of its bytes. It returns the error that reading had, or else
// that of the room.
func extend(text, part []byte, h *held, read error) ([]byte, error) {
	if need := len(text) + len(part); need > cap(text) && len(text) > 0 {
		size := min(max(need, len(text)*3/2), maxLine+1)
		if err := h.grow(int64(size)); err != nil {
			return text, err
		}
		text = append(make([]byte, 0, size), text...)
	}
	return append(text, part...), read
}

// A lineWriter writes messages in order, so that a sender need not wait for a slow reader.
type lineWriter struct {
	lines   chan *message
	writing context.Context // done when nothing is written any more
	stop    context.CancelFunc
}

// newLineWriter returns a writer that stops after an error of out, or after finish. A nil message stops it.
func newLineWriter(out io.Writer) *lineWriter {
	w := &lineWriter{lines: make(chan *message, 256)}
	w.writing, w.stop = context.WithCancel(context.Background())
	go func() {
		var all []byte
		for {
			select {
			case m := <-w.lines:
				runtime.Gosched() // what can be sent now is written with it
				all = all[:0]
				for more := true; more && m != nil; {
					all = append(m.append(all), '\n')
					if more = len(w.lines) > 0 && len(all) < writeTogether; more {
						m = <-w.lines
					}
				}
				if _, err := out.Write(all); err != nil || m == nil {
					w.stop()
				}
				if cap(all) > 16*writeTogether {
					all = nil
				}
			case <-w.writing.Done():
				return
			}
		}
	}()
	return w
}

// writeTogether is how many bytes of messages that are there already are written at once.
const writeTogether = 64 << 10

// finish writes what has been sent, and stops.
func (w *lineWriter) finish(ctx context.Context) {
	if w.send(ctx, nil) != nil {
		return
	}
	select {
	case <-w.writing.Done():
	case <-ctx.Done():
	}
}

var errStopped = errors.New("the connection is closed")

// send hands a message to the writer. With an error it was not sent.
func (w *lineWriter) send(ctx context.Context, m *message) error {
	switch {
	case w.writing.Err() != nil:
		return notSent(errStopped)
	case ctx.Err() != nil:
		return notSent(context.Cause(ctx))
	}
	select {
	case w.lines <- m: // as nearly always
		return nil
	default:
	}
	select {
	case w.lines <- m:
		return nil
	case <-w.writing.Done():
		return notSent(errStopped)
	case <-ctx.Done():
		return notSent(context.Cause(ctx))
	}
}
