package chain_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/middleware"
)

// The order of the slots is the argued one, whatever the order of writing.
func TestSlotsAreInTheDocumentedOrder(t *testing.T) {
	t.Parallel()
	list := func(kind string) []middleware.Middleware { return []middleware.Middleware{telling(kind)} }
	s := chain.Standard{
		Route: telling("route"), Timeout: telling("timeout"), PerAttempt: list("per attempt"), RateLimit: telling("ratelimit"),
		Retry: telling("retry"), Cache: telling("cache"), PerCall: list("per call"),
		Confirm: telling("hitl"), Doubt: telling("doubt"), Preflight: telling("preflight"), Budget: telling("budget"), Infer: telling("infer"),
		Audit: auditing{}, Telemetry: telling("telemetry"), Output: telling("output"), Outermost: list("outermost"),
	}
	var got []string
	for caller := s.Then(telling("executor")(nil)); caller != nil; {
		d := caller.(middleware.Describer).Describe()
		got = append(got, d.Kind)
		caller = d.Next
	}
	want := []string{
		"turn", "outermost", "output", "telemetry", "record", "recover", "infer", "budget", "preflight", "doubt", "hitl", "per call",
		"intent", "cache", "retry", "ratelimit", "per attempt", "timeout", "route", "guard",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if problems := chain.Verify(s); len(problems) > 0 {
		t.Error(problems)
	}
}

// The order is defined once, in the table of slots; the documentation matches it.
func TestDocumentedOrderIsThatOfTheSlots(t *testing.T) {
	t.Parallel()
	want := strings.Join(slices.DeleteFunc(chain.Order(), func(name string) bool { return name == "batch" }), " → ") + " → executor"
	for _, file := range []string{"standard.go", "../docs/explanation/order.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Join(strings.Fields(strings.ReplaceAll(string(text), "//", "")), " ")
		if !strings.Contains(words, want) {
			t.Errorf("%s does not have the order %s", file, want)
		}
	}
}
