package proxy_test

import (
	"context"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
)

// The policy is decided once for a call with all that need its verdict, and once more if it was changed while the call
// waited for a person.
func TestPolicyIsDecidedOncePerCall(t *testing.T) {
	t.Parallel()
	const conditional = `{"name":"export_things","description":"Lists the things.","inputSchema":{"type":"object","properties":{"output_file":{"type":"string","description":"File to save the things to"}}}}`
	first, second := decided(t, `{"rules": [{"tool": "plain/read_slowly", "decide": "ask"}, {"tool": "plain/delete_all", "decide": "allow", "class": "dangerous"}]}`)(), new(policy.Policy)
	named := func(definition, name string) string {
		return regexp.MustCompile(`"name":"[a-z_]+"`).ReplaceAllString(definition, `"name":"`+name+`"`)
	}
	for name, c := range map[string]struct {
		call   string
		change bool
		want   int64
	}{
		"a read":                             {`{"name":"read_thing","arguments":{}}`, false, 1},
		"an approved write":                  {`{"name":"delete_thing","arguments":{}}`, false, 1},
		"a policy that changes meanwhile":    {`{"name":"delete_thing","arguments":{}}`, true, 2},
		"a class that the arguments decide":  {`{"name":"export_things","arguments":{"output_file":"a"}}`, false, 1},
		"a read that a rule asks about":      {`{"name":"read_slowly","arguments":{}}`, false, 1},
		"a write that a rule allows":         {`{"name":"delete_all","arguments":{}}`, false, 1},
		"the mildest class of the arguments": {`{"name":"export_things","arguments":{}}`, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var current atomic.Pointer[policy.Policy]
			current.Store(first)
			s := newPlain(deleteThing, readThing, conditional, named(readThing, "read_slowly"), named(deleteThing, "delete_all"))
			p := s.proxy(t, proxy.Options{Policy: current.Load, Confirm: hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
				if c.change {
					current.Store(second)
				}
				return hitl.Decision{Verdict: hitl.Approved}, nil
			})})
			client := s.client(t, p)
			client.call(`{"name":"read_thing","arguments":{"first":true}}`) // lists the tools
			before := proxy.Decisions(p)
			if got := client.call(c.call); !strings.Contains(got, `"2"`) {
				t.Fatalf("got %s", got)
			}
			if got := proxy.Decisions(p) - before; got != c.want {
				t.Errorf("decided %d times, want %d", got, c.want)
			}
		})
	}
}
