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
	{"bare", func(w *run, _ bool) caller { return w.send }},
	{"retry all (failsafe-go)", func(w *run, _ bool) caller { return retrying(w.send) }},
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

func cacheAll(w *run, _ bool) caller {
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

	mu     sync.Mutex
	known  map[string]versioned
	flying map[string]chan struct{}
}

type versioned struct {
	res     *mcp.CallToolResult
	version int64
}

func newOracle(w *run, tight bool) caller {
	o := &oracle{w: w, known: map[string]versioned{}, flying: map[string]chan struct{}{}}
	if tight {
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
	for key := r.tool.String() + string(r.raw); ; {
		o.mu.Lock()
		flight := o.flying[key]
		if k, ok := o.known[key]; ok && k.version == o.w.version(r) {
			o.mu.Unlock()
			return k.res, nil
		}
		if flight == nil {
			flight = make(chan struct{})
			o.flying[key] = flight
			o.mu.Unlock()
			return o.fly(ctx, r, key, flight)
		}
		o.mu.Unlock()
		<-flight
	}
}

func (o *oracle) fly(ctx context.Context, r *request, key string, flight chan struct{}) (*mcp.CallToolResult, error) {
	before := o.w.version(r)
	res, err := o.send(ctx, r)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil && before == o.w.version(r) {
		o.known[key] = versioned{res, before}
	}
	delete(o.flying, key)
	close(flight)
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
