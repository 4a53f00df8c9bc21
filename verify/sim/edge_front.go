package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/catalog/mount/serve"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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
		if b.http {
			b.turns = w.drawTurning(i)
		}
		if w.settings.front < overClient {
			b.meddles = w.drawMeddling(i)
		}
		b.paged = w.dice(forEdges, 16, uint64(i)).IntN(3) == 0
		w.servers = append(w.servers, b)
		w.say(b.name, "is a server", fmt.Sprintf("that takes %s; lax:%t http:%t leads:%t", b.reader.name, b.lax, b.http, b.leads && b.http))
	}
	for i := range 2 {
		w.clients = append(w.clients, &peer{w: w, name: "client " + strconv.Itoa(i), ready: make(chan struct{}), shown: make(map[string]int), forms: i == 0 || r.IntN(2) == 0})
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
			s = proxy.Server{Name: b.name, URL: "http://" + b.name + "/mcp", RoundTripper: b.transport()}
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
