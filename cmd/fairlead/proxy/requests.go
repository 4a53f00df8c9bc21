package proxy

import (
	"context"
	"sync"
)

// requests are those that one side has to answer, by their IDs there. The zero value is ready.
type requests struct {
	mu     sync.Mutex
	all    map[string]*request
	abouts abouts
}

// serves reports whether the server has one of them that brought it the progress token of the client's request.
func (r *requests) serves(about string) bool { return r.abouts.has(about) }

// A request is one of ours, or one that was passed on.
type request struct {
	*message

	server *server       // that has to answer it, or that asked it of the client
	about  string        // the client's request that it belongs to, by its ID
	answer chan answerOf // to one of ours; it has room for one, and gets one
	holds  *holds        // the room of its answer until the client's request has ended; nil for none
	passed bool          // on as it is, and counted by the session
}

// served is the client's request whose progress the server may report while it has this one, "" for none: a list of ours
// has not brought it the token, and may be read for a call of another server.
func (r *request) served() string {
	if r.Method == methodListTools {
		return ""
	}
	return r.about
}

// An answerOf is the response to a request of ours, or why there is none.
type answerOf struct {
	m   *message
	err error
}

// store adds a request.
func (r *requests) store(id string, one *request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = make(map[string]*request)
	}
	r.all[id] = one
	r.abouts.add(one.served(), 1)
}

// maxAsked is how many requests of one server the client may have to answer, and maxAskedBytes how large they may be
// together. Further ones are answered with an error.
const (
	maxAsked      = 1000
	maxAskedBytes = 64 << 20
)

// storeOf adds a request of a server, unless the server has as many already. It reports whether it has.
func (r *requests) storeOf(id string, one *request, most int) bool {
	r.mu.Lock()
	count, size := 0, len(one.Params)
	for _, other := range r.all {
		if other.server == one.server {
			count++
			size += len(other.Params)
		}
	}
	r.mu.Unlock()
	if count >= most || size > maxAskedBytes {
		return false
	}
	r.store(id, one)
	return true
}

// find returns a request that is not answered yet, nil if there is none.
func (r *requests) find(id string) *request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[id]
}

// take returns a request that is answered, nil if it was already or there is none.
func (r *requests) take(id string) *request {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.all[id]
	if one != nil {
		delete(r.all, id)
		r.abouts.add(one.served(), -1)
	}
	return one
}

// takeFrom takes the requests of a server that match, by their IDs.
func (r *requests) takeFrom(server *server, match func(*request) bool) map[string]*request {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := make(map[string]*request)
	for id, one := range r.all {
		if one.server == server && match(one) {
			taken[id] = one
			delete(r.all, id)
			r.abouts.add(one.served(), -1)
		}
	}
	return taken
}

// takeAll takes every request.
func (r *requests) takeAll() map[string]*request {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	for _, one := range all {
		r.abouts.add(one.served(), -1)
	}
	return all
}

// await sends a request of ours, waits for its answer, and cancels it if ctx is done before.
func (r *requests) await(ctx context.Context, one *request, send func() error, cancel func()) (*message, error) {
	one.answer, one.holds = make(chan answerOf, 1), holdsIn(ctx)
	one.holds.next()
	id := one.id()
	r.store(id, one)
	if err := send(); err != nil {
		r.take(id)
		return nil, err
	}
	select {
	case got := <-one.answer:
		if got.err != nil {
			return nil, got.err
		}
		return got.m, got.m.err()
	case <-ctx.Done():
		r.take(id)
		cancel()
		return nil, context.Cause(ctx)
	}
}

// end ends a request to a server with its answer, or with why there is none. It does nothing if the request is nil.
func (r *request) end(m *message, err error) {
	if r == nil {
		return
	}
	if r.passed {
		defer r.server.session.passed.Done()
	}
	if err == nil {
		r.server.session.greeted.Store(true)
		r.server.fared(nil)
		if !r.server.subscriptions.note(r.message, m) {
			r.server.log.Warn("proxy: the client has more subscriptions than the proxy keeps; one ends with a restart of the server")
		}
	}
	switch {
	case r.answer != nil:
		if m != nil {
			r.holds.keep(m.held)
		}
		r.answer <- answerOf{m, err}
	case err == nil:
		r.server.session.answered(r.server, r.message, m)
	case r.server.session.ctx.Err() == nil: // or it is not waited for any more
		r.server.session.giveUp(r.message, err)
	}
}
