package proxy_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// trialTools have one tool of each class, by their names, and one with a switch.
var trialTools = []string{"get_thing", "create_thing", "delete_thing", "frobnicate", "manage_thing"}

// played makes a call of each tool through a proxy with a policy, and returns what became of it, and the records.
func played(t *testing.T, rules string) (dispositions map[string]proxy.Disposition, calls []audit.Record) {
	t.Helper()
	var executed, asked atomic.Bool
	s := mcptest.New()
	for _, name := range trialTools {
		mcptest.Add(s, mcptest.Tool(name, ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			executed.Store(true)
			return mcptest.Text("done"), nil
		})
	}
	var mu sync.Mutex
	o := proxy.Options{
		Policy: decided(t, rules),
		Servers: []proxy.Server{{Name: "crm", Open: func() (io.ReadWriteCloser, error) {
			here, there := net.Pipe()
			_, err := s.Connect(t.Context(), &mcp.IOTransport{Reader: there, Writer: there}, nil)
			return here, err
		}}},
		Confirm: hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			asked.Store(true)
			return hitl.Decision{Verdict: hitl.Approved, Via: "form"}, nil
		}),
		Audit: audit.SinkFunc(func(_ context.Context, r audit.Record) error {
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, r)
			return nil
		}),
	}
	f := connect(t, mcptest.Legacy, o, nil)
	dispositions = make(map[string]proxy.Disposition)
	for _, name := range trialTools {
		executed.Store(false)
		asked.Store(false)
		_, _ = f.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: name, Arguments: map[string]any{"method": "get", "path": "drafts/a"}})
		switch {
		case asked.Load():
			dispositions[name] = proxy.Asked
		case !executed.Load():
			dispositions[name] = proxy.Refused
		}
	}
	_ = f.Close()
	mcptest.Wait(t, "the proxy to end", f.served)
	mu.Lock()
	defer mu.Unlock()
	intents := make(map[int64]audit.Record)
	for _, r := range calls {
		if r.Kind == audit.Intent {
			intents[r.N] = r
		}
	}
	ends := calls[:0:0]
	for _, r := range calls {
		if r.Kind == audit.End {
			if r.Arguments == nil {
				r.Arguments = intents[r.N].Arguments
			}
			ends = append(ends, r)
		}
	}
	return dispositions, ends
}

// What a trial reports of recorded calls is what the proxy does with the same calls under the policy.
func TestTrialAgreesWithTheProxy(t *testing.T) {
	t.Parallel()
	_, calls := played(t, `{}`)
	if len(calls) != len(trialTools) {
		t.Fatalf("recorded %d calls, want %d", len(calls), len(trialTools))
	}
	for _, rules := range []string{
		`{}`,
		`{"readOnly": true}`,
		`{"rules": [{"tool": "*", "decide": "allow"}]}`,
		`{"rules": [{"tool": "crm/*", "decide": "allow"}]}`,
		`{"rules": [{"tool": "crm/delete_thing", "decide": "allow", "class": "dangerous"}, {"tool": "crm/frobnicate", "decide": "allow"}]}`,
		`{"rules": [{"tool": "get_*", "decide": "ask"}, {"tool": "crm/frob*", "decide": "deny"}]}`,
		`{"scopes": ["crm.read"]}`,
		`{"scopes": ["x.y"], "permissions": [{"tool": "crm/create_thing", "permission": "x.y"}]}`,
		`{"tools": [{"tool": "crm/delete_thing", "class": "safe"}, {"tool": "crm/get_thing", "class": "dangerous"}]}`,
		`{"tools": [{"tool": "crm/delete_thing", "auditRequired": true}], "rules": [{"tool": "crm/delete_thing", "decide": "allow", "class": "dangerous"}]}`,
		`{"arguments": {"crm/manage_thing": [{"when": {"method": ["get"]}, "class": "safe"}]}}`,
		`{"approvals": {"writes": true, "remember": "always"}}`,
		`{"approvals": {"approved": [{"tool": "crm/delete_thing", "class": "dangerous", "members": {"method": {"any": true}, "path": {"like": "drafts/*"}}, "until": "2999-01-01"}]}}`,
		`{"approvals": {"approved": [{"tool": "crm/delete_thing", "class": "dangerous", "members": {"method": {"any": true}, "path": {"like": "other/*"}}, "until": "2999-01-01"}]}}`,
	} {
		t.Run(rules, func(t *testing.T) {
			t.Parallel()
			want, _ := played(t, rules)
			for name, got := range tried(t, rules, calls...) {
				if got != want[name] {
					t.Errorf("%s: tried: %d, done: %d", name, got, want[name])
				}
			}
		})
	}
}

