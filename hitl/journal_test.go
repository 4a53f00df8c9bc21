package hitl_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestLogHasQuestionsAndAnswersAndNoArguments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		ask  hitl.ConfirmerFunc
		want []string
	}{
		{"yes", func(context.Context, hitl.Request) (hitl.Decision, error) { return yes, nil }, []string{`"hitl: asked" tool=files/delete class=dangerous`, "outcome=approved"}},
		{"no", func(context.Context, hitl.Request) (hitl.Decision, error) { return hitl.Decision{}, nil }, []string{"outcome=denied"}},
		{"B175: panic", func(context.Context, hitl.Request) (hitl.Decision, error) { panic("boom") }, []string{"panic=boom", "stack=", "outcome=denied"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			c := hitl.New(tt.ask, hitl.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})(guarded(new(executor)))
			_, err := c.CallTool(t.Context(), deletes(t))
			for _, want := range tt.want {
				if !strings.Contains(log.String(), want) {
					t.Errorf("no %q in %s", want, &log)
				}
			}
			if strings.Contains(log.String(), "a.txt") || err != nil && strings.Contains(err.Error(), "boom") {
				t.Errorf("it tells too much: %v, %s", err, &log)
			}
		})
	}
}

// A failing store fails at one kind of write, and records the steps.
type failing struct {
	hitl.Store

	at       string
	steps    []string
	approved approvals.Change
}

var errFull = errors.New("no space left on /var/secret/approvals.jsonl")

func (f *failing) step(s string, do func() error) error {
	if f.steps = append(f.steps, s); f.at == s {
		return errFull
	}
	return do()
}

func (f *failing) Add(ctx context.Context, a approvals.Approval) error {
	return f.step("add "+string(a.State), func() error { return f.Store.Add(ctx, a) })
}

func (f *failing) Advance(ctx context.Context, id string, c approvals.Change) error {
	if c.To == approvals.Approved {
		f.approved = c
	}
	return f.step(string(c.To), func() error { return f.Store.Advance(ctx, id, c) })
}

func (f *failing) Remember(ctx context.Context, s approvals.Standing) error {
	return f.step("remember", func() error { return f.Store.Remember(ctx, s) })
}

func TestStoreThatFailsIsADenial(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, at    string
		asked, runs int
	}{
		{"B239: the question", "add pending", 0, 0},
		{"B239: the yes", "approved", 1, 0},
		{"B239: what is to be remembered", "remember", 1, 0},
		{"B239: the use of the yes", "spent", 1, 0},
		{"the end of the call, which was made", "done", 1, 1},
		{"nothing", "", 1, 1},
	} {
		for _, a := range []annotation.Annotations{annotation.Destructive(), annotation.Write()} {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				var log bytes.Buffer
				e, p := new(executor), remembering(hitl.Always)
				store := &failing{Store: approvals.NewMemory(), at: tt.at}
				its := deletes(t)
				its.Tool = tool(t, "tool", a)
				_, err := hitl.New(p, hitl.Options{Store: store, Remember: hitl.Always, AlwaysAtOnce: true, Writes: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})(guarded(e)).CallTool(t.Context(), its)
				p.want(t, int64(tt.asked))
				e.want(t, tt.runs)
				if (err == nil) != (tt.runs == 1) || err != nil && (!middleware.NotSent(err) || !errors.Is(err, errFull)) {
					t.Errorf("got error %v", err)
				}
				if err != nil && strings.Contains(err.Error(), "secret") {
					t.Errorf("the model is told of the host's files: %v", err)
				}
				if (tt.at == "") == strings.Contains(log.String(), "secret") {
					t.Errorf("the log: %s", &log)
				}
			})
		}
	}
	t.Run("a no stays one", func(t *testing.T) {
		t.Parallel()
		store := &failing{Store: approvals.NewMemory(), at: "denied"}
		res, err := hitl.New(new(person), hitl.Options{Store: store})(guarded(new(executor))).CallTool(t.Context(), deletes(t))
		wantDenied(t, res, err)
	})
	t.Run("a remembered yes that cannot be written down", func(t *testing.T) {
		t.Parallel()
		store, e := &failing{Store: approvals.NewMemory(), at: "add approved"}, new(executor)
		c := hitl.New(remembering(hitl.Always), hitl.Options{Store: store, Remember: hitl.Always, AlwaysAtOnce: true})(guarded(e))
		_, _ = c.CallTool(t.Context(), deletes(t))
		res, err := c.CallTool(t.Context(), deletes(t))
		wantDenied(t, res, err)
		e.want(t, 1)
	})
}

