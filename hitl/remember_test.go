package hitl_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/terminal"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// remembering answers yes, to be remembered.
func remembering(r hitl.Remember) *person {
	return &person{decision: hitl.Decision{Verdict: hitl.Approved, Remember: r, By: "ann"}}
}

func with(call middleware.Call, arguments string) middleware.Call {
	call.Arguments = json.RawMessage(arguments)
	return call
}

func TestRememberedApprovalCoversOnlyWhatWasShown(t *testing.T) {
	t.Parallel()
	change := func(call middleware.Call, f func(*middleware.Tool)) middleware.Call {
		other := *call.Tool
		f(&other)
		call.Tool = &other
		return call
	}
	for _, tt := range []struct {
		name   string
		second func(call middleware.Call) middleware.Call
		asked  int64
	}{
		{"the same again", func(c middleware.Call) middleware.Call { return c }, 1},
		{"the same in another spelling", func(c middleware.Call) middleware.Call { return with(c, ` {"path":"\u0061.txt"}`) }, 1},
		{"B243: another path", func(c middleware.Call) middleware.Call { return with(c, `{"path":"/etc/shadow"}`) }, 2},
		{"B245: one member differs, which was not displayed", func(c middleware.Call) middleware.Call {
			return with(c, `{"path":"a.txt","password":"x"}`)
		}, 2},
		{"another scope", func(c middleware.Call) middleware.Call { c.Scope = "bob"; return c }, 2},
		{"no scope", func(c middleware.Call) middleware.Call { c.Scope = ""; return c }, 2},
		{"another server", func(c middleware.Call) middleware.Call {
			return change(c, func(t *middleware.Tool) { t.Server = "mail" })
		}, 2},
		{"B241: another definition", func(c middleware.Call) middleware.Call {
			return change(c, func(t *middleware.Tool) { t.Digest[0]++ })
		}, 2},
		{"a sterner class", func(c middleware.Call) middleware.Call {
			return change(c, func(t *middleware.Tool) { t.Annotations = annotation.Annotations{} })
		}, 2},
	} {
		for _, r := range []hitl.Remember{hitl.Session, hitl.Always} {
			t.Run(fmt.Sprintf("%s, %d", tt.name, r), func(t *testing.T) {
				t.Parallel()
				e, p := new(executor), remembering(r)
				c := hitl.New(p, hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true})(guarded(e))
				for _, call := range []middleware.Call{deletes(t), tt.second(deletes(t))} {
					if _, err := c.CallTool(t.Context(), call); err != nil {
						t.Fatal(err)
					}
				}
				p.want(t, tt.asked)
				e.want(t, 2)
			})
		}
	}
}

