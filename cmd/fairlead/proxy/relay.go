package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/fairlead-go/fairlead/cmd/fairlead/tail"
)

// Relay connects a client, one message a line, with one server, without a chain. It passes on every message as it is,
// until either ends or ctx is done. sent and received are called with each message before it is passed on, one at a time
// for each direction. The error is about the server.
func Relay(ctx context.Context, s Server, in io.Reader, out, stderr io.Writer, log *slog.Logger, sent, received func([]byte)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s.Stderr = &tail.Tail{Out: stderr}
	w := newLineWriter(out)
	defer w.stop()
	back := func(m *message) {
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
		_ = eachMessage(in, func(m *message) {
			sent(m.encode())
			if err := l.send(ctx, m); err != nil && m.isRequest() {
				back(m.failTo(wireError(err)))
			}
		}, func([]byte) {
			log.WarnContext(ctx, "the client wrote something that is not a message; it was left out")
		})
	}()
	select {
	case <-over:
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
