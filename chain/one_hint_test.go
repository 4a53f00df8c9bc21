package chain_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/grant"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/route"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// One hint drives all: the same tool, once with destructive yes and once as a read.
// The hint alone stops the retry, keeps the answer out of memory, leads to the
// primaries, and asks a person.
func TestOneHintDrivesAll(t *testing.T) {
	t.Parallel()
	type seen struct{ asked, first, second, copies, retried int }
	drive := func(a annotation.Annotations) seen {
		var got seen
		tool, err := middleware.NewTool("db", &mcp.Tool{Name: "xyzzy"}, a)
		if err != nil {
			t.Fatal(err)
		}
		ask := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			got.asked++
			return hitl.Decision{Verdict: hitl.Approved}, nil
		})
		var fails bool
		replica := func(name string, calls *int) middleware.ToolCaller {
			answer := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
				*calls++
				if fails {
					return nil, errors.New("connection reset")
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name}}}, nil
			})
			return grant.Guard(answer, func(context.Context, middleware.Call) (*middleware.Tool, error) { return tool, nil })
		}
		calls := func(count *int, arguments string, n int) {
			var main, copies int
			pool := route.NewPool("db", route.RoundRobin,
				route.Replica{ID: "main", Weight: 80, Caller: replica("main", &main)}, route.Replica{ID: "copy", Weight: 20, Caller: replica("copy", &copies)})
			caller := chain.Standard{
				Infer: infer.New(infer.Options{}), Confirm: hitl.New(ask, hitl.Options{}), Cache: cache.New(cache.Options{}),
				Retry: retry.New(retry.Options{First: time.Millisecond, Rand: func() float64 { return 0 }}), Route: route.New(route.Options{Failures: 100}, pool),
			}.Then(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
				return nil, errors.New("the call went past its pool")
			}))
			for range n {
				_, _ = caller.CallTool(context.Background(), middleware.Call{Tool: tool, Arguments: []byte(arguments)})
			}
			*count = main + copies
			got.copies += copies
		}
		calls(&got.first, `{}`, 1)
		calls(&got.second, `{}`, 2) // the second one may come from memory
		for i := range 8 {          // others, so that each replica has its turn
			var n int
			calls(&n, fmt.Sprintf(`{"i":%d}`, i), 1)
		}
		fails = true
		calls(&got.retried, `{}`, 1)
		return got
	}
	plain := annotation.Annotations{ReadOnly: annotation.Yes, Destructive: annotation.No}
	hinted := annotation.Annotations{Destructive: annotation.Yes}
	read, destructive := drive(plain), drive(hinted)
	if read.asked != 0 || destructive.asked != 1+2+8+1 {
		t.Errorf("asked: %d times for the read, %d for the other", read.asked, destructive.asked)
	}
	if read.second != 1 || destructive.second != 2 {
		t.Errorf("two equal calls were made %d times for the read, %d for the other", read.second, destructive.second)
	}
	if read.retried <= 2 || destructive.retried != 1 {
		t.Errorf("a failing call was made %d times for the read, %d for the other", read.retried, destructive.retried)
	}
	if read.copies == 0 || destructive.copies != 0 {
		t.Errorf("the copy got %d of the reads and %d of the others", read.copies, destructive.copies)
	}
}
