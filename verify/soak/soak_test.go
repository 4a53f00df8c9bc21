package main

import (
	"context"
	"errors"
	"strings"
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
	for n := 1; n < 100 && w.reached.Load() == 0; n++ { // once, or the machine was busy
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		w.agent(ctx, n)
		cancel()
	}
	calls := len(w.events)
	w.judge()
	if err := errors.Join(w.broken.Err(), w.close()); err != nil {
		t.Error(err)
	}
	if calls == 0 || w.reached.Load() == 0 || len(w.events) > 0 || len(w.ledger.All()) > 0 {
		t.Error("nothing was called, or is left:", w)
	}
}

// A violation is found even if earlier calls were judged already.
func TestBreachesAreSeen(t *testing.T) {
	t.Parallel()
	kept := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "1"}}}
	for want, wrap := range map[string]middleware.Middleware{
		"I4": func(next middleware.ToolCaller) middleware.ToolCaller {
			return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
				if call.Tool.Name() == "get" {
					return kept, nil
				}
				return next.CallTool(ctx, call)
			})
		},
		"I2": func(next middleware.ToolCaller) middleware.ToolCaller {
			return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
				_, _ = next.CallTool(ctx, call)
				return next.CallTool(ctx, call)
			})
		},
		"I13": func(next middleware.ToolCaller) middleware.ToolCaller {
			return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
				if call.Tool.Name() == "delete" {
					call.ID += world.Deny
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
		for i, name := range []string{"put", "get", "put", "get", "delete"} {
			w.call(t.Context(), "user", string(rune('a'+i)), name, 0, 2, time.Minute)
			w.judge()
		}
		if got := strings.Join(w.broken.List(), "\n"); want == "nothing" && got != "" || want != "nothing" && !strings.HasPrefix(got, want) {
			t.Errorf("%q is seen, want %s", got, want)
		}
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}
	w, err := newSoak()
	if err != nil {
		t.Fatal(err)
	}
	call := middleware.Call{ID: "1" + world.Deny, Tool: w.tools[0]["delete"], Arguments: []byte(`{"id":"0/1"}`)}
	if _, err := w.execute(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if w.judge(); w.broken.Err() == nil {
		t.Error("a deletion without an approval is not seen")
	}
}
