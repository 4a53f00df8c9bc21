package chain_test

import (
	"context"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The guard costs nothing for a Safe call and at most two allocations for one that
// a person has agreed to, more than the same call costs without it.
func TestGuardCosts(t *testing.T) {
	if raced {
		t.Skip("the race detector allocates")
	}
	bare := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return answer, nil })
	accepting := func(_ context.Context, call middleware.Call) (*middleware.Tool, error) { return call.Tool, nil }
	granted := func(next middleware.ToolCaller) middleware.ToolCaller { // as hitl does, without the person
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			ctx, yes := callstate.WithGrant(ctx, &call, annotation.Dangerous, time.Hour, nil)
			defer yes.Void()
			return next.CallTool(ctx, call)
		})
	}
	plain := func(next middleware.ToolCaller) middleware.ToolCaller { return next }
	for _, tt := range []struct {
		name    string
		outside middleware.Middleware
		guard   middleware.Middleware
		tool    *middleware.Tool
		most    float64
	}{
		{"a safe call", plain, func(next middleware.ToolCaller) middleware.ToolCaller { return guard.New(next, accepting) }, tool(t, "look", annotation.ReadOnly()), 0},
		{"a moderate call", plain, func(next middleware.ToolCaller) middleware.ToolCaller { return guard.New(next, accepting) }, tool(t, "add", annotation.Write()), 0},
		{"a safe call that infer has classed", infer.New(infer.Options{}), chain.Guard, definition(t, "list_files"), 0},
		{"a granted call", granted, func(next middleware.ToolCaller) middleware.ToolCaller { return guard.New(next, accepting) }, tool(t, "destroy", annotation.Destructive()), 2},
	} {
		allocations := func(executor middleware.ToolCaller) float64 {
			caller, ctx := tt.outside(executor), context.Background()
			call := middleware.Call{Tool: tt.tool, Arguments: arguments200}
			return testing.AllocsPerRun(200, func() {
				if _, err := caller.CallTool(ctx, call); err != nil {
					t.Fatal(tt.name, err)
				}
			})
		}
		without, with := allocations(bare), allocations(tt.guard(bare))
		t.Logf("%s: %v allocations without the guard, %v with it", tt.name, without, with)
		if with-without > tt.most {
			t.Errorf("%s: the guard allocates %v times, want at most %v", tt.name, with-without, tt.most)
		}
	}
}
