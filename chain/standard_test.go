package chain_test

import (
	"slices"
	"testing"

	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/internal/turn"
	"github.com/fairlead-go/fairlead/middleware"
)

// The order of the slots is the argued one, whatever the order of writing.
func TestTheSlotsStandInTheArguedOrder(t *testing.T) {
	t.Parallel()
	list := func(kind string) []middleware.Middleware { return []middleware.Middleware{telling(kind)} }
	s := chain.Standard{
		Route: telling("route"), Timeout: telling("timeout"), PerAttempt: list("per attempt"), RateLimit: telling("ratelimit"),
		Retry: telling("retry"), Cache: telling("cache"), Intent: telling("intent"), PerCall: list("per call"),
		Confirm: telling("hitl"), Preflight: telling("preflight"), Budget: telling("budget"), Infer: telling("infer"),
		Record: telling("record"), Telemetry: telling("telemetry"), Output: telling("output"), Outermost: list("outermost"),
	}
	var got []string
	for caller := s.Then(telling("executor")(nil)); caller != nil; {
		got = append(got, caller.(middleware.Kinder).Kind())
		caller = caller.(middleware.Unwrapper).Unwrap()
	}
	want := []string{
		"outermost", "output", "telemetry", "record", "recover", "infer", "budget", "preflight", "hitl", "turn", "recover", "per call",
		"intent", "cache", "retry", "ratelimit", "per attempt", "timeout", "route", "executor",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if problems := chain.Verify(s); len(problems) > 0 {
		t.Error(problems)
	}
}

// A link that does not tell what it stands before hides the gate behind it, from a
// batch too; then the chain says so from its outside.
func TestAHiddenGateIsTold(t *testing.T) {
	t.Parallel()
	executor := telling("executor")(nil)
	hiding := func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(next.CallTool)
	}
	for name, s := range map[string]chain.Standard{
		"all links tell": {}, "one outside hides": {Outermost: []middleware.Middleware{hiding}}, "one inside hides": {Budget: hiding},
	} {
		if !turn.Gated(s.Then(executor)) {
			t.Errorf("%s: nobody sees that the chain has a gate", name)
		}
	}
}
