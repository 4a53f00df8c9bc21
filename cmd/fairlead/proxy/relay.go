package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/tail"
)

// Relay connects a client, one message a line, with one server, without a chain. It passes on every message as it is,
// until either ends or ctx is done. After the end of the client's input it waits for the answers to its requests, for
// drain at most. sent and received are called with each message before it is passed on, one at a time
// for each direction. The error is about the server.
func Relay(ctx context.Context, s Server, in io.Reader, out, stderr io.Writer, log *slog.Logger, drain time.Duration, sent, received func([]byte)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s.Stderr = &tail.Tail{Out: stderr}
	w := newLineWriter(out)
	defer w.stop()
	open := &unanswered{ids: make(map[string]bool), none: make(chan struct{})}
	back := func(m *message) {
		defer open.response(m)
		received(m.encode())
		_ = w.send(context.WithoutCancel(ctx), m) // a client that has gone gets no answer
	}
	gone := func(err error) {
		stop(fmt.Errorf("the server %q ended before its client did: %w%s", s.Name, err, s.Stderr.LastWords()))
	}
	l, err := s.open(log, sink{
		message: func(m *message, _ string) { back(m) },
		failed:  func(id string, err error) { back((&message{ID: []byte(id)}).failTo(wireError(err))) },
		ended:   gone, expired: gone,
	})
	if err != nil {
		return &UnreachableError{Server: s.Name, Err: err}
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = eachMessage(in, unbounded, func(m *message) {
			sent(m.encode())
			open.request(m)
			if err := l.send(ctx, m); err != nil && m.isRequest() {
				back(m.failTo(wireError(err)))
			}
		}, func([]byte) {
			log.WarnContext(ctx, "the client wrote something that is not a message; it was left out")
		})
	}()
	select {
	case <-over:
		open.wait(ctx, drain)
	case <-ctx.Done():
		if err = context.Cause(ctx); errors.Is(err, context.Canceled) {
			err = nil
		}
	}
	l.close() // after which the server has answered what it had
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	w.finish(late)
	return err
}

// unanswered are the requests of a client that have no answer so far.
type unanswered struct {
	mu   sync.Mutex
	ids  map[string]bool
	last bool          // no request comes any more
	none chan struct{} // closed when the last is answered
}

func (u *unanswered) request(m *message) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if m.isRequest() && m.Method != methodListen {
		u.ids[m.id()] = true
	}
}

func (u *unanswered) response(m *message) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if m.Method == "" {
		delete(u.ids, m.id())
		delete(u.ids, otherForm(m.id()))
		u.check()
	}
}

// check reports the end to wait; the lock is held.
func (u *unanswered) check() {
	if u.last && len(u.ids) == 0 {
		u.last = false
		close(u.none)
	}
}

// wait returns when every request is answered, or after limit.
func (u *unanswered) wait(ctx context.Context, limit time.Duration) {
	u.mu.Lock()
	u.last = true
	u.check()
	u.mu.Unlock()
	select {
	case <-u.none:
	case <-ctx.Done():
	case <-time.After(limit):
	}
}
