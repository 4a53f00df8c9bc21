package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// An underWay is a request of the client's that is worked on here. It is the context of everything done for it.
type underWay struct {
	context.Context

	session *session // of the client that it is done for; nil if a person does it on the approvals page

	about  string // the client's request, by its ID
	method string
	left   context.Context // done when the client cannot answer any more; nil for what belongs to no request
	cancel context.CancelCauseFunc

	ruling atomic.Pointer[policy.Ruling] // on its tool, the last
	number int                           // which tools/call of its client it is since that connected, 0 is not known
	holds  *holds                        // the room of what servers have answered to it; nil for what has no end

	// The session's mutex guards what follows.
	sent bool  // to a server
	over bool  // it has ended
	task *task // that it became
}

// requestKey is the one key of this package in a context: of an underWay, or of the clientCall that it is further in.
type requestKey struct{}

// Value returns the request itself for the key of this package.
func (u *underWay) Value(key any) any {
	if key == (requestKey{}) {
		return u
	}
	return u.Context.Value(key)
}

// underWayIn returns the request that a context is of. Anything that belongs to none gets one of its own.
func underWayIn(ctx context.Context) *underWay {
	switch r := ctx.Value(requestKey{}).(type) {
	case *underWay:
		return r
	case *clientCall:
		return r.underWay
	}
	return new(underWay)
}

// listens reports whether the client waits for the answer to a request with that context.
func listens(ctx context.Context) bool {
	return ctx.Err() == nil || errors.Is(context.Cause(ctx), errStopping)
}

// begin has a request answered on a goroutine of its own, and returns. Its context is done when the client cancels the
// request or goes away. answer is called again if the request has become a task that needs input; it reports false if
// there is nothing to reply.
func (s *session) begin(m *message, answer func(ctx context.Context, m *message) (*message, bool)) {
	if why := s.start(m, answer); why != "" {
		s.reply(m.failTo(&jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: why}))
	}
}

// start is begin, except that it returns why a request is refused.
func (s *session) start(m *message, answer func(ctx context.Context, m *message) (*message, bool)) (refused string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, twice := s.running[m.id()]
	switch {
	case s.ctx.Err() != nil: // no answer is waited for, and close does not wait for a call
		return ""
	case twice:
		return "proxy: a request with this id is under way already"
	case s.stopping:
		return "proxy: it is stopping, and takes no more requests; this one was not sent"
	case len(s.running) >= maxRunning:
		return "proxy: too many requests are under way; wait for one of them"
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	u := &underWay{Context: ctx, session: s, about: m.id(), method: m.Method, left: s.left, cancel: cancel, holds: new(holds)}
	if s.numbers && m.Method == methodCallTool {
		s.called++
		u.number = s.called
	}
	s.running[u.about] = u
	s.calls.Add(1)
	s.work(func() {
		defer s.calls.Done()
		defer cancel(nil)
		defer u.holds.release()
		res, ok := answer(u, m)
		for again := s.more(u, m, res); again != nil; again = s.more(u, m, res) {
			res, ok = answer(u, again)
		}
		if !s.ended(u, m, res) {
			return
		}
		s.forgetToken(m)
		if ok && listens(u) { // one that was cancelled is not answered
			s.reply(res)
		}
	})
	return ""
}

// maxIdle is how many goroutines of a session wait for work.
const maxIdle = 64

// work calls do on another goroutine. It prefers one that has worked before: the chain is deep, and a new goroutine's
// stack is copied each time it grows.
func (s *session) work(do func()) {
	select {
	case s.next <- do:
		return
	default:
	}
	go s.workOn(do)
}

// workOn calls do, and what there is to do after it.
func (s *session) workOn(do func()) {
	for do != nil {
		do()
		do = nil
		if s.idle.Add(1) <= maxIdle {
			select {
			case do = <-s.next:
			case <-s.ctx.Done():
			}
		}
		s.idle.Add(-1)
	}
}

// answerBy makes an answer of what came of a request.
func answerBy(ask func(context.Context, *message) (json.RawMessage, error)) func(context.Context, *message) (*message, bool) {
	return func(ctx context.Context, m *message) (*message, bool) {
		result, err := ask(ctx, m)
		if err != nil {
			return m.failTo(wireError(err)), true
		}
		return m.replyTo(result), true
	}
}

// maxRunning is how many requests of one client may be under way.
const maxRunning = 10_000

// cancelled ends a call, or passes the cancellation on to the server.
func (s *session) cancelled(m *message) {
	id := member(m.Params, "requestId") // one that names nothing cancels nothing
	s.mu.Lock()
	u := s.running[string(id)]
	s.mu.Unlock()
	if u != nil {
		u.cancel(&cancelledError{textOf(m.Params, "reason")})
		return
	}
	if len(s.servers) == 1 { // several have our IDs
		s.route(m)
	}
}

// A cancelledError ends a call that its client has cancelled.
type cancelledError struct{ reason string }

func (e *cancelledError) Error() string {
	if e.reason == "" {
		return "proxy: the client has cancelled the call"
	}
	return "proxy: the client has cancelled the call: " + e.reason
}

// Is makes it count as [context.Canceled], by which the middlewares recognize it.
func (e *cancelledError) Is(target error) bool { return target == context.Canceled }
