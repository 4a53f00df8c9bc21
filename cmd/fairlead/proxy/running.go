package proxy

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// begin answers a request on a goroutine of its own, until it is done or cancelled.
func (s *session) begin(m *message, answer func(ctx context.Context, m *message) (*message, bool)) {
	if why := s.start(m, answer); why != "" {
		s.reply(m.failTo(&jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: why}))
	}
}

func (s *session) start(m *message, answer func(ctx context.Context, m *message) (*message, bool)) (refused string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, twice := s.running[m.id()]
	switch {
	case s.ctx.Err() != nil: // nobody waits for an answer, and close not for a call
		return ""
	case twice:
		return "proxy: a request with this id is under way already"
	case len(s.running) >= maxRunning:
		return "proxy: too many requests are under way; wait for one of them"
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	s.running[m.id()] = cancel
	s.calls.Go(func() {
		defer cancel(nil)
		res, ok := answer(ctx, m)
		s.mu.Lock()
		delete(s.running, m.id())
		s.mu.Unlock()
		s.forgetToken(m)
		if ok && ctx.Err() == nil { // one that was cancelled is not answered
			s.reply(res)
		}
	})
	return ""
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

// cancelled ends a call, or tells the server that has the request.
func (s *session) cancelled(m *message) {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
		Reason    string          `json:"reason"`
	}
	_ = json.Unmarshal(m.Params, &p) // one that names nothing cancels nothing
	s.mu.Lock()
	cancel := s.running[string(p.RequestID)]
	s.mu.Unlock()
	if cancel != nil {
		cancel(&cancelledError{p.Reason})
		return
	}
	s.route(m)
}

// A cancelledError ends a call that its client has cancelled.
type cancelledError struct{ reason string }

func (e *cancelledError) Error() string {
	if e.reason == "" {
		return "proxy: the client has cancelled the call"
	}
	return "proxy: the client has cancelled the call: " + e.reason
}

// Is makes it an end of the context that the rooms know.
func (e *cancelledError) Is(target error) bool { return target == context.Canceled }
