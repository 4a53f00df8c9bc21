package hitl_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// left is a chain in whose store a person has decided on a call that waits no longer, and
// another chain with the same store, as after a restart.
func left(t *testing.T, store hitl.Store, d hitl.Decision) (first, other middleware.ToolCaller, e *executor, asked *reader) {
	t.Helper()
	e, asked = new(executor), &reader{answers: make(chan hitl.Decision)}
	first, other = impatient(asked, e, store), impatient(asked, e, store)
	wantWaiting(t, first, deletes(t))
	asked.answers <- d
	synctest.Wait()
	e.want(t, 0)
	return first, other, e, asked
}

// A decision that was made while no call waited is taken by one identical call, in whichever
// process, and by one alone.
func TestAnotherProcessTakesTheDecision(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer hitl.Decision
		runs   int
	}{
		"a yes": {hitl.Decision{Verdict: hitl.Approved, By: "Ann"}, 1},
		"a no":  {hitl.Decision{By: "Ann", Reason: "archive it"}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := approvals.NewMemory()
			first, other, e, asked := left(t, store, tt.answer)
			if all, err := store.List(t.Context()); err != nil || len(all) != 1 || !all[0].Once || all[0].Denied != (tt.runs == 0) {
				t.Errorf("%s: the store has %+v, %v", name, all, err)
			}
			again, state := deletes(t), callstate.Begin(t.Context())
			again.Arguments = slices.Concat([]byte(" "), again.Arguments) // the same, in another spelling
			_, err := other.CallTool(state, again)
			if e.want(t, tt.runs); asked.asked.Load() != 1 || (err == nil) != (tt.runs == 1) {
				t.Errorf("%s: asked %d times, %v", name, asked.asked.Load(), err)
			}
			var denied *hitl.DeniedError
			if errors.As(err, &denied) && (denied.By != "Ann" || denied.Reason != "archive it") {
				t.Errorf("%s: %+v", name, denied)
			}
			if r := callstate.Of(state).Record(); r.By != "Ann" || r.Via != "earlier, while no call waited" {
				t.Errorf("%s: the record has %q, %q", name, r.By, r.Via)
			}
			wantWaiting(t, first, deletes(t))
			wantWaiting(t, other, deletes(t))
			if all, err := store.List(t.Context()); err != nil || len(all) != 0 || asked.asked.Load() != 3 {
				t.Errorf("%s: the store has %+v, %v; asked %d times", name, all, err, asked.asked.Load())
			}
			e.want(t, tt.runs)
			time.Sleep(time.Hour)
		})
	}
}

// Of many identical calls in several processes one takes the approval.
func TestOneOfManyTakesTheApproval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, other, e, _ := left(t, slow{approvals.NewMemory()}, hitl.Decision{Verdict: hitl.Approved})
		for i := range 20 {
			go func() {
				_, _ = []middleware.ToolCaller{first, other}[i%2].CallTool(t.Context(), deletes(t))
			}()
		}
		time.Sleep(time.Hour)
		e.want(t, 1)
	})
}

// A slow store lets all readers see the same.
type slow struct{ hitl.Store }

func (s slow) Remembered(ctx context.Context, scope, server, tool string) ([]approvals.Standing, error) {
	all, err := s.Store.Remembered(ctx, scope, server, tool)
	time.Sleep(time.Second)
	return all, err
}

// What is not the same call, is asked about for another reason, is late, or was taken back, takes
// nothing in another process.
func TestAnotherProcessAsksAboutAnotherCall(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(store hitl.Store, call *middleware.Call, state *callstate.State){
		"arguments": func(_ hitl.Store, c *middleware.Call, _ *callstate.State) { c.Arguments = []byte(`{"path":"other"}`) },
		"scope":     func(_ hitl.Store, c *middleware.Call, _ *callstate.State) { c.Scope = "other" },
		"meta":      func(_ hitl.Store, c *middleware.Call, _ *callstate.State) { c.Meta = mcp.Meta{"tenant": "other"} },
		"definition": func(_ hitl.Store, c *middleware.Call, _ *callstate.State) {
			tool := *c.Tool
			tool.Digest[0]++
			c.Tool = &tool
		},
		"evidence": func(_ hitl.Store, c *middleware.Call, _ *callstate.State) {
			tool := *c.Tool
			tool.Annotations = tool.Annotations.Attribute(annotation.Host, "another reason")
			c.Tool = &tool
		},
		"sources": func(_ hitl.Store, _ *middleware.Call, s *callstate.State) {
			s.Write(func(r *callstate.Record) {
				r.Sources = []middleware.Source{{Argument: "path", From: "result", Tool: "web/get", Rule: "a rule"}}
			})
		},
		"in doubt": func(_ hitl.Store, _ *middleware.Call, s *callstate.State) {
			s.Write(func(r *callstate.Record) { r.InDoubt = time.Now() })
		},
		"late": func(hitl.Store, *middleware.Call, *callstate.State) { time.Sleep(time.Minute) },
		"taken back": func(store hitl.Store, _ *middleware.Call, _ *callstate.State) {
			all, err := store.List(context.Background())
			if err = errors.Join(err, store.Forget(context.Background(), all[0].Scope, all[0].ID)); err != nil {
				panic(err)
			}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := approvals.NewMemory()
			_, other, e, asked := left(t, store, hitl.Decision{Verdict: hitl.Approved})
			call, ctx := deletes(t), callstate.Begin(t.Context())
			change(store, &call, callstate.Of(ctx))
			_, err := other.CallTool(ctx, call)
			if e.want(t, 0); asked.asked.Load() != 2 || err == nil {
				t.Errorf("%s: asked %d times, got %v; want a question of its own", name, asked.asked.Load(), err)
			}
			time.Sleep(time.Hour)
		})
	}
}

