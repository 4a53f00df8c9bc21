package proxy

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/childenv"
	"github.com/fairlead-go/fairlead/hitl/safetext"
)

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
		stray := 0
		err := eachMessage(from, func() *held { return to.hold(l.writing) }, func(m *message) { to.message(m, "") }, func(line []byte) {
			if stray++; stray > 10 && stray&(stray-1) != 0 { // a server may write them without end
				return
			}
			log.Warn("proxy: the server wrote something to its standard output that is not a message; it was left out",
				slog.String("server", s.Name), slog.Int("lines", stray), slog.String("text", safetext.Line(safetext.Cut(string(line), 200))))
		})
		l.stop()
		_ = out.Close() // it has ended
		err = ended(err)
		close(l.over)
		to.ended(err)
	}()
	return l
}

// close ends the server and waits until it has ended.
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

// own are the processes that were started here, each of which is waited for by itself, by their numbers.
var own sync.Map

// endPatience is how long a process has to end after its input has ended, and again after a signal.
const endPatience = 2 * time.Second

// startChild starts a server's command. Its end is as the protocol has it: its input first, then SIGTERM, then SIGKILL.
func startChild(s Server, log *slog.Logger, to sink) (*stdio, error) {
	if info, err := os.Stat(s.Dir); s.Dir != "" && err != nil {
		return nil, fmt.Errorf("its folder (cwd): %w", err) // the operating system would name the command
	} else if s.Dir != "" && !info.IsDir() {
		return nil, fmt.Errorf("its folder (cwd) %q is a file", s.Dir)
	}
	command := exec.Command(s.Command[0], s.Command[1:]...)
	command.Env = append(childenv.Environ(), s.Env...)
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
	if err := startProcess(command); err != nil {
		return nil, err
	}
	own.Store(command.Process.Pid, true)
	l := openStdio(s, stdout, stdin, log, to, func(read error) error {
		kill := time.AfterFunc(endPatience, func() { signal(command, syscall.SIGKILL) }) // one that goes on without an output
		_, _ = io.Copy(io.Discard, stdout)
		wait := command.Wait()
		kill.Stop()
		own.Delete(command.Process.Pid)
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
