package proxy

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
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

// A stdio is a link with a server that reads and writes one message a line.
type stdio struct {
	*lineWriter

	end  func()        // has the server end its output
	over chan struct{} // closed when it has ended
}

// openStdio passes on what a server writes, until the end, and then the error that ended makes of it.
func openStdio(s Server, from io.Reader, out io.WriteCloser, log *slog.Logger, to sink, ended func(read error) error) *stdio {
	l := &stdio{lineWriter: newLineWriter(out), over: make(chan struct{})}
	go func() {
		err := eachMessage(from, func(m *message) { to.message(m, "") }, func(line []byte) {
			log.Warn("proxy: the server wrote something to its standard output that is no message; it was left out",
				slog.String("server", s.Name), slog.String("text", safetext.Line(safetext.Cut(string(line), 200))))
		})
		l.stop()
		_ = out.Close() // it has ended
		err = ended(err)
		close(l.over)
		to.ended(err)
	}()
	return l
}

func (l *stdio) close() {
	l.stop()
	l.end()
	<-l.over
}

// openStream opens a connection to a server in this process.
func openStream(s Server, log *slog.Logger, to sink) (*stdio, error) {
	stream, err := s.Open()
	if err != nil {
		return nil, err
	}
	l := openStdio(s, stream, stream, log, to, func(err error) error { return fmt.Errorf("its stream ended: %w", err) })
	l.end = func() { _ = stream.Close() } // an error changes nothing
	return l, nil
}

// endPatience is how long a process has to end after its input has ended, and again after a signal.
const endPatience = 2 * time.Second

// startChild starts a server's command. Its end is as the protocol has it: its input first, then SIGTERM, then SIGKILL.
func startChild(s Server, log *slog.Logger, to sink) (*stdio, error) {
	command := exec.Command(s.Command[0], s.Command[1:]...)
	command.Env = append(os.Environ(), s.Env...)
	command.Dir = s.Dir
	command.Stderr = s.Stderr
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
	l := openStdio(s, stdout, stdin, log, to, func(read error) error {
		kill := time.AfterFunc(endPatience, func() { signal(command, syscall.SIGKILL) }) // one that goes on without an output
		_, _ = io.Copy(io.Discard, stdout)
		wait := command.Wait()
		kill.Stop()
		if wait == nil && read != io.EOF { //nolint:errorlint // readers return it as it is
			return fmt.Errorf("its output could not be read: %w", read)
		}
		return fmt.Errorf("its process ended: %w", cmp.Or(wait, io.EOF))
	})
	l.end = func() {
		_ = stdin.Close()
		for _, end := range []func(){
			func() { signal(command, syscall.SIGTERM) },
			func() { signal(command, syscall.SIGKILL) },
			func() { _ = stdout.Close() }, // that somebody else holds open
		} {
			select {
			case <-l.over:
				return
			case <-time.After(endPatience):
				end()
			}
		}
	}
	return l, nil
}

const maxLine = 64 << 20

// eachMessage hands over each message until the end, or the first line that is too long. Other lines are stray.
func eachMessage(in io.Reader, take func(*message), stray func(line []byte)) error {
	r := bufio.NewReaderSize(in, 256<<10)
	for {
		line, err := readLine(r)
		if line = bytes.TrimSpace(line); len(line) > 0 {
			all, err := parse(line)
			if err != nil {
				stray(line)
			}
			for _, m := range all {
				take(m)
			}
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
	lines   chan *message
	writing context.Context // done when nothing is written any more
	stop    context.CancelFunc
}

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
	if w.writing.Err() != nil {
		return notSent(errStopped)
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
