package proxy

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"sync"
)

const (
	methodSubscribe   = "resources/subscribe"
	methodUnsubscribe = "resources/unsubscribe"
)

// The subscriptions of a client at one server, by URI, so that the server can be asked
// for them again when it has been started again. (Since revision 2026-07-28 a
// subscription is a request that stays open: it ends with the server, and the client
// makes it anew.)
type subscriptions struct {
	mu     sync.Mutex
	params map[string]json.RawMessage
}

// note looks at a request that was answered.
func (s *subscriptions) note(request, answer *message) {
	if answer.Error != nil || request.Method != methodSubscribe && request.Method != methodUnsubscribe {
		return
	}
	var uri string
	if json.Unmarshal(members(request.Params)["uri"], &uri) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if request.Method == methodUnsubscribe {
		delete(s.params, uri)
		return
	}
	if s.params == nil {
		s.params = make(map[string]json.RawMessage)
	}
	s.params[uri] = request.Params
}

func (s *subscriptions) all() map[string]json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.params)
}

// resubscribe asks a server that was started again for what the client had subscribed
// to. Whatever changed meanwhile was told to nobody, so the client hears of each that it
// may have.
func (s *server) resubscribe(ctx context.Context, l link) {
	for uri, params := range s.subscriptions.all() {
		if _, err := s.askOn(ctx, l, methodSubscribe, params, ""); err != nil {
			s.log.WarnContext(ctx, "proxy: a subscription was not taken up again",
				slog.String("server", s.Name), slog.String("uri", uri), slog.Any("err", err))
			continue
		}
		if about, err := json.Marshal(map[string]string{"uri": uri}); err == nil {
			s.session.fromServer(s, &message{Method: "notifications/resources/updated", Params: about}, "")
		}
	}
}
