package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"
	"github.com/fairlead-go/fairlead/verify/world"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"
)

// attemptTime is how long every policy but the first lets an attempt take.
const attemptTime = 5 * time.Second

var policies = []policy{
	{"bare", func(w *run) caller { return w.send }},
	{"retry all (failsafe-go)", func(w *run) caller { return retrying(w.send) }},
	{"cache and retry all", cacheAll},
	{"Fairlead", fairlead},
	{"Fairlead, declared tools", fairleadDeclared},
	{"oracle", newOracle},
}

func (w *run) send(ctx context.Context, r *request) (*mcp.CallToolResult, error) {
	if r.tool.kind == world.Delete {
		w.mu.Lock()
		if w.attempts[r.id()] == 0 {
			w.unasked++
		}
		w.mu.Unlock()
	}
	return w.call(ctx, r)
}

// retrying is failsafe-go's retry and time limit around every attempt.
func retrying(send caller) caller {
	again := retrypolicy.NewBuilder[*mcp.CallToolResult]().WithMaxAttempts(3).WithBackoff(200*time.Millisecond, 10*time.Second).Build()
	exec := failsafe.With(again, failsafe.Policy[*mcp.CallToolResult](timeout.New[*mcp.CallToolResult](attemptTime)))
	return func(ctx context.Context, r *request) (*mcp.CallToolResult, error) {
		return exec.WithContext(ctx).GetWithExecution(func(e failsafe.Execution[*mcp.CallToolResult]) (*mcp.CallToolResult, error) {
			return send(e.Context(), r)
		})
	}
}

type kept struct {
	res   *mcp.CallToolResult
	until time.Time
}

func cacheAll(w *run) caller {
	send := retrying(w.send)
	known, err := lru.New[string, kept](10_000)
	if err != nil {
		panic(err)
	}
	return func(ctx context.Context, r *request) (*mcp.CallToolResult, error) {
		key := r.tool.String() + string(r.raw)
		if k, ok := known.Get(key); ok && time.Now().Before(k.until) {
			return k.res, nil
		}
		res, err := send(ctx, r)
		if err == nil {
			known.Add(key, kept{res, time.Now().Add(5 * time.Minute)})
		}
		return res, err
	}
}

// An oracle has the effect of every tool, the changes of every write and the outcome of every attempt.
type oracle struct {
	w      *run
	limits map[string]*rate.Limiter

	mu    sync.Mutex
	known map[string]*versioned
}

// A versioned result is used by all that ask for it while its version is the last one.
type versioned struct {
	turn    chan struct{} // has room for the one caller that may fetch it
	res     *mcp.CallToolResult
	version int64
}

func newOracle(w *run) caller {
	o := &oracle{w: w, known: map[string]*versioned{}}
	if w.quotas != nil {
		o.limits = limiters()
	}
	return o.call
}

func (o *oracle) call(ctx context.Context, r *request) (*mcp.CallToolResult, error) {
	if r.tool.kind == world.Delete {
		if err := o.w.ask(ctx, r); err != nil {
			return nil, err
		}
	}
	if r.tool.kind != world.Read {
		return o.send(ctx, r)
	}
	o.mu.Lock()
	key := r.tool.String() + string(r.raw)
	k := o.known[key]
	if k == nil {
		k = &versioned{turn: make(chan struct{}, 1)}
		o.known[key] = k
	}
	o.mu.Unlock()
	k.turn <- struct{}{}
	defer func() { <-k.turn }()
	before := o.w.version(r)
	if k.res != nil && k.version == before {
		return k.res, nil
	}
	res, err := o.send(ctx, r)
	if err == nil && before == o.w.version(r) {
		k.res, k.version = res, before
	}
	return res, err
}

// send repeats an attempt that was not executed, or may be repeated.
func (o *oracle) send(ctx context.Context, r *request) (res *mcp.CallToolResult, err error) {
	pause := 100 * time.Millisecond
	for range 3 {
		if limit := o.limits[r.tool.server]; limit != nil {
			if err := limit.Wait(ctx); err != nil {
				return nil, err
			}
		}
		attempt, cancel := context.WithTimeout(ctx, attemptTime)
		res, err = o.w.call(attempt, r)
		cancel()
		f, _ := errors.AsType[*world.Fault](err)
		if err == nil || f != nil && f.Status == 400 || r.tool.kind > world.Update && o.w.ledger.Times(r.id()) > 0 { // it was executed, and must not be repeated
			return res, err
		}
		time.Sleep(pause)
		pause *= 2
	}
	return res, err
}
