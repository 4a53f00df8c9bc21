package hitl_test

import (
	"context"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/terminal"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// withExtra is a call that sends more than its arguments.
func withExtra(tb testing.TB) middleware.Call {
	tb.Helper()
	call := deletes(tb)
	call.Meta = mcp.Meta{"dry_run": "<no>", "progressToken": 7, "traceparent": "00-1"}
	call.Input = &middleware.Input{State: "opaque"}
	return call
}

func TestPersonSeesMetaAndInput(t *testing.T) {
	t.Parallel()
	const want = `{"_meta":{"dry_run":"<no>"},"requestState":"opaque"}`
	for name, tt := range map[string]struct {
		call middleware.Call
		want string
	}{
		"neither":        {deletes(t), ""},
		"both":           {withExtra(t), want},
		"the transports": {middleware.Call{Tool: deletes(t).Tool, Meta: mcp.Meta{"progressToken": 7, mcp.MetaKeyProtocolVersion: "2026-07-28"}}, ""},
	} {
		var asked hitl.Request
		e, store := new(executor), approvals.NewMemory()
		out := new(screen)
		terminal := terminal.New(strings.NewReader("y\n"), out)
		c := hitl.New(hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
			asked = r
			return terminal.Confirm(ctx, r)
		}), hitl.Options{Store: store})(guarded(e))
		if _, err := c.CallTool(t.Context(), tt.call); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		e.want(t, 1)
		if string(asked.Extra) != tt.want {
			t.Errorf("%s: got %s", name, asked.Extra)
		}
		if shown := strings.Contains(out.String(), `"dry_run": "<no>"`) && strings.Contains(out.String(), "opaque"); shown != (tt.want != "") {
			t.Errorf("%s: it shows\n%s", name, out)
		}
	}
}

func TestRememberedApprovalCoversNoMetaOrInput(t *testing.T) {
	t.Parallel()
	e, p := new(executor), remembering(hitl.Always)
	c := hitl.New(p, hitl.Options{Remember: hitl.Always})(guarded(e))
	transport := deletes(t)
	transport.Meta = mcp.Meta{"progressToken": 7}
	for i, step := range []struct {
		call  middleware.Call
		asked int64
	}{{withExtra(t), 1}, {withExtra(t), 2}, {deletes(t), 3}, {deletes(t), 3}, {transport, 3}, {withExtra(t), 4}} {
		if _, err := c.CallTool(t.Context(), step.call); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		p.want(t, step.asked)
	}
	e.want(t, 6)
}

func TestMetaThatChangesWhileAPersonIsAskedIsADenial(t *testing.T) {
	t.Parallel()
	e, call := new(executor), withExtra(t)
	c := hitl.New(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		call.Meta["dry_run"] = "changed"
		return yes, nil
	}), hitl.Options{})(guarded(e))
	res, err := c.CallTool(t.Context(), call)
	wantDenied(t, res, err)
	e.want(t, 0)
	call.Meta["dry_run"] = func() {}
	if _, err := c.CallTool(t.Context(), call); !middleware.NotSent(err) {
		t.Errorf("got error %v", err)
	}
}
