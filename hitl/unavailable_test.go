package hitl_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A failingStore fails to add an approval.
type failingStore struct {
	approvals.Store
	err error
}

func (s failingStore) Add(context.Context, approvals.Approval) error { return s.err }

// An outage of the store is an outage to the model and in the record, and not a denial.
func TestOutageOfTheStoreIsNotADenial(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		outage bool
	}{
		"an outage":         {errors.New("connection refused"), true},
		"out of time":       {fmt.Errorf("postgres: %w", context.DeadlineExceeded), true},
		"another was first": {approvals.ErrNoEffect, false},
		"caller has gone":   {context.Canceled, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ends []audit.Record
			trail := audit.New(audit.SinkFunc(func(_ context.Context, r audit.Record) error {
				if r.Kind == audit.End {
					ends = append(ends, r)
				}
				return nil
			}), audit.Options{})
			ask := hitl.New(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
				return hitl.Decision{Verdict: hitl.Approved}, nil
			}), hitl.Options{Store: failingStore{approvals.NewMemory(), c.err}})
			caller := chain.New(trail.Record, ask).Then(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
				t.Error("it was called")
				return nil, errors.New("called")
			}))
			_, err := caller.CallTool(t.Context(), deletes(t))
			if !errors.Is(err, hitl.ErrDenied) || errors.Is(err, hitl.ErrUnavailable) != c.outage || !middleware.NotSent(err) {
				t.Errorf("got %v", err)
			}
			if got := strings.Contains(middleware.ForModel(err), "outage"); got != c.outage {
				t.Errorf("the model reads %q", middleware.ForModel(err))
			}
			want := audit.Denied
			if c.outage {
				want = audit.Refused
			}
			if len(ends) != 1 || ends[0].Outcome != want {
				t.Errorf("the record has %+v, want %s", ends, want)
			}
		})
	}
}
