package proxy_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A client that goes away, or cancels, while a person thinks leaves nothing behind that
// could be said yes to.
func TestClientThatGoesAwayLeavesNoOpenGrant(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"closes", "cancels"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			asked, over := make(chan struct{}), make(chan struct{})
			ledger := t.TempDir() + "/ledger"
			r := connectRaw(t, proxy.Options{
				Servers: []proxy.Server{child(t, "things", ledgerKey+"="+ledger)},
				Confirm: hitl.ConfirmerFunc(func(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
					close(asked)
					<-ctx.Done()
					close(over)
					return hitl.Decision{Verdict: hitl.Approved}, nil // too late
				}),
			})
			r.initialize("{}")
			r.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"delete_thing","arguments":{}}}`)
			mcptest.Wait(t, "the question", asked)
			if way == "closes" {
				_ = r.in.Close()
				if err := mcptest.Wait(t, "the proxy to end", r.done); err != nil {
					t.Error(err)
				}
			} else {
				r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
			}
			mcptest.Wait(t, "the end of the question", over)
			if way == "cancels" {
				r.send(`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"list_things"}}`)
				for m := r.next(); string(m["id"]) != "8"; m = r.next() {
					if string(m["id"]) == "7" {
						t.Errorf("a cancelled call was answered: %s", m["result"])
					}
				}
			}
			if got := ledgerOf(t, ledger); slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "delete") }) {
				t.Errorf("the server did %v", got)
			}
		})
	}
}

// Fifty different reads go through at once.
func TestFiftyReadsAtOnce(t *testing.T) {
	t.Parallel()
	f := connect(t, mcptest.Modern, proxy.Options{}, nil)
	done := make(chan bool, 50)
	for i := range 50 {
		go func() {
			res, err := f.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "list_things", Arguments: map[string]any{"i": i}})
			done <- err == nil && !res.IsError
		}()
	}
	for range 50 {
		if !mcptest.Wait(t, "a read", done) {
			t.Error("a read was refused")
		}
	}
}
