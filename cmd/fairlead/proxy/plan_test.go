package proxy_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What is not shown is not called either, and its caller is told why.
func TestWhatIsNotShownIsNotCalled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		o    proxy.Options
		want []string // that are shown
		says string   // to a call of delete_thing
	}{
		{"read-only", proxy.Options{ReadOnly: true}, []string{"list_things"}, "only what reads may be called here"},
		{"read-only by a policy", proxy.Options{Policy: decided(t, `{"readOnly": true}`)}, []string{"list_things"}, "only what reads"},
		{"denied", proxy.Options{Policy: decided(t, `{"rules": [{"tool": "delete_*", "decide": "deny", "reason": "ask an owner"}]}`)}, []string{"list_things"}, "ask an owner"},
		{"a scope", proxy.Options{Scopes: []catalog.Scope{{Permission: "*.read"}}}, []string{"list_things"}, ""},
		{"a scope of another server", proxy.Options{Scopes: []catalog.Scope{{Permission: "other.all"}}}, nil, ""},
		{"every scope", proxy.Options{Scopes: []catalog.Scope{{Permission: "things.all"}}}, thingNames, "it was not approved"},
		{"scopes by a policy", proxy.Options{Policy: decided(t, `{"scopes": ["x.read"], "permissions": [{"tool": "list_*", "permission": "x.read"}]}`)}, []string{"list_things"}, ""},
		{"no scope at all", proxy.Options{Policy: decided(t, `{"scopes": []}`)}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			eachVersion(t, func(t *testing.T, version string) {
				o := c.o
				o.Confirm = hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
					if c.says != "it was not approved" {
						t.Error("somebody was asked")
					}
					return hitl.Decision{}, os.ErrInvalid
				})
				f := connect(t, version, o, nil)
				if got := names(t, f.ClientSession); !slices.Equal(got, c.want) {
					t.Errorf("got %v, want %v", got, c.want)
				}
				res, err := f.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "delete_thing"})
				if c.says == "" { // as of a tool that is not there
					if err == nil || !strings.Contains(err.Error(), "unknown tool") {
						t.Errorf("got %v, %v", res, err)
					}
				} else if err != nil || !res.IsError || !strings.Contains(text(t, res), c.says) {
					t.Errorf("got %v, %v, want %q", res, err, c.says)
				}
				if got := ledgerOf(t, f.ledger); len(got) > 0 {
					t.Errorf("the server did %v", got)
				}
			})
		})
	}
}

func TestPolicyAllowsByName(t *testing.T) {
	t.Parallel()
	f := connect(t, mcptest.Modern, proxy.Options{Policy: decided(t,
		`{"rules": [{"tool": "things/delete_thing", "decide": "allow", "class": "dangerous"}, {"tool": "list_*", "decide": "ask"}]}`)}, nil)
	if got := text(t, f.call(t, "delete_thing", nil)); got != "it is gone" {
		t.Errorf("got %q", got)
	}
	if res := f.call(t, "list_things", nil); !res.IsError {
		t.Error("what is to be asked about was called with nobody to ask")
	}
}

// Arguments can make a call dangerous. Then a client that may only read cannot make it, and no
// person is asked about it.
func TestArgumentsCount(t *testing.T) {
	t.Parallel()
	f := connect(t, mcptest.Legacy, proxy.Options{
		Policy: decided(t, `{"readOnly": true, "arguments": {"things/list_things": {"when": {"purge": [true]}, "class": "dangerous"}}}`),
		Confirm: hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			t.Error("somebody was asked")
			return hitl.Decision{Verdict: hitl.Approved}, nil
		}),
	}, nil)
	if res := f.call(t, "list_things", map[string]any{"purge": false}); res.IsError {
		t.Error(text(t, res))
	}
	if res := f.call(t, "list_things", map[string]any{"purge": true}); !res.IsError || !strings.Contains(text(t, res), "only what reads") {
		t.Errorf("got %q", text(t, res))
	}
}

// A person has so much time, and then it is a no.
func TestSilenceIsADenial(t *testing.T) {
	t.Parallel()
	f := connect(t, mcptest.Legacy, proxy.Options{
		Policy: decided(t, `{"approvals": {"timeout": "50ms"}}`),
		Confirm: hitl.ConfirmerFunc(func(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
			<-ctx.Done()
			return hitl.Decision{}, ctx.Err()
		}),
	}, nil)
	if res := f.call(t, "delete_thing", nil); !res.IsError || !strings.Contains(text(t, res), "it was not approved") {
		t.Errorf("got %q", text(t, res))
	}
}

