package audit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func errorOf(permanent, notSent, refused bool, after time.Duration) error {
	return fact{permanent, notSent, refused, after}
}

type fact struct {
	permanent, notSent, refused bool
	after                       time.Duration
}

func (fact) Error() string               { return "a fact" }
func (f fact) Permanent() bool           { return f.permanent }
func (f fact) NotSent() bool             { return f.notSent }
func (f fact) Refused() bool             { return f.refused }
func (f fact) RetryAfter() time.Duration { return f.after }

func TestEveryCallHasOneEndInItsOwnWords(t *testing.T) {
	t.Parallel()
	read, write, danger := testtool.New("files", "look", annotation.ReadOnly()), testtool.New("files", "add", annotation.Write()), testtool.New("files", "drop", annotation.Destructive())
	cancelled := func() context.Context {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		return ctx
	}
	errShutdown := errors.New("the host shuts down")
	caused := func() context.Context {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errShutdown)
		return ctx
	}
	late := func() context.Context {
		ctx, cancel := context.WithDeadlineCause(context.Background(), time.Now().Add(-time.Second), errShutdown)
		t.Cleanup(cancel)
		return ctx
	}
	panics := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { panic("boo") })
	no := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		return hitl.Decision{Reason: "not today"}, nil
	})
	later := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		return hitl.Decision{}, &hitl.PendingError{}
	})
	needs := &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"x": nil}}
	seen := make(map[audit.Outcome]bool)
	for _, tt := range []struct {
		name string
		tool *middleware.Tool
		ctx  context.Context
		ask  hitl.Confirmer
		end  middleware.ToolCaller
		want audit.Outcome
	}{
		{"a result", read, nil, nil, testtool.Answering(textResult("x"), nil), audit.OK},
		{"a failure of the tool", read, nil, nil, testtool.Answering(&mcp.CallToolResult{IsError: true}, nil), audit.ToolError},
		{"a question of the server's", read, nil, nil, testtool.Answering(needs, nil), audit.InputRequired},
		{"a no", danger, nil, no, testtool.Answering(textResult("x"), nil), audit.Denied},
		{"a question that waits for another leg", danger, nil, later, testtool.Answering(textResult("x"), nil), audit.InputRequired},
		{"nobody to ask", danger, nil, nil, testtool.Answering(textResult("x"), nil), audit.Denied},
		{"refused by the server", write, nil, nil, testtool.Answering(nil, errorOf(false, false, true, 0)), audit.Refused},
		{"refused for good", write, nil, nil, testtool.Answering(nil, errorOf(true, true, false, 0)), audit.Refused},
		{"refused for now", write, nil, nil, testtool.Answering(nil, errorOf(false, true, false, time.Second)), audit.Refused},
		{"not sent", write, nil, nil, testtool.Answering(nil, errorOf(false, true, false, 0)), audit.NotSent},
		{"given up before it left", write, cancelled(), nil, testtool.Answering(textResult("x"), nil), audit.Cancelled},
		{"given up before it left, with a cause", write, caused(), nil, testtool.Answering(textResult("x"), nil), audit.Cancelled},
		{"late before it left, with a cause", write, late(), nil, testtool.Answering(textResult("x"), nil), audit.TimedOut},
		{"a read that was given up", read, nil, nil, testtool.Answering(nil, context.Canceled), audit.Cancelled},
		{"a read that took too long", read, nil, nil, testtool.Answering(nil, context.DeadlineExceeded), audit.TimedOut},
		{"a read that panicked", read, nil, nil, panics, audit.Panicked},
		{"a read that failed", read, nil, nil, testtool.Answering(nil, errors.New("broken pipe")), audit.Failed},
		{"a write that was given up on its way", write, nil, nil, testtool.Answering(nil, context.Canceled), audit.Unknown},
		{"a write that panicked", write, nil, nil, panics, audit.Unknown},
		{"a dangerous call without an answer", danger, nil, yes, testtool.Answering(nil, context.DeadlineExceeded), audit.Unknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := new(sink)
			trail := audit.New(s, audit.Options{})
			caller := chain.Standard{Audit: trail, Confirm: hitl.New(tt.ask, hitl.Options{})}.Then(guarded(tt.end))
			ctx := tt.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			_, _ = caller.CallTool(ctx, middleware.Call{Tool: tt.tool})
			if got := s.end(t).Outcome; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if from := s.end(t).From; from != "" && s.end(t).Approval == "" && tt.tool == danger {
				t.Errorf("from %q, without an approval", from)
			}
			if counts := trail.Counts(); len(counts) != 1 || counts[0].Outcome != tt.want || counts[0].Calls != 1 {
				t.Errorf("counted %+v", counts)
			}
			seen[tt.want] = true
		})
	}
	for _, o := range audit.Outcomes {
		if !seen[o] {
			t.Errorf("no case ends as %s", o)
		}
	}
}

// A context may end with a cause, and then neither of package context's own errors is in the
// error. A failure that only comes at the same time stays one.
func TestCauseOfTheHostsIsAnEndOfItsCaller(t *testing.T) {
	t.Parallel()
	shutdown := errors.New("the host shuts down")
	for _, tt := range []struct {
		name string
		err  error
		want audit.Outcome
	}{
		{"the cause", shutdown, audit.Cancelled},
		{"the cause in a tree", fmt.Errorf("crm: %w", shutdown), audit.Cancelled},
		{"a failure beside it", errors.New("broken pipe"), audit.Failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			s := new(sink)
			caller := audit.New(s, audit.Options{}).Record(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
				cancel(shutdown)
				return nil, tt.err
			}))
			_, _ = caller.CallTool(ctx, middleware.Call{Tool: testtool.New("files", "look", annotation.ReadOnly())})
			if got := s.end(t).Outcome; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Without recover in between, a panic goes on its way and is recorded all the same.
func TestPanicThatPassesHasAnEnd(t *testing.T) {
	t.Parallel()
	s := new(sink)
	trail := audit.New(s, audit.Options{})
	caller := trail.Record(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { panic("boo") }))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = caller.CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", "look", annotation.ReadOnly())})
	}()
	if got := s.end(t).Outcome; got != audit.Panicked {
		t.Errorf("got %q", got)
	}
}
