package main

import (
	"context"
	"errors"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/cachepolicy"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"
	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type result = *mcp.CallToolResult

// resilient is failsafe-go with four policies in the order of our chain. The breaker takes the place of
// our retry's budget: both protect a server in trouble.
type resilient struct {
	next  middleware.ToolCaller
	known known
	exec  failsafe.Executor[result]
}

// known is the cache that failsafe-go asks for.
type known struct {
	*lru.Cache[string, remembered]
}

func (k known) Get(key string) (result, bool) {
	kept, ok := k.Cache.Get(key)
	return kept.res, ok && time.Now().Before(kept.expires)
}

func (k known) Set(key string, res result) {
	k.Add(key, remembered{res: res, expires: time.Now().Add(5 * time.Minute)})
}

func newResilient(next middleware.ToolCaller, limit time.Duration) *resilient {
	cache, err := lru.New[string, remembered](1000)
	if err != nil {
		panic(err)
	}
	r := &resilient{next: next, known: known{cache}}
	policies := []failsafe.Policy[result]{
		cachepolicy.New[result](r.known),
		retrypolicy.NewBuilder[result]().WithMaxRetries(2).WithBackoff(200*time.Millisecond, 10*time.Second).Build(),
		circuitbreaker.NewWithDefaults[result](),
		ratelimiter.NewBursty[result](1<<30, time.Second),
	}
	if limit > 0 {
		policies = append(policies, timeout.New[result](limit))
	}
	r.exec = failsafe.With(policies...)
	return r
}

func (r *resilient) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	class := call.Tool.Safety()
	if class.MustConfirm() {
		return nil, errors.New("nobody agreed")
	}
	if class == annotation.Safe {
		key, err := naiveKey(call)
		if err != nil {
			return nil, err
		}
		ctx = cachepolicy.ContextWithCacheKey(ctx, key)
	}
	return r.exec.WithContext(ctx).GetWithExecution(func(exec failsafe.Execution[result]) (result, error) {
		return r.next.CallTool(exec.Context(), call)
	})
}