// A policy that changes while the proxy runs counts from the next call on.
func TestLivePolicy(t *testing.T) {
	t.Parallel()
	var now atomic.Pointer[policy.Policy]
	now.Store(decided(t, `{}`)())
	f := connect(t, mcptest.Legacy, proxy.Options{Policy: now.Load}, nil)
	if got := names(t, f.ClientSession); len(got) != len(thingNames) {
		t.Errorf("got %v", got)
	}
	now.Store(decided(t, `{"readOnly": true}`)())
	if res := f.call(t, "delete_thing", nil); !strings.Contains(text(t, res), "only what reads") {
		t.Errorf("got %q", text(t, res))
	}
	if got := names(t, f.ClientSession); !slices.Equal(got, []string{"list_things"}) {
		t.Errorf("got %v", got)
	}
}

// A policy that denies a tool while a person reads its question counts.
func TestPolicyThatChangesWhileAPersonReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		allow, err := policy.Parse("allow", []byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		deny, err := policy.Parse("deny", []byte(`{"rules":[{"tool":"plain/delete_thing","decide":"deny"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		var now atomic.Pointer[policy.Policy]
		now.Store(allow)
		s, b := newPlain(deleteThing), new(book)
		confirm := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			now.Store(deny)
			return hitl.Decision{Verdict: hitl.Approved}, nil
		})
		c := s.client(t, s.proxy(t, proxy.Options{Confirm: confirm, Policy: now.Load, Audit: b}))
		if got := c.call(`{"name":"delete_thing"}`); len(s.calls()) > 0 {
			t.Errorf("the server executed %q: %s", s.calls(), got)
		}
	})
}

// A change of the policy does not part a read from a write that is in flight.
func TestStoreOutlivesAChangeOfThePolicy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now atomic.Pointer[policy.Policy]
		now.Store(decided(t, `{"cache": {"*": "1m"}}`)())
		s := newPlain(readThing, writeThing)
		s.hold = make(chan struct{})
		p := s.proxy(t, proxy.Options{Trust: true, Confirm: approve(true), Policy: now.Load})
		a, b := s.client(t, p), s.client(t, p)
		written := make(chan string)
		go func() { written <- b.call(`{"name":"add_thing"}`) }()
		synctest.Wait()
		now.Store(decided(t, `{"cache": {"*": "1m"}}`)())
		early := a.call(`{"name":"read_thing"}`)
		close(s.hold)
		<-written
		if got := a.call(`{"name":"read_thing"}`); !strings.Contains(got, `"text":"3"`) {
			t.Errorf("after the write: %s, and before: %s", got, early)
		}
	})
}

// What is observed is sent once and as it came, whatever the proxy would do with it; what the policy denies is not.
func TestObserving(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "calls.jsonl")
	sink, err := audit.OpenFile(file, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	f := connect(t, mcptest.Legacy, proxy.Options{
		Audit: sink, Observe: true,
		Policy: decided(t, `{"limits":{"perMinute":1,"burst":1},"rules":[{"tool":"things/delete_slowly","decide":"deny"},{"tool":"things/delete_and_die","decide":"allow", "class": "dangerous"}]}`),
		Confirm: hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			t.Error("somebody was asked")
			return hitl.Decision{}, nil
		}),
	}, nil)
	for range 2 {
		f.call(t, "list_things", map[string]any{"id": "a"})
		f.call(t, "delete_thing", map[string]any{"id": "a"})
	}
	if res, err := f.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "delete_slowly"}); err == nil && !res.IsError {
		t.Errorf("what the policy denies gave %q", text(t, res))
	}
	f.call(t, "delete_and_die", nil)
	_ = f.Close()
	mcptest.Wait(t, "the proxy to end", f.served)
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{`list {"id":"a"}`, `delete {"id":"a"}`, `list {"id":"a"}`, `delete {"id":"a"}`, "delete {}"}
	if got := ledgerOf(t, f.ledger); !slices.Equal(got, want) {
		t.Errorf("the server did %q, want %q", got, want)
	}
	record, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for want, times := range map[string]int{
		`would: ask first`: 2, `would: run, by the policy`: 1, `would: run · `: 2, `it is dangerous (inferred: \"delete\" leads the name)`: 3, `"stage":"observe"`: 5,
	} {
		if got := strings.Count(string(record), want); got != times {
			t.Errorf("%s is there %d times, want %d:\n%s", want, got, times, record)
		}
	}
}
