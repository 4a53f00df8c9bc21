package answers

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connect connects with [Shallow] before each message that the SDK reads from a pipe or process, and leaves out what is
// not a message.
func connect(ctx context.Context, t mcp.Transport, stray *Stray) (mcp.Connection, error) {
	switch t := t.(type) {
	case *mcp.IOTransport:
		prepared := *t
		prepared.Reader = lines(t.Reader, t.Reader, stray)
		return prepared.Connect(ctx)
	case *mcp.CommandTransport:
		return start(ctx, t, stray)
	}
	return t.Connect(ctx)
}

// lines returns a reader of messages, one a line.
func lines(r io.Reader, c io.Closer, stray *Stray) io.ReadCloser {
	b := &body{Closer: c, in: bufio.NewReader(r)}
	b.next = func() ([]byte, error) {
		line, err := b.line()
		if errors.Is(err, bufio.ErrBufferFull) { // the SDK refuses it
			return line, nil
		}
		return stray.messages(line, err), err
	}
	return b
}

// start starts a command whose output can be read before the SDK does.
func start(ctx context.Context, t *mcp.CommandTransport, stray *Stray) (mcp.Connection, error) {
	stdout, err := t.Command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stdin, err := t.Command.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := t.Command.Start(); err != nil {
		return nil, err
	}
	patience := t.TerminateDuration
	if patience <= 0 {
		patience = 5 * time.Second // as the SDK has it
	}
	// The process ends by the end of its input, so its output stays open until then.
	return (&mcp.IOTransport{
		Reader: lines(stdout, io.NopCloser(nil), stray), Writer: &process{stdin, t.Command, patience},
	}).Connect(ctx)
}

// A process is the input of a command. Close ends the command: by the end of its input, SIGTERM, then SIGKILL.
type process struct {
	io.WriteCloser

	command  *exec.Cmd
	patience time.Duration // before each signal
}

func (p *process) Close() error {
	if err := p.WriteCloser.Close(); err != nil {
		return err
	}
	over := make(chan error, 1)
	go func() { over <- p.command.Wait() }()
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Kill, nil} {
		select {
		case err := <-over:
			return err
		case <-time.After(p.patience):
			if signal != nil && p.command.Process.Signal(signal) != nil { // there is no SIGTERM on Windows
				_ = p.command.Process.Kill()
			}
		}
	}
	return errors.New("mount: the process of the server does not end")
}
