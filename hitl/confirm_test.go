package hitl_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/turn"
	"github.com/fairlead-go/fairlead/middleware"
)

func TestSilenceEndsAfterTheTimeout(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		timeout      time.Duration
		caller       time.Duration // the caller's own deadline
		took, shown  time.Duration
		denied, gone bool
	}{
		{"B173: 0 means 30 seconds", 0, 0, 30 * time.Second, 30 * time.Second, true, false},
		{"as the host says", time.Hour, 0, time.Hour, time.Hour, true, false},
		{"the caller goes first", 0, 10 * time.Second, 10 * time.Second, 10 * time.Second, false, true},
		{"the caller would stay", 0, time.Minute, 30 * time.Second, 30 * time.Second, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tt.caller > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.caller)
					defer cancel()
				}
				e, began := new(executor), time.Now()
				silent := hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
					if got := time.Until(r.Deadline); got != tt.shown {
						t.Errorf("the person is shown %v, want %v", got, tt.shown)
					}
					<-ctx.Done()
					return yes, nil
				})
				_, err := hitl.New(silent, hitl.Options{Timeout: tt.timeout})(guarded(e)).CallTool(ctx, deletes(t))
				if took := time.Since(began); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
				if errors.Is(err, hitl.ErrDenied) != tt.denied || errors.Is(err, context.DeadlineExceeded) != tt.gone || !middleware.NotSent(err) {
					t.Errorf("got error %v", err)
				}
				e.want(t, 0)
			})
		})
	}
}

// An answer that comes at the very end is as late as one that comes after it,
// whichever of the two is seen first.
func TestAnswerAtTheDeadlineIsTooLate(t *testing.T) {
	t.Parallel()
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			e := new(executor)
			slow := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
				time.Sleep(30 * time.Second)
				return yes, nil
			})
			res, err := hitl.New(slow, hitl.Options{})(guarded(e)).CallTool(t.Context(), deletes(t))
			wantDenied(t, res, err)
			e.want(t, 0)
		})
	}
}

// A confirmer that does not heed its context answers the first question when the
// second is open.
func TestLateAnswerHasNoEffect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := new(executor)
		var asked atomic.Int64
		late := hitl.ConfirmerFunc(func(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
			if asked.Add(1) == 1 {
				time.Sleep(40 * time.Second)
				return yes, nil
			}
			<-ctx.Done()
			return hitl.Decision{}, context.Cause(ctx)
		})
		c := hitl.New(late, hitl.Options{})(guarded(e))
		for range 2 { // the second is open from 30 s to 60 s
			res, err := c.CallTool(t.Context(), deletes(t))
			wantDenied(t, res, err)
		}
		e.want(t, 0)
		if asked.Load() != 2 {
			t.Errorf("asked %d times, want 2", asked.Load())
		}
	})
}

var errGone = errors.New("the caller has gone")

func TestCancelledCaller(t *testing.T) {
	t.Parallel()
	t.Run("B311: before the question", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			e, p := new(executor), agreeable()
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errGone)
			_, err := hitl.New(p, hitl.Options{})(guarded(e)).CallTool(ctx, deletes(t))
			if !errors.Is(err, errGone) || !middleware.NotSent(err) {
				t.Errorf("got error %v", err)
			}
			synctest.Wait()
			p.want(t, 0)
			e.want(t, 0)
		})
	})
	t.Run("while the person thinks", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			e := new(executor)
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(10*time.Second, func() { cancel(errGone) })
			began := time.Now()
			_, err := hitl.New(hitl.ConfirmerFunc(func(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
				<-ctx.Done() // the request is closed
				time.Sleep(time.Second)
				return yes, nil
			}), hitl.Options{})(guarded(e)).CallTool(ctx, deletes(t))
			if !errors.Is(err, errGone) || !middleware.NotSent(err) || errors.Is(err, hitl.ErrDenied) || time.Since(began) != 10*time.Second {
				t.Errorf("got error %v after %v", err, time.Since(began))
			}
			time.Sleep(time.Minute)
			e.want(t, 0)
		})
	})
	t.Run("at the moment of the yes", func(t *testing.T) {
		t.Parallel()
		for range 100 {
			e := new(executor)
			ctx, cancel := context.WithCancelCause(t.Context())
			_, err := hitl.New(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
				cancel(errGone)
				return yes, nil
			}), hitl.Options{})(&passing{e}).CallTool(ctx, deletes(t))
			if !errors.Is(err, errGone) {
				t.Fatalf("got error %v", err)
			}
			e.want(t, 0)
		}
	})
}

// together is a confirmer of several questions, which nobody gets to ask.
type together struct{ hitl.Confirmer }

func (together) ConfirmGroup(context.Context, []hitl.Request) (map[string]hitl.Decision, error) {
	return nil, errors.New("asked")
}

// Nothing is kept of a turn whose calls were all given up before their dialog.
func TestTurnThatIsGivenUpIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := hitl.New(together{}, hitl.Options{})(guarded(new(executor)))
		given := func() weak.Pointer[turn.Turn] {
			tickets := turn.New(2, "s", "s") // the other is on its way for as long as it takes
			ctx, cancel := context.WithTimeout(callstate.WithTicket(context.Background(), tickets[0]), time.Millisecond)
			defer cancel()
			if _, err := c.CallTool(ctx, deletes(t)); err == nil {
				t.Error("the call went through")
			}
			return weak.Make(tickets[0].Turn())
		}()
		synctest.Wait()
		runtime.GC()
		if given.Value() != nil {
			t.Error("it is still known")
		}
		runtime.KeepAlive(c)
	})
}
