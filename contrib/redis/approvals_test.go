package redis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A revoked approval does not come back with an earlier snapshot, nor with a copy that lacks the
// revocation.
func TestRevokedApprovalStaysRevoked(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	s := open(t, e.URL(), redis.Options{Key: key, Timeout: patient}).Approvals()
	y := approvals.Standing{
		ID: "Y", Scope: "ann", Server: "bank", Tool: "pay", Definition: "d", Class: "dangerous", Arguments: "{}",
		Until: time.Now().Add(time.Hour),
	}
	must(t, s.Remember(t.Context(), y))
	if got, err := s.Remembered(t.Context(), "ann", "bank", "pay"); err != nil || len(got) != 1 {
		t.Fatalf("got %v, %v", got, err)
	}
	must(t, raw(t, e).Save(t.Context()).Err())
	must(t, s.Forget(t.Context(), "ann", "Y"))
	e.Kill()
	must(t, e.Start())
	if raw(t, e).DBSize(t.Context()).Val() == 0 {
		t.Fatal("nothing was put back")
	}
	eventually(t, "it does not answer", func() bool {
		got, err := s.Remembered(t.Context(), "ann", "bank", "pay")
		if len(got) > 0 {
			t.Fatalf("it is back: %v", got)
		}
		return err == nil
	})
	must(t, s.Remember(t.Context(), y))
	if got, err := s.Remembered(t.Context(), "ann", "bank", "pay"); err != nil || len(got) != 1 {
		t.Errorf("asked again: got %v, %v", got, err)
	}
}

// With Redis gone, full or without its memory a dangerous call is denied, and not
// made.
func TestApprovalsWithoutRedisAreDenied(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, asked func(t *testing.T, e *redistest.Server)
	}{
		"gone before":                {func(_ *testing.T, e *redistest.Server) { e.Kill() }, nil},
		"gone while a person thinks": {nil, func(_ *testing.T, e *redistest.Server) { e.Kill() }},
		"emptied while a person thinks": {nil, func(t *testing.T, e *redistest.Server) {
			t.Helper()
			raw(t, e).FlushAll(t.Context())
		}},
		"full": {func(t *testing.T, e *redistest.Server) {
			t.Helper()
			raw(t, e).ConfigSet(t.Context(), "maxmemory", "1")
		}, nil},
		"restarted with what it knew": {nil, func(t *testing.T, e *redistest.Server) {
			t.Helper()
			raw(t, e).Save(t.Context())
			e.Kill()
			if err := e.Start(); err != nil {
				t.Error(err)
			}
			time.Sleep(1500 * time.Millisecond) // for it to be known again
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := redistest.New(t)
			s, made := open(t, e.URL(), redis.Options{}), 0
			tools := catalog.New(catalog.Options{})
			t.Cleanup(func() { _ = tools.Close() })
			if err := tools.AddTools("bank", middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
				made++
				return &mcp.CallToolResult{}, nil
			}), annotation.Declare(&mcp.Tool{Name: "pay", InputSchema: map[string]any{"type": "object"}}, annotation.Destructive())); err != nil {
				t.Fatal(err)
			}
			tool, _ := tools.Lookup("bank", "pay")
			yes := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
				if c.asked != nil {
					c.asked(t, e)
				}
				return hitl.Decision{Verdict: hitl.Approved}, nil
			})
			caller := hitl.New(yes, hitl.Options{Store: s.Approvals()})(chain.Guard(
				middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
					made++
					return &mcp.CallToolResult{}, nil
				}),
			))
			if c.before != nil {
				c.before(t, e)
			}
			if _, err := caller.CallTool(t.Context(), middleware.Call{Tool: tool}); !errors.Is(err, hitl.ErrDenied) || made != 0 {
				t.Errorf("made %d times, got %v", made, err)
			}
		})
	}
}
