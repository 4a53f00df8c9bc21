package timeout_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// refusedNeighbour is how another call of the same group ended, which is why the
// group's context is done: errgroup gives it as the cause.
var errNeighbour = &middleware.NotSentError{Err: errors.New("a person said no")}

// A cause that another call was not sent does not describe a call that was in flight.
func TestCauseOfTheEndDoesNotDescribeTheCall(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(ctx context.Context) error{
		"the context's error":  func(ctx context.Context) error { return ctx.Err() },
		"wrapped":              func(ctx context.Context) error { return fmt.Errorf("calling: %w", ctx.Err()) },
		"the context's cause":  context.Cause,
		"of a call that ended": func(context.Context) error { return errors.New("connection reset") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			sent := middleware.ToolCallerFunc(func(ctx context.Context, _ middleware.Call) (*mcp.CallToolResult, error) {
				cancel(errNeighbour)
				<-ctx.Done()
				return nil, end(ctx)
			})
			call := middleware.Call{Tool: estimated(annotation.Destructive(), 0)}
			_, err := timeout.New(timeout.Options{})(sent).CallTool(ctx, call)
			if _, unknown := errors.AsType[*middleware.OutcomeUnknownError](err); !unknown || middleware.NotSent(err) {
				t.Errorf("a call that was under way ended with %v; not sent: %v", err, middleware.NotSent(err))
			}
			if !errors.Is(err, errNeighbour) {
				t.Errorf("the cause is not in %v", err)
			}
		})
	}
}
