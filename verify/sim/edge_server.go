package sim

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/mount"
	"github.com/fairlead-go/fairlead/mount/serve"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/fairlead-go/fairlead/verify/world"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A backend is a server that reads and writes bytes itself, in the way of its reader.
type backend struct {
	w       *edges
	name    string
	reader  reader
	lax     bool // executes requests without an id too
	http    bool
	leads   bool                 // answers some requests over HTTP with a redirect to itself
	lists   time.Duration        // how long it takes to list its tools
	muteAt  time.Duration        // from when on it answers nothing for a while; 0 for never
	history map[string][]revised // of each tool, the present definition last
	version int                  // of its notes: the number of writes so far
	links   []*link
}

// A revised is a definition of a tool from some instant on; revision 0 is the tool's absence.
type revised struct {
	revision int
	at       time.Time
	told     map[*link]bool // the connections that were notified at that instant
}

func (b *backend) now(tool string) revised {
	if all := b.history[tool]; len(all) > 0 {
		return all[len(all)-1]
	}
	return revised{}
}

// nameOf is the name of a tool at the clients.
func (b *backend) nameOf(tool string) string {
	if len(b.w.servers) == 1 {
		return tool
	}
	return (&middleware.Tool{Server: b.name, Definition: &mcp.Tool{Name: tool}}).ModelName()
}

type link struct {
	*wire // for its own messages, and over lines for all

	session string // its name over HTTP: the place among the links
	client  string // that was introduced
	listens bool   // to the server's own messages
}

func (b *backend) newLink(w *wire) *link {
	l := &link{wire: w, session: strconv.Itoa(len(b.links))}
	b.links = append(b.links, l)
	return l
}

func (b *backend) open() (io.ReadWriteCloser, error) {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	var l *link
	l = b.newLink(newWire(func(line []byte) {
		b.w.begin(func() {
			if reply, err := b.serve(b.w.ctx, l, line); err != nil {
				_ = l.Close()
			} else if reply != nil {
				l.give(append(reply, '\n'))
			}
		})
	}))
	l.listens = true
	return l, nil
}

const headerSession = "Mcp-Session-Id"

