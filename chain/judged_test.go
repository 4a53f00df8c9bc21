package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/fairlead-go/fairlead/route"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// burning is a server with tools that panic.
type burning struct{ server }

func (*burning) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	panic("boom")
}

// A tool that reads and a call of it that deletes: after a panic it is unknown whether it has
// happened.
func TestPanicOfAJudgedCallHasAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	tools := catalog.New(catalog.Options{})
	tools.Trust("files")
	reads := &mcp.Tool{Name: "get_file", InputSchema: map[string]any{"type": "object"}, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
	if err := tools.Add(t.Context(), "files", &burning{server{tools: []*mcp.Tool{reads}}}); err != nil {
		t.Fatal(err)
	}
	tool, _ := tools.Lookup("files", "get_file")
	judge := preflight.New(preflight.Options{Rules: preflight.Rules{"files/get_file": preflight.When("then", "delete").Dangerous()}})
	c := chain.Standard{
		Preflight: judge,
		Confirm:   hitl.New(approves, hitl.Options{}),
	}.Then(tools)
	for arguments, want := range map[string]bool{`{"then":"delete"}`: true, `{}`: false} {
		_, err := c.CallTool(t.Context(), middleware.Call{Tool: tool, Arguments: json.RawMessage(arguments)})
		if _, unknown := errors.AsType[*middleware.OutcomeUnknownError](err); unknown != want {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}

// Replicas are behind a guard of the whole catalogue. A call of a tool that a view hides does not
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