func TestEachStepIsWrittenDown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		ask  hitl.ConfirmerFunc
		a    annotation.Annotations
		do   func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error)
		want string
	}{
		{"a yes", func(context.Context, hitl.Request) (hitl.Decision, error) { return yes, nil }, annotation.Destructive(), nil, "add pending, approved, spent, RUN, done"},
		{"a yes to a write", func(context.Context, hitl.Request) (hitl.Decision, error) { return yes, nil }, annotation.Write(), nil, "add pending, approved, spent, RUN, done"},
		{"a yes that is used again", func(context.Context, hitl.Request) (hitl.Decision, error) { return yes, nil }, annotation.Destructive(), repeat, "add pending, approved, spent, RUN, RUN, done"},
		{"a yes that is not used", func(context.Context, hitl.Request) (hitl.Decision, error) { return yes, nil }, annotation.Destructive(),
			func(context.Context, middleware.Call, middleware.ToolCaller) (*mcp.CallToolResult, error) {
				return done, nil
			}, "add pending, approved, void"},
		{"a no", func(context.Context, hitl.Request) (hitl.Decision, error) { return hitl.Decision{}, nil }, annotation.Destructive(), nil, "add pending, denied"},
		{"no answer", func(context.Context, hitl.Request) (hitl.Decision, error) { return hitl.Decision{}, errGone }, annotation.Destructive(), nil, "add pending, void"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store, e := &failing{Store: approvals.NewMemory()}, new(executor)
			e.do = func(n int) (*mcp.CallToolResult, error) {
				store.steps = append(store.steps, "RUN")
				if n == 1 && strings.Contains(tt.name, "again") {
					return nil, fact{notSent: true}
				}
				return done, nil
			}
			do := tt.do
			if do == nil {
				do = func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
					return next.CallTool(ctx, call)
				}
			}
			its := deletes(t)
			its.Tool = tool(t, "tool", tt.a)
			_, _ = between(tt.ask, do, e, hitl.Options{Store: store, Writes: true}).CallTool(t.Context(), its)
			if got := strings.Join(store.steps, ", "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// An edited call is on the record as it was edited.
func TestEditIsOnTheRecord(t *testing.T) {
	t.Parallel()
	store, p := &failing{Store: approvals.NewMemory()}, agreeable()
	p.decision.Arguments = json.RawMessage(`{"path":"b.txt"}`)
	if _, err := hitl.New(p, hitl.Options{Store: store})(guarded(new(executor))).CallTool(t.Context(), deletes(t)); err != nil {
		t.Fatal(err)
	}
	if got, want := store.approved.Arguments, fmt.Sprintf("%x", sha256.Sum256(p.decision.Arguments)); got != want || !store.approved.Edited {
		t.Errorf("got %+v, want the hash %s", store.approved, want)
	}
}

// Another process, or another person, has decided meanwhile: the first one wins.
func TestAnswerThatTheStoreDoesNotTakeIsADenial(t *testing.T) {
	t.Parallel()
	for _, state := range []approvals.State{approvals.Denied, approvals.Void, approvals.Approved} {
		store, e := approvals.NewMemory(), new(executor)
		res, err := hitl.New(hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
			if err := store.Advance(ctx, r.ID, approvals.Change{To: state, Until: r.Deadline}); err != nil {
				t.Error(err)
			}
			return yes, nil
		}), hitl.Options{Store: store})(guarded(e)).CallTool(t.Context(), deletes(t))
		wantDenied(t, res, err)
		if !errors.Is(err, approvals.ErrNoEffect) {
			t.Errorf("%s: got error %v", state, err)
		}
		e.want(t, 0)
	}
}

