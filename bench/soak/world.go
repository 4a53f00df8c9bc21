package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
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
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Of each thing there are some, and three tools: one that reads it, one that adds to
// it, one that deletes it. 1,002 tools, and 10,020 arguments that differ.
const (
	things = 334
	ids    = 10
	scopes = 8
)

const server = "crm"

// A world is the chain with the server behind it, and what is known of both.
type world struct {
	caller middleware.ToolCaller
	tools  [3][things]*middleware.Tool
	server *store
	law    law
	close  func() error

	// pause is held for writing while a sample is taken, and for reading during a call.
	pause sync.RWMutex

	calls, stopped, failed, denied atomic.Int64
}

func newWorld() (*world, error) {
	w := &world{server: new(store)}
	w.server.law = &w.law
	c := catalog.New(catalog.Options{})
	w.close = c.Close
	var definitions []*mcp.Tool
	for i := range things {
		for _, verb := range verbs {
			definitions = append(definitions, &mcp.Tool{Name: fmt.Sprintf("%s_thing_%d", verb, i), InputSchema: map[string]any{"type": "object"}})
		}
	}
	if err := c.AddTools(server, w.server, definitions...); err != nil {
		return nil, err
	}
	entities := map[string][]string{}
	for verb, class := range []annotation.Safety{annotation.Safe, annotation.Moderate, annotation.Dangerous} {
		for i := range things {
			tool, ok := c.Lookup(server, fmt.Sprintf("%s_thing_%d", verbs[verb], i))
			if !ok || tool.Safety() != class {
				return nil, fmt.Errorf("%s is %v, want %v", tool, tool.Safety(), class)
			}
			w.tools[verb][i] = tool
			entities[tool.String()] = []string{"id"}
		}
	}
	trail := audit.New(audit.SinkFunc(func(context.Context, audit.Record) error { return nil }), audit.Options{})
	w.caller = chain.Standard{
		Audit:     trail,
		Budget:    budget.New(budget.Options{Session: budget.Limit{Calls: 1 << 40}}),
		Confirm:   hitl.New(hitl.ConfirmerFunc(agree), hitl.Options{}),
		Cache:     cache.New(cache.Options{Entries: 2000, Entities: entities}),
		Retry:     retry.New(retry.Options{First: time.Millisecond}),
		RateLimit: ratelimit.New(ratelimit.Options{PerMinute: 1e9}),
		Timeout:   timeout.New(timeout.Options{}),
	}.Then(c)
	return w, nil
}

// agree is a person who says yes to what has an even id.
func agree(_ context.Context, r hitl.Request) (hitl.Decision, error) {
	if _, id, err := asked(r.Tool, r.Arguments); err != nil || id%2 != 0 {
		return hitl.Decision{Reason: "an odd one"}, err
	}
	return hitl.Decision{Verdict: hitl.Approved, By: "the soak"}, nil
}

// agent makes calls until the context is done: four of five read.
func (w *world) agent(ctx context.Context, n int) {
	random := rand.New(rand.NewPCG(uint64(n), 1))
	for i := 1; ctx.Err() == nil; i++ {
		thing, id := int(float64(things)*random.Float64()*random.Float64()), random.IntN(ids)
		verb := read
		switch dice := random.IntN(100); {
		case dice < 3:
			verb = wipe
		case dice < 20:
			verb = add
		}
		call := middleware.Call{
			ID: fmt.Sprintf("%d/%d", n, i), Scope: fmt.Sprint("user", n%scopes),
			Tool: w.tools[verb][thing], Arguments: fmt.Appendf(nil, `{"id":%d}`, thing*ids+id),
		}
		w.call(ctx, verb, thing, id, call, time.Duration(random.IntN(50))*100*time.Microsecond)
	}
}

// call makes one call and holds its end against the law. Some have little time.
func (w *world) call(ctx context.Context, verb, thing, id int, call middleware.Call, within time.Duration) {
	w.pause.RLock()
	defer w.pause.RUnlock()
	if within > 0 && within < time.Millisecond {
		hurried, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		ctx = hurried
	}
	w.calls.Add(1)
	least := w.server.acknowledged[thing][id].Load()
	res, err := w.caller.CallTool(ctx, call)
	var ended *budget.StoppedError
	switch {
	case ctx.Err() != nil:
	case errors.As(err, &ended):
		w.stopped.Add(1)
	case errors.Is(err, hitl.ErrDenied):
		if w.denied.Add(1); id%2 == 0 {
			w.law.brokef("a yes to %s was taken for a no", call.Arguments)
		}
	case err != nil:
		w.failed.Add(1)
	default:
		w.answered(verb, thing, id, least, res)
	}
}

// answered holds an answer against what the server has acknowledged before the call
// was made.
func (w *world) answered(verb, thing, id int, least int64, res *mcp.CallToolResult) {
	var got answer
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok || json.Unmarshal([]byte(text.Text), &got) != nil {
		w.law.brokef("an answer that nobody gave: %v", res.Content[0])
		return
	}
	switch {
	case got.Verb != verb || got.Thing != thing || got.ID != id:
		w.law.brokef("asked for %d %d %d and got %+v", verb, thing, id, got)
	case got.Version < least:
		w.law.brokef("version %d of %d/%d is known, and %d was answered", least, thing, id, got.Version)
	}
	if verb != read {
		raise(&w.server.acknowledged[thing][id], got.Version)
	}
	text.Text = strings.Repeat("x", len(text.Text)) // it is the caller's own
}

func raise(to *atomic.Int64, n int64) {
	for have := to.Load(); have < n && !to.CompareAndSwap(have, n); have = to.Load() {
	}
}

func (w *world) String() string {
	return fmt.Sprintf("%d calls, of which %d reached the server, %d failed, %d were denied, %d stopped as loops",
		w.calls.Load(), w.server.calls.Load(), w.failed.Load(), w.denied.Load(), w.stopped.Load())
}
