package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The caller leaves while an update that may have arrived waits to be repeated. The caller's
// reason to leave, that another call was not sent, does not describe the update.
func TestCauseOfTheEndDoesNotDescribeTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		next := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
			time.AfterFunc(time.Millisecond, func() { cancel(&failure{notSent: true}) })
			return nil, errLost
		})
		tool := testtool.New("files", "tool", annotation.Update().Attribute(annotation.Host, ""))
		_, err := retry.New(retry.Options{First: time.Second, Rand: always(0.9)})(next).CallTool(ctx, middleware.Call{Tool: tool})
		if _, unknown := errors.AsType[*retry.OutcomeUnknownError](err); !unknown || middleware.NotSent(err) || !errors.Is(err, context.Cause(ctx)) {
			t.Errorf("got %v; not sent: %v", err, middleware.NotSent(err))
		}
	})
}

// A final answer to a later attempt, that the session has ended for one, does not describe an
// earlier one that may have arrived.
func TestFinalAnswerDoesNotHideAnEarlierAttemptThatMayHaveArrived(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(server)
		final := &failure{permanent: true}
		_, err := s.attempt(t, retry.New(retry.Options{})(s), middleware.Call{Tool: testtool.New("files", "tool", annotation.Update().Attribute(annotation.Host, ""))}, errLost, final)
		if _, unknown := errors.AsType[*retry.OutcomeUnknownError](err); !unknown {
			t.Errorf("an update that may have happened ended with %v", err)
		}
	})
}
