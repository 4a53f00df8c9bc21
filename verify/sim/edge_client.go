package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/verify/world"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A peer is a client. It writes bytes to the front, or makes calls of the SDK's.
type peer struct {
	w       *edges
	name    string
	wire    *wire        // over lines
	http    http.Handler // over HTTP
	session string
	modern  bool        // over HTTP without a session
	tasks   bool        // it takes them
	forms   bool        // it shows them
	gone    atomic.Bool // for a while; set under the mutex
	sdk     *mcp.ClientSession
	ready   chan struct{}  // closed when the client was introduced
	shown   map[string]int // of each tool, the place in its history of the definition that the client was shown
}

// An ask is a client's request to the front: a call, or a message that may be taken for one.
type ask struct {
	n           int
	client      *peer
	at          time.Duration
	cancelAfter time.Duration // 0 for never
	again       *ask          // the same call, to be made if this one is turned away; nil for none
	repeats     bool          // one that was turned away
	server      *backend
	tool        string
	arguments   string // with the ask's number, if the tool writes
	shape       shapeOfAsk
	swaps       bool // it comes back with a form and other arguments

	done                    chan struct{} // closed when it was answered
	began, ended, cancelled time.Time
	before                  int // the version of the server's notes when it began
	rule                    *ruling
	saw                     int // the place in the tool's history of the definition that its client was shown
	turned, reached         int // requests of it that its server has turned away over HTTP, and that it has read or its connection lost

	form            json.RawMessage // that came in place of an answer, nil for none
	question, state string          // that belong to it
	filled          string          // what the client makes of it
	task            string          // that came in place of an answer, "" for none
}

// A shapeOfAsk is how an ask is written. All but the first hide a second call, which deletes: the person
// must be shown the call that is executed.
type shapeOfAsk uint8

const (
	asIs shapeOfAsk = iota
	withoutID
	nullID
	twoNames
	foldedName
	twoArguments
	foldedArguments
	longS // ſ, which Go folds to s
	twoInArguments
	twoInMeta
	twoInMembers
	twoParams
	foldedParams
	foldedMethod
	inBatch
	moreMembers
	unknownTool
	lastShape
)

func (w *edges) planAsks() {
	r := w.dice(forEdges, 6, 0)
	for n := range 8 + r.IntN(12) {
		a := &ask{n: n, client: w.clients[r.IntN(len(w.clients))], server: w.servers[r.IntN(len(w.servers))], done: make(chan struct{}), at: span(r, 0, edgeLength), swaps: r.IntN(8) == 0}
		a.tool = toolSpecs[[...]int{0, 0, 0, 1, 2, 3, 3, 3, 4}[r.IntN(9)]].name
		a.arguments = fmt.Sprintf(`{"id":"%c","n":%d}`, 'a'+rune(r.IntN(2)), n)
		if a.tool == "get_note" {
			a.arguments = fmt.Sprintf(`{"id":"%c"}`, 'a'+rune(r.IntN(2)))
		}
		if r.IntN(10) == 0 {
			a.cancelAfter = span(r, time.Millisecond, 10*time.Second)
		}
		if w.settings.front < overClient && r.IntN(3) == 0 {
			a.shape = shapeOfAsk(r.IntN(int(lastShape)))
		}
		w.asks = append(w.asks, a)
	}
	w.planned = len(w.asks)
}

func (a *ask) id() string {
	if a.n%2 == 0 {
		return strconv.Itoa(a.n)
	}
	return strconv.Quote("call " + strconv.Itoa(a.n))
}