// A definition that changes while the call waits: the guard asks the catalog.
func TestDefinitionThatChangesBeforeTheExecutionIsRefused(t *testing.T) {
	t.Parallel()
	t.Run("B241", func(t *testing.T) {
		t.Parallel()
		e, changed := new(executor), deletes(t).Tool
		changed.Digest[0]++
		c := hitl.New(agreeable(), hitl.Options{})(guard.New(e, func(context.Context, middleware.Call) (*middleware.Tool, error) { return changed, nil }))
		if _, err := c.CallTool(t.Context(), deletes(t)); !errors.Is(err, guard.ErrRefused) {
			t.Errorf("got error %v", err)
		}
		e.want(t, 0)
	})
}

func TestLateAnswerIsOnTheRecord(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		d    hitl.Decision
		wait time.Duration
	}{
		{"after the time", yes, time.Minute},
		{"with the last second", yes, 30 * time.Second},
		{"a no", hitl.Decision{By: "ann"}, time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				store := &recording{Store: approvals.NewMemory()}
				c := hitl.New(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
					time.Sleep(tt.wait)
					return tt.d, nil
				}), hitl.Options{Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil))})(guarded(new(executor)))
				res, err := c.CallTool(t.Context(), deletes(t))
				wantDenied(t, res, err)
				time.Sleep(time.Hour)
				synctest.Wait()
				if store.refused.Load() != 1 || !strings.Contains(log.String(), "a late answer has no effect") {
					t.Errorf("%d answers without effect, the log: %s", store.refused.Load(), &log)
				}
			})
		})
	}
}

// recording counts what the store did not take.
type recording struct {
	hitl.Store

	refused atomic.Int64
}

func (r *recording) Advance(ctx context.Context, id string, c approvals.Change) error {
	err := r.Store.Advance(ctx, id, c)
	if errors.Is(err, approvals.ErrNoEffect) {
		r.refused.Add(1)
	}
	return err
}

func TestLogHasHowItWasDecided(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		d    hitl.Decision
		want string
	}{
		{"a yes", hitl.Decision{Verdict: hitl.Approved, By: "ann"}, "outcome=approved by=ann edited=false took=2s"},
		{"an edit", hitl.Decision{Verdict: hitl.Approved, By: "ann", Arguments: json.RawMessage(`{}`)}, "outcome=approved by=ann edited=true took=2s"},
		{"a policy's no", hitl.Decision{By: "policy fridays", Reason: "nothing is deleted on a Friday"}, `outcome=denied by="policy fridays" edited=false took=2s`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				_, err := hitl.New(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
					time.Sleep(2 * time.Second)
					return tt.d, nil
				}), hitl.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})(guarded(new(executor))).CallTool(t.Context(), deletes(t))
				if !strings.Contains(log.String(), `msg="hitl: decided" tool=files/delete class=dangerous `+tt.want+"\n") {
					t.Errorf("got %s", &log)
				}
				const want = "hitl: files/delete was denied by policy fridays: nothing is deleted on a Friday"
				if tt.d.Reason != "" && err.Error() != want {
					t.Errorf("got %q, want %q", err, want)
				}
			})
		})
	}
}

