package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/verify/world"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestAShortSoakBreaksNoLaw(t *testing.T) {
	t.Parallel()
	w, err := newSoak()
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < maxAgents && w.server.calls.Load() == 0; n++ { // once, or the machine stood still
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		w.agent(ctx, n)
		cancel()
	}
	if err := errors.Join(w.broken.Err(), w.close()); err != nil {
		t.Error(err)
	}
	if w.calls.Load() == 0 || w.server.calls.Load() == 0 {
		t.Error("nothing was called:", w)
	}
}

func text(res *mcp.CallToolResult) string { return res.Content[0].(*mcp.TextContent).Text }

// What breaks a law is seen.
func TestBreachesAreSeen(t *testing.T) {
	t.Parallel()
	var known string
	for name, wrap := range map[string]middleware.Middleware{
		"an answer that is remembered through a write": func(next middleware.ToolCaller) middleware.ToolCaller {
			return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
				if known != "" && call.Tool.Name() == "get_thing_0" {
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: known}}}, nil
				}
				res, err := next.CallTool(ctx, call)
				if err == nil && known == "" {
					known = text(res)
				}
				return res, err
			})
		},
		"a write that happens twice": func(next middleware.ToolCaller) middleware.ToolCaller {
			return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
				_, _ = next.CallTool(ctx, call)
				return next.CallTool(ctx, call)
			})
		},
		"a yes that is taken for a no": func(next middleware.ToolCaller) middleware.ToolCaller {
			return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
				if call.Tool.Name()[0] == 'd' {
					call.Arguments = []byte(`{"id":1}`)
				}
				return next.CallTool(ctx, call)
			})
		},
		"nothing": func(next middleware.ToolCaller) middleware.ToolCaller { return next },
	} {
		w, err := newSoak()
		if err != nil {
			t.Fatal(err)
		}
		w.caller = wrap(w.caller)
		for i, kind := range []world.Kind{world.Read, world.Add, world.Read, world.Delete} {
			w.call(t.Context(), middleware.Call{ID: fmt.Sprintf("1/%d", i+1), Tool: w.tools[kind][0], Arguments: []byte(`{"id":2}`)}, 0)
		}
		if seen := errors.Join(w.broken.Err(), w.close()) != nil; seen != (name != "nothing") {
			t.Errorf("%s: a breach is seen: %v", name, seen)
		}
	}
	w, err := newSoak()
	if err != nil {
		t.Fatal(err)
	}
	call := middleware.Call{ID: "1/1", Tool: w.tools[world.Delete][0], Arguments: []byte(`{"id":1}`)}
	if _, err := w.server.CallTool(t.Context(), call); err != nil || w.broken.Err() == nil {
		t.Errorf("a deletion without a yes is not seen (%v)", err)
	}
}
