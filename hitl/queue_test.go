package hitl_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
)

func TestPendingQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	t.Run("B183: 1,000 calls at once, 2 may wait", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			e := new(executor)
			var asked atomic.Int64
			open := make(chan struct{})
			c := hitl.New(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
				asked.Add(1)
				<-open
				return yes, nil
			}), hitl.Options{MaxPending: 2})(guarded(e))
			var denied atomic.Int64
			var wg sync.WaitGroup
			for i := range 1000 {
				wg.Go(func() {
					if _, err := c.CallTool(t.Context(), numbered(t, i)); errors.Is(err, hitl.ErrDenied) {
						if !strings.Contains(err.Error(), "2 questions are open") {
							t.Errorf("got error %v", err)
						}
						denied.Add(1)
					}
				})
			}
			synctest.Wait()
			if denied.Load() != 998 || asked.Load() != 2 {
				t.Errorf("asked %d times and denied %d at once, want 2 and 998", asked.Load(), denied.Load())
			}
			close(open)
			wg.Wait()
			e.want(t, 2)
			if _, err := c.CallTool(t.Context(), deletes(t)); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	})
	t.Run("0 means 100", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var asked atomic.Int64
			c := hitl.New(hitl.ConfirmerFunc(func(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
				asked.Add(1)
				<-ctx.Done()
				return hitl.Decision{}, nil
			}), hitl.Options{})(guarded(new(executor)))
			var wg sync.WaitGroup
			for i := range 150 {
				wg.Go(func() { _, _ = c.CallTool(t.Context(), numbered(t, i)) })
			}
			wg.Wait()
			if asked.Load() != 100 {
				t.Errorf("asked %d times, want 100", asked.Load())
			}
		})
	})
	t.Run("B179: a confirmer that has not returned counts", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			e := new(executor)
			stuck := make(chan struct{})
			var asked atomic.Int64
			c := hitl.New(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
				if asked.Add(1) <= 2 {
					<-stuck
				}
				return yes, nil
			}), hitl.Options{MaxPending: 2})(guarded(e))
			for range 2 {
				_, _ = c.CallTool(t.Context(), deletes(t)) // silence
			}
			began := time.Now()
			res, err := c.CallTool(t.Context(), deletes(t))
			wantDenied(t, res, err)
			if asked.Load() != 2 || time.Since(began) != 0 {
				t.Errorf("asked %d times, denied after %v, want 2 and at once", asked.Load(), time.Since(began))
			}
			close(stuck)
			synctest.Wait()
			if _, err := c.CallTool(t.Context(), deletes(t)); err != nil {
				t.Errorf("after both had returned: %v", err)
			}
			e.want(t, 1)
		})
	})
}

// Who has an answer may ask again at once, whatever the answer was.
func TestAnswerFreesItsPlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		ask  hitl.ConfirmerFunc
		o    hitl.Options
	}{
		{"yes", func(context.Context, hitl.Request) (hitl.Decision, error) { return yes, nil }, hitl.Options{}},
		{"no", func(context.Context, hitl.Request) (hitl.Decision, error) { return hitl.Decision{}, nil }, hitl.Options{}},
		{"panic", func(context.Context, hitl.Request) (hitl.Decision, error) { panic("boom") }, hitl.Options{}},
		{"Goexit", func(context.Context, hitl.Request) (hitl.Decision, error) { runtime.Goexit(); return yes, nil }, hitl.Options{}},
		{"About panics", func(context.Context, hitl.Request) (hitl.Decision, error) { return yes, nil },
			hitl.Options{About: func(context.Context, middleware.Call) (string, string) { panic("boom") }}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.o.MaxPending = 1
			c := hitl.New(tt.ask, tt.o)(guarded(new(executor)))
			its := deletes(t)
			for i := range 3000 {
				if _, err := c.CallTool(t.Context(), its); err != nil && strings.Contains(err.Error(), "too many pending") {
					t.Fatalf("question %d: %v", i, err)
				}
			}
		})
	}
}
