package cache_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolOf returns a tool with annotations of that source. A read is stable by default.
func toolOf(tb testing.TB, server string, definition mcp.Tool, a annotation.Annotations, source annotation.Source) *middleware.Tool {
	tb.Helper()
	if definition.InputSchema == nil {
		definition.InputSchema = map[string]any{"type": "object"}
	}
	tool, err := middleware.NewTool(server, &definition, stable(a).Attribute(source, ""))
	if err != nil {
		tb.Fatal(err)
	}
	return tool
}

// stable returns the annotations of a read with a cacheable result.
func stable(a annotation.Annotations) annotation.Annotations {
	if a.ReadOnly == annotation.Yes {
		a.Freshness = cmp.Or(a.Freshness, annotation.Stable)
	}
	return a
}

func tool(tb testing.TB, name string, a annotation.Annotations) *middleware.Tool {
	tb.Helper()
	return toolOf(tb, "files", mcp.Tool{Name: name}, a, annotation.Host)
}

func reader(tb testing.TB) *middleware.Tool {
	tb.Helper()
	return tool(tb, "read", annotation.ReadOnly())
}

func writer(tb testing.TB) *middleware.Tool {
	tb.Helper()
	return tool(tb, "write", annotation.Write())
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func textOf(tb testing.TB, res *mcp.CallToolResult) string {
	tb.Helper()
	if res == nil || len(res.Content) == 0 {
		tb.Fatalf("got no text in %+v", res)
	}
	return res.Content[0].(*mcp.TextContent).Text
}

// fromWire reads a result as a server sends it.
func fromWire(tb testing.TB, raw string) *mcp.CallToolResult {
	tb.Helper()
	res := new(mcp.CallToolResult)
	if err := json.Unmarshal([]byte(raw), res); err != nil {
		tb.Fatal(err)
	}
	return res
}

// An executor numbers its answers: "1", "2", …, unless do answers.
type executor struct {
	mu    sync.Mutex
	calls []middleware.Call
	do    func(ctx context.Context, n int, call middleware.Call) (*mcp.CallToolResult, error)
}

func (e *executor) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	e.mu.Lock()
	e.calls = append(e.calls, call)
	n := len(e.calls)
	e.mu.Unlock()
	if e.do != nil {
		return e.do(ctx, n, call)
	}
	return text(fmt.Sprint(n)), nil
}

func (e *executor) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.calls)
}

func (e *executor) want(tb testing.TB, calls int, when string) {
	tb.Helper()
	if got := e.count(); got != calls {
		tb.Errorf("%s: the executor got %d calls, want %d", when, got, calls)
	}
}

func call(tb testing.TB, c middleware.ToolCaller, call middleware.Call) *mcp.CallToolResult {
	tb.Helper()
	res, err := c.CallTool(tb.Context(), call)
	if err != nil || res == nil {
		tb.Fatalf("%s %s: got %v and error %v", call.Tool, call.Arguments, res, err)
	}
	return res
}

func TestContract(t *testing.T) {
	t.Parallel()
	middlewaretest.Run(t, cache.New(cache.Options{Idempotent: true}), tool(t, "set", annotation.Update()))
}

