package hitl_test

// Stores of a host's that are worse than the contract of approvals.Store allows.

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/middleware"
)

// A stale store reads what was there when it was frozen, as a replica that is behind; its changes reach what is there now.
type stale struct {
	hitl.Store

	mu  sync.Mutex
	old []approvals.Standing
}

func (s *stale) freeze(t *testing.T) {
	t.Helper()
	all, err := s.List(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("the store has %+v, %v; want one", all, err)
	}
	s.mu.Lock()
	s.old = all
	s.mu.Unlock()
}

func (s *stale) Remembered(ctx context.Context, scope, server, tool string) ([]approvals.Standing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.old != nil {
		return s.old, nil
	}
	return s.Store.Remembered(ctx, scope, server, tool)
}

// What a store still shows although it was taken back, or taken, approves nothing: the step to an approval of the call
// finds out.
func TestStoreThatReturnsAnOldVersion(t *testing.T) {
	t.Parallel()
	t.Run("B324: a remembered approval that was taken back", func(t *testing.T) {
		t.Parallel()
		store, e, p := &stale{Store: approvals.NewMemory()}, new(executor), remembering(hitl.Always)
		c := hitl.New(p, hitl.Options{Store: store, Remember: hitl.Always, AlwaysAtOnce: true})(guarded(e))
		_, err := c.CallTool(t.Context(), deletes(t))
		store.freeze(t)
		if err = errors.Join(err, store.Forget(t.Context(), store.old[0].Scope, store.old[0].ID)); err != nil {
			t.Fatal(err)
		}
		p.decision = hitl.Decision{}
		res, err := c.CallTool(t.Context(), deletes(t))
		wantDenied(t, res, err)
		p.want(t, 2)
		e.want(t, 1)
	})
	t.Run("B324: a decision that was taken", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			store := &stale{Store: approvals.NewMemory()}
			first, other, e, asked := left(t, store, yes)
			store.freeze(t)
			for _, c := range []middleware.ToolCaller{first, other, first} {
				_, _ = c.CallTool(t.Context(), deletes(t))
			}
			if e.want(t, 1); asked.asked.Load() != 3 {
				t.Errorf("asked %d times, want 3: at first, and for the two calls that came too late", asked.asked.Load())
			}
			time.Sleep(time.Hour)
		})
	})
}

// A slow step answers when it is released.
type lateAt struct {
	hitl.Store

	at       approvals.State
	began    chan struct{}
	released chan struct{}
}

func (s *lateAt) wait(step approvals.State) {
	if step == s.at {
		s.began <- struct{}{}
		<-s.released
	}
}

func (s *lateAt) Add(ctx context.Context, a approvals.Approval) error {
	defer s.wait(a.State)
	return s.Store.Add(ctx, a)
}

func (s *lateAt) Advance(ctx context.Context, id string, c approvals.Change) error {
	defer s.wait(c.To)
	return s.Store.Advance(ctx, id, c)
}

// A call whose caller gave it up while the store wrote is not made, whatever the store answers then.
func TestStoreThatAnswersAfterItsCallerHasGivenUp(t *testing.T) {
	t.Parallel()
	for _, at := range []approvals.State{approvals.Pending, approvals.Approved, approvals.Spent} {
		t.Run("B325: "+string(at), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &lateAt{Store: approvals.NewMemory(), at: at, began: make(chan struct{}), released: make(chan struct{})}
				e := new(executor)
				c := hitl.New(agreeable(), hitl.Options{Store: store})(guarded(e))
				ctx, giveUp := context.WithCancel(t.Context())
				over := make(chan error, 1)
				go func() {
					_, err := c.CallTool(ctx, deletes(t))
					over <- err
				}()
				<-store.began
				giveUp()
				synctest.Wait()
				close(store.released)
				if err := <-over; !errors.Is(err, context.Canceled) || !middleware.NotSent(err) {
					t.Errorf("got %v; not sent %t", err, middleware.NotSent(err))
				}
				e.want(t, 0)
			})
		})
	}
}
