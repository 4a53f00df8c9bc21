package proxy_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/elicit"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A client that cannot show a form falls back to somebody else.
func TestFallback(t *testing.T) {
	t.Parallel()
	form := elicit.New(elicit.Options{})
	for _, c := range []struct {
		name    string
		confirm hitl.Confirmer
		want    bool
	}{
		{"nobody else", proxy.Fallback(form), false},
		{"somebody else", proxy.Fallback(form, approve(true)), true},
		{"who says no", proxy.Fallback(form, approve(false)), false},
		{"both at once", proxy.First(form, approve(true)), true},
		{"only the first counts", proxy.First(approve(false), hitl.ConfirmerFunc(func(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
			<-ctx.Done()
			return hitl.Decision{Verdict: hitl.Approved}, nil
		})), false},
		{"one that panics does not count", proxy.First(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) { panic("x") }), approve(true)), true},
		{"one that fails does not count", proxy.First(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			return hitl.Decision{Verdict: hitl.Approved}, errors.New("x")
		}), approve(false)), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			eachVersion(t, func(t *testing.T, version string) {
				f := connect(t, version, proxy.Options{Confirm: c.confirm}, nil)
				if res := f.call(t, "delete_thing", nil); res.IsError == c.want {
					t.Errorf("got %v %q", res.IsError, text(t, res))
				}
			})
		})
	}
}

// A client that opens addresses and shows no forms is sent to the page, at which it is asked.
func TestClientThatOpensAddresses(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"accept", "decline", "cancel"} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			var opened, asked atomic.Int32
			client := func() *mcp.ClientOptions {
				return &mcp.ClientOptions{
					Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
					ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						if r.Params.Mode != "url" || r.Params.URL != "http://127.0.0.1/page" || !strings.Contains(r.Params.Message, "things/delete_thing") {
							t.Errorf("it is asked %+v", r.Params)
						}
						opened.Add(1)
						return &mcp.ElicitResult{Action: answer}, nil
					},
				}
			}
			page := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
				asked.Add(1)
				return hitl.Decision{Verdict: hitl.Approved}, nil
			})
			form := elicit.New(elicit.Options{Link: func(hitl.Request) (string, error) { return "http://127.0.0.1/page", nil }})
			t.Cleanup(func() {
				want := map[string]int32{"accept": 8}[answer]
				if opened.Load() != 8 || asked.Load() != want {
					t.Errorf("opened %d times, want once in each of 8 ways; asked %d times at the page, want %d", opened.Load(), asked.Load(), want)
				}
			})
			eachWay(t, proxy.Options{Confirm: proxy.Fallback(form, page)}, client, func(t *testing.T, cs *mcp.ClientSession, _ string) {
				res := callTool(t, cs, "delete_thing", map[string]any{"id": "a"})
				if got := text(t, res); res.IsError == (answer == "accept") {
					t.Errorf("got %v %q", res.IsError, got)
				}
			})
		})
	}
}