func (a *ask) text(r *rand.Rand) string {
	name := func(tool string) string { return strconv.Quote(a.server.nameOf(tool)) }
	pair := func(name, value string) string { return strconv.Quote(name) + ":" + value }
	// both puts the two in either order.
	both := func(one, other string) string {
		if r.IntN(2) == 0 {
			one, other = other, one
		}
		return one + "," + other
	}
	// either is both, or the other one alone.
	either := func(one, other string) string {
		if r.IntN(3) == 0 {
			return other
		}
		return both(one, other)
	}
	object := func(members ...string) string { return "{" + strings.Join(members, ",") + "}" }
	folded := func(name string) string {
		return []string{strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:], name[:len(name)-1] + strings.ToUpper(name[len(name)-1:])}[r.IntN(3)]
	}
	// twice adds a member to an object in two ways, of one name or of names that fold to each other.
	twice := func(object, name, one, other string) string {
		second := []string{name, folded(name)}[r.IntN(2)]
		return strings.Replace(strings.Replace(object, "{", "{"+both(pair(name, one), pair(second, other))+",", 1), ",}", "}", 1)
	}
	evil := fmt.Sprintf(`{"id":"all","n":%d}`, a.n)
	id, method := pair("id", a.id()), pair("method", `"tools/call"`)
	tool, arguments := pair("name", name(a.tool)), pair("arguments", a.arguments)
	meta := pair("_meta", a.client.meta())
	if len(a.server.meddles) > 0 || a.n%4 == 0 {
		meta = strings.Replace(strings.Replace(meta, "{", `{"progressToken":`+a.token()+",", 1), ",}", "}", 1)
	}
	if a.filled != "" {
		meta += fmt.Sprintf(`,"requestState":%s,"inputResponses":{%q:%s}`, a.state, a.question, a.filled)
		if a.swaps {
			arguments = pair("arguments", evil)
		}
	}
	hidden := object(pair("name", name("delete_note")), pair("arguments", evil), meta)
	past := object(pair("name", `"delete_note"`), pair("arguments", evil), meta) // as the server itself names it
	switch a.shape {
	case withoutID:
		return object(method, pair("params", past))
	case nullID:
		return object(pair("id", "null"), method, pair("params", past))
	case twoNames:
		tool = both(tool, pair("name", name("delete_note")))
	case foldedName:
		tool = either(tool, pair(folded("name"), name("delete_note")))
	case twoArguments:
		arguments = both(arguments, pair("arguments", evil))
	case foldedArguments:
		arguments = either(arguments, pair(folded("arguments"), evil))
	case longS:
		arguments = either(arguments, pair("argument\u017f", evil))
	case twoInArguments:
		arguments = pair("arguments", twice(a.arguments, "what", `"one"`, `"all"`))
	case twoInMeta:
		meta = twice(meta, "tenant", `"a"`, `"b"`)
	case twoInMembers:
		tool += "," + pair("task", twice("{}", "ttl", "1", "60000"))
	case moreMembers:
		arguments = both(arguments, pair("task", `{"ttl":60000}`))
	case unknownTool:
		tool = pair("name", `"no_such_tool"`)
	}
	params := pair("params", object(tool, arguments, meta))
	switch a.shape {
	case twoParams:
		params = both(params, pair("params", hidden))
	case foldedParams:
		params = both(params, pair([]string{"Params", "param\u017f"}[r.IntN(2)], hidden))
	case foldedMethod:
		return object(pair("jsonrpc", `"2.0"`), id, both(pair("Method", `"tools/call"`), pair("method", `"ping"`)), pair("params", hidden))
	}
	call := object(pair("jsonrpc", `"2.0"`), id, method, params)
	if a.shape == inBatch {
		return "[" + both(call, object(method, pair("params", past))) + "]"
	}
	return call
}

// make asks for it, and returns when the client does not wait any more. It makes the same call once more if that was
// turned away.
func (w *edges) make(a *ask) {
	w.makeOnce(a)
	if next := w.repeats(a); next != nil {
		time.Sleep(time.Second)
		w.makeOnce(next)
	}
}

