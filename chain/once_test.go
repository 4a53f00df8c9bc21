package chain_test

import (
	"context"
	"encoding/json"
	"maps"
	"runtime"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/route"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// counting is a server of one dangerous tool, and an executor that notes the frames
// between the caller and itself.
type counting struct {
	tools  *catalog.Catalog
	frames []string
	record chain.Record
}

func (c *counting) CallTool(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
	pcs := make([]uintptr, 200)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, ".CallTool") || strings.Contains(frame.Function, "passing") {
			c.frames = append(c.frames, frame.Function)
		}
		if !more || strings.Contains(frame.Function, "TestEachFactIsComputedOnce") {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "deleted"}}}, nil
		}
	}
}

// passing is a middleware of the host's own.
func passing(next middleware.ToolCaller) middleware.ToolCaller { return passingCaller{next} }

type passingCaller struct{ next middleware.ToolCaller }

func (p passingCaller) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return p.next.CallTool(ctx, call)
}

// full is a chain with every slot filled in front of a catalog.
func (c *counting) full(t *testing.T) middleware.ToolCaller {
	t.Helper()
	own := []middleware.Middleware{passing}
	c.tools = catalog.New(catalog.Options{})
	t.Cleanup(func() { _ = c.tools.Close() })
	definition := annotation.Declare(&mcp.Tool{Name: "delete_file", InputSchema: map[string]any{"type": "object"}}, annotation.Destructive())
	if err := c.tools.AddTools("files", c, definition); err != nil {
		t.Fatal(err)
	}
	approve := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		return hitl.Decision{Verdict: hitl.Approved, By: "ann"}, nil
	})
	sees := func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			res, err := next.CallTool(ctx, call)
			c.record, _ = chain.RecordOf(ctx)
			return res, err
		})
	}
	return chain.Standard{
		Outermost: []middleware.Middleware{sees}, Output: output.New(output.Options{}), Telemetry: passing,
		Audit:     audit.New(audit.SinkFunc(func(context.Context, audit.Record) error { return nil }), audit.Options{}),
		Infer:     infer.New(infer.Options{}),
		Budget:    budget.New(budget.Options{Session: budget.Limit{Calls: 100}}),
		Preflight: judging(t, "files/delete_file"), Confirm: hitl.New(approve, hitl.Options{}), PerCall: own,
		Cache: cache.New(cache.Options{}), Retry: retry.New(retry.Options{}), RateLimit: ratelimit.New(ratelimit.Options{}), PerAttempt: own,
		Timeout: timeout.New(timeout.Options{}), Route: route.New(route.Options{}, route.NewPool("files", route.RoundRobin, route.Replica{ID: "a", Caller: c.tools, Weight: 100})),
	}.Then(c.tools)
}

// judging is a preflight with a rule that reads the arguments of a tool.
func judging(t *testing.T, tool string) middleware.Middleware {
	t.Helper()
	return preflight.New(preflight.Options{Rules: preflight.Rules{tool: preflight.When("dry_run", true).Safe()}})
}

// Without anything that reads the record of a call, budget and cache compute its canonical arguments once, too, unless
// something between them changes the arguments.
func TestFormIsComputedOnceWithoutARecord(t *testing.T) { // not parallel: it counts for all
	formed := 0
	callstate.Observe = func(what string) {
		if what == "form" {
			formed++
		}
	}
	defer func() { callstate.Observe = func(string) {} }()
	executor := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return answer, nil })
	change := func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			call.Arguments = json.RawMessage(`{"id":3}`)
			return next.CallTool(ctx, call)
		})
	}
	for name, c := range map[string]struct {
		between []middleware.Middleware
		want    int
	}{"nothing": {nil, 1}, "a change": {[]middleware.Middleware{change}, 2}} {
		formed = 0
		links := append(append([]middleware.Middleware{budget.New(budget.Options{})}, c.between...), cache.New(cache.Options{}))
		caller := chain.New(links...).Then(executor)
		call := middleware.Call{Tool: tool(t, "list_notes", annotation.ReadOnly()), Arguments: json.RawMessage(`{"id":1}`)}
		if _, err := caller.CallTool(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		if formed != c.want {
			t.Errorf("%s between them: computed %d times, want %d", name, formed, c.want)
		}
	}
}

// For a dangerous call that is approved and recorded, with every slot filled, the
// canonical arguments and the binding are computed once, the catalog is consulted at
// admission and at the guard, and the call crosses at most twenty callers up to the guard.
func TestEachFactIsComputedOnce(t *testing.T) { // not parallel: it counts for all
	counts := make(map[string]int)
	callstate.Observe = func(what string) { counts[what]++ }
	defer func() { callstate.Observe = func(string) {} }()
	c := new(counting)
	caller := c.full(t)
	tool, _ := c.tools.Lookup("files", "delete_file")
	clear(counts)
	call := middleware.Call{ID: "1", Scope: "ann", Tool: tool, Arguments: json.RawMessage(`{"path": "a.txt"}`)}
	if res, err := caller.CallTool(t.Context(), call); err != nil || res.IsError {
		t.Fatalf("got %v, %v", res, err)
	}
	if want := map[string]int{"form": 1, "binding": 1, "lookup": 2}; !maps.Equal(counts, want) {
		t.Errorf("computed %v, want %v", counts, want)
	}
	guarded := 0
	for i, frame := range c.frames {
		if strings.HasSuffix(frame, "catalog.(*caller).CallTool") {
			guarded = len(c.frames) - i
		}
	}
	t.Logf("%d callers up to the guard, %d in all", guarded, len(c.frames))
	if guarded == 0 || guarded > 20 {
		t.Errorf("%d callers up to the guard, want at most 20:\n%s", guarded, strings.Join(c.frames, "\n"))
	}
	r := c.record
	if r.Tool.Safety() != annotation.Dangerous || r.Cached || r.Approval.By != "ann" || r.Approval.ID == "" || r.Approval.Standing || r.Attempts != 1 || r.Replica != "a" || len(r.Decisions) == 0 {
		t.Errorf("the record is %+v", r)
	}
}
