package batch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/chain/batch"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var everything = hitl.New(hitl.DangerouslyApproveEveryCallWithoutAsking(), hitl.Options{})

func repeat(n int, line string) []string { return slices.Repeat([]string{line}, n) }

func TestSixteenReadsTakeAsLongAsOne(t *testing.T) {
	t.Parallel()
	for name, chained := range map[string]bool{"behind a chain": true, "bare": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				caller := middleware.ToolCaller(w.tools)
				if chained {
					caller = chain.Standard{Confirm: everything, Cache: cache.New(cache.Options{})}.Then(w.tools)
				}
				began := time.Now()
				out := batch.Run(t.Context(), caller, w.calls(t, repeat(16, "a get")...))
				if took := time.Since(began); took > 60*time.Millisecond {
					t.Errorf("16 reads of 50 ms took %v", took)
				}
				for i, o := range out {
					if got := text(o); got != fmt.Sprintf("c%d", i) {
						t.Errorf("result %d is %s", i, got)
					}
				}
			})
		})
	}
}

func TestParallelBoundsRunningCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		began := time.Now()
		batch.Options{Parallel: 3}.Run(t.Context(), w.tools, w.calls(t, repeat(10, "a get")...))
		if took := time.Since(began); took != 200*time.Millisecond {
			t.Errorf("10 reads by threes took %v, want four times 50 ms", took)
		}
	})
}

// The duration of a mixed turn shows which calls ran side by side.
func TestOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		lines []string
		took  int // times 50 ms
	}{
		{"reads", []string{"a get", "a get", "b get"}, 1},
		{"writes of one server", []string{"a create", "a create", "a delete"}, 3},
		{"writes of two", []string{"a create", "b create", "a delete", "b delete"}, 2},
		{"a read behind a write", []string{"a create", "a get", "a get"}, 2},
		{"a write behind reads", []string{"a get", "a get", "a create"}, 2},
		{"reads before and behind", []string{"a get", "a create", "a get", "a get"}, 3},
		{"the other server does not wait", []string{"a create", "a get", "b get", "b create"}, 2},
		{"none", nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				calls, began := w.calls(t, c.lines...), time.Now()
				out := batch.Run(t.Context(), chain.Standard{Confirm: everything}.Then(w.tools), calls)
				if took, want := time.Since(began), time.Duration(c.took)*w.took; took != want {
					t.Errorf("took %v, want %v", took, want)
				}
				if faults := w.faults(calls); len(faults) > 0 || len(out) != len(calls) || len(w.ran()) != len(calls) {
					t.Errorf("%v, %d results, ran %v", faults, len(out), w.ran())
				}
			})
		})
	}
}

// Any mixture, in chains of all kinds, with slow people.
func TestNothingThatMattersIsReordered(t *testing.T) {
	t.Parallel()
	words := []string{"a get", "a get", "a get", "a create", "a delete", "b get", "b create", "b delete"}
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 1))
			w := newWorld(t)
			lines := make([]string, 2+dice.IntN(14))
			for i := range lines {
				lines[i] = words[dice.IntN(len(words))]
			}
			calls := w.calls(t, lines...)
			slow := hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
				time.Sleep(time.Duration(len(r.CallID)*int(seed%7)) * 10 * time.Millisecond)
				if seed%5 == 0 && r.CallID == "c1" {
					return hitl.Decision{}, nil
				}
				return hitl.Decision{Verdict: hitl.Approved}, nil
			})
			s := chain.Standard{Confirm: hitl.New(slow, hitl.Options{}), Cache: cache.New(cache.Options{})}
			caller := s.Then(w.tools)
			if seed%3 == 0 { // by hand, and opaque
				inner := chain.New(chain.Recover(), s.Confirm).Then(w.tools)
				caller = middleware.ToolCallerFunc(inner.CallTool)
			}
			out := batch.Options{Parallel: 1 + dice.IntN(8)}.Run(t.Context(), caller, calls)
			if faults := w.faults(calls); len(faults) > 0 {
				t.Errorf("seed %d, %v: %v", seed, lines, faults)
			}
			for i, o := range out {
				if o.Call.ID != calls[i].ID || o.Err == nil && text(o) != o.Call.ID {
					t.Errorf("seed %d: outcome %d is of %s and has %s", seed, i, o.Call.ID, text(o))
				}
			}
		})
	}
}

