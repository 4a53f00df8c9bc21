package browsertest

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// anew marks the call that takes another one back, which a person is asked about in any case.
type anew struct{}

// A call that was approved and made is in the history with a button. That asks about the opposite, which is made at the
// server once it is approved, and only then.
func TestUndoFromTheHistory(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 5*time.Minute)
	var archived atomic.Value
	archived.Store("")
	server := mcptest.New()
	for name, state := range map[string]string{"archive_message": "archived", "unarchive_message": "back"} {
		mcptest.Add(server, mcptest.Tool(name, ""), func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
			archived.Store(state + " " + string(arguments))
			return mcptest.Text("ok"), nil
		})
	}
	session, _ := mcptest.ConnectHTTP(t, server, mcptest.NewClient(), mcptest.Legacy)
	tools := make(map[string]*middleware.Tool)
	for _, name := range []string{"archive_message", "unarchive_message"} {
		tool, err := middleware.NewTool("mail", mcptest.Tool(name, ""), annotation.Destructive())
		if err != nil {
			t.Fatal(err)
		}
		tools[name] = tool
	}
	var caller middleware.ToolCaller
	caller = chain.Standard{Confirm: hitl.New(d.in, hitl.Options{
		Anew: func(ctx context.Context, _ middleware.Call) bool { return ctx.Value(anew{}) != nil },
		Inverse: func(_ context.Context, call middleware.Call) (hitl.Inverse, bool) {
			return hitl.Inverse{Server: "mail", Tool: "unarchive_message", Arguments: func(*mcp.CallToolResult) (json.RawMessage, bool) {
				return call.Arguments, true
			}}, call.Tool == tools["archive_message"]
		},
		OnUndoable: func(_ context.Context, call middleware.Call, by hitl.Undo) {
			d.in.Undoable(call, by, func(ctx context.Context, _ string) error {
				_, err := caller.CallTool(context.WithValue(ctx, anew{}, true), middleware.Call{Tool: tools[by.Tool], Arguments: by.Arguments, Scope: "session 1"})
				return err
			})
		},
	})}.Then(middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		return session.CallTool(ctx, &mcp.CallToolParams{Name: call.Tool.Name(), Arguments: call.Arguments})
	}))
	over := make(chan error, 1)
	d.enter()
	go func() {
		_, err := caller.CallTool(t.Context(), middleware.Call{Tool: tools["archive_message"], Arguments: json.RawMessage(`{"id":"m-17"}`), Scope: "session 1"})
		over <- err
	}()
	d.do(d.browser, reads("may be undone by mail/unarchive_message"), click("article .yes"))
	if err := mcptest.Wait(t, "the call to end", over); err != nil || archived.Load() != `archived {"id":"m-17"}` {
		t.Fatalf("got %v, %v", err, archived.Load())
	}
	d.do(d.browser, click("form.undo button"), reads("being taken back, once that is approved"), reads("Unarchive message m-17 of mail"))
	if got := archived.Load().(string); !strings.HasPrefix(got, "archived") {
		t.Errorf("before the approval: %s", got)
	}
	d.screenshot(d.browser, "undo")
	d.do(d.browser, click("article:not(.over) .yes"), chromedp.Navigate(d.origin+"/approvals/"), until(`document.querySelector("#history").innerText.includes("taken back")`))
	if got := archived.Load(); got != `back {"id":"m-17"}` {
		t.Errorf("after it: %v", got)
	}
	if buttons := got[int](d, d.browser, `document.querySelectorAll("form.undo button").length`); buttons != 0 {
		t.Errorf("%d buttons are left", buttons)
	}
}