func (w *edges) makeOnce(a *ask) {
	<-a.client.ready
	ctx, cancel := context.WithTimeout(w.ctx, 2*edgePatience)
	defer cancel()
	if w.policy != nil {
		w.policy() // the policy that the proxy finds counts
	}
	w.mu.Lock()
	if a.began = time.Now(); a.client.gone.Load() {
		a.cancelled = a.began
		w.mu.Unlock()
		return
	}
	text := a.text(w.dice(forEdges, 7, uint64(a.n)))
	a.before, a.rule, a.saw = a.server.version, w.rule, a.client.shown[a.server.name+"/"+a.tool]
	w.say(a.client.name, "asks", text)
	w.mu.Unlock()
	if a.cancelAfter > 0 {
		timer := time.AfterFunc(a.cancelAfter, func() {
			w.mu.Lock()
			late := !a.ended.IsZero()
			if !late {
				a.cancelled = time.Now()
			}
			w.mu.Unlock()
			if !late && a.client.wire != nil {
				a.client.wire.give([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + a.id() + "}}\n"))
			}
			cancel()
		})
		defer timer.Stop()
	}
	if (w.settings.annotated || w.settings.front < overClient && a.server.paged) && a.n%3 == 0 {
		w.begin(a.client.list)
	}
	switch {
	case a.client.sdk != nil:
		res, err := a.client.sdk.CallTool(ctx, &mcp.CallToolParams{Name: a.tool, Arguments: json.RawMessage(a.arguments)})
		raw, _ := json.Marshal(res)
		w.answered(a, raw, err != nil)
	case a.client.wire != nil:
		a.client.wire.give([]byte(text + "\n"))
		select {
		case <-a.done:
		case <-ctx.Done():
		}
	default:
		w.send(ctx, a, text)
		if a.form == nil {
			return
		}
		if a.filled = a.client.fill(a.form); a.filled == "" { // for want of a person
			w.mu.Lock()
			defer w.mu.Unlock()
			a.cancelled = time.Now()
			return
		}
		w.send(ctx, a, a.text(w.dice(forEdges, 7, uint64(a.n))))
	}
}

// send posts a call. If it becomes a task, send asks for that until it has ended, or cancels it when ctx is done.
func (w *edges) send(ctx context.Context, a *ask, text string) {
	p := a.client
	p.post(ctx, text)
	about := func(ctx context.Context, verb string) {
		p.post(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","id":"task %d","method":"tasks/%s","params":{"taskId":%q,"_meta":%s}}`,
			a.n, verb, a.task, p.meta()))
	}
	for a.task != "" && a.ended.IsZero() {
		if world.Wait(ctx, 5*time.Second) != nil {
			about(w.ctx, "cancel")
			return
		}
		about(ctx, "get")
	}
}

// take reads a message of the front: an answer, or one that does not matter here.
func (p *peer) take(message []byte) {
	m := readers[0].read(message)
	if m.method == "elicitation/create" {
		p.w.begin(func() {
			if filled := p.fill(readers[0].member(message, "params")); filled != "" && !p.gone.Load() {
				p.send(p.w.ctx, `{"jsonrpc":"2.0","id":`+m.id+`,"result":`+filled+`}`)
			}
		})
	}
	if m.method != "" || m.id == "" {
		p.checkMeddled(m.method, message)
		return
	}
	switch m.id {
	case `"hello"`:
		close(p.ready)
		return
	case `"list"`:
		p.w.shows(p, readers[0].member(message, "result"))
		p.w.listed(readers[0].member(message, "result"))
		return
	}
	for _, a := range p.w.asks {
		if a.id() == m.id && a.client == p {
			result := readers[0].member(message, "result")
			p.w.answered(a, result, result == nil)
		}
		if m.id == fmt.Sprintf(`"task %d"`, a.n) {
			task := readers[0].member(message, "result")
			switch status := text(readers[0].member(task, "status")); {
			case task == nil, status == "failed", status == "cancelled":
				p.w.answered(a, nil, true)
			case status == "completed":
				p.w.answered(a, readers[0].member(task, "result"), false)
			}
		}
	}
}

const hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"` + protocol + `","capabilities":%[2]s,"clientInfo":{"name":%[1]q,"version":"1"}}}`

// meta is what each request of a client without a session has of that.
func (p *peer) meta() string {
	if !p.modern {
		return "{}"
	}
	return fmt.Sprintf(`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":%q,"version":"1"},"io.modelcontextprotocol/clientCapabilities":%s}`,
		p.name, p.capabilities())
}

