package ratelimit_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var answer = new(mcp.CallToolResult)

var noop = middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return answer, nil })

func BenchmarkGoesAtOnce(b *testing.B) {
	many := 1e12
	for _, bb := range []struct {
		name string
		opts ratelimit.Options
		tool *middleware.Tool
	}{
		{"no limit", ratelimit.Options{}, rated("a")},
		{"server", ratelimit.Options{PerMinute: many}, rated("a")},
		{"tool and server", ratelimit.Options{PerMinute: many}, rated("a", many)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			c := ratelimit.New(bb.opts)(noop)
			call := middleware.Call{Scope: "tenant", Tool: bb.tool}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = c.CallTool(context.Background(), call)
			}
		})
	}
}

func BenchmarkManyScopes(b *testing.B) {
	c := ratelimit.New(ratelimit.Options{PerMinute: 1e12})(noop)
	var scopes [20_000]string // twice as many as there are buckets
	for i := range scopes {
		scopes[i] = strconv.Itoa(i)
	}
	call := middleware.Call{Tool: rated("a", 1e12)}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		call.Scope = scopes[i%len(scopes)]
		i++
		_, _ = c.CallTool(context.Background(), call)
	}
}

func BenchmarkRefused(b *testing.B) {
	c := ratelimit.New(ratelimit.Options{PerMinute: 1e-9, MaxWait: 1})(noop)
	call := middleware.Call{Tool: rated("a")}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = c.CallTool(context.Background(), call)
	}
}

func TestNoAllocationWhenACallGoesAtOnce(t *testing.T) {
	c := ratelimit.New(ratelimit.Options{PerMinute: 1e12})(noop)
	call := middleware.Call{Tool: rated("a", 1e12)}
	if got := testing.AllocsPerRun(100, func() { _, _ = c.CallTool(context.Background(), call) }); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}