func TestNothingIsRememberedThatWasNotOffered(t *testing.T) {
	t.Parallel()
	glob := []hitl.Pattern{{{Name: "path", Glob: "*.txt"}}, {{Name: "path", Glob: "*.log"}}} // the second does not fit
	for _, tt := range []struct {
		name     string
		o        hitl.Options
		decision hitl.Decision
		asked    int64 // for the same call twice
	}{
		{"the zero options", hitl.Options{}, hitl.Decision{Remember: hitl.Always}, 2},
		{"the zero decision's yes", hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true}, hitl.Decision{}, 2},
		{"longer than offered", hitl.Options{Remember: hitl.Session}, hitl.Decision{Remember: hitl.Always}, 2},
		{"an unknown length", hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true}, hitl.Decision{Remember: 9}, 2},
		{"an unknown offer", hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true}, hitl.Decision{Remember: hitl.Always, Offer: 1}, 2},
		{"a negative offer", hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true}, hitl.Decision{Remember: hitl.Always, Offer: -1}, 2},
		{"a pattern", hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true}, hitl.Decision{Remember: hitl.Always, Offer: 1}, 1},
		{"a pattern that does not fit is not offered", hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true}, hitl.Decision{Remember: hitl.Always, Offer: 2}, 2},
		{"the tool", hitl.Options{Remember: hitl.Session, OfferTool: true}, hitl.Decision{Remember: hitl.Session, Offer: 1}, 1},
		{"the tool for always", hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true, OfferTool: true}, hitl.Decision{Remember: hitl.Always, Offer: 1}, 2},
		{"the tool, which is not offered", hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true}, hitl.Decision{Remember: hitl.Session, Offer: 1}, 2},
		{"a free member", hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true, OfferMembers: true}, hitl.Decision{Remember: hitl.Always, Free: []string{"path"}}, 1},
		{"a free member, which is not offered", hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true}, hitl.Decision{Remember: hitl.Always, Free: []string{"path"}}, 2},
		{"a free member that is not there", hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true, OfferMembers: true}, hitl.Decision{Remember: hitl.Always, Free: []string{"dir"}}, 2},
		{"a free member of the tool", hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true, OfferMembers: true, OfferTool: true}, hitl.Decision{Remember: hitl.Session, Offer: 1, Free: []string{"path"}}, 2},
		{
			"a free member of what was edited", hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true, OfferMembers: true},
			hitl.Decision{Remember: hitl.Always, Free: []string{"path"}, Arguments: json.RawMessage(`{"path":"b.txt"}`)}, 2,
		},
		{"as edited", hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true}, hitl.Decision{Remember: hitl.Always, Arguments: json.RawMessage(`{"path":"b.txt"}`)}, 2},
		{"an edit out of the pattern", hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true}, hitl.Decision{Remember: hitl.Always, Offer: 1, Arguments: json.RawMessage(`{"path":"b"}`)}, 2},
		{"a no is not remembered", hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true}, hitl.Decision{Verdict: 7, Remember: hitl.Always}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.decision.Verdict == hitl.Denied {
				tt.decision.Verdict = hitl.Approved
			}
			if strings.Contains(tt.name, "pattern") {
				tt.o.Patterns = func(context.Context, middleware.Call) []hitl.Pattern { return glob }
			}
			p := &person{decision: tt.decision}
			c := hitl.New(p, tt.o)(guarded(new(executor)))
			for range 2 {
				_, _ = c.CallTool(t.Context(), deletes(t))
			}
			p.want(t, tt.asked)
		})
	}
	t.Run("an edit is remembered as it was edited", func(t *testing.T) {
		t.Parallel()
		p := remembering(hitl.Always)
		p.decision.Arguments = json.RawMessage(`{"path":"b.txt"}`)
		c := hitl.New(p, hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true})(guarded(new(executor)))
		_, _ = c.CallTool(t.Context(), deletes(t))
		_, _ = c.CallTool(t.Context(), with(deletes(t), `{"path":"b.txt"}`))
		p.want(t, 1)
	})
}

// What is remembered with members left free, or for the tool, holds for the next call that
// fits, and one that is taken back holds for none, not even for a call that it answered.
func TestRememberedRules(t *testing.T) {
	t.Parallel()
	store := approvals.NewMemory()
	e, p := new(executor), remembering(hitl.Always)
	p.decision.Free = []string{"path"}
	var revoke func()
	c := hitl.New(p, hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true, OfferMembers: true, Store: store})(middleware.ToolCallerFunc(
		func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			if revoke != nil {
				revoke() // while the call waits for its turn
			}
			return guarded(e).CallTool(ctx, call)
		}))
	call := func(path string) error {
		_, err := c.CallTool(t.Context(), with(deletes(t), fmt.Sprintf(`{"path":%q}`, path)))
		return err
	}
	for i, tt := range []struct {
		path  string
		asked int64
	}{{"drafts/a", 1}, {"drafts/b", 1}, {"drafts-old/b", 2}, {"drafts/../b", 3}, {"drafts/c/d", 4}, {"drafts/c", 4}} {
		if err := call(tt.path); err != nil {
			t.Fatal(err)
		}
		p.want(t, tt.asked)
		e.want(t, i+1)
		p.decision.Remember = hitl.Once
	}
	all, err := store.List(t.Context())
	if err != nil || len(all) != 1 || all[0].Uses != 2 || all[0].String() != "files/delete with path under drafts/, any name" || all[0].Since.IsZero() {
		t.Fatalf("got %v, %v; want one that was used twice", all, err)
	}
	revoke = func() { _ = store.Forget(t.Context(), all[0].Scope, all[0].ID) }
	if err := call("drafts/e"); err == nil || !strings.Contains(middleware.ForModel(err), "taken back") || strings.Contains(err.Error(), "do not call it again") {
		t.Errorf("what was taken back while the call waited: %v, %q", err, middleware.ForModel(err))
	}
	e.want(t, 6)
	revoke = nil
	if err := call("drafts/e"); err != nil {
		t.Error(err)
	}
	p.want(t, 5)
}

