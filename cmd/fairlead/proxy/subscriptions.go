package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
)

const (
	methodSubscribe   = "resources/subscribe"
	methodUnsubscribe = "resources/unsubscribe"
)

// The subscriptions of a client at one server, by URI, to be renewed after a restart. (Since revision
// 2026-07-28 a subscription is an open request, which the client renews.)
type subscriptions struct{ params sync.Map }

// note looks at a request that was answered.
func (s *subscriptions) note(request, answer *message) {
	switch {
	case answer.Error != nil:
	case request.Method == methodSubscribe:
		s.params.Store(textOf(request.Params, "uri"), request.Params)
	case request.Method == methodUnsubscribe:
		s.params.Delete(textOf(request.Params, "uri"))
	}
}

// resubscribe renews the client's subscriptions at a restarted server. Each resource may have changed
// meanwhile, so the client is notified of each.
func (s *server) resubscribe(ctx context.Context, l link) {
	for uri, params := range s.subscriptions.params.Range {
		if _, err := s.exchange(ctx, l, methodSubscribe, params.(json.RawMessage), ""); err != nil {
			s.log.WarnContext(ctx, "proxy: a subscription was not taken up again",
				slog.Any("uri", uri), slog.Any("err", err))
			continue
		}
		about := fmt.Appendf(nil, `{"uri":%s}`, quoted(uri.(string)))
		s.session.fromServer(s, &message{Method: "notifications/resources/updated", Params: about}, "")
	}
}