// A call that its arguments make a write keeps its place as one.
func TestPreflightDecidesTheOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		raise := func(next middleware.ToolCaller) middleware.ToolCaller {
			return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
				if call.ID == "c0" {
					time.Sleep(20 * time.Millisecond)
					call.Tool = classed(call.Tool, annotation.Write())
				}
				return next.CallTool(ctx, call)
			})
		}
		began := time.Now()
		batch.Run(t.Context(), chain.Standard{Preflight: raise}.Then(w.tools), w.calls(t, "a get", "a get"))
		if took := time.Since(began); took != 120*time.Millisecond {
			t.Errorf("took %v: the second read ran beside what had become a write", took)
		}
	})
}

// A read is not answered from the cache before the write in front of it.
func TestReadBehindAWriteIsNotAnsweredFromMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		caller := chain.Standard{Cache: cache.New(cache.Options{})}.Then(w.tools)
		calls := w.calls(t, "a get", "a create", "a get")
		calls[2].Arguments = calls[0].Arguments
		batch.Run(t.Context(), caller, calls[:1])
		out := batch.Run(t.Context(), caller, calls[1:])
		if text(out[1]) != "c2" {
			t.Errorf("got %s: an answer from before the write", text(out[1]))
		}
	})
}

func TestOneFailureTakesNothingElseDown(t *testing.T) {
	t.Parallel()
	lines := []string{"a create", "a delete", "a create", "b get", "a get"}
	deny := hitl.New(hitl.ConfirmerFunc(func(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
		return hitl.Decision{Reason: "no"}, nil
	}), hitl.Options{})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.fails["c0"] = true
		out := batch.Run(t.Context(), chain.Standard{Confirm: deny}.Then(w.tools), w.calls(t, lines...))
		if got := w.ran(); !slices.Equal(got, []string{"c0", "c2", "c3", "c4"}) {
			t.Errorf("ran %v", got)
		}
		if !errors.Is(out[1].Err, hitl.ErrDenied) {
			t.Errorf("c1 ended in %v", out[1].Err)
		}
	})
}

func TestFaultyCallsOfAModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		caller := chain.Standard{Confirm: everything}.Then(w.tools)
		calls := w.calls(t, repeat(1000, "a get")...)
		calls[3].ID = "c1"
		calls[4].Tool = nil
		calls[6].ID, calls[7].ID = "", ""
		out := batch.Run(t.Context(), caller, calls)
		for i, want := range map[int]error{128: batch.ErrTooMany, 999: batch.ErrTooMany} {
			if err := out[i].Err; !errors.Is(err, want) || !middleware.NotSent(err) || !strings.Contains(middleware.ForModel(err), "a__get_note was not called") {
				t.Errorf("%d: got %v", i, text(out[i]))
			}
		}
		if out[4].Err == nil {
			t.Errorf("a call of no tool: got %s", text(out[4]))
		}
		if got := len(w.ran()); got != 127 {
			t.Errorf("%d calls ran, want 128 less one", got)
		}
		if want := "batch: a/get_note was not called: too many calls in one turn: it holds 1000, and at most 128 are made"; out[999].Err.Error() != want {
			t.Errorf("got %v", out[999].Err)
		}
	})
}

