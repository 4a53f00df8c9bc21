package elicit_test

import (
	"context"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/elicit"
	"github.com/fairlead-go/fairlead/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A client that wants progress hears that its call waits, and what it can show is known.
func TestProgressOfACallThatWaits(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			heard := make(chan *mcp.ProgressNotificationParams, 1)
			d := newDesk(t, hitl.ConfirmerFunc(func(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
				if elicit.ShowsForms(ctx) {
					t.Error("it is said to show forms")
				}
				elicit.Progress(ctx, 5*time.Second)
				select {
				case p := <-heard:
					if p.ProgressToken != "token" || p.Progress <= 0 || p.Progress >= 1 || p.Message == "" {
						t.Errorf("it heard %+v", p)
					}
				case <-ctx.Done():
					t.Error("it heard of no progress")
				}
				return hitl.Decision{Verdict: hitl.Approved}, nil
			}), hitl.Options{})
			cs := way.connect(t, d.server, mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { heard <- r.Params },
			}))
			p := first()
			p.SetProgressToken("token")
			if res, err := cs.CallTool(mcptest.Context(t), p); err != nil || res.IsError {
				t.Errorf("got %v, %v", res, err)
			}
			d.want(t, 1)
		})
	}
	elicit.Progress(t.Context(), time.Second) // without a request there is nobody to tell
}
