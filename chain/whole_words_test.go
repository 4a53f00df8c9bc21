package chain_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/route"
	"github.com/fairlead-go/fairlead/timeout"
)

// An error's text for a model has the model's name for the tool and the next step, and nothing of
// another error. The text for the host names the package and the tool.
func TestEveryErrorHasWordsForItsReader(t *testing.T) {
	t.Parallel()
	its := tool(t, "pay", annotation.Destructive())
	inside := errors.New("dial tcp 10.0.0.7:5432")
	for _, tt := range []struct {
		err  error
		room string
		todo string // what the model can do
	}{
		{&budget.StoppedError{Tool: its, Reason: budget.Loop, Times: 4, SameAnswer: true, After: time.Minute}, "budget", "do something else"},
		{&budget.StoppedError{Tool: its, Reason: budget.Loop, Times: 4, Turns: 3, After: time.Minute}, "budget", "do something else"},
		{&budget.StoppedError{Tool: its, Reason: budget.Calls, Limit: budget.Limit{Calls: 5}, After: time.Minute}, "budget", "tell the user"},
		{&budget.StoppedError{Tool: its, Reason: budget.Time, Limit: budget.Limit{Time: time.Second}, After: time.Minute}, "budget", "tell the user"},
		{&budget.StoppedError{Tool: its, Reason: budget.Cost, Limit: budget.Limit{Cost: 5}}, "budget", "tell the user"},
		{&audit.RefusedError{Tool: its, Err: inside}, "audit", "tell the user"},
		{&preflight.InvalidArgumentsError{Tool: its, Err: inside}, "preflight", "call it again with others"},
		{&hitl.DeniedError{Tool: its, Err: inside}, "hitl", "Tell the user"},
		{&hitl.DeniedError{Tool: its}, "hitl", "ask what to do instead"},
		{&retry.ExhaustedError{Tool: its, Attempts: 3, Err: inside}, "retry", "use another tool"},
		{&retry.ExhaustedError{Tool: its, Attempts: 3, OverBudget: true, Err: inside}, "retry", "tell the user"},
		{&ratelimit.LimitedError{Tool: its, Wait: time.Minute}, "ratelimit", "Call it again in 1m0s"},
		{&ratelimit.LimitedError{Tool: its}, "ratelimit", "Use another tool"},
		{&timeout.Error{Tool: its, After: time.Second}, "timeout", "Ask it for less"},
		{&route.NoReplicaError{Tool: its, After: time.Second, Excluded: []route.Excluded{{Replica: "10.0.0.7", Reason: "is down"}}}, "route", "Call it again in 1s"},
		{&route.NoReplicaError{Tool: its}, "route", "tell the user"},
		{&catalog.ChangedError{Tool: its}, "catalog", "Look it up again"},
		{&catalog.NotCoveredError{Tool: its}, "catalog", "Choose other arguments"},
		{&catalog.ReplicaError{Tool: its, Replica: "10.0.0.7"}, "catalog", "Try again later"},
		{&guard.RefusedError{Tool: its, Reason: "nobody approved it"}, "fairlead", "tell the user"},
		{middleware.OutcomeUnknown(middleware.Call{Tool: its}, inside), "middleware", "Do not call it again now"},
	} {
		name := fmt.Sprintf("%T %q", tt.err, tt.todo)
		host, model := tt.err.Error(), middleware.ForModel(tt.err)
		if !strings.HasPrefix(host, tt.room+": ") || !strings.Contains(host, "server/pay") || toModel.MatchString(host) {
			t.Errorf("%s: the host reads %q", name, host)
		}
		if !strings.Contains(model, "server__pay") || !strings.Contains(model, tt.todo) || strings.Contains(model, "10.0.0.7") || !strings.HasSuffix(model, ".") {
			t.Errorf("%s: the model reads %q", name, model)
		}
	}
}

// toModel finds text that is only for a model.
var toModel = regexp.MustCompile(`(?i)do not call it again|tell the user|ask what to do`)

// A call that the guard refuses for want of a record is not put down to a person.
func TestUnrecordedCallIsNotBlamedOnAPerson(t *testing.T) {
	t.Parallel()
	audited := annotation.ReadOnly()
	audited.AuditRequired = annotation.Yes
	_, err := accepting().CallTool(t.Context(), middleware.Call{Tool: tool(t, "look", audited)})
	if model := middleware.ForModel(err); !strings.Contains(model, "the record of calls does not work") || strings.Contains(model, "agreement") {
		t.Errorf("the model reads %q", model)
	}
}
