package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/fairlead-go/fairlead/verify/world"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Each server has three tools, which read, add and delete items: 1,002 tools, 10,020 arguments.
const (
	servers = 334
	ids     = 10
	scopes  = 8
)

var kinds = map[string]world.Kind{"get": world.Read, "put": world.Add, "delete": world.Delete}

// A soak is the chain with the servers behind it, and the state of both.
type soak struct {
	caller middleware.ToolCaller
	tools  [servers]world.Items
	server world.Server // which is behind all of them
	ledger world.Ledger
	broken world.Breaches
	close  func() error

	// pause is held for writing while calls are judged, and for reading during a call.
	pause sync.RWMutex

	mu     sync.Mutex
	events []world.Event          // since calls were last judged
	newest map[string]world.Event // of the writes before, by item

	calls, reached, stopped, failed, denied atomic.Int64
}

func newSoak() (*soak, error) {
	w := &soak{newest: make(map[string]world.Event)}
	w.server.Ledger = &w.ledger
	c := catalog.New(catalog.Options{})
	w.close = c.Close
	entities := make(map[string][]string)
	for i := range w.tools {
		var definitions []*mcp.Tool
		for name := range kinds {
			definitions = append(definitions, &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}})
		}
		if err := c.AddTools(fmt.Sprintf("server-%d", i), middleware.ToolCallerFunc(w.execute), definitions...); err != nil {
			return nil, err
		}
		w.tools[i] = make(world.Items)
	}
	for name, kind := range kinds {
		if _, err := c.OverrideMatching("*/"+name, kind.Annotations()); err != nil {
			return nil, err
		}
		for i, tools := range w.tools {
			tool, ok := c.Lookup(fmt.Sprintf("server-%d", i), name)
			if !ok || !kind.Agrees(tool.Annotations) {
				return nil, fmt.Errorf("%s is %v, and it %v", tool, tool.Safety(), kind)
			}
			tools[name], entities[tool.String()] = tool, []string{"id"}
		}
	}
	trail := audit.New(audit.SinkFunc(func(context.Context, audit.Record) error { return nil }), audit.Options{})
	w.caller = chain.Standard{
		Audit:     trail,
		Budget:    budget.New(budget.Options{Session: budget.Limit{Calls: 1 << 40}}),
		Confirm:   hitl.New(hitl.ConfirmerFunc(world.Decide), hitl.Options{}),
		Cache:     cache.New(cache.Options{Entries: 2000, Entities: entities}),
		Retry:     retry.New(retry.Options{First: time.Millisecond}),
		RateLimit: ratelimit.New(ratelimit.Options{PerMinute: 1e9}),
		Timeout:   timeout.New(timeout.Options{}),
	}.Then(c)
	return w, nil
}

// execute is the servers. It fails now and then: before it has done anything, or after.
func (w *soak) execute(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	n := w.reached.Add(1)
	r, err := world.RequestOf(call)
	switch {
	case err != nil:
		return nil, err
	case n%97 == 0:
		return nil, &world.Fault{Status: 429}
	case n%1009 == 0: // a slow one
		if err := world.Wait(ctx, 5*time.Millisecond); err != nil {
			return nil, err
		}
	}
	version := w.server.Execute(r.Call, r.Kind, nil, r.Things()...)
	if n%193 == 0 {
		return nil, &world.Fault{}
	}
	return world.Result(version), nil
}

// agent makes calls until ctx is done: four of five read, one of five has little time, and every
// other deletion is denied.
func (w *soak) agent(ctx context.Context, n int) {
	random := rand.New(rand.NewPCG(uint64(n), 1))
	for i := 1; ctx.Err() == nil; i++ {
		id, name, within := fmt.Sprintf("%d/%d", n, i), "get", time.Minute
		switch dice := random.IntN(100); {
		case dice < 3:
			name = "delete"
		case dice < 20:
			name = "put"
		}
		if name == "delete" && random.IntN(2) == 0 {
			id += world.Deny
		}
		if random.IntN(5) == 0 {
			within = time.Duration(1+random.IntN(9)) * 100 * time.Microsecond
		}
		server := int(float64(servers) * random.Float64() * random.Float64())
		w.call(ctx, fmt.Sprint("user", n%scopes), id, name, server, random.IntN(ids), within)
	}
}

func (w *soak) call(ctx context.Context, scope, id, name string, server, item int, within time.Duration) {
	w.pause.RLock()
	defer w.pause.RUnlock()
	caller := middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		call.Scope = scope
		return w.caller.CallTool(ctx, call)
	})
	w.calls.Add(1)
	e := w.tools[server].Call(ctx, caller, id, name, fmt.Sprint(server, "/", item), "", within)
	switch {
	case e.Denied:
		if w.denied.Add(1); !strings.HasSuffix(id, world.Deny) {
			w.broken.Addf("I13: the approval of %s was taken for a denial", id)
		}
	case strings.HasPrefix(e.Err, "budget: "):
		w.stopped.Add(1)
	case e.Err != "" && ctx.Err() == nil:
		w.failed.Add(1)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

// judge checks the calls since the last time against the laws. No call is in flight meanwhile.
func (w *soak) judge() {
	world.Reads(append(slices.Collect(maps.Values(w.newest)), w.events...), &w.broken)
	world.Writes(w.events, w.ledger.Take(), &w.broken)
	for _, e := range w.events {
		if e.Kind != world.Read && e.Version > w.newest[e.Item].Version {
			w.newest[e.Item] = e
		}
	}
	w.events = w.events[:0]
}

func (w *soak) String() string {
	return fmt.Sprintf("%d calls: %d reached the server, %d failed, %d were denied, %d stopped as loops",
		w.calls.Load(), w.reached.Load(), w.failed.Load(), w.denied.Load(), w.stopped.Load())
}
