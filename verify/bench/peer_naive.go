package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"
)

// plenty is a rate that no benchmark reaches.
const plenty = 1e9

// naive is the libraries put together as their own examples show it, one middleware for each of
// our policies and in our order. A request is a pointer, as in the SDK.
type naive func(ctx context.Context, req *request) (*mcp.CallToolResult, error)

type request struct{ middleware.Call }

func (n naive) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return n(ctx, &request{call})
}

func newNaive(executor middleware.ToolCaller, timeout time.Duration) naive {
	next := naive(func(ctx context.Context, req *request) (*mcp.CallToolResult, error) {
		return executor.CallTool(ctx, req.Call)
	})
	if timeout > 0 {
		next = naiveTimeout(next, timeout)
	}
	return naiveRecover(naiveBudget(naiveConfirm(naiveCache(naiveRetry(naiveLimit(next))))))
}

func naiveRecover(next naive) naive {
	return func(ctx context.Context, req *request) (res *mcp.CallToolResult, err error) {
		defer func() {
			if v := recover(); v != nil {
				res, err = nil, fmt.Errorf("%s panicked: %v", req.Tool, v)
			}
		}()
		return next(ctx, req)
	}
}

// naiveBudget bounds the calls and the time of a scope, and ends calls that repeat in the same bytes.
func naiveBudget(next naive) naive {
	type session struct {
		calls, same int
		took        time.Duration
		last        string
	}
	var mu sync.Mutex
	sessions := map[string]*session{}
	return func(ctx context.Context, req *request) (*mcp.CallToolResult, error) {
		begun := time.Now()
		what := req.Tool.Server + "/" + req.Tool.Name() + string(req.Arguments)
		mu.Lock()
		s := sessions[req.Scope]
		if s == nil {
			s = new(session)
			sessions[req.Scope] = s
		}
		s.calls++
		s.same++
		if s.last != what {
			s.last, s.same = what, 1
		}
		over := s.calls > 1<<40 || s.took > 1<<60 || s.same > 4
		mu.Unlock()
		if over {
			return nil, errors.New("over budget")
		}
		res, err := next(ctx, req)
		mu.Lock()
		s.took += time.Since(begun)
		mu.Unlock()
		return res, err
	}
}

func naiveConfirm(next naive) naive {
	return func(ctx context.Context, req *request) (*mcp.CallToolResult, error) {
		if req.Tool.Safety().MustConfirm() {
			return nil, errors.New("nobody agreed")
		}
		return next(ctx, req)
	}
}

type remembered struct {
	res     *mcp.CallToolResult
	expires time.Time
	writes  int // to the server, when it was asked
}

// naiveCache caches reads until something is written to their server.
func naiveCache(next naive) naive {
	known, err := lru.New[string, remembered](1000)
	if err != nil {
		panic(err)
	}
	var mu sync.Mutex
	writes := map[string]int{}
	written := func(server string, now int) int {
		mu.Lock()
		defer mu.Unlock()
		writes[server] += now
		return writes[server]
	}
	return func(ctx context.Context, req *request) (*mcp.CallToolResult, error) {
		if req.Tool.Safety() != annotation.Safe {
			written(req.Tool.Server, 1)
			defer written(req.Tool.Server, 1)
			return next(ctx, req)
		}
		since := written(req.Tool.Server, 0)
		key, err := naiveKey(req.Call)
		if err != nil {
			return nil, err
		}
		if kept, ok := known.Get(key); ok && kept.writes == since && time.Now().Before(kept.expires) {
			res := *kept.res
			return &res, nil
		}
		res, err := next(ctx, req)
		if err == nil && !res.IsError {
			known.Add(key, remembered{res, time.Now().Add(5 * time.Minute), since})
		}
		return res, err
	}
}

func naiveRetry(next naive) naive {
	return func(ctx context.Context, req *request) (*mcp.CallToolResult, error) {
		waits := backoff.WithContext(backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 2), ctx)
		return backoff.RetryWithData(func() (*mcp.CallToolResult, error) {
			res, err := next(ctx, req)
			if err != nil && !req.Tool.Annotations.SafeToRetry() {
				err = backoff.Permanent(err)
			}
			return res, err
		}, waits)
	}
}

func naiveLimit(next naive) naive {
	var mu sync.Mutex
	limits := map[string]*rate.Limiter{}
	return func(ctx context.Context, req *request) (*mcp.CallToolResult, error) {
		key := req.Scope + "/" + req.Tool.Server
		mu.Lock()
		limit := limits[key]
		if limit == nil {
			limit = rate.NewLimiter(plenty, math.MaxInt32)
			limits[key] = limit
		}
		mu.Unlock()
		if err := limit.Wait(ctx); err != nil {
			return nil, backoff.Permanent(err)
		}
		return next(ctx, req)
	}
}

func naiveTimeout(next naive, limit time.Duration) naive {
	return func(ctx context.Context, req *request) (*mcp.CallToolResult, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return next(ctx, req)
	}
}

// naiveKey is the usual way: decode, encode, hash.
func naiveKey(call middleware.Call) (string, error) {
	var decoded any
	if err := json.Unmarshal(call.Arguments, &decoded); err != nil {
		return "", err
	}
	encoded, err := json.Marshal(decoded)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(encoded)
	return call.Scope + "/" + call.Tool.Server + "/" + call.Tool.Name() + "/" + hex.EncodeToString(sum[:]), nil
}
