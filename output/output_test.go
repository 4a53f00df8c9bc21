package output_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		middlewaretest.Run(t, output.New(output.Options{}))
	})
	t.Run("with everything on", func(t *testing.T) {
		t.Parallel()
		middlewaretest.Run(t, output.New(output.Options{
			Limit:    1000,
			Fence:    func(*middleware.Tool) bool { return true },
			Fallback: func(*middleware.Tool) string { return "It failed." },
			Paging:   map[string]output.Paging{"kit/xyzzy_one": {Rows: "/list", Next: "/next", Cursor: "cursor"}},
		}), listing(t, `{"type":"object","properties":{"said":{"type":"string"}}}`, annotation.ReadOnly()))
	})
}

// The standard order with an output in it breaks no promise, and one that cuts what
// is remembered is named.
func TestOrder(t *testing.T) {
	t.Parallel()
	yes := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		return hitl.Decision{Verdict: hitl.Approved}, nil
	})
	standard := chain.Standard{
		Output: output.New(output.Options{}), Infer: infer.New(infer.Options{}), Confirm: hitl.New(yes, hitl.Options{}),
		Cache: cache.New(cache.Options{}), Retry: retry.New(retry.Options{}), RateLimit: ratelimit.New(ratelimit.Options{}), Timeout: timeout.New(timeout.Options{}),
	}
	for _, problem := range chain.Verify(standard) {
		t.Errorf("the standard order: %v", problem)
	}
	wrong := chain.New(cache.New(cache.Options{}), output.New(output.Options{}))
	if problems := chain.Verify(wrong); len(problems) == 0 {
		t.Error("nothing is said of a cache that remembers what was cut")
	}
}

func TestRequestForInputPasses(t *testing.T) {
	t.Parallel()
	promises := listing(t, `{"type":"object","required":["id"]}`, annotation.ReadOnly())
	want := new(mcp.CallToolResult)
	if err := json.Unmarshal([]byte(`{"resultType":"input_required","requestState":"s","content":[]}`), want); err != nil || !want.NeedsInput() {
		t.Fatalf("%v: %s", err, encoded(t, want))
	}
	if got := show(t, output.Options{}, promises, answering(want)); got != want {
		t.Errorf("got %s", encoded(t, got))
	}
	smuggled := *want
	smuggled.Content = []mcp.Content{content("unchecked")}
	smuggled.StructuredContent = map[string]any{"unchecked": true}
	got := show(t, output.Options{}, promises, answering(&smuggled))
	if !got.NeedsInput() || got.RequestState != "s" || strings.Contains(encoded(t, got), "unchecked") {
		t.Errorf("got %s", encoded(t, got))
	}
	claimed := &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}, RequestState: "s", Content: smuggled.Content}
	if got := show(t, output.Options{}, promises, answering(claimed)); !got.IsError {
		t.Errorf("a result that only looks like a request was not checked: %s", encoded(t, got))
	}
}

type asks struct{ error }

func (asks) InputRequired() (mcp.InputRequestMap, string) { return nil, "s" }

// An error that asks for input is for the edge that can put it on the wire.
func TestErrorThatAsksForInputPasses(t *testing.T) {
	t.Parallel()
	want := asks{errors.New("who are you?")}
	caller := output.New(output.Options{})(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		return nil, fmt.Errorf("outer: %w", want)
	}))
	res, err := caller.CallTool(t.Context(), middleware.Call{Tool: listing(t, "", annotation.Destructive())})
	if res != nil || !errors.Is(err, want) {
		t.Errorf("got %v, %v", res, err)
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	t.Parallel()
	paging := func(p output.Paging) output.Options {
		return output.Options{Paging: map[string]output.Paging{"crm/list": p}}
	}
	for _, tt := range []struct {
		name string
		opts output.Options
		want string
	}{
		{"negative", output.Options{Limit: -1}, "output: Options.Limit is -1; it must be at least 1000, or 0"},
		{"small", output.Options{Limit: 999}, "output: Options.Limit is 999; it must be at least 1000, or 0"},
		{"no argument", paging(output.Paging{Rows: "/data"}), `output: Options.Paging["crm/list"] must name one of Cursor and Offset`},
		{"two arguments", paging(output.Paging{Cursor: "a", Offset: "b"}), `output: Options.Paging["crm/list"] must name one of Cursor and Offset`},
		{"no pointer", paging(output.Paging{Cursor: "a", Rows: "data"}), `output: Options.Paging["crm/list"].Rows: want a JSON Pointer, such as /meta/cursor, got "data"`},
		{"no tool", output.Options{Paging: map[string]output.Paging{"list": {Cursor: "a"}}}, `output: Options.Paging["list"]: the key must be server/tool`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if got := recover(); got != tt.want {
					t.Errorf("New panicked with %v, want %s", got, tt.want)
				}
			}()
			output.New(tt.opts)
		})
	}
}