// A denial of the identical call, which another process has asked about, ends the approval.
func TestDenialEndsTheApproval(t *testing.T) {
	t.Parallel()
	for _, waits := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			e, store := new(executor), approvals.NewMemory()
			a, b := &reader{answers: make(chan hitl.Decision)}, &reader{answers: make(chan hitl.Decision)}
			first, other := impatient(a, e, store), impatient(b, e, store)
			wantWaiting(t, first, deletes(t))
			if waits {
				go func() { _, _ = other.CallTool(t.Context(), deletes(t)) }()
				synctest.Wait()
			} else {
				wantWaiting(t, other, deletes(t))
			}
			a.answers <- hitl.Decision{Verdict: hitl.Approved}
			synctest.Wait()
			b.answers <- hitl.Decision{}
			synctest.Wait()
			if !waits { // the denial, once
				_, err := other.CallTool(t.Context(), deletes(t))
				wantDenied(t, nil, err)
			}
			wantWaiting(t, other, deletes(t))
			wantWaiting(t, first, deletes(t))
			e.want(t, 0)
			time.Sleep(time.Hour)
		})
	}
}

// What the store does not hold stays in its process: edited arguments, and what it fails to record.
func TestDecisionThatIsNotInTheStore(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		d     hitl.Decision
		store hitl.Store
	}{
		"edited":  {hitl.Decision{Verdict: hitl.Approved, Arguments: []byte(`{"path":"b"}`)}, approvals.NewMemory()},
		"failing": {hitl.Decision{Verdict: hitl.Approved}, forgetful{approvals.NewMemory(), false}},
	} {
		synctest.Test(t, func(t *testing.T) {
			first, other, e, asked := left(t, tt.store, tt.d)
			wantWaiting(t, other, deletes(t))
			if _, err := first.CallTool(t.Context(), deletes(t)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if wantWaiting(t, first, deletes(t)); asked.asked.Load() != 3 {
				t.Errorf("%s: asked %d times", name, asked.asked.Load())
			}
			e.want(t, 1)
			time.Sleep(time.Hour)
		})
	}
	synctest.Test(t, func(t *testing.T) { // the process goes on, and nothing is approved
		first, _, e, _ := left(t, forgetful{approvals.NewMemory(), true}, hitl.Decision{Verdict: hitl.Approved})
		wantWaiting(t, first, deletes(t))
		e.want(t, 0)
		time.Sleep(time.Hour)
	})
}

// A forgetful store remembers nothing.
type forgetful struct {
	hitl.Store

	panics bool
}

func (f forgetful) Remember(context.Context, approvals.Standing) error {
	if f.panics {
		panic("no store")
	}
	return errors.New("no room")
}

// With a decision for always the rule is there at once too.
func TestRuleThatWasMadeWhileNoCallWaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, e, asked := approvals.NewMemory(), new(executor), &reader{answers: make(chan hitl.Decision)}
		o := hitl.Options{
			Timeout: time.Minute, Remember: hitl.Always, AlwaysAtOnce: true, Store: store,
			WaitLimit: func(context.Context) (time.Duration, string) { return time.Second, "on a page" },
		}
		wantWaiting(t, hitl.New(asked, o)(guarded(e)), deletes(t))
		asked.answers <- hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Always}
		synctest.Wait()
		for range 3 {
			if _, err := hitl.New(asked, o)(guarded(e)).CallTool(t.Context(), deletes(t)); err != nil {
				t.Error(err)
			}
		}
		e.want(t, 3)
		time.Sleep(time.Hour)
	})
}

// A file keeps what was decided while no call waited, and nothing else that was open.
func TestDecisionOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "approvals")
	for _, until := range []time.Duration{time.Hour, -time.Hour} {
		file, err := approvals.OpenFile(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, now := t.Context(), time.Now()
		for _, id := range []string{"left", "given"} {
			must(t, file.Add(ctx, approvals.Approval{ID: id + until.String(), State: approvals.Pending, Scope: "ann", Until: now.Add(time.Hour)}))
			must(t, file.Advance(ctx, id+until.String(), approvals.Change{To: approvals.Approved, Until: now.Add(until)}))
		}
		must(t, file.Remember(ctx, approvals.Standing{
			ID: "left" + until.String(), Scope: "ann", Tool: "delete", Definition: "d", Class: "dangerous", Arguments: "x", Once: true, Until: now.Add(until),
		}))
		must(t, file.Close())
		if file, err = approvals.OpenFile(name, nil); err != nil {
			t.Fatal(err)
		}
		want := []string{"given1h0m0s"}
		if until < 0 {
			want = []string{"given-1h0m0s", "left-1h0m0s"}
		}
		var void []string
		for _, a := range file.Interrupted() {
			void = append(void, a.ID)
		}
		if slices.Sort(void); !slices.Equal(void, want) {
			t.Errorf("%v are void, want %v", void, want)
		}
		err = file.Advance(ctx, "left"+until.String(), approvals.Change{To: approvals.Spent})
		if (err == nil) != (until > 0) {
			t.Errorf("%v: %v", until, err)
		}
		must(t, file.Close())
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
