package catalog_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestRefusedCallsAreNotAskedAbout(t *testing.T) {
	c, ledgers := shop(t, catalog.Options{Permission: byServerAndClass})
	asked := 0
	std := chain.Standard{Preflight: func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			return next.CallTool(ctx, call)
		})
	}, Confirm: hitl.New(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		asked++
		return hitl.Decision{Verdict: hitl.Approved}, nil
	}), hitl.Options{})}
	hidden := lookup(t, c, "customers", "delete_one")
	stale := *hidden
	stale.Digest[0]++
	for _, tt := range []struct {
		caller middleware.ToolCaller
		tool   *middleware.Tool
		asked  int
	}{
		{std.Then(view(t, c, "orders.*")), hidden, 0},
		{std.Then(c), &stale, 0},
		{std.Then(view(t, c, "customers.*")), hidden, 1},
	} {
		asked = 0
		if _, err := tt.caller.CallTool(mcptest.Context(t), middleware.Call{Tool: tt.tool}); (err == nil) != (tt.asked > 0) || asked != tt.asked {
			t.Errorf("got %v, %d questions to a person, want %d", err, asked, tt.asked)
		}
	}
	ledgers["customers"].want(t, 1)
}

// What is asked about is the accepted tool, and not a copy of it that is less strict.
func TestCopyThatIsLessStrictIsAskedAbout(t *testing.T) {
	c, ledgers := shop(t, catalog.Options{})
	kinder := *lookup(t, c, "customers", "delete_one")
	kinder.Annotations = annotation.ReadOnly()
	var asked []annotation.Safety
	std := chain.Standard{Confirm: hitl.New(hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
		asked = append(asked, r.Tool.Safety())
		return hitl.Decision{Verdict: hitl.Approved}, nil
	}), hitl.Options{})}
	if _, err := std.Then(c).CallTool(mcptest.Context(t), middleware.Call{Tool: &kinder}); err != nil {
		t.Error(err)
	}
	if len(asked) != 1 || asked[0] != annotation.Dangerous {
		t.Errorf("asked about %v, want one dangerous call", asked)
	}
	ledgers["customers"].want(t, 1)
}

func TestAdmitKeepsTheContract(t *testing.T) {
	tools := make([]*mcp.Tool, 0, 5)
	for _, name := range []string{"xyzzy_one", "xyzzy_two", "xyzzy_three", "xyzzy_four", "xyzzy_five"} { // those of the kit
		tools = append(tools, &mcp.Tool{
			Name: name, InputSchema: map[string]any{"type": "object"},
			Meta: mcp.Meta{"kit": map[string]any{"of": "middlewaretest"}},
		})
	}
	c := catalog.New(catalog.Options{})
	add(t, c, "kit", listing(tools...))
	var passed atomic.Bool
	middlewaretest.Run(t, func(next middleware.ToolCaller) middleware.ToolCaller {
		return view(t, c, "*.all").Admit(middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			passed.Store(true)
			return next.CallTool(ctx, call)
		}))
	})
	if !passed.Load() {
		t.Error("nothing was let through: the definitions differ from the kit's")
	}
	middlewaretest.Run(t, c.Admit)
	middlewaretest.Run(t, view(t, c).Admit)
}

func TestAllocsOfAdmit(t *testing.T) {
	c := catalog.New(catalog.Options{Permission: func(*middleware.Tool) string { return "srv.read" }})
	add(t, c, "srv", listing(mcptest.Tool("list_a", "")))
	call := middleware.Call{Tool: lookup(t, c, "srv", "list_a")}
	next := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return nil, nil })
	want := map[string]float64{"view": 1} // which goes on with the call, past a route
	for name, admit := range map[string]middleware.Middleware{"catalog": c.Admit, "view": view(t, c, "*.read").Admit} {
		caller := admit(next)
		if n := testing.AllocsPerRun(100, func() { _, _ = caller.CallTool(t.Context(), call) }); n > want[name] {
			t.Errorf("%s: %v allocations a call", name, n)
		}
	}
}

// If the server of a read declares that it writes, but only adds, it is a write that only adds. If
// the host itself declares that it writes, the other half does not count.
func TestAdmissionDoesNotLowerTheHostsHint(t *testing.T) {
	writes := annotation.Annotations{ReadOnly: annotation.No}
	for _, c := range []struct {
		name, tool, annotations string
		say                     func(c *catalog.Catalog) error
		want                    annotation.Safety
	}{
		{"nobody else speaks", "list_users", `{"readOnlyHint":false,"destructiveHint":false}`, func(*catalog.Catalog) error { return nil }, annotation.Moderate},
		{"the host's word", "list_users", `{"readOnlyHint":false,"destructiveHint":false}`, func(c *catalog.Catalog) error { return c.Override("srv", "list_users", writes) }, annotation.Dangerous},
		{"the host's pattern", "list_users", `{"readOnlyHint":false,"destructiveHint":false}`, func(c *catalog.Catalog) error {
			_, err := c.OverrideMatching("srv/*", writes)
			return err
		}, annotation.Dangerous},
		{"the host's pattern over an admission", "frobnicate", `{"destructiveHint":true}`, func(c *catalog.Catalog) error {
			_, err := c.OverrideMatching("srv/frob*", annotation.Write())
			return err
		}, annotation.Moderate},
		{"the host's word on something else", "list_users", `{"destructiveHint":true}`, func(c *catalog.Catalog) error {
			return c.Override("srv", "list_users", annotation.Annotations{Idempotent: annotation.Yes})
		}, annotation.Dangerous},
	} {
		t.Run(c.name, func(t *testing.T) {
			tools := raw(t, declared(c.tool, c.annotations))
			if err := c.say(tools); err != nil {
				t.Fatal(err)
			}
			if got := lookup(t, tools, "srv", c.tool); got.Safety() != c.want {
				t.Errorf("got %s, want %s", got.Explain(), c.want)
			}
		})
	}
}