// The person chooses when an approval for always ends, and never later than the host's limit.
func TestEndIsChosen(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	typed := func(text string) hitl.Confirmer { return terminal.New(strings.NewReader(text), io.Discard) }
	given := func(d time.Duration) hitl.Confirmer {
		return &person{decision: hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Always, Lifetime: d}}
	}
	for _, tt := range []struct {
		name    string
		confirm hitl.Confirmer
		limit   time.Duration
		want    time.Duration // 0 if nothing is remembered
	}{
		{"none", given(0), 10 * day, 10 * day},
		{"a day", given(day), 10 * day, day},
		{"more than the limit", given(11 * day), 10 * day, 10 * day},
		{"less than nothing", given(-day), 10 * day, 0},
		{"typed: nothing", typed("a\n\n"), 0, day},
		{"typed: a number", typed("a\n2\n"), 0, 7 * day},
		{"typed: a name", typed("a\n1 day\n"), 0, day},
		{"typed: the limit", typed("a\n10 days\n"), 10 * day, 10 * day},
		{"typed: more than the limit", typed("a\n30 days\na\n1 week\n"), 10 * day, 7 * day},
		{"typed: a limit below all", typed("a\n"), time.Hour, time.Hour},
		{"typed: for the session", typed("s\n"), 0, 8 * time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := approvals.NewMemory()
			c := hitl.New(tt.confirm, hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true, AlwaysLifetime: tt.limit, Store: store})(guarded(new(executor)))
			if _, err := c.CallTool(t.Context(), deletes(t)); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			all, err := store.List(t.Context())
			if got := time.Duration(0); err != nil || len(all) == 1 && all[0].Until.Sub(all[0].Since) != tt.want || len(all) == 0 && tt.want != got {
				t.Errorf("%s: got %+v, %v; want %v", tt.name, all, err, tt.want)
			}
		})
	}
	var out strings.Builder
	r := asks(t, `{}`)
	r.Offers, r.Lifetimes = []hitl.Offer{{Longest: hitl.Always, Lifetime: 10 * day}}, approvals.Lifetimes(10*day)
	_, err := terminal.New(strings.NewReader("a\n2 days\nn\n"), &out).Confirm(t.Context(), r)
	for _, want := range []string{"[1] 1 day  [2] 1 week  [3] 10 days  [Enter] 1 day, until ", `"2 days" is not one of these; nothing was decided`} {
		if err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %s, %v", want, &out, err)
		}
	}
}

// The same holds for the attempts of a chain further in, which has its own guard.
func TestTakenBackBetweenAttemptsFurtherIn(t *testing.T) {
	t.Parallel()
	for _, revoked := range []bool{false, true} {
		store := approvals.NewMemory()
		e, p := new(executor), remembering(hitl.Always)
		unsent := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
			return nil, &middleware.NotSentError{Err: errors.New("no line")}
		})
		again := false
		inner := middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			if !again {
				return guarded(e).CallTool(ctx, call)
			}
			if _, err := guarded(unsent).CallTool(ctx, call); !middleware.NotSent(err) {
				t.Errorf("the first attempt ended with %v", err)
			}
			if revoked {
				all, err := store.List(ctx)
				if err = errors.Join(err, store.Forget(ctx, all[0].Scope, all[0].ID)); err != nil {
					t.Error(err)
				}
			}
			return guarded(e).CallTool(ctx, call)
		})
		c := hitl.New(p, hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true, Store: store})(guarded(inner))
		if _, err := c.CallTool(t.Context(), with(deletes(t), `{"path":"a"}`)); err != nil {
			t.Fatal(err)
		}
		again = true
		if _, err := c.CallTool(t.Context(), with(deletes(t), `{"path":"a"}`)); (err != nil) != revoked {
			t.Errorf("revoked %t: got error %v", revoked, err)
		}
		p.want(t, 1)
		e.want(t, map[bool]int{false: 2, true: 1}[revoked])
	}
}