func (b *backend) RoundTrip(req *http.Request) (*http.Response, error) {
	l := b.linkOf(req)
	respond := func(status int, body io.ReadCloser, header ...string) (*http.Response, error) {
		res := &http.Response{StatusCode: status, Status: http.StatusText(status), Body: body, Header: make(http.Header), Request: req, ContentLength: -1}
		for i := 0; i < len(header); i += 2 {
			res.Header.Set(header[i], header[i+1])
		}
		return res, nil
	}
	switch {
	case req.Method == http.MethodGet && l != nil:
		b.w.mu.Lock()
		l.listens = true
		b.w.mu.Unlock()
		context.AfterFunc(req.Context(), func() { _ = l.Close() })
		return respond(http.StatusOK, l.wire, "Content-Type", "text/event-stream")
	case req.Method != http.MethodPost:
		return respond(http.StatusOK, http.NoBody)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if b.leads && req.URL.Path == "/mcp" && b.reader.read(body).method == "tools/call" {
		b.w.delivered(b, l, body)
		return respond(http.StatusTemporaryRedirect, http.NoBody, "Location", "/there")
	}
	reply, err := b.serve(req.Context(), l, body)
	switch {
	case err != nil:
		return nil, err
	case reply == nil:
		return respond(http.StatusAccepted, http.NoBody)
	}
	return respond(http.StatusOK, io.NopCloser(bytes.NewReader(reply)), "Content-Type", "application/json", headerSession, l.session)
}

// linkOf finds the connection of a request by the session that it names. A POST without one begins a connection.
func (b *backend) linkOf(req *http.Request) *link {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	if n, err := strconv.Atoi(req.Header.Get(headerSession)); err == nil {
		return b.links[n]
	}
	if req.Method == http.MethodPost {
		return b.newLink(newWire(nil))
	}
	return nil
}

var errDied = errors.New("sim: the server died")

// serve answers a message, nil if it has no answer. An error is the server's death.
func (b *backend) serve(ctx context.Context, l *link, message []byte) ([]byte, error) {
	if b.w.mute(b) {
		<-ctx.Done()
		return nil, nil
	}
	m := b.reader.read(message)
	switch {
	case m.method == "tools/call" && (m.id != "" || b.lax):
		return b.call(ctx, l, message, m)
	case m.id == "":
		return nil, nil
	case m.method == "initialize":
		params := b.reader.member(message, "params")
		b.w.mu.Lock()
		l.client = text(b.reader.member(b.reader.member(params, "clientInfo"), "name"))
		b.w.mu.Unlock()
		version := cmp.Or(text(b.reader.member(params, "protocolVersion")), protocol)
		return answer(m.id, fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":%q,"version":"1"}}`, min(version, protocol), b.name))
	case m.method == "server/discover" && b.w.settings.front == overModern:
		return answer(m.id, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}`)
	case m.method == "tools/list":
		list := b.list()
		return answer(m.id, list, world.Wait(ctx, b.lists))
	case m.method == "ping":
		return answer(m.id, `{}`)
	}
	return []byte(`{"jsonrpc":"2.0","id":` + m.id + `,"error":{"code":-32601,"message":"no such method"}}`), nil
}

const protocol = "2025-06-18"

func answer(id, result string, err ...error) ([]byte, error) {
	return []byte(`{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}`), errors.Join(err...)
}

func (b *backend) list() string {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	all := definitions(b.name, func(t *toolSpec) int { return b.now(t.name).revision })
	list, err := json.Marshal(map[string]any{"tools": all})
	if err != nil {
		panic(err) // they are constants
	}
	return string(list)
}

// call executes a call. It has its effect at once, or at the end.
func (b *backend) call(ctx context.Context, l *link, message []byte, m reading) ([]byte, error) {
	d := b.w.delivered(b, l, message)
	fault, latency, late := b.w.drawEdgeFault(b, d)
	if fault == failed { // it dies before it has executed the call
		return nil, errDied
	}
	if !b.w.executes(b, l, d, !late) {
		return []byte(`{"jsonrpc":"2.0","id":` + cmp.Or(m.id, "null") + `,"error":{"code":-32602,"message":"unknown tool"}}`), nil
	}
	if err := world.Wait(ctx, latency); err != nil || fault == stubborn { // it never answers
		<-ctx.Done()
		return nil, nil
	}
	if late {
		b.w.executes(b, l, d, true)
	}
	switch {
	case fault == dropped:
		return nil, errDied
	case m.id == "":
		return nil, nil
	case fault == invalid:
		return []byte(`{"jsonrpc":"2.0","id":` + m.id + `,"error":{"code":-32000,"message":"it failed"}}`), nil
	}
	return answer(m.id, fmt.Sprintf(`{"content":[{"type":"text","text":"%d"}],"isError":%t}`, d.n, fault == isError))
}

// change redefines a tool, or removes it with revision 0, and notifies the clients.
func (b *backend) change(tool string, revision int, tells bool) {
	b.w.mu.Lock()
	b.w.say(b.name, "changes", fmt.Sprintf("%s to %d, tells %t", tool, revision, tells))
	change := revised{revision, time.Now(), make(map[*link]bool)}
	for _, l := range b.links {
		if tells && l.listens && !l.ended() {
			change.told[l] = true
		}
	}
	b.history[tool] = append(b.history[tool], change)
	b.w.mu.Unlock()
	message := `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n"
	if b.http {
		message = "data: " + message + "\n"
	}
	for l := range change.told {
		l.give([]byte(message))
	}
}

func (w *edges) build(t *testing.T) {
	r := w.dice(forEdges, 8, 0)
	for i, name := range []string{trusty, liar} {
		if i > 0 && !w.settings.several {
			break
		}
		b := &backend{w: w, name: name, reader: readers[r.IntN(len(readers))], lax: r.IntN(2) == 0, http: r.IntN(2) == 0, leads: r.IntN(4) == 0, history: make(map[string][]revised)}
		if r.IntN(2) == 0 {
			b.lists = span(r, time.Millisecond, 2*time.Second)
		}
		if w.settings.front >= overClient { // over lines, and to a client with one connection
			b.http, b.leads = false, false
		} else if r.IntN(6) == 0 {
			b.muteAt = span(r, time.Second, edgeLength)
		}
		for _, t := range toolSpecs {
			b.history[t.name] = []revised{{revision: 1}}
		}
		w.servers = append(w.servers, b)
		w.say(b.name, "is a server", fmt.Sprintf("that takes %s; lax:%t http:%t leads:%t", b.reader.name, b.lax, b.http, b.leads && b.http))
	}
	for i := range 2 {
		w.clients = append(w.clients, &peer{w: w, name: "client " + strconv.Itoa(i), ready: make(chan struct{}), forms: i == 0 || r.IntN(2) == 0})
	}
	w.engine = newEngine(r, true)
	w.engine.lossy, w.engine.silence = w.settings.store == fails, storePatience
	if w.engine.well = false; w.settings.store == blocks {
		w.engine.away = outage{w.start.Add(w.settings.from), w.start.Add(edgeLength + edgePatience)}
	}
	if w.settings.locked {
		w.lock = accepted()
	}
	switch w.settings.front {
	case overClient:
		w.buildClient(t)
	case overServer:
		w.buildServer(t)
	default:
		w.buildProxy(t)
	}
	for _, c := range w.clients {
		if w.attach != nil {
			w.attach(c)
			w.running.Go(c.enter)
		}
	}
}

func (w *edges) buildProxy(t *testing.T) {
	w.policy = w.openPolicy(t)
	o := proxy.Options{Confirm: w.confirmer(), Audit: w, Share: w.share, Lock: w.lock, Policy: w.policy, Annotate: w.settings.annotated, Observe: w.settings.observed}
	for _, b := range w.servers {
		s := proxy.Server{Name: b.name, Open: b.open}
		if b.http {
			s = proxy.Server{Name: b.name, URL: "http://" + b.name + "/mcp", RoundTripper: b}
		}
		o.Servers = append(o.Servers, s)
	}
	p, err := proxy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	handler := p.Handler(w.ctx)
	w.attach = func(c *peer) {
		if w.settings.front != overLines {
			c.http, c.modern = handler, w.settings.front == overModern
			c.tasks = c.modern && w.dice(forEdges, 10, uint64(c.name[len(c.name)-1])).IntN(2) == 0
			return
		}
		wire := newWire(c.take)
		c.wire = wire
		w.running.Go(func() { _ = p.ServeLines(w.ctx, wire, wire) })
	}
}

// share gives the chain stores that lose answers, or are away.
func (w *edges) share(c *cache.Options, _ *ratelimit.Options, h *hitl.Options) {
	if w.settings.store != well {
		h.Store, c.Remote = w.engine, lossyMemory{w.engine}
	}
}

// accepted is a lock to the first definition of every tool.
var accepted = sync.OnceValue(func() *pins.Lock {
	lock := new(pins.Lock)
	tools := catalog.New(catalog.Options{Lock: lock})
	tools.Trust(trusty)
	for _, server := range []string{trusty, liar} {
		first := definitions(server, func(*toolSpec) int { return 1 })
		if err := tools.AddTools(server, middleware.ToolCallerFunc(nil), first...); err != nil { // nothing is called
			panic(err)
		}
	}
	if err := errors.Join(lock.Accept(tools, lock.Changes(tools)...), tools.Close()); err != nil {
		panic(err)
	}
	return lock
})

func (w *edges) standard() chain.Standard {
	remember, ask := cache.Options{TTL: ttl}, hitl.Options{Timeout: askTimeout}
	w.share(&remember, nil, &ask)
	return chain.Standard{
		Infer: infer.New(infer.Options{}), Confirm: hitl.New(w.confirmer(), ask), Audit: audit.New(w, audit.Options{}), Cache: cache.New(remember),
		Retry: retry.New(retry.Options{}), Timeout: timeout.New(timeout.Options{Default: attemptTimeout}),
	}
}

// buildClient puts one chain beneath two clients of the SDK.
func (w *edges) buildClient(t *testing.T) {
	tools, std, b := catalog.New(catalog.Options{Lock: w.lock}), w.standard(), w.servers[0]
	tools.Trust(trusty)
	t.Cleanup(func() { _ = tools.Close() })
	for i, c := range w.clients {
		client := mcp.NewClient(&mcp.Implementation{Name: c.name, Version: "1"}, mount.Options(tools, nil))
		mount.Client(client, tools, func(*mcp.ClientSession) (string, middleware.Middleware) { return b.name, std.Then })
		stream, err := b.open()
		if err != nil {
			t.Fatal(err)
		}
		wire := stream.(*link) // open returns nothing else
		if c.sdk, err = client.Connect(w.ctx, mount.Transport(&mcp.IOTransport{Reader: wire, Writer: wire}), nil); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := tools.Add(w.ctx, b.name, c.sdk); err != nil {
				t.Fatal(err)
			}
		}
		close(c.ready)
	}
}

// buildServer puts one chain before the handlers of a server of the SDK.
func (w *edges) buildServer(t *testing.T) {
	b, std := w.servers[0], w.standard()
	server := mcp.NewServer(&mcp.Implementation{Name: b.name, Version: "1"}, nil)
	scope := func(req *mcp.CallToolRequest) string { return req.Session.InitializeParams().ClientInfo.Name }
	for _, t := range toolSpecs {
		def := t.definition(b.name, 1)
		tool := testtool.Of(b.name, def, t.honest.Annotations())
		server.AddTool(def, serve.ToolHandler(tool, std.Then, scope, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			l := &link{client: scope(req)}
			d := &delivery{server: b.name, client: l.client, tool: req.Params.Name, arguments: compact(req.Params.Arguments)}
			w.mu.Lock()
			w.receive(b, l, d)
			w.mu.Unlock()
			w.executes(b, l, d, true)
			_, latency, _ := w.drawEdgeFault(b, d)
			time.Sleep(latency)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strconv.Itoa(d.n)}}}, nil
		}))
	}
	w.attach = func(c *peer) {
		c.wire = newWire(c.take)
		if _, err := server.Connect(w.ctx, &mcp.IOTransport{Reader: c.wire, Writer: c.wire}, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// A wire is a stream between code that reads and writes bytes, and a scenario of lines.
type wire struct {
	take  func(line []byte) // gets each line that was written
	lines chan []byte       // to be read
	ctx   context.Context   // ends with it
	stop  context.CancelFunc
	came  []byte // the beginning of a line that was written
	rest  []byte // the end of a line that was read
}

func newWire(take func([]byte)) *wire {
	w := &wire{take: take, lines: make(chan []byte, 1024)}
	w.ctx, w.stop = context.WithCancel(context.Background())
	return w
}

func (w *wire) Write(p []byte) (int, error) {
	if w.ended() {
		return 0, io.ErrClosedPipe
	}
	w.came = append(w.came, p...)
	for {
		line, rest, found := bytes.Cut(w.came, []byte("\n"))
		if !found {
			return len(p), nil
		}
		w.take(bytes.Clone(line))
		w.came = rest
	}
}

func (w *wire) Read(p []byte) (int, error) {
	if len(w.rest) == 0 {
		select {
		case w.rest = <-w.lines:
		default:
			select {
			case w.rest = <-w.lines:
			case <-w.ctx.Done():
				return 0, io.EOF
			}
		}
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

// give lets the other side read a text, unless the wire has ended.
func (w *wire) give(text []byte) {
	select {
	case w.lines <- text:
	case <-w.ctx.Done():
	}
}

func (w *wire) Close() error {
	w.stop()
	return nil
}

func (w *wire) ended() bool { return w.ctx.Err() != nil }

// A reader is how a program finds a member of an object.
type reader struct {
	name  string
	first bool // of several, the first
	same  func(written, wanted string) bool
}

// readers are the ways of reading in use. If two of them read a call differently, not every server
// executes what the person was shown.
var readers = []reader{
	{"exact names, the last", false, func(a, b string) bool { return a == b }},
	{"exact names, the first", true, func(a, b string) bool { return a == b }},
	{"names in any case, as Go folds them, the last", false, strings.EqualFold},
	{"names in any case of ASCII, the first", true, func(a, b string) bool { return len(a) == len(b) && strings.EqualFold(a, b) }},
}

type member struct {
	name  string
	value json.RawMessage
}

func members(object []byte) (all []member) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		var value json.RawMessage
		if err != nil || !ok || d.Decode(&value) != nil {
			return nil
		}
		all = append(all, member{name, value})
	}
	return all
}

// find returns the value that the reader takes for a member, nil if the object lacks it.
func (r reader) find(all []member, name string) (found json.RawMessage) {
	for _, m := range all {
		if r.same(m.name, name) {
			if found = m.value; r.first {
				return found
			}
		}
	}
	return found
}

// member returns the member of an object, nil if it has none.
func (r reader) member(object []byte, name string) json.RawMessage {
	return r.find(members(object), name)
}

// A reading is a message as a server reads it.
type reading struct{ method, id, tool, arguments string }

func (r reader) read(message []byte) reading {
	all := members(message)
	params := members(r.find(all, "params"))
	id := compact(r.find(all, "id"))
	if id == "null" {
		id = ""
	}
	return reading{text(r.find(all, "method")), id, text(r.find(params, "name")), compact(r.find(params, "arguments"))}
}

// repeated returns the name of a member that occurs twice in an object, at any depth and in any
// case, "" for none.
func repeated(value json.RawMessage) string {
	var list []json.RawMessage
	_ = json.Unmarshal(value, &list) // it is empty unless the value is a list
	all := members(value)
	for i, m := range all {
		if slices.ContainsFunc(all[:i], func(before member) bool { return strings.EqualFold(before.name, m.name) }) {
			return m.name
		}
		list = append(list, m.value)
	}
	for _, value := range list {
		if name := repeated(value); name != "" {
			return name
		}
	}
	return ""
}

func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s) // s stays empty for any other value
	return s
}

// compact returns JSON without the spaces that mean nothing.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}
