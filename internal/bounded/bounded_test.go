package bounded_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/internal/bounded"
)

func TestDo(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	type function = func(context.Context) (int, error)
	for name, tt := range map[string]struct {
		f    function
		want int
		err  string
		took time.Duration
		late uint64
		said string
	}{
		"a value":      {f: func(context.Context) (int, error) { return 1, nil }, want: 1},
		"a slow value": {f: func(context.Context) (int, error) { time.Sleep(900 * time.Millisecond); return 1, nil }, want: 1, took: 900 * time.Millisecond},
		"an error":     {f: func(context.Context) (int, error) { return 0, failed }, err: "failed"},
		"a panic":      {f: func(context.Context) (int, error) { panic("oops") }, err: "it panicked", said: "the store panicked"},
		"an exit":      {f: func(context.Context) (int, error) { runtime.Goexit(); return 0, nil }, err: "ended its goroutine"},
		"one that looks at its context": {
			f:   func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, context.Cause(ctx) },
			err: "no answer within 1s", took: time.Second,
		},
		"one that does not": {
			f:   func(context.Context) (int, error) { time.Sleep(time.Minute); return 1, nil },
			err: "no answer within 1s", took: 1100 * time.Millisecond, late: 1, said: "the store has not returned in time",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				b := &bounded.Bound{Limit: time.Second, Late: new(atomic.Uint64), Name: "the store", Logger: slog.New(slog.NewTextHandler(&log, nil))}
				undone := 0
				begin := time.Now()
				got, err := bounded.Do(t.Context(), b, tt.f, func(v int) { undone += v })
				if took := time.Since(begin); took != tt.took {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
				if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) || got != tt.want {
					t.Errorf("got %d, %v; want %d, %q", got, err, tt.want, tt.err)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if b.Late.Load() != tt.late || uint64(undone) != tt.late || !strings.Contains(log.String(), tt.said) || tt.said == "" && log.Len() > 0 {
					t.Errorf("%d are late and %d undone, want %d; the log is %q", b.Late.Load(), undone, tt.late, log.String())
				}
			})
		})
	}
}

func TestDoEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bounded.Bound{Limit: time.Hour, Late: new(atomic.Uint64), Logger: slog.New(slog.DiscardHandler)}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		_, err := bounded.Do(ctx, b, func(context.Context) (int, error) { time.Sleep(time.Minute); return 0, nil }, nil)
		if took := time.Since(begin); err == nil || took != 1100*time.Millisecond {
			t.Errorf("it took %v, with the error %v", took, err)
		}
		time.Sleep(time.Hour)
	})
}

func TestStuckFunctionsAreCapped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bounded.Bound{Limit: time.Second, Late: new(atomic.Uint64), Logger: slog.New(slog.DiscardHandler)}
		open := make(chan struct{})
		var called atomic.Int32
		call := func() {
			_, _ = bounded.Do(t.Context(), b, func(context.Context) (int, error) { called.Add(1); <-open; return 0, nil }, nil)
		}
		for range 150 {
			call()
		}
		if called.Load() != 100 || b.Late.Load() != 150 {
			t.Errorf("%d were called and %d are late, want 100 and 150", called.Load(), b.Late.Load())
		}
		close(open)
		synctest.Wait()
		if call(); called.Load() != 101 {
			t.Error("after they have returned none is called")
		}
	})
}
