package fault_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var errPlain = errors.New("plain")

type fact struct{ permanent, refused bool }

func (fact) Error() string     { return "fact" }
func (f fact) Permanent() bool { return f.permanent }
func (f fact) Refused() bool   { return f.refused }

func doIt(a annotation.Annotations) *middleware.Tool {
	return &middleware.Tool{Server: "files", Definition: &mcp.Tool{Name: "do_it"}, Annotations: a}
}

type asks struct{ error }

func (asks) InputRequired() (mcp.InputRequestMap, string) {
	return mcp.InputRequestMap{"who": &mcp.ElicitParams{Message: "Who?"}}, "state"
}

func TestInputRequired(t *testing.T) {
	t.Parallel()
	if requests, state, ok := fault.InputRequired(fmt.Errorf("outer: %w", asks{errPlain})); !ok || state != "state" || len(requests) != 1 {
		t.Errorf("got %v, %q, %t", requests, state, ok)
	}
	for _, err := range []error{nil, errPlain, fact{}} {
		if requests, state, ok := fault.InputRequired(err); ok || state != "" || requests != nil {
			t.Errorf("%v: got %v, %q, %t", err, requests, state, ok)
		}
	}
}

// Why a context is done is often how another call ended: its facts do not apply to the call that
// was abandoned because of it.
func TestGivenUpDescribesItsOwnCallAlone(t *testing.T) {
	t.Parallel()
	other := &middleware.OutcomeUnknownError{Tool: doIt(annotation.Destructive()), Check: "look whether do_it happened", Err: errPlain}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fmt.Errorf("the group ends: %w", errors.Join(other, fact{permanent: true, refused: true})))
	err := fault.GivenUp(ctx)
	if _, unknown := errors.AsType[*middleware.OutcomeUnknownError](err); unknown || middleware.ForModel(err) != "" ||
		middleware.Permanent(err) || middleware.Refused(err) || !middleware.NotSent(err) {
		t.Errorf("got %v, with the facts of another call: unknown %v, for the model %q", err, unknown, middleware.ForModel(err))
	}
	if !errors.Is(err, errPlain) || !errors.Is(err, context.Cause(ctx)) {
		t.Errorf("the cause is not in %v", err)
	}
}