// Calls that have one ID, as some servers of models give it, are all made, each under its own, and answered in their places.
func TestCallsWithTheSameID(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	made := make(map[string]string)
	caller := middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		mu.Lock()
		defer mu.Unlock()
		made[call.ID] = string(call.Arguments)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(call.Arguments)}}}, nil
	})
	var calls []middleware.Call
	for i, id := range []string{"same", "same", "same#2", "same", "", "", "other", "same#2"} {
		calls = append(calls, middleware.Call{ID: id, Tool: newWorld(t).calls(t, "a get")[0].Tool, Arguments: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))})
	}
	for i, out := range batch.Run(t.Context(), caller, calls) {
		if want := fmt.Sprintf(`{"n":%d}`, i); out.Err != nil || text(out) != want || out.Call.ID != calls[i].ID {
			t.Errorf("%d: got %s of %q, want %s", i, text(out), out.Call.ID, want)
		}
	}
	for id, want := range map[string]string{"same": `{"n":0}`, "same#2": `{"n":2}`, "other": `{"n":6}`} {
		if made[id] != want {
			t.Errorf("%s: made with %s, want %s", id, made[id], want)
		}
	}
	if len(made) != 7 { // two of them without an ID
		t.Errorf("made are %v", made)
	}
}

func TestCancellationReachesAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.took = time.Hour
		errUser := errors.New("the user went home")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errUser) })
		asked := hitl.New(hitl.ConfirmerFunc(func(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
			<-ctx.Done()
			return hitl.Decision{}, ctx.Err()
		}), hitl.Options{})
		began := time.Now()
		out := batch.Run(ctx, chain.Standard{Confirm: asked}.Then(w.tools), w.calls(t, "a get", "a create", "a get", "b delete"))
		if took := time.Since(began); took != time.Second {
			t.Errorf("it ended after %v", took)
		}
		for _, o := range out {
			if !errors.Is(o.Err, errUser) {
				t.Errorf("%s ended in %v", o.Call.ID, o.Err)
			}
		}
		if got := w.ran(); !slices.Equal(got, []string{"c0"}) {
			t.Errorf("ran %v", got)
		}
		if !middleware.NotSent(out[1].Err) || !middleware.NotSent(out[2].Err) {
			t.Errorf("the calls that waited for a place returned %v and %v", out[1].Err, out[2].Err)
		}
	})
}

func TestPanicIsOneCallsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.took = 0
	caller := middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		if call.ID == "c1" {
			panic("oh")
		}
		return w.tools.CallTool(ctx, call)
	})
	out := batch.Run(t.Context(), caller, w.calls(t, "a get", "a get", "a get"))
	if _, ok := errors.AsType[*middleware.PanicError](out[1].Err); !ok || out[0].Err != nil || out[2].Err != nil {
		t.Errorf("got %v, %v, %v", out[0].Err, out[1].Err, out[2].Err)
	}
}

// A host that admits one call at a time does not deadlock.
func TestHostsOwnQueueInFrontDoesNotHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		one := make(chan struct{}, 1)
		queue := func(next middleware.ToolCaller) middleware.ToolCaller {
			return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
				one <- struct{}{}
				defer func() { <-one }()
				return next.CallTool(ctx, call)
			})
		}
		calls := w.calls(t, "a get", "a delete", "a get", "a create", "a get", "b delete")
		out := batch.Run(t.Context(), chain.Standard{Outermost: []middleware.Middleware{queue}, Confirm: everything}.Then(w.tools), calls)
		for _, o := range out {
			if o.Err != nil {
				t.Errorf("%s: %v", o.Call.ID, o.Err)
			}
		}
	})
}

func TestRunPanicsOnImpossibleOptions(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(){
		"no caller":       func() { batch.Run(context.Background(), nil, nil) },
		"below zero":      func() { batch.Options{Parallel: -1}.Run(context.Background(), middleware.ToolCallerFunc(nil), nil) },
		"calls below too": func() { batch.Options{MaxCalls: -1}.Run(context.Background(), middleware.ToolCallerFunc(nil), nil) },
	} {
		func() {
			defer func() {
				if v, _ := recover().(string); !strings.HasPrefix(v, "batch: ") {
					t.Errorf("%s: panicked with %q", name, v)
				}
			}()
			f()
		}()
	}
}
