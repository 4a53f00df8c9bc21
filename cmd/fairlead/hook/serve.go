package hook

// The texts of a session must outlive the process of one hook, so one process for each user keeps it: the first hook
// starts it, all talk to it over a socket in a folder that only the user can enter, and it ends by itself. A hook that
// cannot reach it decides alone, from files.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/filelock"
	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/hooksocket"
)

// Serve answers hooks on a listener until ctx is done, or no event has come for the time idle and no call waits for
// its result. The listener is closed then.
func (g *Guard) Serve(ctx context.Context, l net.Listener, idle time.Duration) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	context.AfterFunc(ctx, func() { _ = l.Close() })
	go g.stopWhenIdle(ctx, idle, stop)
	for {
		c, err := l.Accept()
		if ctx.Err() != nil {
			g.Close()
			return nil
		}
		if err != nil {
			return fmt.Errorf("hook: %w", err)
		}
		go g.serve(ctx, c)
	}
}

func (g *Guard) stopWhenIdle(ctx context.Context, idle time.Duration, stop func()) {
	every := time.NewTicker(idle/10 + time.Second)
	defer every.Stop()
	began := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		since, waits := g.Idle()
		if since > time.Since(began) {
			since = time.Since(began) // no event yet
		}
		if since > idle && (!waits || since > dialogTime) {
			stop()
			return
		}
	}
}

// serve answers one hook. If the hook goes away, its call is not decided any more.
func (g *Guard) serve(ctx context.Context, c net.Conn) {
	defer c.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	_ = c.SetReadDeadline(time.Now().Add(hooksocket.ExchangeTime))
	d := json.NewDecoder(io.LimitReader(c, 2*maxEvent))
	var q hooksocket.Asked
	if err := d.Decode(&q); err != nil {
		return // the hook reports that no answer came
	}
	_ = c.SetReadDeadline(time.Time{})
	go func() { // a hook writes nothing more, so an end of the read is its own end
		_, _ = c.Read(make([]byte, 1))
		stop()
	}()
	var a hooksocket.Answered
	out, err := g.Handle(ctx, q.Client, q.Event)
	if a.Out = out; err != nil {
		a.Error = err.Error()
	}
	_ = c.SetWriteDeadline(time.Now().Add(hooksocket.ExchangeTime))
	text, err := json.Marshal(a)
	if err != nil {
		return // it is made of bytes and text
	}
	_, _ = c.Write(text) // a hook that has gone gets no answer
}

// Listen listens at a socket that no other process has. An error that is [os.ErrExist] means that another one has it.
func Listen(ctx context.Context, socket string) (net.Listener, error) {
	lock, err := filelock.Try(socket + ".lock")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(socket) // of a process that was killed, since the lock is ours
	l, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		return nil, errors.Join(err, l.Close(), lock.Close())
	}
	return &held{l, lock}, nil
}

// held is a listener with the lock that keeps others from its socket.
type held struct {
	net.Listener

	lock io.Closer
}

// Close closes the listener, which removes the socket, and gives up the lock.
func (h *held) Close() error { return errors.Join(h.Listener.Close(), h.lock.Close()) }