// A call that is over holds no place, also where the store failed at the second
// question about it, which an edit made necessary.
func TestQuestionThatCannotBeAskedAgainKeepsNoPlace(t *testing.T) {
	t.Parallel()
	sterner := func(_ context.Context, call middleware.Call) (*middleware.Tool, error) {
		other := *call.Tool
		other.Annotations = annotation.Destructive()
		return &other, nil
	}
	edits := &person{decision: hitl.Decision{Verdict: hitl.Approved, Arguments: json.RawMessage(`{}`)}}
	store := &nth{Store: approvals.NewMemory(), fails: 2}
	c := hitl.New(edits, hitl.Options{Writes: true, MaxPending: 1, Store: store})(guarded(new(executor)))
	ctx := callstate.WithJudge(t.Context(), sterner)
	its := deletes(t)
	its.Tool = tool(t, "edit", annotation.Write())
	_, err := c.CallTool(ctx, its)
	if !errors.Is(err, errFull) {
		t.Fatalf("got error %v", err)
	}
	if _, err := c.CallTool(t.Context(), deletes(t)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// The nth question cannot be written down.
type nth struct {
	hitl.Store

	fails, n int
}

func (s *nth) Add(ctx context.Context, a approvals.Approval) error {
	if s.n++; s.n == s.fails {
		return errFull
	}
	return s.Store.Add(ctx, a)
}

// A store of the host's that panics when it hears a late answer takes the process
// with it on no goroutine of ours.
func TestStoreThatPanicsAtALateAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		release := make(chan struct{})
		stubborn := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			<-release
			return yes, nil
		})
		store := &panicking{Store: approvals.NewMemory()}
		c := hitl.New(stubborn, hitl.Options{Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil))})(guarded(new(executor)))
		res, err := c.CallTool(t.Context(), deletes(t))
		wantDenied(t, res, err)
		close(release)
		synctest.Wait()
		if !strings.Contains(log.String(), "panicked") {
			t.Errorf("the log: %s", &log)
		}
	})
}

type panicking struct{ hitl.Store }

func (s *panicking) Advance(ctx context.Context, id string, c approvals.Change) error {
	if c.To == approvals.Approved {
		panic("a bug of the store")
	}
	return s.Store.Advance(ctx, id, c)
}

// A moody store fails at the changes, or at what it is asked, while it is told to.
type moody struct {
	hitl.Store
	fails atomic.Bool
	reads bool
}

func (s *moody) err(read bool) error {
	if s.fails.Load() && read == s.reads {
		return errors.New("connection refused")
	}
	return nil
}

func (s *moody) Add(ctx context.Context, a approvals.Approval) error {
	return cmp.Or(s.err(false), s.Store.Add(ctx, a))
}

func (s *moody) Remembered(ctx context.Context, scope, server, tool string) ([]approvals.Standing, error) {
	if err := s.err(true); err != nil {
		return nil, err
	}
	return s.Store.Remembered(ctx, scope, server, tool)
}

// A store that fails for hundreds of calls has a line of the log at the begin and one at the end, both at level Error; the
// next trouble has lines of its own.
func TestTroubleOfTheStoreHasTwoLines(t *testing.T) {
	t.Parallel()
	for name, failures := range map[string]int{"changes": 200, "reads": 400} { // it is read again once a question is due
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				store := &moody{Store: approvals.NewMemory(), reads: name == "reads"}
				ask := func(context.Context, hitl.Request) (hitl.Decision, error) { return yes, nil }
				c := hitl.New(hitl.ConfirmerFunc(ask), hitl.Options{
					Store: store, Remember: hitl.Session, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})),
				})(guarded(new(executor)))
				calls := func() {
					for range 200 {
						_, _ = c.CallTool(t.Context(), deletes(t)) // while the store fails it is not made
						time.Sleep(10 * time.Millisecond)
					}
				}
				for range 2 {
					store.fails.Store(true)
					calls()
					store.fails.Store(false)
					calls()
				}
				lines := strings.Split(strings.TrimSpace(log.String()), "\n")
				if len(lines) != 4 {
					t.Fatalf("the log has %d lines:\n%.2000s", len(lines), &log)
				}
				for i, line := range lines {
					want := []string{"there is another line when", fmt.Sprintf("failures=%d after=2.99", failures)}[i%2]
					if !strings.Contains(line, want) || !strings.Contains(line, "level=ERROR") {
						t.Errorf("line %d: no %q in %s", i, want, line)
					}
				}
			})
		})
	}
}
