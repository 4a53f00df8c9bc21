package proxy

// A session ends in one of three ways. By a signal: no call is sent any more, and those that a server has are answered.
// By the end of the client's input: what was read before is carried out and answered, too, since a client may write its
// requests and close; only what needs an answer of the client's is given up. When the client or the servers have gone:
// at once. The first two take [Options.Drain] at most.

import (
	"context"
	"errors"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

var errInputEnded = errors.New("proxy: the client's input has ended, so that nobody answers")

// methodListen is the request that stays open for what a server sends on its own.
const methodListen = "subscriptions/listen"

// finish waits until what the client had asked for is answered, for limit at most; then, or when ctx is done, it drains.
func (s *session) finish(ctx context.Context, limit time.Duration) {
	s.leave(errInputEnded)
	s.mu.Lock()
	for _, u := range s.running {
		if u.method == methodListen {
			u.cancel(errInputEnded)
		}
	}
	s.mu.Unlock()
	for _, r := range s.requests.takeAll() {
		s.unheard(r)
	}
	over := make(chan struct{})
	go func() {
		s.calls.Wait()
		s.passed.Wait()
		close(over)
	}()
	select {
	case <-over:
		return
	case <-ctx.Done():
	case <-s.ctx.Done():
	case <-time.After(limit):
		limit = 0
	}
	s.drain(limit)
}

// unheard ends a question that the client cannot answer any more.
func (s *session) unheard(r *request) {
	if r.answer != nil {
		r.answer <- answerOf{err: notSent(errInputEnded)}
		return
	}
	r.server.relay(s.ctx, (&message{ID: r.ID}).failTo(&jsonrpc.Error{Code: codeGone, Message: errInputEnded.Error()}))
}

// present has a confirmer give up when the client's input ends: no call waits for a person whose client has gone.
func present(c hitl.Confirmer) hitl.Confirmer {
	return hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
		u := underWayIn(ctx)
		if u.left == nil {
			return c.Confirm(ctx, r)
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(u.left, func() { cancel(notSent(context.Cause(u.left))) })()
		return c.Confirm(ctx, r)
	})
}
