package audit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A blocking sink holds what it gets until it is let go.
type blocking struct {
	let chan struct{}

	mu      sync.Mutex
	begun   int
	written []string
}

func (b *blocking) Write(_ context.Context, r audit.Record) error {
	b.mu.Lock()
	b.begun++
	b.mu.Unlock()
	<-b.let
	b.mu.Lock()
	defer b.mu.Unlock()
	b.written = append(b.written, fmt.Sprint(r.N, r.Kind))
	return nil
}

func TestSinkThatBlocksHoldsNoCall(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		a       annotation.Annotations
		refused bool
		within  time.Duration
	}{
		"a read":                {annotation.ReadOnly(), false, 100 * time.Millisecond},
		"a read in full":        {with(annotation.ReadOnly(), annotation.Restricted, annotation.No), true, 5 * time.Second},
		"a write":               {annotation.Write(), false, 100 * time.Millisecond},
		"a dangerous one":       {annotation.Destructive(), true, 5 * time.Second},
		"one that must be kept": {with(annotation.ReadOnly(), annotation.Internal, annotation.Yes), true, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				sink := &blocking{let: make(chan struct{})}
				trail := audit.New(sink, audit.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
				ran := 0
				caller := chain.New(trail.Record, trail.Intent).Then(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
					ran++
					return textResult("x"), nil
				}))
				call := middleware.Call{Tool: testtool.New("files", "touch", tt.a)}
				for i := range 2 {
					began := time.Now()
					res, err := caller.CallTool(t.Context(), call)
					if took := time.Since(began); took > tt.within || i > 0 && !tt.refused && took > 0 {
						t.Errorf("call %d took %v", i, took)
					}
					if (err != nil) != tt.refused || (res == nil) != tt.refused || err != nil && !errors.Is(err, audit.ErrRefused) {
						t.Errorf("call %d: got %v", i, err)
					}
				}
				if trail.Stuck() == 0 || trail.Lost() != trail.Stuck() || !strings.Contains(log.String(), "in time") || (ran == 0) != tt.refused {
					t.Errorf("%d stuck, %d lost, ran %d times\n%s", trail.Stuck(), trail.Lost(), ran, log.String())
				}
				close(sink.let)
				synctest.Wait()
				if trail.Stuck() != 0 {
					t.Errorf("%d are stuck in a sink that let all go", trail.Stuck())
				}
				ended := 0
				for i, r := range sink.written {
					if strings.HasSuffix(r, "end") {
						ended++
					} else if i > 0 && strings.HasSuffix(sink.written[i-1], "end") && sink.written[i-1][0] == r[0] {
						t.Errorf("an intent after its end: %v", sink.written)
					}
				}
				if ended != 2 {
					t.Errorf("written %v", sink.written)
				}
			})
		})
	}
}

func TestStuckWritesAreCapped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sink := &blocking{let: make(chan struct{})}
		trail := audit.New(sink, audit.Options{Timeout: time.Second})
		caller := chain.New(trail.Record, trail.Intent).Then(testtool.Answering(textResult("x"), nil))
		for range 300 {
			if _, err := caller.CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", "list", annotation.ReadOnly())}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if sink.begun != 100 || trail.Stuck() != 100 || trail.Lost() != 300 {
			t.Errorf("the sink holds %d, %d are counted and %d lost", sink.begun, trail.Stuck(), trail.Lost())
		}
		began := time.Now()
		_, err := caller.CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", "wipe", annotation.Destructive())})
		if !errors.Is(err, audit.ErrRefused) || time.Since(began) > 0 {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		close(sink.let)
	})
}
