package otel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/chain"
	fairleadotel "github.com/fairlead-go/fairlead/contrib/otel"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestErrorTypes(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"denied":          fmt.Errorf("x: %w", hitl.ErrDenied),
		"refused":         chain.ErrRefused,
		"timeout":         context.DeadlineExceeded,
		"cancelled":       context.Canceled,
		"outcome_unknown": &middleware.OutcomeUnknownError{Err: context.DeadlineExceeded},
		"panic":           &chain.PanicError{},
		"-32601":          &jsonrpc.Error{Code: -32601, Message: "no such method"},
		"_OTHER":          errors.New("postgres://user:secret@host is away"),
	} {
		l := newLab(fairleadotel.Options{})
		next := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return nil, err })
		_, _ = l.Call(next).CallTool(context.Background(), middleware.Call{Tool: new(middleware.Tool)})
		span := l.spans.GetSpans()[0]
		if got := attributes(span)["error.type"]; got != want {
			t.Errorf("%v: error.type is %q, want %q", err, got, want)
		}
		if strings.Contains(fmt.Sprint(span.Status, span.Attributes), "secret") {
			t.Errorf("the span holds a secret: %v", span.Status)
		}
	}
}

// A host may give the end of a context a cause, which has neither of context's own
// errors in it; a failure that only comes at the same time is one.
func TestErrorTypeOfACause(t *testing.T) {
	t.Parallel()
	shutdown := errors.New("the host shuts down")
	for want, err := range map[string]error{"cancelled": fmt.Errorf("crm: %w", shutdown), "_OTHER": errors.New("broken pipe")} {
		l := newLab(fairleadotel.Options{})
		for _, link := range []middleware.Middleware{l.Call, l.Attempt} {
			l.spans.Reset()
			ctx, cancel := context.WithCancelCause(context.Background())
			next := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
				cancel(shutdown)
				return nil, err
			})
			_, _ = link(next).CallTool(ctx, middleware.Call{Tool: new(middleware.Tool)})
			if got := attributes(l.spans.GetSpans()[0])["error.type"]; got != want {
				t.Errorf("%v: error.type is %q, want %q", err, got, want)
			}
		}
	}
}
