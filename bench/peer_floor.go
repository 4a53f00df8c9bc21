package main

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
	lru "github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"
)

// The floor of a call is what its promises cost at least, with the libraries that
// are asked for and nothing decided: a frame that recovers, a link for each room,
// the mark that a write begins and the one that it ended, each under a lock; a
// clock read, and a token from a bucket that is found in an LRU under a lock.
type floor struct {
	next    middleware.ToolCaller
	mu      sync.Mutex
	servers map[string]*uint64
	limitMu sync.Mutex
	limits  *lru.LRU[bucketName, *rate.Limiter]
}

type bucketName struct{ scope, server, tool string }

func newFloor(next middleware.ToolCaller) middleware.ToolCaller {
	limits, err := lru.NewLRU[bucketName, *rate.Limiter](1000, nil)
	if err != nil {
		panic(err)
	}
	limits.Add(bucketName{server: "crm"}, rate.NewLimiter(plenty, math.MaxInt32))
	return layers(3, middleware.Recover()(&floor{next: layers(3, next), servers: map[string]*uint64{"crm": new(uint64)}, limits: limits}))
}

func (f *floor) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	f.mark(call.Tool.Server)
	defer f.mark(call.Tool.Server)
	f.limitMu.Lock()
	limit, _ := f.limits.Get(bucketName{server: call.Tool.Server})
	ok := limit.AllowN(time.Now(), 1)
	f.limitMu.Unlock()
	if !ok {
		return nil, errWrong
	}
	return f.next.CallTool(ctx, call)
}

func (f *floor) mark(server string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*f.servers[server]++
}
