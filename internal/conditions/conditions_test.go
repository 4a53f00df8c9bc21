package conditions_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/conditions"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	safe      = annotation.Safe
	dangerous = annotation.Dangerous
)

func tool(t *testing.T, all ...annotation.Condition) *middleware.Tool {
	t.Helper()
	tool, err := middleware.NewTool("shop", &mcp.Tool{Name: "orders"}, annotation.Annotations{
		ReadOnly: annotation.No, Destructive: annotation.Yes, Conditions: all,
	}.Attribute(annotation.Inferred, ""))
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

var action = annotation.Condition{
	Argument: "/action", Absent: dangerous, Other: dangerous, Values: []annotation.Outcome{{Value: "list", Class: safe}, {Value: "delete", Class: dangerous}},
}

// executed sends a call through the middleware, lets somebody between change it, and reports whether the guard with the
// accepted tool executes it.
func executed(t *testing.T, call middleware.Call, accepted *middleware.Tool, change func(*middleware.Call)) bool {
	t.Helper()
	ran := false
	g := guard.New(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		ran = true
		return &mcp.CallToolResult{}, nil
	}), func(context.Context, middleware.Call) (*middleware.Tool, error) { return accepted, nil })
	_, err := conditions.New(middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		change(&call)
		return g.CallTool(ctx, call)
	})).CallTool(callstate.Begin(t.Context()), call)
	if ran == errors.Is(err, guard.ErrRefused) {
		t.Errorf("ran %v, error %v", ran, err)
	}
	return ran
}

// What was found about a call holds for its exact bytes, and for the conditions that the accepted tool has.
func TestGuardLowersExactlyTheJudgedCall(t *testing.T) {
	t.Parallel()
	on := tool(t, action)
	list := func() middleware.Call {
		return middleware.Call{Tool: on, Arguments: json.RawMessage(`{"action":"list"}`)}
	}
	set := func(arguments string) func(*middleware.Call) {
		return func(c *middleware.Call) { c.Arguments = json.RawMessage(arguments) }
	}
	stricter := action
	stricter.Values = []annotation.Outcome{{Value: "list", Class: dangerous}}
	raised := *on
	raised.Annotations = annotation.Raise(on.Annotations, annotation.Annotations{RequiresConfirmation: annotation.Yes}.Attribute(annotation.Host, ""))
	for _, tt := range []struct {
		name     string
		accepted *middleware.Tool
		change   func(*middleware.Call)
		runs     bool
	}{
		{"as it was judged", on, func(*middleware.Call) {}, true},
		{"its static tool", on, func(c *middleware.Call) { c.Tool = on }, true},
		{"other arguments", on, set(`{"action":"delete"}`), false},
		{"the same in other bytes", on, set(`{"action": "list"}`), false},
		{"twice", on, set(`{"action":"list","action":"delete"}`), false},
		{"in place", on, func(c *middleware.Call) { copy(c.Arguments, `{"action":"kill"}`) }, false},
		{"another scope", on, func(c *middleware.Call) { c.Scope = "else" }, false},
		{"accepted with other conditions", tool(t, stricter), func(*middleware.Call) {}, false},
		{"accepted without conditions", tool(t), func(*middleware.Call) {}, false},
		{"accepted as raised by somebody", &raised, func(*middleware.Call) {}, false},
	} {
		if got := executed(t, list(), tt.accepted, tt.change); got != tt.runs {
			t.Errorf("%s: executed %v, want %v", tt.name, got, tt.runs)
		}
	}
	// A copy of the tool with milder conditions gains nothing.
	milder := action
	milder.Values = []annotation.Outcome{{Value: "delete", Class: safe}}
	if executed(t, middleware.Call{Tool: tool(t, milder), Arguments: json.RawMessage(`{"action":"delete"}`)}, on, func(*middleware.Call) {}) {
		t.Error("the caller's own conditions counted")
	}
}

func TestGuardWithoutTheTokenHasTheWorstCase(t *testing.T) {
	t.Parallel()
	on := tool(t, action)
	g := guard.New(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		t.Error("it was executed")
		return &mcp.CallToolResult{}, nil
	}), func(context.Context, middleware.Call) (*middleware.Tool, error) { return on, nil })
	if _, err := g.CallTool(t.Context(), middleware.Call{Tool: on, Arguments: json.RawMessage(`{"action":"list"}`)}); !errors.Is(err, guard.ErrRefused) {
		t.Error(err)
	}
}