// tried returns the dispositions of calls by their tools.
func tried(t *testing.T, rules string, calls ...audit.Record) map[string]proxy.Disposition {
	t.Helper()
	trial, err := proxy.NewTrial(decided(t, rules)(), calls)
	if err != nil {
		t.Fatal(err)
	}
	dispositions := make(map[string]proxy.Disposition)
	for _, c := range calls {
		if dispositions[c.Tool], err = trial.Try(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	return dispositions
}

func TestTrialKeepsToTheRecord(t *testing.T) {
	t.Parallel()
	const allowed = `{"rules": [{"tool": "crm/*", "decide": "allow"}, {"tool": "crm/delete_thing", "decide": "allow", "class": "dangerous"}]`
	call := func(tool, class string) audit.Record {
		return audit.Record{Server: "crm", Tool: tool, Class: class, Arguments: json.RawMessage(`{"id":1}`)}
	}
	stranger, repeated, cut := call("delete_thing", "dangerous"), call("delete_thing", "dangerous"), call("delete_thing", "dangerous")
	stranger.Sources = []audit.Source{{Argument: "id", Tool: "web/fetch", Rule: "untrusted-value"}}
	repeated.Decisions = []audit.Decision{{Stage: "doubt", What: "repeated"}}
	cut.Arguments = json.RawMessage(`"70000 bytes"`)
	ruled := call("manage_thing", "safe")
	ruled.Decisions = []audit.Decision{{Stage: "preflight", What: "rule", Why: "method is get"}}
	blind := ruled
	blind.Arguments = nil
	const rule = `{"arguments": {"crm/manage_thing": {"when": {"method": ["get"]}, "class": "safe"}}}`
	get := ruled
	get.Arguments = json.RawMessage(`{"method":"get"}`)
	for _, c := range []struct {
		name, rules string
		call        audit.Record
		want        proxy.Disposition
	}{
		{"a class that the name denies", `{}`, call("delete_thing", "safe"), proxy.Allowed},
		{"a class that the name asks about", `{}`, call("send_message", "safe"), proxy.Allowed},
		{"a write that the name asks about", `{}`, call("send_message", "moderate"), proxy.Allowed},
		{"a name that is milder than the class", `{}`, call("get_thing", "unknown"), proxy.Asked},
		{"a name that is milder than the class, and a rule for it", allowed + "}", call("get_thing", "unknown"), proxy.Asked},
		{"a name that is milder than the class, and the host's word", `{"tools": [{"tool": "crm/get_thing", "class": "safe"}]}`, call("get_thing", "unknown"), proxy.Allowed},
		{"no class", `{}`, call("get_thing", ""), proxy.Asked},
		{"arguments that were not recorded", allowed + "}", cut, proxy.Allowed},
		{"an untrusted source", allowed + "}", stranger, proxy.Asked},
		{"an untrusted source of a call that a rule denies", `{"rules": [{"tool": "crm/*", "decide": "deny"}]}`, stranger, proxy.Refused},
		{"a source that the policy trusts", allowed + `, "flow": {"trusted": ["web/fetch"]}}`, stranger, proxy.Allowed},
		{"a flow rule that is off", allowed + `, "flow": {"off": ["untrusted-value"]}}`, stranger, proxy.Allowed},
		{"safe by a rule over arguments that is gone", `{}`, ruled, proxy.Asked},
		{"safe by a rule over arguments that is gone, without them", `{}`, blind, proxy.Asked},
		{"safe by another rule over arguments", rule, ruled, proxy.Asked},
		{"safe by a rule over arguments", rule, get, proxy.Allowed},
		{"safe by a rule over arguments, without them", rule, blind, proxy.Allowed},
		{"a repetition", allowed + "}", repeated, proxy.Asked},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := tried(t, c.rules, c.call)[c.call.Tool]; got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// A trial does not use up what a policy allows in a time, nor wait for it.
func TestTrialLeavesOutWhatDependsOnOtherCalls(t *testing.T) {
	t.Parallel()
	one, read := audit.Record{Server: "crm", Tool: "create_thing", Class: "moderate"}, audit.Record{Server: "crm", Tool: "get_schema", Class: "safe"}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		trial, err := proxy.NewTrial(decided(t, `{"limits": {"perMinute": 1, "burst": 1}, "budget": {"calls": 1}, "cache": {"crm/*": "1h"}}`)(), []audit.Record{one, read})
		if err != nil {
			t.Fatal(err)
		}
		for i, call := range []audit.Record{one, one, read, read, read} {
			if got, err := trial.Try(t.Context(), call); got != proxy.Allowed || err != nil {
				t.Errorf("call %d: got %d, %v", i, got, err)
			}
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %v", took)
		}
	})
	one.Server = ""
	for _, calls := range [][]audit.Record{nil, {one}} {
		if _, err := proxy.NewTrial(decided(t, `{}`)(), calls); err == nil {
			t.Errorf("%d calls without a server: got no error", len(calls))
		}
	}
}
