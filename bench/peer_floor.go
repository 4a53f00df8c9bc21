package main

import (
	"context"
	"crypto/sha256"
	"hash/maphash"
	"math"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	lru "github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"
)

// The floor of a call is what its promises cost at least, with the libraries that
// are asked for and nothing decided: a frame that recovers and a link for each room;
// the session found in an LRU under a lock, with the arguments and the answer hashed,
// and once more when it is over; the mark that a write begins and the one that it
// ended, each under a lock; and a token from a bucket that is found in an LRU under a
// lock. Each room reads the clock once, budget twice: it is the monotonic one alone where
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

// knowing is what it costs at least to answer a question from memory that is written
// in other bytes each time: the session, the text's one form and its hash, a look
// into an LRU under a lock, and a copy.
type knowing struct {
	next   middleware.ToolCaller
	floor  *floor
	form   []byte
	mu     sync.Mutex
	memory *lru.LRU[[sha256.Size]byte, *mcp.CallToolResult]
}

func newKnowing(next middleware.ToolCaller) middleware.ToolCaller {
	memory, err := lru.NewLRU[[sha256.Size]byte, *mcp.CallToolResult](1000, nil)
	if err != nil {
		panic(err)
	}
	return layers(3, fault.Recover(&knowing{next: next, floor: emptyFloor(), memory: memory}))
}

func (k *knowing) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	s := k.floor.spend(&call)
	var err error
	if k.form, err = canonical.AppendObject(k.form[:0], call.Arguments); err != nil {
		return nil, err
	}
	key := sha256.Sum256(k.form)
	k.mu.Lock()
	res, ok := k.memory.Get(key)
	k.mu.Unlock()
	if !ok {
		if res, err = k.next.CallTool(ctx, call); err != nil {
			return nil, err
		}
		k.mu.Lock()
		k.memory.Add(key, res)
		k.mu.Unlock()
	}
	own := *res
	k.floor.settle(s, &own)
	return &own, nil
}

// learning is what it costs at least to ask what nobody has asked before and to know
// the answer from then on: the session, the text's one form and its hash, a look into
// an LRU under a lock with the note that the question is on its way, a token, and
// once more under the lock a copy that takes the place of the oldest.
type learning struct {
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

func newLearning(next middleware.ToolCaller) middleware.ToolCaller {
	memory, err := lru.NewLRU[[sha256.Size]byte, *asked](1000, nil)
	if err != nil {
		panic(err)
	}
	l := &learning{next: layers(3, next), floor: emptyFloor(), asked: make(map[[sha256.Size]byte]*asked), memory: memory}
	return layers(3, fault.Recover(l))
}

func (l *learning) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	s := l.floor.spend(&call)
	var err error
	if l.form, err = canonical.AppendObject(l.form[:0], call.Arguments); err != nil {
		return nil, err
	}
	key, own := sha256.Sum256(l.form), &asked{expires: time.Since(l.floor.born) + time.Minute}
	if !l.begin(key, own) || !l.floor.pay(call.Tool.Server) {
		return nil, errWrong
	}
	res, err := l.next.CallTool(ctx, call)
	if err != nil {
		return nil, err
	}
	l.end(key, own, res)
	l.floor.settle(s, res)
	return res, nil
}

func (l *learning) begin(key [sha256.Size]byte, own *asked) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.memory.Get(key); known {
		return false
	}
	l.asked[key] = own
	return true
}

func (l *learning) end(key [sha256.Size]byte, own *asked, res *mcp.CallToolResult) {
	own.res, own.text = *res, *res.Content[0].(*mcp.TextContent)
	own.content[0] = &own.text
	own.res.Content = own.content[:]
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.asked, key)
	l.memory.Add(key, own)
}
