package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/retry/doubt"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// If the answer to a call is lost on a real socket, the call is executed once, or twice with the
// approval of a person that saw the doubt.
func TestLostAnswerIsNotRepeatedUnseen(t *testing.T) {
	for _, version := range mcptest.Versions {
		for _, name := range []string{"create_order", "send_payment"} {
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				var executed atomic.Int64
				server := mcptest.New()
				mcptest.Add(server, mcptest.Tool(name, ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
					executed.Add(1)
					return mcptest.Text("done"), nil
				})
				transport, h := mcptest.HTTPTransport(t, server, version)
				transport.HTTPClient.Transport = mount.RoundTripper(transport.HTTPClient.Transport)
				cs := mcptest.Dial(t, nil, transport, version)
				var lost atomic.Bool
				h.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
					if lost.Swap(true) {
						return false
					}
					executed.Add(1)
					conn, _, err := w.(http.Hijacker).Hijack()
					if err != nil {
						panic(err)
					}
					_ = conn.Close()
					return true
				})
				var cautions []string
				person := hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
					cautions = append(cautions, r.Caution())
					return hitl.Decision{Verdict: hitl.Approved}, nil
				})
				std := everyLink(nil, person, nil)
				std.Doubt = doubt.New(doubt.Options{})
				tool := named(t, name)
				caller := std.Then(mount.Session(cs))
				call := func() error {
					_, err := caller.CallTool(t.Context(), middleware.Call{Tool: tool, Arguments: json.RawMessage(`{"amount":5}`)})
					return err
				}
				if _, unknown := errors.AsType[*middleware.OutcomeUnknownError](call()); !unknown {
					t.Fatal("the outcome is known")
				}
				if err := call(); !errors.Is(err, doubt.ErrHeld) || executed.Load() != 1 {
					t.Fatalf("executed %d times: %v", executed.Load(), err)
				}
				if err := call(); err != nil || executed.Load() != 2 || !strings.Contains(cautions[len(cautions)-1], "may have happened") {
					t.Errorf("executed %d times, cautions %q: %v", executed.Load(), cautions, err)
				}
			})
		}
	}
}
