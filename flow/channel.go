package flow

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/flow/internal/folded"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Channel carries text to the model or the client other than as the result of a call.
type Channel struct {
	Server string // whose text it is
	// Via is the method of the protocol that carried the text, such as "tools/list", "resources/read",
	// "notifications/progress" or "elicitation/create". A person is shown it behind the name of the server.
	Via string
	// Trusted counts the text like the user's words, as Options.Trusted does with results.
	Trusted bool
}

// Text adds a text that came by a channel to a session: the params of a notification or of a server's request, or the
// result or the error of a response, as JSON. A text that is not JSON is added as it is. Lists of definitions, and what
// a server introduces itself with, are kept beside the results and compared only with addresses, accounts, credentials,
// paths, commands and repositories: their other words are those of every task.
func (t *Tracker) Text(session string, from Channel, raw []byte) { t.text(session, from, raw, 0) }

// text adds a text that came so many calls later than the last one that was traced.
func (t *Tracker) text(session string, from Channel, raw []byte, later int) {
	r := &result{tool: &middleware.Tool{Server: from.Server, Definition: &mcp.Tool{Name: from.Via}}, trusted: from.Trusted, channel: from.Via}
	r.raw = r.channelText(raw)
	if strings.TrimSpace(r.raw) == "" {
		return
	}
	s := t.session(session)
	cut := len(r.raw) > t.limits.Bytes
	if cut {
		r.raw = strings.Clone(strings.ToValidUTF8(r.raw[:t.limits.Bytes], "")) // or all of it would be kept
	}
	r.tick = t.clock.Add(1)
	var listing *group
	if r.lists() {
		listing = t.listing(r)
	}
	s.mu.Lock()
	s.forgot = s.forgot || cut
	if listing != nil {
		s.list(listing)
	} else {
		r.session, r.seq = s.id, s.seq+later
		s.hear(r, t.limits)
	}
	held := s.held()
	s.mu.Unlock()
	t.count(session, s, held)
}

// Watch returns middlewares of the MCP Go SDK that pass to [Tracker.Text] the texts of one server in one session: the
// first for [mcp.Client.AddSendingMiddleware], the second for [mcp.Client.AddReceivingMiddleware]. Results of tools are
// left to the middleware of [New].
func (t *Tracker) Watch(session, server string) (sending, receiving mcp.Middleware) {
	take := func(via string, value any, err error) {
		raw, failed := json.Marshal(value)
		if err != nil {
			raw, failed = []byte(errorText(err)), nil
		}
		if failed == nil {
			t.Text(session, Channel{Server: server, Via: via}, raw)
		}
	}
	sending = func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if method != "tools/call" {
				take(method, res, err)
			}
			return res, err
		}
	}
	receiving = func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			take(method, req.GetParams(), nil)
			res, err := next(ctx, method, req)
			if err == nil {
				take(AnswerTo(method), res, nil)
			}
			return res, err
		}
	}
	return sending, receiving
}

// AnswerTo returns the Via of a client's answer to a server's request: what stands there may be a person's or a model's.
func AnswerTo(method string) string { return method + "/answer" }

// errorText returns the texts of an error: its message and, of a server's, its data.
func errorText(err error) string {
	parts := []string{err.Error()}
	if reply, ok := errors.AsType[*jsonrpc.Error](err); ok {
		parts = append(parts, texts(reply.Data))
	}
	return strings.Join(parts, partEnd)
}

// listings are the methods whose results are about the server and not of a task.
var listings = []string{"initialize", "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list"}

func (r *result) lists() bool { return slices.Contains(listings, r.channel) }

// offers reports whether a whole field is the reference of a resource that the server lists.
func (o *origin) offers(kind argumentKind) bool {
	return kind == kindURL && o.whole && strings.HasPrefix(o.result.channel, "resources/") && o.result.lists()
}

// channelText returns the texts of a message of a channel, and notes what it claims of itself.
func (r *result) channelText(raw []byte) string {
	var message any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&message) != nil {
		return string(raw)
	}
	if progress, ok := message.(map[string]any); ok && r.channel == "notifications/progress" {
		for _, of := range []string{"progressToken", "progress", "total"} { // counts, which are in every task
			delete(progress, of)
		}
	}
	var b strings.Builder
	r.walk(&b, message, "")
	return strings.TrimSuffix(b.String(), "\n")
}

