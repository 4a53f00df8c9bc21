package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	methodSubscribe   = "resources/subscribe"
	methodUnsubscribe = "resources/unsubscribe"
)

// maxSubscriptions is how many resources of one server a client may have subscribed to, and maxSubscriptionBytes how long
// the params of these requests may be together.
const (
	maxSubscriptions     = 1000
	maxSubscriptionBytes = 1 << 20
)

// The subscriptions of a client at one server, by URI, to be renewed after a restart. (Since revision
// 2026-07-28 a subscription is an open request, which the client renews.) The zero value is ready.
type subscriptions struct {
	mu     sync.Mutex
	params map[string]json.RawMessage
	bytes  int // of all params
}

// room returns an error if a request is to subscribe to more than is kept. It is refused then, since a restart of the
// server would end the subscription unnoticed.
func (s *subscriptions) room(request *message) error {
	if request.Method != methodSubscribe {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fits(textOf(request.Params, "uri"), request.Params) {
		return nil
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf(
		"proxy: this client has subscribed to as much as the proxy keeps for one server (%d resources, %d MB of requests); unsubscribe from one first",
		maxSubscriptions, maxSubscriptionBytes>>20)}
}

// fits reports whether a subscription can be kept. The lock is held.
func (s *subscriptions) fits(uri string, params json.RawMessage) bool {
	was, again := s.params[uri]
	return (again || len(s.params) < maxSubscriptions) && s.bytes-len(was)+len(params) <= maxSubscriptionBytes
}

// note looks at a request that was answered. It reports whether a subscription is kept that was made.
func (s *subscriptions) note(request, answer *message) bool {
	if answer.Error != nil || request.Method != methodSubscribe && request.Method != methodUnsubscribe {
		return true
	}
	uri := textOf(request.Params, "uri")
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case request.Method == methodUnsubscribe:
		s.bytes -= len(s.params[uri])
		delete(s.params, uri)
	case !s.fits(uri, request.Params): // others took the room while it was made
		return false
	default:
		if s.params == nil {
			s.params = make(map[string]json.RawMessage)
		}
		s.bytes += len(request.Params) - len(s.params[uri])
		s.params[uri] = request.Params
	}
	return true
}

// all returns a copy.
func (s *subscriptions) all() map[string]json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.params)
}

// resubscribe renews the client's subscriptions at a restarted server. Each resource may have changed
// meanwhile, so the client is notified of each.
func (s *server) resubscribe(ctx context.Context, l link) {
	for uri, params := range s.subscriptions.all() {
		if _, err := s.exchange(ctx, l, methodSubscribe, params, ""); err != nil {
			s.log.WarnContext(ctx, "proxy: a subscription was not taken up again",
				slog.Any("uri", uri), slog.Any("err", err))
			continue
		}
		about := fmt.Appendf(nil, `{"uri":%s}`, quoted(uri))
		s.session.fromServer(s, &message{Method: "notifications/resources/updated", Params: about}, "")
	}
}
