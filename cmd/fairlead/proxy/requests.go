package proxy

import (
	"context"
	"sync"
)

// requests are those that one side has to answer, by their IDs there.
type requests struct{ sync.Map }

// A request is one of ours, or one that was passed on.
type request struct {
	*message

	server *server       // that has to answer it, or that asked it of the client
	about  string        // the client's request that it belongs to, by its ID
	answer chan answerOf // to one of ours; it has room for one, and gets one
}

// An answerOf is the response to a request of ours, or why there is none.
type answerOf struct {
	m   *message
	err error
}

// find returns a request that is not answered yet, nil if there is none.
func (r *requests) find(id string) *request {
	one, _ := r.Load(id)
	found, _ := one.(*request)
	return found
}

// take returns a request that is answered, nil if it was already or there is none.
func (r *requests) take(id string) *request {
	one, _ := r.LoadAndDelete(id)
	taken, _ := one.(*request)
	return taken
}

// await sends a request of ours, waits for its answer, and cancels it if ctx is done before.
func (r *requests) await(ctx context.Context, one *request, send func() error, cancel func()) (*message, error) {
	one.answer = make(chan answerOf, 1)
	r.Store(one.id(), one)
	if err := send(); err != nil {
		r.take(one.id())
		return nil, err
	}
	select {
	case got := <-one.answer:
		if got.err != nil {
			return nil, got.err
		}
		return got.m, got.m.err()
	case <-ctx.Done():
		r.take(one.id())
		cancel()
		return nil, context.Cause(ctx)
	}
}

// end ends a request to a server with its answer, or with why there is none. It does nothing if the request is nil.
func (r *request) end(m *message, err error) {
	if r == nil {
		return
	}
	if err == nil {
		r.server.session.greeted.Store(true)
		r.server.subscriptions.note(r.message, m)
	}
	switch {
	case r.answer != nil:
		r.answer <- answerOf{m, err}
	case err == nil:
		r.server.session.answered(r.server, r.message, m)
	case r.server.session.ctx.Err() == nil: // or nobody waits for it any more
		r.server.session.giveUp(r.message, err)
	}
}
