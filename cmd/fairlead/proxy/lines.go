package proxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// maxLine is how long one message may be.
const maxLine = 64 << 20

// readLines hands over each line until the end, or the first that is too long.
func readLines(in io.Reader, take func(line []byte)) error {
	r := bufio.NewReaderSize(in, 64<<10)
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(long)+len(part) > maxLine {
			return fmt.Errorf("a line has more than %d bytes", maxLine)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, part...)
			continue
		}
		line := part
		if long != nil {
			long = append(long, part...)
			line, long = long, nil
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			take(bytes.Clone(line))
		}
		if err != nil {
			return err
		}
	}
}

// A lineWriter writes messages in the order in which they came, so that who sends one
// need not wait for a reader that is slow.
type lineWriter struct {
	lines chan []byte
	done  chan struct{} // closed when nothing is written any more
	once  sync.Once
}

func newLineWriter(out io.Writer) *lineWriter {
	w := &lineWriter{lines: make(chan []byte, 256), done: make(chan struct{})}
	go func() {
		for {
			select {
			case line := <-w.lines:
				if _, err := out.Write(append(line, '\n')); err != nil {
					w.stop()
				}
			case <-w.done:
				return
			}
		}
	}()
	return w
}

var errStopped = errors.New("the connection is closed")

// send hands a message to the writer. With an error it was not sent.
func (w *lineWriter) send(ctx context.Context, m *message) error {
	select {
	case <-w.done:
		return errStopped
	default:
	}
	select {
	case w.lines <- m.encode():
		return nil
	case <-w.done:
		return errStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *lineWriter) stop() { w.once.Do(func() { close(w.done) }) }
