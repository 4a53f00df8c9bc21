package main

import (
	"context"
	"crypto/sha256"
	"hash/maphash"
	"math"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	lru "github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"
)

// The floor of a call is what its promises cost at least, with the libraries that
// are asked for and nothing decided: a frame that recovers and a middleware for each policy;
// the session found in an LRU under a lock, with the arguments and the answer hashed,
// and once more when it is over; the mark that a write begins and the one that it
// ended, each under a lock; and a token from a bucket that is found in an LRU under a
// lock. Each reads the clock once, budget twice: it is the monotonic one alone where
// that is enough.
type floor struct {
	next    middleware.ToolCaller
	mu      sync.Mutex
	servers map[string]*uint64
	limitMu sync.Mutex
	limits  *lru.LRU[bucketName, *rate.Limiter]

	budgetMu sync.Mutex
	born     time.Time
	sessions *lru.LRU[string, *spending]
	seed     maphash.Seed
}

type spending struct {
	calls        int
	last         time.Duration
	call, answer uint64
}

type bucketName struct{ server string }

// passing is a middleware that hands a call on.
type passing struct{ next middleware.ToolCaller }

func (p *passing) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return p.next.CallTool(ctx, call)
}

func layers(n int, executor middleware.ToolCaller) middleware.ToolCaller {
	links := make([]middleware.Middleware, n)
	for i := range links {
		links[i] = func(next middleware.ToolCaller) middleware.ToolCaller { return &passing{next} }
	}
	return chain.New(links...).Then(executor)
}

func newFloor(next middleware.ToolCaller) middleware.ToolCaller {
	f := emptyFloor()
	f.next = layers(3, next)
	return layers(3, fault.Recover(f))
}

func emptyFloor() *floor {
	limits, err := lru.NewLRU[bucketName, *rate.Limiter](1000, nil)
	if err != nil {
		panic(err)
	}
	limits.Add(bucketName{server: "crm"}, rate.NewLimiter(plenty, math.MaxInt32))
	sessions, err := lru.NewLRU[string, *spending](1000, nil)
	if err != nil {
		panic(err)
	}
	sessions.Add("", new(spending))
	return &floor{
		servers: map[string]*uint64{"crm": new(uint64)}, limits: limits, born: time.Now(), sessions: sessions, seed: maphash.MakeSeed(),
	}
}

func (f *floor) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	s := f.spend(&call)
	f.mark(call.Tool.Server)
	if !f.pay(call.Tool.Server) {
		return nil, errWrong
	}
	res, err := f.next.CallTool(ctx, call)
	f.mark(call.Tool.Server)
	if err == nil {
		f.settle(s, res)
	}
	return res, err
}

func (f *floor) spend(call *middleware.Call) *spending {
	now, what := time.Since(f.born), maphash.Bytes(f.seed, call.Arguments)
	f.budgetMu.Lock()
	defer f.budgetMu.Unlock()
	s, _ := f.sessions.Get(call.Scope)
	s.calls++
	s.last, s.call = now, what
	return s
}

func (f *floor) settle(s *spending, res *mcp.CallToolResult) {
	now, what := time.Since(f.born), maphash.String(f.seed, res.Content[0].(*mcp.TextContent).Text)
	f.budgetMu.Lock()
	defer f.budgetMu.Unlock()
	s.last, s.answer = now, what
}

func (f *floor) pay(server string) bool {
	f.limitMu.Lock()
	defer f.limitMu.Unlock()
	limit, _ := f.limits.Get(bucketName{server: server})
	return limit.AllowN(time.Now(), 1)
}

func (f *floor) mark(server string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*f.servers[server]++
}

// inTime is what a time limit costs at least: the standard library's own.
type inTime struct{ next middleware.ToolCaller }

func (t *inTime) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return t.next.CallTool(ctx, call)
}

// flying is what it costs at least that a caller may leave and others get the answer
// all the same: a context that the caller does not end, and a goroutine. The question
// itself is not looked at.
type flying struct{ next middleware.ToolCaller }

func (f *flying) CallTool(ctx context.Context, call middleware.Call) (res *mcp.CallToolResult, err error) {
	deadline, _ := ctx.Deadline()
	own, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	landed := make(chan struct{})
	go func() {
		defer cancel()
		res, err = f.next.CallTool(own, call)
		close(landed)
	}()
	select {
	case <-landed:
		return res, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// remembering is what it costs at least to answer a question from memory, or to ask it
// and to know the answer from then on: the session, the text's one form and its hash, a
// look into an LRU under a lock, and a copy. What is not known is noted under that lock
// as on its way, takes a token, and takes the place of the oldest.
type remembering struct {
	next  middleware.ToolCaller
	floor *floor
	form  []byte

	mu     sync.Mutex
	asked  map[[sha256.Size]byte]*asked
	memory *lru.LRU[[sha256.Size]byte, *asked]
}

// asked is a question with its answer, in one piece.
type asked struct {
	expires time.Duration
	res     mcp.CallToolResult
	content [1]mcp.Content
	text    mcp.TextContent
}

func newRemembering(next middleware.ToolCaller) middleware.ToolCaller {
	memory, err := lru.NewLRU[[sha256.Size]byte, *asked](1000, nil)
	if err != nil {
		panic(err)
	}
	m := &remembering{next: layers(3, next), floor: emptyFloor(), asked: make(map[[sha256.Size]byte]*asked), memory: memory}
	return layers(3, fault.Recover(m))
}

func (m *remembering) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	s := m.floor.spend(&call)
	var err error
	if m.form, err = canonical.AppendObject(m.form[:0], call.Arguments); err != nil {
		return nil, err
	}
	key := sha256.Sum256(m.form)
	a, known := m.begin(key)
	if known {
		own := a.res
		m.floor.settle(s, &own)
		return &own, nil
	}
	if !m.floor.pay(call.Tool.Server) {
		return nil, errWrong
	}
	res, err := m.next.CallTool(ctx, call)
	if err != nil {
		return nil, err
	}
	m.end(key, a, res)
	m.floor.settle(s, res)
	return res, nil
}

func (m *remembering) begin(key [sha256.Size]byte) (a *asked, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a, known = m.memory.Get(key); known {
		return a, true
	}
	a = &asked{expires: time.Since(m.floor.born) + time.Minute}
	m.asked[key] = a
	return a, false
}

func (m *remembering) end(key [sha256.Size]byte, own *asked, res *mcp.CallToolResult) {
	own.res, own.text = *res, *res.Content[0].(*mcp.TextContent)
	own.content[0] = &own.text
	own.res.Content = own.content[:]
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.asked, key)
	m.memory.Add(key, own)
}
