package proxy

// Servers and clients choose IDs by themselves, and often count them, so that one can name what belongs to another. Each
// ID that a server names is therefore looked for among what that server has: its questions to the client, the requests
// that it was sent, its tasks, its forms. Anything else is left out, and never handed on to its owner.

import (
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A tokenOf is whose progress a token is about.
type tokenOf struct {
	about string  // the client's request that brought it
	task  *server // that goes on with it as a task; nil while the request is open
}

// belongs returns a notification of a server as the client gets it, and the request of the client that it belongs to.
// It returns nil for one that names what is not the server's.
func (s *session) belongs(from *server, m *message, about string) (*message, string) {
	if id := m.meta[mcp.MetaKeySubscriptionID]; id != nil {
		r := from.requests.find(string(id))
		switch {
		case r == nil:
			return s.foreign(from, m, "subscription", id), ""
		case r.answer != nil:
			about = r.about
			m.meta[mcp.MetaKeySubscriptionID] = json.RawMessage(about)
			m = m.with("_meta", m.meta)
		}
	}
	switch m.Method {
	case "notifications/progress":
		token := member(m.Params, "progressToken")
		of, ok := s.tokens.Load(string(token))
		if !ok {
			return s.foreign(from, m, "progress token", token), ""
		}
		whose := of.(tokenOf)
		if whose.task != from && !from.requests.serves(whose.about) {
			return s.foreign(from, m, "progress token", token), ""
		}
		if whose.task == nil {
			about = whose.about
		}
	case methodCancelled:
		return s.renamed(from, m), about
	case "notifications/tasks":
		s.learn(from, m.Params)
		id := member(m.Params, "taskId")
		if t := s.taskOf(from, textOf(m.Params, "taskId")); t != nil {
			return m.with("taskId", t.id), about
		} else if len(s.servers) > 1 {
			return s.foreign(from, m, "task", id), ""
		}
	case "notifications/elicitation/complete":
		id := member(m.Params, "elicitationId")
		if len(s.servers) > 1 && s.forms.by(string(id)) != from {
			return s.foreign(from, m, "elicitation", id), ""
		}
	}
	return m, about
}

// foreign leaves a notification out.
func (s *session) foreign(from *server, m *message, what string, id json.RawMessage) *message {
	from.log.Warn("proxy: a server has named what is not its own, or is over; the message was left out",
		slog.String("method", safetext.Line(safetext.Cut(m.Method, 100))), slog.String("what", what), slog.String("id", safetext.Line(safetext.Cut(string(id), 100))))
	return nil
}

// form keeps whose form an elicitation is that the client opens at an address: of a question, or of an error that wants
// one first.
func (s *session) form(from *server, m *message) {
	if len(s.servers) == 1 { // all are its own
		return
	}
	if m.Method == "elicitation/create" {
		if id := member(m.Params, "elicitationId"); id != nil {
			s.forms.claim(string(id), from)
		}
	}
	if m.Error == nil {
		return
	}
	var all []json.RawMessage
	if json.Unmarshal(member(member(m.Error, "data"), "elicitations"), &all) != nil {
		return
	}
	for _, one := range all {
		if id := member(one, "elicitationId"); id != nil {
			s.forms.claim(string(id), from)
		}
	}
}

// abouts count the requests that a server has for each request of the client.
type abouts struct {
	mu  sync.Mutex
	all map[string]int
}

func (a *abouts) add(about string, n int) {
	if about == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil {
		a.all = make(map[string]int)
	}
	if a.all[about] += n; a.all[about] <= 0 {
		delete(a.all, about)
	}
}

func (a *abouts) has(about string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all[about] > 0
}
