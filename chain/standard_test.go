package chain_test

import (
	"errors"
	"testing"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/internal/turn"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/route"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An auditing trail does nothing but describe its two middlewares.
type auditing struct{}

func (auditing) Record(next middleware.ToolCaller) middleware.ToolCaller { return told{"record", next} }
func (auditing) Intent(next middleware.ToolCaller) middleware.ToolCaller { return told{"intent", next} }

// A middleware without Unwrap hides the gate behind it, from a batch too; the chain then reports
// the gate from its outside.
func TestHiddenGateIsReported(t *testing.T) {
	t.Parallel()
	executor := telling("executor")(nil)
	hiding := func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(next.CallTool)
	}
	for name, s := range map[string]chain.Standard{
		"all links tell": {}, "one outside hides": {Outermost: []middleware.Middleware{hiding}}, "one inside hides": {Budget: hiding},
	} {
		if !turn.Gated(s.Then(executor)) {
			t.Errorf("%s: the gate of the chain is hidden", name)
		}
	}
}

// Replicas are behind a guard of the whole catalog. A call of a tool that a view hides does not
// arrive, even if an inner middleware swaps the tool.
func TestViewHoldsBeforeReplicas(t *testing.T) {
	t.Parallel()
	tools := catalog.New(catalog.Options{Permission: func(tool *middleware.Tool) string { return tool.Server + ".use" }})
	hidden := &server{tools: []*mcp.Tool{{Name: "get_file", InputSchema: map[string]any{"type": "object"}}}}
	open := &server{tools: hidden.tools}
	for id, s := range map[string]*server{"hidden": hidden, "open": open} {
		if err := tools.Add(t.Context(), id, s); err != nil {
			t.Fatal(err)
		}
	}
	replica, err := tools.Replica(t.Context(), "hidden", "a", hidden)
	if err != nil {
		t.Fatal(err)
	}
	view, err := tools.View(catalog.Scope{Permission: "open.use"})
	if err != nil {
		t.Fatal(err)
	}
	other, _ := tools.Lookup("hidden", "get_file")
	c := chain.Standard{
		PerCall: []middleware.Middleware{changing(func(c *middleware.Call) { c.Tool = other })},
		Route:   route.New(route.Options{}, route.NewPool("hidden", route.RoundRobin, route.Replica{ID: "a", Caller: replica})),
	}.Then(view)
	tool, _ := tools.Lookup("open", "get_file")
	if _, err := c.CallTool(t.Context(), middleware.Call{Tool: tool}); !errors.Is(err, catalog.ErrUnknownTool) {
		t.Errorf("got %v, want a refusal", err)
	}
	if len(hidden.ran) > 0 {
		t.Errorf("it was executed with %q", hidden.ran)
	}
}
