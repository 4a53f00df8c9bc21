package preflight_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
)

func through(j middleware.Middleware) middleware.ToolCaller {
	res := new(mcpResult)
	return j(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcpResult, error) { return res, nil }))
}

func BenchmarkJudge(b *testing.B) {
	rule := preflight.When("method", "get", "list").Safe()
	many := preflight.Rules{"files/act": rule}
	for i := range 1000 {
		many[fmt.Sprintf("files/tool_%d", i)] = rule
	}
	tool := act(b, annotation.Destructive(), true)
	small := json.RawMessage(`{"method":"get","owner":"o","repo":"r","number":7}`)
	large := json.RawMessage(`{"method":"get","body":"` + strings.Repeat("x", 64<<10) + `"}`)
	for _, bb := range []struct {
		name      string
		options   preflight.Options
		arguments json.RawMessage
	}{
		{"no rule for the tool", preflight.Options{Rules: preflight.Rules{"files/other": rule}}, small},
		{"a rule", preflight.Options{Rules: preflight.Rules{"files/act": rule}}, small},
		{"ten rules for the tool", preflight.Options{Rules: preflight.Rules{"files/act": preflight.Strictest(rule, rule, rule, rule, rule, rule, rule, rule, rule, rule)}}, small},
		{"a thousand tools", preflight.Options{Rules: many}, small},
		{"64 KiB of arguments", preflight.Options{Rules: preflight.Rules{"files/act": rule}}, large},
		{"an answer", preflight.Options{Resolver: &stateless{annotation.ReadOnly()}, Trusted: everyone}, small},
	} {
		b.Run(bb.name, func(b *testing.B) {
			caller := through(preflight.New(bb.options))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := caller.CallTool(b.Context(), middleware.Call{Tool: tool, Arguments: bb.arguments}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A tool without a rule costs nothing, and ten rules are not ten parses.
func TestOneParseServesAllRules(t *testing.T) {
	rule := preflight.When("a", "b").Safe() // which is not met
	tool := act(t, annotation.Destructive(), true)
	call := middleware.Call{Tool: tool, Arguments: json.RawMessage(`{"method":"get","owner":"o","repo":"r"}`)}
	allocs := func(rules preflight.Rules) float64 {
		caller := through(preflight.New(preflight.Options{Rules: rules}))
		return testing.AllocsPerRun(100, func() { _, _ = caller.CallTool(context.Background(), call) })
	}
	if got := allocs(preflight.Rules{"files/other": rule}); got != 0 {
		t.Errorf("%v allocations without a rule, want 0", got)
	}
	one, ten := allocs(preflight.Rules{"files/act": rule}), allocs(preflight.Rules{"files/act": preflight.Strictest(rule, rule, rule, rule, rule, rule, rule, rule, rule, rule)})
	t.Log(one, ten)
	if ten > one+1 {
		t.Errorf("%v allocations with ten rules, %v with one", ten, one)
	}
}