func (r *result) walk(b *strings.Builder, value any, name string) {
	switch value := value.(type) {
	case map[string]any:
		if meta, ok := value["_meta"].(map[string]any); ok {
			r.claim(meta)
		}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			b.WriteString(name + "\n")
			r.walk(b, value[name], name)
		}
	case []any:
		for _, below := range value {
			r.walk(b, below, name)
		}
	case json.Number:
		b.WriteString(value.String() + "\n")
	case string:
		b.WriteString(value + partEnd + "\n")
		if name == "blob" || name == "data" {
			if data, err := base64.StdEncoding.DecodeString(value); err == nil && len(data) > 0 {
				b.WriteString(readable(data) + partEnd + "\n")
			}
		}
	}
}

// hear adds a text of a channel. Those that one server sends between two calls are one result, and a repetition is
// none, so that progress does not displace results.
func (s *session) hear(r *result, l Limits) {
	const most = 64 << 10
	if last := len(s.pending) - 1; last >= 0 && len(s.pending[last].raw) < most {
		if before := s.pending[last]; before.continues(r) {
			if !strings.Contains(before.raw, r.raw) {
				before.raw += partEnd + r.raw
				s.bytes += len(partEnd) + len(r.raw)
				s.fit(l)
			}
			return
		}
	}
	s.add(r, l)
}

// continues reports whether a text came by the same channel, with the same labels, between the same two calls.
func (r *result) continues(next *result) bool {
	same := r.channel == next.channel && r.tool.Server == next.tool.Server && r.seq == next.seq
	return same && r.trusted == next.trusted && r.sensitive == next.sensitive
}

// listing returns the group of one list, which all sessions that got the same list share.
func (t *Tracker) listing(r *result) *group {
	trust := map[bool]string{true: "trusted", false: ""}[r.trusted]
	key := sha256.Sum256([]byte(strings.Join([]string{r.tool.Server, r.channel, trust, r.raw}, "\x00")))
	t.mu.Lock()
	g, ok := t.listed.Get(key)
	t.mu.Unlock()
	if ok {
		return g
	}
	r.text = folded.New(r.raw, true)
	g = newGroup()
	g.add(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	if other, ok := t.listed.Get(key); ok {
		return other
	}
	t.listed.Add(key, g)
	for t.listedBytes += g.held(); t.listedBytes > t.limits.Total/4 && t.listed.Len() > 1; {
		t.listed.RemoveOldest()
	}
	return g
}

// The lists that one session keeps, of all its servers, and those that all sessions share.
const (
	maxListed    = 64
	maxAllListed = 1024
)

// list adds a list to a session. Beyond the limit the oldest is given up.
func (s *session) list(g *group) {
	if slices.Contains(s.listed, g) {
		return
	}
	s.listed = append(s.listed, g)
	if len(s.listed) > maxListed {
		s.listed, s.forgot = slices.Delete(s.listed, 0, 1), true
	}
}

// held returns about how many bytes a group takes.
func (g *group) held() int { return 8*len(g.grams) + 3*g.size }

// defined returns the definition of a tool as a text of its server.
func defined(tool *middleware.Tool, trusted bool) *result {
	r := &result{
		tool: &middleware.Tool{Server: tool.Server, Definition: &mcp.Tool{Name: "tools/list"}}, channel: "tools/list", trusted: trusted,
	}
	raw, err := json.Marshal(tool.Definition)
	if err != nil {
		return nil
	}
	r.raw = r.channelText(raw)
	r.text = folded.New(r.raw, true)
	return r
}

// definition returns where the definition of the tool that is called has a value, for a host that passes no lists.
func (l *lookup) definition() origin {
	if r := l.own; r != nil && l.kind.exact() && len(l.norm) >= minPart {
		if at := r.text.Find(l.norm, len(l.norm) < minInside, 0); at >= 0 {
			return l.found(r, at, l.norm, len(l.norm) < minInside, "")
		}
	}
	return origin{}
}

// input takes in what a client answered for the second leg of a call that is going to be traced.
func (t *Tracker) input(session string, call *middleware.Call, trusted bool) {
	if call.Input == nil {
		return
	}
	if raw, err := json.Marshal(call.Input.Responses); err == nil && len(call.Input.Responses) > 0 {
		t.text(session, Channel{Server: call.Tool.Server, Via: call.Tool.Name() + "/inputResponses", Trusted: trusted}, raw, 1)
	}
	if call.Input.State != "" {
		t.text(session, Channel{Server: call.Tool.Server, Via: call.Tool.Name() + "/requestState", Trusted: trusted}, []byte(call.Input.State), 1)
	}
}
