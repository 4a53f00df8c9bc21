package proxy_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Replicas that share what is remembered, or one after the other, give no two clients one
// scope: what somebody agreed to for the first client of one stands for no client of another.
func TestNoApprovalCoversAnotherReplicasClient(t *testing.T) {
	t.Parallel()
	store := approvals.NewMemory()
	var asked atomic.Int32
	o := proxy.Options{
		Servers: []proxy.Server{child(t, "things")},
		Confirm: hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			asked.Add(1)
			return hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Always}, nil
		}),
		Share: func(_ *cache.Options, _ *ratelimit.Options, h *hitl.Options) {
			h.Store, h.Remember, h.AlwaysAtOnce = store, hitl.Always, true
		},
	}
	for replica := range int32(2) {
		cs := mcptest.Dial(t, nil, &mcp.StreamableClientTransport{Endpoint: listenOn(t, o)}, mcptest.Legacy)
		for range 2 { // once by the person, and once by what stands
			if _, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "delete_thing"}); err != nil {
				t.Fatal(err)
			}
		}
		if got := asked.Load(); got != replica+1 {
			t.Errorf("by the client of replica %d a person was asked %d times, want %d", replica+1, got, replica+1)
		}
	}
}

// Ten clients of two replicas have together the calls that one client would have.
func TestClientsShareTheQuotaOfAServer(t *testing.T) {
	t.Parallel()
	quota := ratelimit.NewMemory()
	few := &policy.Policy{Limits: ratelimit.Options{PerMinute: 0.001, Burst: 7, MaxWait: 1}}
	made := 0
	var replicas [2]string
	for i := range replicas {
		replicas[i] = listenOn(t, proxy.Options{
			Servers: []proxy.Server{child(t, "things")},
			Policy:  func() *policy.Policy { return few },
			Share:   func(_ *cache.Options, limits *ratelimit.Options, _ *hitl.Options) { limits.Shared = quota },
		})
	}
	for i := range 10 {
		cs := mcptest.Dial(t, nil, &mcp.StreamableClientTransport{Endpoint: replicas[i%2]}, mcptest.Legacy)
		res, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "list_things"})
		switch {
		case err != nil:
			t.Fatal(err)
		case !res.IsError:
			made++
		}
	}
	if made != 7 {
		t.Errorf("ten clients made %d calls, want the 7 of the quota", made)
	}
}
