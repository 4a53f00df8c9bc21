package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// office is a catalog of two servers with tools of every class.
func office(tb testing.TB) *catalog.Catalog {
	tb.Helper()
	c := catalog.New(catalog.Options{})
	for id, names := range map[string][]string{"files": {"list_files", "create_file", "delete_file", "frobnicate"}, "acme": {"list_invoices", "send_invoice", "get_status"}} {
		var tools []*mcp.Tool
		for _, name := range names {
			tools = append(tools, mcptest.Tool(name, ""))
		}
		add(tb, c, id, listing(tools...))
	}
	if err := c.Override("acme", "list_invoices", annotation.Annotations{Category: "Finance"}); err != nil {
		tb.Fatal(err)
	}
	return c
}

func TestStatisticsCountTools(t *testing.T) {
	t.Parallel()
	c := office(t)
	if err := c.Override("acme", "send_invoice", annotation.Annotations{Category: "mail"}); err != nil {
		t.Fatal(err)
	}
	s := c.Statistics()
	if s.Total != 7 || !maps.Equal(s.ByServer, map[string]int{"acme": 3, "files": 4}) ||
		!maps.Equal(s.ByCategory, map[string]int{"Finance": 1, "mail": 1}) ||
		!maps.Equal(s.BySafety, map[annotation.Safety]int{annotation.Safe: 3, annotation.Moderate: 1, annotation.Dangerous: 2, annotation.Unknown: 1}) {
		t.Errorf("got %+v", s)
	}
	if s.Calls != (catalog.Calls{}) || len(s.ByTool) != 0 {
		t.Errorf("got calls %+v, %+v where nothing was called", s.Calls, s.ByTool)
	}
}

// notSent and refused are ends of a call that say what happened to it.
type (
	notSent struct{ error }
	refused struct{ error }
)

func (notSent) NotSent() bool { return true }
func (refused) Refused() bool { return true }

func TestStatisticsCountWhatReachedTheServer(t *testing.T) {
	broken := errors.New("broken")
	answer := func(isError bool) *mcp.CallToolResult { return &mcp.CallToolResult{IsError: isError} }
	for _, tt := range []struct {
		name string
		tool string
		res  *mcp.CallToolResult
		err  error
		want catalog.Calls
	}{
		{"an answer", "list_files", answer(false), nil, catalog.Calls{Count: 1, Duration: time.Second}},
		{"an answer that is an error", "list_files", answer(true), nil, catalog.Calls{Count: 1, Failures: 1, Duration: time.Second}},
		{"a read that fails", "list_files", nil, broken, catalog.Calls{Count: 1, Failures: 1, Duration: time.Second}},
		{"a write that fails with an unknown outcome", "create_file", nil, broken, catalog.Calls{Count: 1, Failures: 1, Unknown: 1, Duration: time.Second}},
		{"a write that the server refused", "create_file", nil, refused{broken}, catalog.Calls{Count: 1, Failures: 1, Duration: time.Second}},
		{"a write that was not sent", "create_file", nil, notSent{broken}, catalog.Calls{}},
		{"a broken executor", "create_file", nil, nil, catalog.Calls{Count: 1, Failures: 1, Duration: time.Second}},
		{"what the guard refuses", "delete_file", answer(false), nil, catalog.Calls{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := office(t)
				caller := c.Guard(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
					time.Sleep(time.Second)
					return tt.res, tt.err
				}))
				_, _ = caller.CallTool(t.Context(), middleware.Call{Tool: lookup(t, c, "files", tt.tool)})
				s := c.Statistics()
				if s.Calls != tt.want || s.ByTool["files/"+tt.tool] != tt.want {
					t.Errorf("got %+v and %+v, want %+v", s.Calls, s.ByTool, tt.want)
				}
			})
		})
	}
}

// The calls of real sessions are counted, and stay counted when the list changes.
func TestStatisticsSurviveARefresh(t *testing.T) {
	t.Parallel()
	server := mcptest.New()
	for _, name := range []string{"list_a", "list_b"} {
		mcptest.Add(server, mcptest.Tool(name, ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: name == "list_b"}, nil
		})
	}
	c := catalog.New(catalog.Options{})
	add(t, c, "srv", mcptest.Connect(t, server, nil))
	call := func(name string) {
		t.Helper()
		if _, err := c.CallTool(mcptest.Context(t), middleware.Call{Tool: lookup(t, c, "srv", name)}); err != nil {
			t.Fatal(err)
		}
	}
	call("list_a")
	call("list_b")
	mcptest.Add(server, mcptest.Tool("list_a", "It is described now."), nothing)
	server.RemoveTools("list_b")
	if err := c.Refresh(mcptest.Context(t), "srv"); err != nil {
		t.Fatal(err)
	}
	call("list_a")
	s := c.Statistics()
	a, b := s.ByTool["srv/list_a"], s.ByTool["srv/list_b"]
	if s.Total != 1 || a.Count != 2 || a.Failures != 0 || b.Count != 1 || b.Failures != 1 {
		t.Errorf("got %+v", s)
	}
	if s.Calls.Count != 3 || s.Calls.Duration <= 0 || s.Calls.Duration != a.Duration+b.Duration {
		t.Errorf("got %+v of %+v and %+v", s.Calls, a, b)
	}
}

// A guard that has nothing behind it is still refused at once.
func TestGuardOfNothingPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("got no panic")
		}
	}()
	catalog.New(catalog.Options{}).Guard(nil)
}

func TestStatisticsCostACallNoAllocation(t *testing.T) {
	c, res := office(t), &mcp.CallToolResult{}
	caller := c.Guard(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return res, nil }))
	call := middleware.Call{Tool: lookup(t, c, "files", "list_files")}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := caller.CallTool(t.Context(), call); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

func BenchmarkGuardedCall(b *testing.B) {
	b.ReportAllocs()
	c, res := office(b), &mcp.CallToolResult{}
	caller := c.Guard(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return res, nil }))
	call := middleware.Call{Tool: lookup(b, c, "files", "list_files")}
	for b.Loop() {
		if _, err := caller.CallTool(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleCatalog_Statistics() {
	tools := catalog.New(catalog.Options{})
	session := listing(mcptest.Tool("list_invoices", ""), mcptest.Tool("create_invoice", ""), mcptest.Tool("delete_invoice", ""))
	if err := tools.Add(context.Background(), "acme", session); err != nil {
		panic(err)
	}
	list, _ := tools.Lookup("acme", "list_invoices")
	for range 3 {
		if _, err := tools.CallTool(context.Background(), middleware.Call{Tool: list}); err != nil {
			panic(err)
		}
	}
	s := tools.Statistics()
	fmt.Println(s.Total, "tools:", s.BySafety[annotation.Safe], "safe,", s.BySafety[annotation.Moderate], "moderate,", s.BySafety[annotation.Dangerous], "dangerous")
	fmt.Println(s.ByTool["acme/list_invoices"].Count, "calls,", s.Calls.Failures, "failures")
	// Output:
	// 3 tools: 1 safe, 1 moderate, 1 dangerous
	// 3 calls, 0 failures
}
