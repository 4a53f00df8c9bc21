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

// naive is the libraries put together as their own examples show it, in the order
// of our chain: recover, confirm, cache, retry, rate limit, time limit.
type naive struct {
	next    middleware.ToolCaller
	known   *lru.Cache[string, remembered]
	limits  sync.Map // server → *rate.Limiter
	timeout time.Duration
}

type remembered struct {
	res     *mcp.CallToolResult
	expires time.Time
}

func newNaive(next middleware.ToolCaller, timeout time.Duration) *naive {
	known, err := lru.New[string, remembered](1000)
	if err != nil {
		panic(err)
	}
	n := &naive{next: next, known: known, timeout: timeout}
	n.limits.Store("crm", rate.NewLimiter(plenty, math.MaxInt32))
	return n
}

func (n *naive) CallTool(ctx context.Context, call middleware.Call) (res *mcp.CallToolResult, err error) {
	defer func() {
		if v := recover(); v != nil {
			res, err = nil, fmt.Errorf("panicked: %v", v)
		}
	}()
	class := call.Tool.Safety()
	if class.MustConfirm() {
		return nil, errors.New("nobody agreed")
	}
	if class != annotation.Safe {
		return n.send(ctx, call)
	}
	key, err := naiveKey(call)
	if err != nil {
		return nil, err
	}
	if kept, ok := n.known.Get(key); ok && time.Now().Before(kept.expires) {
		res := *kept.res
		return &res, nil
	}
	if res, err = n.send(ctx, call); err == nil && !res.IsError {
		n.known.Add(key, remembered{res, time.Now().Add(5 * time.Minute)})
	}
	return res, err
}

// naiveKey is the way that is found everywhere: decode, encode, hash.
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

func (n *naive) send(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	waits := backoff.WithContext(backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 2), ctx)
	return backoff.RetryWithData(func() (*mcp.CallToolResult, error) {
		limit, ok := n.limits.Load(call.Tool.Server)
		if !ok {
			return nil, backoff.Permanent(errors.New("no such server"))
		}
		if err := limit.(*rate.Limiter).Wait(ctx); err != nil {
			return nil, backoff.Permanent(err)
		}
		ctx := ctx
		if n.timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, n.timeout)
			defer cancel()
		}
		res, err := n.next.CallTool(ctx, call)
		if err != nil && !call.Tool.Annotations.SafeToRetry() {
			err = backoff.Permanent(err)
		}
		return res, err
	}, waits)
}