// An attempt that was not sent leaves the call to the next, unless the remembered approval was taken back meanwhile.
func TestTakenBackBetweenAttempts(t *testing.T) {
	t.Parallel()
	store := approvals.NewMemory()
	e, p := new(executor), remembering(hitl.Always)
	unsent := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		return nil, &middleware.NotSentError{Err: errors.New("no line")}
	})
	revoked := false
	c := hitl.New(p, hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true, Store: store})(middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		if _, err := guarded(unsent).CallTool(ctx, call); !middleware.NotSent(err) {
			t.Errorf("the first attempt ended with %v", err)
		}
		if revoked {
			all, err := store.List(ctx)
			if err = errors.Join(err, store.Forget(ctx, all[0].Scope, all[0].ID)); err != nil {
				t.Error(err)
			}
		}
		return guarded(e).CallTool(ctx, call)
	}))
	for i := range 3 {
		revoked = i == 2
		if _, err := c.CallTool(t.Context(), with(deletes(t), `{"path":"a"}`)); (err != nil) != revoked {
			t.Errorf("call %d: %v", i, err)
		}
	}
	p.want(t, 1)
	e.want(t, 2)
}

// A remembered yes still is one grant for each call, good once.
func TestRememberedApprovalIsOneExecutionForEachCall(t *testing.T) {
	t.Parallel()
	e, p := new(executor), remembering(hitl.Always)
	c := between(p, func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
		_, _ = next.CallTool(ctx, call)
		if _, err := next.CallTool(ctx, call); !errors.Is(err, guard.ErrRefused) {
			t.Errorf("the second execution: got error %v", err)
		}
		return done, nil
	}, e, hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true})
	for range 3 {
		_, _ = c.CallTool(t.Context(), deletes(t))
	}
	p.want(t, 1)
	e.want(t, 3)
}

func TestRememberedApprovalExpires(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		r    hitl.Remember
		o    hitl.Options
		wait time.Duration
	}{
		{"a session of 8 hours", hitl.Session, hitl.Options{}, 8 * time.Hour},
		{"30 days", hitl.Always, hitl.Options{}, 30 * 24 * time.Hour},
		{"a session as the host says", hitl.Session, hitl.Options{SessionLifetime: time.Minute}, time.Minute},
		{"always as the host says", hitl.Always, hitl.Options{AlwaysLifetime: time.Minute}, time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := remembering(tt.r)
				tt.o.Remember, tt.o.AlwaysAtOnce = hitl.Always, true
				c := hitl.New(p, tt.o)(guarded(new(executor)))
				_, _ = c.CallTool(t.Context(), deletes(t))
				time.Sleep(tt.wait - 1)
				_, _ = c.CallTool(t.Context(), deletes(t))
				p.want(t, 1)
				time.Sleep(1)
				_, _ = c.CallTool(t.Context(), deletes(t))
				p.want(t, 2)
			})
		})
	}
}