func (p *peer) capabilities() string {
	var all []string
	if p.forms {
		all = append(all, `"elicitation":{}`)
	}
	if p.tasks {
		all = append(all, `"extensions":{"io.modelcontextprotocol/tasks":{}}`)
	}
	return "{" + strings.Join(all, ",") + "}"
}

func (p *peer) enter() {
	p.gone.Store(false)
	if p.modern {
		close(p.ready)
		return
	}
	p.send(p.w.ctx, fmt.Sprintf(hello, p.name, p.capabilities()))
	<-p.ready
	p.send(p.w.ctx, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// list asks for the tools.
func (p *peer) list() {
	if !p.gone.Load() {
		p.send(p.w.ctx, `{"jsonrpc":"2.0","id":"list","method":"tools/list","params":{"_meta":`+p.meta()+`}}`)
	}
}

func (p *peer) send(ctx context.Context, text string) {
	if p.wire != nil {
		p.wire.give([]byte(text + "\n"))
		return
	}
	p.post(ctx, text)
}

// post sends a message over HTTP and reads the response.
func (p *peer) post(ctx context.Context, text string) {
	p.w.mu.Lock()
	session := p.session
	p.w.mu.Unlock()
	res := &response{newWire(p.takeEvent), make(http.Header)}
	p.http.ServeHTTP(res, request(ctx, origin+"/mcp", text, append(mirrored(text), "Content-Type", "application/json", headerSession, session)...))
	if s := res.header.Get(headerSession); s != "" {
		p.w.mu.Lock()
		p.session = s
		p.w.mu.Unlock()
	}
	p.takeEvent(res.came)
}

// mirrored are the headers that repeat the body of a message of the newest revision, nil for any other message. Of
// members that are given twice, they have the last.
func mirrored(text string) (header []string) {
	member := func(object json.RawMessage, name string) (value json.RawMessage, text string) {
		var all map[string]json.RawMessage
		_ = json.Unmarshal(object, &all) // what is not an object has no members
		_ = json.Unmarshal(all[name], &text)
		return all[name], text
	}
	params, _ := member(json.RawMessage(text), "params")
	meta, _ := member(params, "_meta")
	_, version := member(meta, mcp.MetaKeyProtocolVersion)
	_, method := member(json.RawMessage(text), "method")
	if version < mcptest.Modern || method == "" {
		return nil
	}
	header = []string{"Mcp-Protocol-Version", version, "Mcp-Method", method}
	for _, by := range []string{"name", "uri", "taskId"} {
		if _, name := member(params, by); name != "" {
			return append(header, "Mcp-Name", name)
		}
	}
	return header
}

func (p *peer) takeEvent(line []byte) { p.take(bytes.TrimPrefix(line, []byte("data: "))) }

// request is one of HTTP, with a body as a POST.
func request(ctx context.Context, url, body string, header ...string) *http.Request {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	req := httptest.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

// A response is read while it is written.
type response struct {
	*wire

	header http.Header
}

func (r *response) Header() http.Header { return r.header }
func (r *response) WriteHeader(int)     {}
func (r *response) Flush()              {}

// quit has the client end its connection while it waits for answers.
func (p *peer) quit() {
	p.w.mu.Lock()
	p.gone.Store(true)
	for _, a := range p.w.asks {
		if a.client == p && !a.began.IsZero() && a.ended.IsZero() {
			a.cancelled = time.Now()
		}
	}
	session := p.session
	p.session = ""
	p.w.mu.Unlock()
	if p.http != nil {
		req := request(p.w.ctx, origin+"/mcp", "", headerSession, session)
		req.Method = http.MethodDelete
		p.http.ServeHTTP(httptest.NewRecorder(), req)
	}
	p.leave()
}

func (p *peer) leave() {
	if p.wire != nil {
		_ = p.wire.Close()
	}
	if p.sdk != nil {
		_ = p.sdk.Close()
	}
}

func (b *backend) leave() {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	for _, l := range b.links {
		_ = l.Close()
	}
}
