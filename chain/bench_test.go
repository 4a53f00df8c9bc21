package chain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func tool(tb testing.TB, name string, a annotation.Annotations) *middleware.Tool {
	tb.Helper()
	if a.ReadOnly == annotation.Yes {
		a.Freshness = annotation.Stable
	}
	a = a.Attribute(annotation.Host, "")
	t, err := middleware.NewTool("server", &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, a)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

var answer = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}

// accepting is a guarded executor that does nothing.
func accepting() middleware.ToolCaller {
	return guard.New(
		middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return answer, nil }),
		func(_ context.Context, call middleware.Call) (*middleware.Tool, error) { return call.Tool, nil })
}

// seven is a chain of seven layers: recover, infer, confirm, cache, retry,
// ratelimit and one of the host's own.
func six(outermost ...middleware.Middleware) middleware.ToolCaller {
	return chain.Standard{
		Outermost: outermost,
		Infer:     infer.New(infer.Options{}),
		Confirm:   hitl.New(nil, hitl.Options{}),
		Cache:     cache.New(cache.Options{}),
		Retry:     retry.New(retry.Options{}),
		RateLimit: ratelimit.New(ratelimit.Options{PerMinute: 6e9, Burst: 1 << 30}),
	}.Then(accepting())
}

var arguments200 = func() json.RawMessage {
	raw := []byte(`{"path":"reports/2026/november","recursive":true,"limit":100,"filter":"` + strings.Repeat("x", 200) + `"}`)
	return append(bytes.TrimSuffix(raw[:198], nil), '"', '}')
}()

func BenchmarkSevenLayers(b *testing.B) {
	caller := six()
	call := middleware.Call{Tool: tool(b, "update_note", annotation.Update()), Arguments: arguments200}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if res, err := caller.CallTool(ctx, call); err != nil || res != answer {
			b.Fatal(res, err)
		}
	}
}

func BenchmarkHit200Bytes(b *testing.B) {
	caller := six()
	call := middleware.Call{Tool: tool(b, "list_notes", annotation.ReadOnly()), Arguments: arguments200}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		res, err := caller.CallTool(ctx, call)
		if err != nil || res.Content[0].(*mcp.TextContent).Text != "done" {
			b.Fatal(res, err)
		}
	}
}

func TestAllocsOfTheChain(t *testing.T) {
	if raced {
		t.Skip("the race detector allocates")
	}
	own := func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(next.CallTool)
	}
	plain, asked := six(), six(own)
	ctx := context.Background()
	for _, c := range []struct {
		name   string
		caller middleware.ToolCaller
		tool   *middleware.Tool
		want   float64
	}{
		{"six layers around a no-op", plain, tool(t, "update_note", annotation.Update()), 1},
		{"a hit of 200 bytes of arguments", plain, tool(t, "list_notes", annotation.ReadOnly()), 2},
		{"a record that the host's own middleware may ask for", asked, tool(t, "update_note", annotation.Update()), 1},
	} {
		call := middleware.Call{Tool: c.tool, Arguments: arguments200}
		got := testing.AllocsPerRun(100, func() {
			if _, err := c.caller.CallTool(ctx, call); err != nil {
				t.Fatal(err)
			}
		})
		t.Logf("%s: %v allocations", c.name, got)
		if got != c.want {
			t.Errorf("%s: %v allocations, want %v", c.name, got, c.want)
		}
	}
	if !json.Valid(arguments200) || len(arguments200) != 200 {
		t.Fatalf("the arguments of the benchmark are %d bytes, valid: %v", len(arguments200), json.Valid(arguments200))
	}
}
