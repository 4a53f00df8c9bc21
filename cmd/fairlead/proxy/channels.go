package proxy

import (
	"encoding/json"
	"slices"

	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What a server sends is a source of information flow, whether or not it passes the chain: the results of calls are taken
// in by the chain, everything else here, before the client gets it.

// takeIn takes in a message of a server's: a notification, a request, or the answer to a request of that method.
func (s *server) takeIn(method string, m *message) {
	texts := [][]byte{m.Params, m.Result, m.Error}
	switch method {
	case methodCallTool:
		return
	case "tasks/get", "tasks/result": // see takeTask
		texts = [][]byte{m.Error, member(m.Result, "statusMessage")}
	}
	for _, text := range slices.DeleteFunc(texts, func(b []byte) bool { return len(b) <= len(`{}`) }) {
		s.takeText(method, text)
	}
}

// takeTask takes in what a server's answer about a task has beside the members that each task has, since it may reach the
// model: the result of a task that is not the end of its call, which settle takes in, or of one that is not known here.
func (s *server) takeTask(method string, raw json.RawMessage) {
	rest := members(raw)
	for _, name := range []string{"resultType", "taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs"} {
		delete(rest, name)
	}
	if len(rest) > 0 {
		s.takeText(method, encoded(rest))
	} else if members(raw) == nil && len(raw) > 0 { // it is not an object
		s.takeText(method, raw)
	}
}

// takeText takes in a text of a server's that came with a method.
func (s *server) takeText(method string, text json.RawMessage) {
	from := &middleware.Tool{Server: s.Name, Definition: &mcp.Tool{Name: method}}
	trusted := s.session.proxy.o.Policy().TrustsResults(from)
	s.session.proxy.tracker.Text(s.session.scope, flow.Channel{Server: s.Name, Via: method, Trusted: trusted}, text)
}

// takeAnswer takes in the client's answer to a request of a server's: a person's words, or a model's.
func (s *server) takeAnswer(request *request, m *message) {
	if m.Result != nil {
		s.takeText(flow.AnswerTo(request.Method), m.Result)
	}
}
