package middlewaretest_test

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type link func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error)

func wrap(do link) middleware.Middleware {
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			return do(ctx, next, call)
		})
	}
}

func before(do func(call middleware.Call)) middleware.Middleware {
	return wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
		do(call)
		return next.CallTool(ctx, call)
	})
}

func after(do func(call middleware.Call)) middleware.Middleware {
	return wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
		defer do(call)
		return next.CallTool(ctx, call)
	})
}

func changing(change func(call *middleware.Call)) middleware.Middleware {
	return wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
		change(&call)
		return next.CallTool(ctx, call)
	})
}

// previousNext calls in every second application what the one before was applied to.
func previousNext() middleware.Middleware {
	var previous middleware.ToolCaller
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		if previous == nil {
			previous = next
			return next
		}
		next, previous = previous, nil
		return next
	}
}

// A sentError reports that the failed call had been sent, whatever it wraps.
type sentError struct{ error }

func (e sentError) Unwrap() error { return e.error }
func (sentError) NotSent() bool   { return false }

func refuse(context.Context, middleware.ToolCaller, middleware.Call) (*mcp.CallToolResult, error) {
	return nil, errDenied
}

func refuseUnsafe(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
	if call.Tool.Safety().MustConfirm() {
		return nil, errDenied
	}
	return next.CallTool(ctx, call)
}

func answer(context.Context, middleware.ToolCaller, middleware.Call) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello"}}}, nil
}

func limitTime(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	res, err := next.CallTool(ctx, call)
	return res, middleware.OutcomeUnknown(call, err)
}

// ask waits for a person who takes a minute.
func ask(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
	timer := time.NewTimer(time.Minute)
	defer timer.Stop()
	select {
	case <-timer.C:
		return next.CallTool(ctx, call)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// askElsewhere asks on a goroutine that ends with the question.
func askElsewhere(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
	said := make(chan bool)
	go func() {
		defer close(said)
		timer := time.NewTimer(time.Minute)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}()
	<-said
	return next.CallTool(ctx, call)
}

func tryAgain(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
	for wait := time.Second; ; wait *= 2 {
		res, err := next.CallTool(ctx, call)
		again := middleware.NotSent(err) || middleware.Refused(err) || call.Tool.Annotations.SafeToRetry()
		if err == nil || !again || wait > 4*time.Second || ctx.Err() != nil {
			return res, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

func changeCopy(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
	tool := *call.Tool
	tool.Annotations.Title = "a copy"
	call.Tool = &tool
	call.Meta = maps.Clone(call.Meta)
	call.Meta["trace"] = "1"
	return next.CallTool(ctx, call)
}

// remember answers a safe call from memory, with a copy unless shared.
func remember(shared bool, key func(middleware.Call) string) middleware.Middleware {
	if key == nil {
		key = func(call middleware.Call) string { return call.Scope + "\x00" + string(call.Arguments) }
	}
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		var mu sync.Mutex
		known := make(map[string]*mcp.CallToolResult)
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			if call.Tool.Safety() != annotation.Safe {
				return next.CallTool(ctx, call)
			}
			mu.Lock()
			have := known[key(call)]
			mu.Unlock()
			if have == nil {
				res, err := next.CallTool(ctx, call)
				if err != nil || res.IsError {
					return res, err
				}
				mu.Lock()
				known[key(call)] = res
				mu.Unlock()
				have = res
			}
			if shared {
				return have, nil
			}
			return clone(have), nil
		})
	}
}

func clone(res *mcp.CallToolResult) *mcp.CallToolResult {
	raw, err := json.Marshal(res)
	if err != nil {
		panic(err)
	}
	out := new(mcp.CallToolResult)
	if err := json.Unmarshal(raw, out); err != nil {
		panic(err)
	}
	return out
}

// queue lets four calls through at a time; a blind one does not look at the context.
func queue(blind bool) middleware.Middleware {
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		places := make(chan struct{}, 4)
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			gone := ctx.Done()
			if blind {
				gone = nil
			}
			select {
			case places <- struct{}{}:
			case <-gone:
				return nil, context.Cause(ctx)
			}
			if blind {
				time.Sleep(time.Second)
			}
			defer func() { <-places }()
			return next.CallTool(ctx, call)
		})
	}
}

// queueOutside keeps its one place where every application shares it.
func queueOutside() middleware.Middleware {
	place := make(chan struct{}, 1)
	return wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
		place <- struct{}{}
		defer func() { <-place }()
		return next.CallTool(ctx, call)
	})
}

func oneAtATime(next middleware.ToolCaller) middleware.ToolCaller {
	var mu sync.Mutex
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		mu.Lock()
		defer mu.Unlock()
		return next.CallTool(ctx, call)
	})
}

// oneField keeps the call in a place that all calls share. It locks, so that the
// race detector has nothing to say.
func oneField(next middleware.ToolCaller) middleware.ToolCaller {
	var mu sync.Mutex
	var current middleware.Call
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		mu.Lock()
		current = call
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		mine := current
		mu.Unlock()
		return next.CallTool(ctx, mine)
	})
}

// flightOf lets the second of two equal calls wait for the first, and forgets to
// land the flight where next panics.
func flightOf(locked bool) middleware.Middleware {
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		var mu sync.Mutex
		var flying bool
		landed := make(chan struct{})
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			mu.Lock()
			if !locked {
				wait := flying
				flying = true
				mu.Unlock()
				if wait {
					select {
					case <-landed:
					case <-ctx.Done():
						return nil, context.Cause(ctx)
					}
				}
				return next.CallTool(ctx, call)
			}
			res, err := next.CallTool(ctx, call)
			mu.Unlock()
			return res, err
		})
	}
}
