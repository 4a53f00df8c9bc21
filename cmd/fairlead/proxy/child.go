package proxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/fairlead-go/fairlead/safetext"
)

// A link is a connection with a server. It passes on messages with the ID of the request that each
// belongs to, "" if the transport does not show it.
type link interface {
	// send returns once the message is on its way. An error with NotSent means that it did not arrive.
	send(ctx context.Context, m *message) error
	// close ends the connection, and returns when it has ended.
	close()
}

type sink struct {
	message func(m *message, about string)
	// failed returns the error of a request that was sent and gets no answer.
	failed func(id string, err error)
	// ended is called once, when the server has ended the link.
	ended func(err error)
}

type child struct {
	*lineWriter

	command *exec.Cmd
	stdin   io.WriteCloser
	stdout  io.ReadCloser
	over    chan struct{} // closed when the process has ended
}

// endPatience is how long a process has to end after its input has ended, and again after a signal.
const endPatience = 2 * time.Second

// startChild starts a server's command.
func startChild(s Server, stderr io.Writer, log *slog.Logger, to sink) (*child, error) {
	command := exec.Command(s.Command[0], s.Command[1:]...)
	command.Env = append(os.Environ(), s.Env...)
	command.Dir = s.Dir
	command.Stderr = stderr
	command.WaitDelay = endPatience // for what its own children hold open
	ownGroup(command)
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	c := &child{lineWriter: newLineWriter(stdin), command: command, stdin: stdin, stdout: stdout, over: make(chan struct{})}
	go func() {
		readErr := readMessages(s, stdout, log, to)
		c.stop()
		_ = stdin.Close()
		kill := time.AfterFunc(endPatience, func() { signal(command, syscall.SIGKILL) }) // one that goes on without an output
		_, _ = io.Copy(io.Discard, stdout)
		err := command.Wait()
		kill.Stop()
		close(c.over)
		to.ended(childError(readErr, err))
	}()
	return c, nil
}

// readMessages passes on what a server writes, until the end. Other lines are left out and logged.
func readMessages(s Server, from io.Reader, log *slog.Logger, to sink) error {
	return readLines(from, func(line []byte) {
		all, err := parse(line)
		if err != nil {
			log.Warn("proxy: the server wrote something to its standard output that is no message; it was left out",
				slog.String("server", s.Name), slog.String("text", safetext.Line(safetext.Cut(string(line), 200))))
			return
		}
		for _, m := range all {
			to.message(m, "")
		}
	})
}

func childError(read, wait error) error {
	switch {
	case wait != nil:
		return fmt.Errorf("its process ended: %w", wait)
	case read != nil && read != io.EOF: //nolint:errorlint // readers return it as it is
		return fmt.Errorf("its output could not be read: %w", read)
	}
	return fmt.Errorf("its process ended: %w", io.EOF)
}

// close ends the process as the protocol has it: its input first, then SIGTERM, then SIGKILL.
func (c *child) close() {
	c.stop()
	_ = c.stdin.Close()
	for _, end := range []func(){
		func() { signal(c.command, syscall.SIGTERM) },
		func() { signal(c.command, syscall.SIGKILL) },
		func() { _ = c.stdout.Close() }, // that somebody else holds open
	} {
		select {
		case <-c.over:
			return
		case <-time.After(endPatience):
			end()
		}
	}
	<-c.over
}

const maxLine = 64 << 20

// readLines hands over each line until the end, or the first that is too long.
func readLines(in io.Reader, take func(line []byte)) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r)
		if line = bytes.TrimSpace(line); len(line) > 0 {
			take(line)
		}
		if err != nil {
			return err
		}
	}
}

// readLine reads a line with its end. It is the caller's.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, fmt.Errorf("a line has more than %d bytes", maxLine)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// A lineWriter writes messages in order, so that a sender need not wait for a slow reader.
type lineWriter struct {
	lines chan []byte
	done  chan struct{} // closed when nothing is written any more
	once  sync.Once
}

func newLineWriter(out io.Writer) *lineWriter {
	w := &lineWriter{lines: make(chan []byte, 256), done: make(chan struct{})}
	go func() {
		var all []byte
		for {
			select {
			case line := <-w.lines:
				all = slices.Grow(all[:0], len(line)+1)
				for more := true; more && line != nil; {
					all = append(append(all, line...), '\n')
					if more = len(w.lines) > 0 && len(all) < writeTogether; more {
						line = <-w.lines
					}
				}
				if _, err := out.Write(all); err != nil || line == nil {
					w.stop()
				}
				if cap(all) > 16*writeTogether {
					all = nil
				}
			case <-w.done:
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
	select {
	case w.lines <- nil:
		select {
		case <-w.done:
		case <-ctx.Done():
		}
	case <-w.done:
	case <-ctx.Done():
	}
}

var errStopped = errors.New("the connection is closed")

// send hands a message to the writer. With an error it was not sent.
func (w *lineWriter) send(ctx context.Context, m *message) error {
	select {
	case <-w.done:
		return notSent(errStopped)
	default:
	}
	select {
	case w.lines <- m.encode():
		return nil
	case <-w.done:
		return notSent(errStopped)
	case <-ctx.Done():
		return notSent(context.Cause(ctx))
	}
}

func (w *lineWriter) stop() { w.once.Do(func() { close(w.done) }) }