func TestOnlySafeResultsAreRemembered(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		a     annotation.Annotations
		opted bool // Options.Idempotent
		want  bool
	}{
		{"safe", annotation.ReadOnly(), false, true},
		{"safe, read-only alone", annotation.Annotations{ReadOnly: annotation.Yes}, false, true},
		{"moderate", annotation.Write(), false, false},
		{"moderate and idempotent", annotation.Update(), false, false},
		{"moderate and idempotent, opted in", annotation.Update(), true, true},
		{"moderate, opted in", annotation.Write(), true, false},
		{"dangerous", annotation.Destructive(), false, false},
		{"B145: dangerous, opted in", annotation.Destructive(), true, false},
		{"B287: destructive and idempotent, opted in", annotation.Annotations{Destructive: annotation.Yes, Idempotent: annotation.Yes}, true, false},
		{"read-only that needs confirmation, opted in", annotation.Annotations{ReadOnly: annotation.Yes, RequiresConfirmation: annotation.Yes}, true, false},
		{"hints that conflict", annotation.Annotations{ReadOnly: annotation.Yes, Destructive: annotation.Yes}, false, false},
		{"unknown", annotation.Annotations{}, false, false},
		{"unknown, opted in", annotation.Annotations{Idempotent: annotation.Yes}, true, false},
		{"a hint out of range, opted in", annotation.Annotations{ReadOnly: 7}, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, remote := range []cache.Remote{nil, cache.NewMemory()} {
				e := new(executor)
				c := cache.New(cache.Options{Idempotent: tt.opted, Remote: remote})(e)
				its := middleware.Call{Tool: tool(t, "tool", tt.a)}
				first, second := textOf(t, call(t, c, its)), textOf(t, call(t, c, its))
				if got := first == second; got != tt.want {
					t.Errorf("remembered, remote %v: got %t, want %t", remote != nil, got, tt.want)
				}
			}
		})
	}
}

// B113, further: a caller that breaks the contract is named, and no panic follows.
func TestNoAnswerIsAnError(t *testing.T) {
	t.Parallel()
	e := &executor{do: func(context.Context, int, middleware.Call) (*mcp.CallToolResult, error) { return nil, nil }}
	res, err := cache.New(cache.Options{})(e).CallTool(t.Context(), middleware.Call{Tool: reader(t)})
	if _, ok := errors.AsType[*fault.NoResultError](err); !ok || res != nil {
		t.Errorf("got %v and error %v, want a NoAnswerError", res, err)
	}
}

func TestCallWithoutAToolPasses(t *testing.T) {
	t.Parallel()
	e := new(executor)
	c := cache.New(cache.Options{})(e)
	for range 2 {
		if _, err := c.CallTool(t.Context(), middleware.Call{}); err != nil {
			t.Fatal(err)
		}
	}
	e.want(t, 2, "after two calls")
}

func numbered(tool *middleware.Tool, n int) middleware.Call {
	return middleware.Call{Tool: tool, Arguments: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))}
}

func TestNewRefusesNegativeNumbers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		o    cache.Options
		want string
	}{
		{"B139: entries", cache.Options{Entries: -1}, "cache: Options.Entries is negative"},
		{"bytes", cache.Options{Bytes: -1}, "cache: Options.Bytes is negative"},
		{"B141: TTL", cache.Options{TTL: -time.Second}, "cache: Options.TTL is negative"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if got := recover(); got != tt.want {
					t.Errorf("got panic %v, want %q", got, tt.want)
				}
			}()
			cache.New(tt.o)
		})
	}
}

// A member of _meta may change a result, so that a call with one is not cached.
func TestMetaIsNotCached(t *testing.T) {
	t.Parallel()
	for meta, hits := range map[string]bool{"tenant": false, "progressToken": true, "traceparent": true, "claudecode/toolUseId": true, "vscode.requestId": true} {
		e := new(executor)
		c := cache.New(cache.Options{})(e)
		for _, value := range []string{"a", "b"} {
			call(t, c, middleware.Call{Tool: reader(t), Meta: mcp.Meta{meta: value}})
		}
		e.want(t, map[bool]int{true: 1, false: 2}[hits], meta)
	}
}

func TestLogsNameTheToolAndNotTheArguments(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := cache.New(cache.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})(new(executor))
	its := middleware.Call{Tool: reader(t), Arguments: json.RawMessage(`{"password":"hunter2"}`)}
	call(t, c, its)
	if log.Len() != 0 {
		t.Errorf("a miss was logged: %s", &log)
	}
	call(t, c, its)
	if got := log.String(); !strings.Contains(got, `msg="cache: hit" tool=files/read class=safe`) || strings.Contains(got, "hunter2") {
		t.Errorf("got %q", got)
	}
}
