package sim

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/verify/world"
)

// An engine is the embedded stores behind a network that delays, loses and is away for a while. If
// the end of a write is lost, it is sent later; until then the cache is not used, as in contrib/redis.
type engine struct {
	approvals.Store

	memory  cache.Remote
	limiter ratelimit.Limiter
	lossy   bool
	away    outage
	silence time.Duration // before it gives no answer

	mu   sync.Mutex
	dice *rand.Rand
	owed []cache.Write
	well bool // nothing is lost from then on
}

type outage struct{ from, to time.Time }

func (o outage) has(t time.Time) bool { return !t.Before(o.from) && t.Before(o.to) }

func newEngine(dice *rand.Rand, well bool) *engine {
	e := &engine{Store: approvals.NewMemory(), memory: cache.NewMemory(), limiter: ratelimit.NewMemory(), dice: dice, well: well, silence: opTimeout / 2}
	if !well {
		e.lossy = dice.IntN(2) == 0
		if dice.IntN(2) == 0 {
			from := time.Now().Add(time.Duration(dice.IntN(2000)) * time.Millisecond)
			e.away = outage{from, from.Add(time.Duration(200+dice.IntN(1000)) * time.Millisecond)}
		}
	}
	return e
}

func (e *engine) rest() {
	time.Sleep(10 * time.Second)
	e.mu.Lock()
	e.well = true
	e.mu.Unlock()
	e.pay()
}

// believed reports whether the engine may serve cached results.
func (e *engine) believed(now time.Time) bool {
	if (outage{e.away.from, e.away.to.Add(settling)}).has(now) {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.owed) == 0
}

// over carries an operation over the network of an engine.
func over[T any](ctx context.Context, e *engine, operation func() (T, error)) (found T, err error) {
	e.mu.Lock()
	there, back := time.Duration(e.dice.IntN(10))*time.Millisecond, time.Duration(e.dice.IntN(10))*time.Millisecond
	loses := e.lossy && !e.well && e.dice.IntN(12) == 0
	before := e.dice.IntN(2) == 0
	e.mu.Unlock()
	if err := world.Wait(ctx, there); err != nil {
		return found, err
	}
	if e.away.has(time.Now()) || loses && before {
		return found, errors.Join(world.Wait(ctx, e.silence), errLost)
	}
	found, err = operation()
	if loses {
		return found, errors.Join(world.Wait(ctx, e.silence), errLost)
	}
	return found, errors.Join(err, world.Wait(ctx, back))
}

// do is over for an operation without a result.
func (e *engine) do(ctx context.Context, operation func() error) error {
	_, err := over(ctx, e, func() (struct{}, error) { return struct{}{}, operation() })
	return err
}

// pay sends the ends that could not be sent before.
func (e *engine) pay() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range e.owed {
		_, _ = e.memory.End(context.Background(), w)
	}
	e.owed = nil
}

func (e *engine) Add(ctx context.Context, a approvals.Approval) error {
	return e.do(ctx, func() error { return e.Store.Add(ctx, a) })
}

func (e *engine) Advance(ctx context.Context, id string, change approvals.Change) error {
	return e.do(ctx, func() error { return e.Store.Advance(ctx, id, change) })
}

type lossyMemory struct{ *engine }

func (m lossyMemory) Look(ctx context.Context, q cache.Read) (cache.Lookup, error) {
	found, err := over(ctx, m.engine, func() (cache.Lookup, error) {
		if !m.believed(time.Now()) {
			return cache.Lookup{}, nil
		}
		return m.memory.Look(ctx, q)
	})
	if err != nil { // another caller takes over the lead that was lost
		m.memory.Drop(ctx, q, found.Ticket)
		return cache.Lookup{}, err
	}
	return found, nil
}

func (m lossyMemory) Keep(ctx context.Context, q cache.Read, ticket string, value []byte, ttl time.Duration) error {
	err := m.do(ctx, func() error { return m.memory.Keep(ctx, q, ticket, value, ttl) })
	if err != nil {
		m.memory.Drop(ctx, q, ticket)
	}
	return err
}

func (m lossyMemory) Drop(ctx context.Context, q cache.Read, ticket string) {
	m.memory.Drop(ctx, q, ticket)
}

func (m lossyMemory) Begin(ctx context.Context, w cache.Write) error {
	return m.do(ctx, func() error { return m.memory.Begin(ctx, w) })
}

// End owes what it cannot send, and serves no cached result until then.
func (m lossyMemory) End(ctx context.Context, w cache.Write) (string, error) {
	m.mu.Lock()
	m.owed = append(m.owed, w)
	m.mu.Unlock()
	ticket, err := over(ctx, m.engine, func() (string, error) { return m.memory.End(ctx, w) })
	if !m.away.has(time.Now()) {
		m.pay()
	}
	return ticket, err
}

const (
	opTimeout = 100 * time.Millisecond // of one operation
	settling  = 300 * time.Millisecond // after an outage the cache is not used
)

var errLost = errors.New("sim: the engine gave no answer")

type lossyLimiter struct{ *engine }

func (l lossyLimiter) Take(ctx context.Context, w ratelimit.Waiter) (time.Duration, error) {
	return over(ctx, l.engine, func() (time.Duration, error) { return l.limiter.Take(ctx, w) })
}

func (l lossyLimiter) Leave(ctx context.Context, w ratelimit.Waiter) { l.limiter.Leave(ctx, w) }
