package chain_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/retry/doubt"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A chain that observes sends every call once and unchanged, and its record has what would have been done.
func TestObserve(t *testing.T) {
	t.Parallel()
	std := chain.Standard{
		Confirm: hitl.New(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			t.Error("somebody was asked")
			return hitl.Decision{}, nil
		}), hitl.Options{Writes: true}),
		Budget: budget.New(budget.Options{Session: budget.Limit{Calls: 1}}), Doubt: doubt.New(doubt.Options{}), Cache: cache.New(cache.Options{}),
		Retry: retry.New(retry.Options{}), RateLimit: ratelimit.New(ratelimit.Options{PerMinute: 1, Burst: 1, MaxWait: 1}),
	}
	will := std.Describe().Plan
	for _, tt := range []struct {
		name        string
		annotations annotation.Annotations
		err         error
		would       string
	}{
		{"a read", annotation.ReadOnly(), nil, "would: " + will(tool(t, "a", annotation.ReadOnly()))},
		{"a read that fails", annotation.ReadOnly(), errors.New("gone"), "would: run"},
		{"a write", annotation.Write(), nil, "would: ask first"},
		{"a deletion", annotation.Destructive(), nil, "would: ask first"},
		{"a deletion that fails", annotation.Destructive(), errors.New("gone"), "would: ask first"},
		{"an unknown one", annotation.Annotations{}, nil, "would: ask first"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var sent []string
			said := make(map[string]int)
			observed := std
			observed.Observe = will
			observed.Outermost = []middleware.Middleware{func(next middleware.ToolCaller) middleware.ToolCaller {
				return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
					res, err := next.CallTool(ctx, call)
					record, _ := chain.RecordOf(ctx)
					for _, d := range record.Decisions {
						said[d.Stage]++
						if d.Stage == "observe" && !strings.HasPrefix(d.Why, tt.would) {
							t.Errorf("the record has %q, want %q", d.Why, tt.would)
						}
					}
					return res, err
				})
			}}
			caller := observed.Then(middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
				sent = append(sent, string(call.Arguments))
				if tt.err != nil {
					return nil, tt.err
				}
				return mcptest.Text("done"), nil
			}))
			for range 3 {
				if _, err := caller.CallTool(t.Context(), middleware.Call{Tool: tool(t, "a", tt.annotations), Arguments: []byte(`{"a": 1}`)}); (err != nil) != (tt.err != nil) {
					t.Errorf("got %v", err)
				}
			}
			if len(sent) != 3 || strings.Count(strings.Join(sent, ""), `{"a": 1}`) != 3 || said["observe"] != 3 || len(said) != 1 {
				t.Errorf("three calls: sent %q, decisions %v", sent, said)
			}
		})
	}
}