func TestRememberedApprovalIsInTheStore(t *testing.T) {
	t.Parallel()
	store := approvals.NewMemory()
	for _, tt := range []struct {
		name  string
		r     hitl.Remember
		o     hitl.Options
		asked int64 // by another chain with the same store
	}{
		{"a session ends with its chain", hitl.Session, hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true, Store: store}, 1},
		{"always does not", hitl.Always, hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true, Store: store}, 0},
		{"a host that allows less does not heed it", hitl.Always, hitl.Options{Remember: hitl.Session, Store: store}, 1},
		{"nor one that allows nothing", hitl.Always, hitl.Options{Store: store}, 1},
		{"a store of its own knows nothing", hitl.Always, hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true}, 1},
	} {
		first, second := remembering(tt.r), agreeable()
		_, _ = hitl.New(first, hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true, Store: store})(guarded(new(executor))).CallTool(t.Context(), deletes(t))
		_, _ = hitl.New(second, tt.o)(guarded(new(executor))).CallTool(t.Context(), deletes(t))
		if got := second.asked.Load(); got != tt.asked {
			t.Errorf("%s: asked %d times, want %d", tt.name, got, tt.asked)
		}
	}
}

// B241: a yes dies with the definition, and does not rise with it again.
func TestRememberedApprovalEndsWithTheDefinition(t *testing.T) {
	t.Parallel()
	p := remembering(hitl.Always)
	c := hitl.New(p, hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true})(guarded(new(executor)))
	changed := deletes(t)
	changed.Tool.Digest[0]++
	for i, call := range []middleware.Call{deletes(t), deletes(t), changed, deletes(t)} {
		_, _ = c.CallTool(t.Context(), call)
		p.want(t, []int64{1, 1, 2, 3}[i])
	}
}

func TestRememberedApprovalCoversNoMetaOrInput(t *testing.T) {
	t.Parallel()
	e, p := new(executor), remembering(hitl.Always)
	c := hitl.New(p, hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true})(guarded(e))
	transport := deletes(t)
	transport.Meta = mcp.Meta{"progressToken": 7, "threadId": "t-1", "x-codex-turn-metadata": map[string]any{"turn_id": "u-1"}}
	for i, step := range []struct {
		call  middleware.Call
		asked int64
	}{{withExtra(t), 1}, {withExtra(t), 2}, {deletes(t), 3}, {deletes(t), 3}, {transport, 3}, {withExtra(t), 4}} {
		if _, err := c.CallTool(t.Context(), step.call); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		p.want(t, step.asked)
	}
	e.want(t, 6)
}

// The dialog and the list have the same sentence: what, for whom, until when, how it ends.
func TestOneSentenceForWhatIsRemembered(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"arguments-session":         `Do not ask about files/delete with exactly the arguments that were shown, for this session alone, until it ends, for 8h at most; it can be taken back among the remembered approvals`,
		"arguments-always":          `Do not ask about files/delete with exactly the arguments that were shown, for ann, until 2 January 2000; it can be taken back among the remembered approvals`,
		"arguments-always-30-days":  `Do not ask about files/delete with exactly the arguments that were shown, for ann, until 31 January 2000; it can be taken back among the remembered approvals`,
		"tool-session":              `Do not ask about files/delete with any arguments, for this session alone, until it ends, for 8h at most; it can be taken back among the remembered approvals`,
		"members-always, any scope": `Do not ask about files/delete with any path, for every client, until 2 January 2000; it can be taken back among the remembered approvals`,
	} {
		synctest.Test(t, func(t *testing.T) {
			store, offered := approvals.NewMemory(), ""
			o := hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true, OfferTool: true, Store: store}
			o.Patterns = func(context.Context, middleware.Call) []hitl.Pattern {
				return []hitl.Pattern{{{Name: "path", Any: true}}}
			}
			c := hitl.New(hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
				for _, choice := range r.Choices() {
					if wanted, _, _ := strings.Cut(name, ","); choice.Name == wanted {
						offered = choice.Text
						return choice.Decision, nil
					}
				}
				return hitl.Decision{}, nil
			}), o)(guarded(new(executor)))
			call := deletes(t)
			if strings.Contains(name, "any scope") {
				call.Scope = ""
			}
			_, _ = c.CallTool(t.Context(), call)
			kept, err := store.List(t.Context())
			if err != nil || len(kept) != 1 || offered != want || kept[0].Sentence() != want {
				t.Errorf("%s: offered %s\nkept %+v, %v", name, offered, kept, err)
			}
		})
	}
}
