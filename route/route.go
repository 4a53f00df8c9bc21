// Package route chooses which of several replicas of a server gets a call. Dangerous and Unknown calls go to primaries
// alone, whatever the strategy; only a failed read, or a call that was not sent, is tried at the next replica. Filters of
// safety come first, then preferences, then the strategy. The rules are those of the NeuroLink article.
package route

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/redact"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of [New]. The zero value is ready.
type Options struct {
	// Failures is how many calls of a replica must fail in a row before it gets no more; 0 means 3. What the server refused
	// or answered with an error of its own does not count.
	Failures int
	// Successes is how many calls in a row make a failed replica healthy again, one at a time; 0 means 2.
	Successes int
	// Pause is how long a failed replica gets no call; it doubles with each failure, up to 32 times. 0 means 5 s.
	Pause time.Duration
	// Logger gets a line when a replica fails, recovers or is passed over; nil is silent.
	Logger *slog.Logger
}

// New returns a middleware that sends the calls of each pool's server to one of its replicas, and every other call to
// next. Each replica is tried at most once for a call: the next one only if the tool is Safe, or the call was not sent or
// was refused before execution.
//
// If no replica may have the call, it ends with a [*NoReplicaError]. A pool belongs to one middleware: New panics on one
// that is used already, on two of one server, on nil and on a negative number.
func New(o Options, pools ...*Pool) middleware.Middleware {
	fault.RefuseNegative("route: Options", o)
	o.Failures, o.Successes, o.Pause = cmp.Or(o.Failures, 3), cmp.Or(o.Successes, 2), cmp.Or(o.Pause, 5*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	byServer := make(map[string]*Pool, len(pools))
	for _, p := range pools {
		switch {
		case p == nil:
			panic("route: New was given a nil pool")
		case byServer[p.server] != nil:
			panic("route: New was given two pools of the server " + p.server)
		case p.used.Swap(true):
			panic("route: the pool of " + p.server + " is in use already; make one for each middleware")
		}
		p.o = o
		byServer[p.server] = p
	}
	return func(next middleware.ToolCaller) middleware.ToolCaller { return &router{next, byServer} }
}

type router struct {
	next  middleware.ToolCaller
	pools map[string]*Pool
}

func (r *router) Describe() middleware.Description {
	return middleware.Description{Kind: "route", Next: r.next, Will: r.will}
}

func (r *router) will(tool *middleware.Tool) string {
	switch p := r.poolOf(tool); {
	case p == nil:
		return ""
	case tool.Safety().MustConfirm():
		return "primary only"
	case tool.Safety() == annotation.Safe:
		return "any replica"
	}
	return "one replica"
}

func (r *router) poolOf(tool *middleware.Tool) *Pool {
	if tool == nil {
		return nil
	}
	return r.pools[tool.Server]
}

func (r *router) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	pool := r.poolOf(call.Tool)
	if pool == nil {
		return r.next.CallTool(ctx, call)
	}
	if ctx.Err() != nil {
		return nil, fault.GivenUp(ctx)
	}
	return pool.call(ctx, call)
}

// call tries one replica, and the next where that can do no harm.
func (p *Pool) call(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	var tried []*member
	var last error
	for {
		chosen, why, err := p.pick(call, tried)
		if err != nil {
			if last != nil { // what the replicas said is worth more than that there is no other
				return nil, last
			}
			return nil, err
		}
		tried = append(tried, chosen)
		state := callstate.Of(ctx)
		state.Write(func(r *callstate.Record) { r.Replica = chosen.ID })
		state.Decide("route", chosen.ID, why)
		res, err := p.try(ctx, chosen, call)
		if err == nil {
			return res, nil
		}
		if ctx.Err() != nil || !elsewhere(call, err) {
			return nil, err
		}
		p.o.Logger.LogAttrs(ctx, slog.LevelInfo, "route: the call goes to the next replica", slog.String("server", p.server),
			slog.String("after", chosen.ID), slog.String("tool", call.Tool.Name()), slog.Any("error", redact.Said{Call: call, Value: err}))
		last = err
	}
}

// elsewhere reports whether another replica may get a call that failed: one that cannot have changed anything.
func elsewhere(call middleware.Call, err error) bool {
	if differs := interface{ NotOffered() bool }(nil); errors.As(err, &differs) { // another definition of the tool
		return true
	}
	if middleware.Permanent(err) {
		return false
	}
	return call.Tool.Safety() == annotation.Safe || middleware.NotSent(err) || middleware.Refused(err)
}

func (p *Pool) try(ctx context.Context, chosen *member, call middleware.Call) (res *mcp.CallToolResult, err error) {
	came := failed
	defer func() { p.learn(ctx, chosen, came) }()
	res, err = chosen.Caller.CallTool(ctx, call)
	came = judge(ctx, err)
	return res, err
}

// A state is the health of one replica, learned from calls: several failures or successes in a row change it.
type state struct {
	busy   int       // calls under way
	streak int       // failures in a row while healthy, successes in a row while not
	failed bool      // it gets no call before until, and then one at a time
	until  time.Time // the end of the pause
	pause  time.Duration
}

// trial reports whether a failed replica may have one call to show itself.
func (s *state) trial(at time.Time) bool {
	return s.failed && s.busy == 0 && !at.Before(s.until)
}

type outcome uint8

const (
	neutral outcome = iota // nothing
	worked
	failed
)

func judge(ctx context.Context, err error) outcome {
	switch {
	case err == nil:
		return worked
	case errors.Is(ctx.Err(), context.Canceled):
		return neutral // the caller went away
	case middleware.Permanent(err), middleware.Refused(err):
		return neutral // it is there, and said no
	}
	return failed
}

const maxPause = 32

func (p *Pool) learn(ctx context.Context, m *member, came outcome) {
	p.mu.Lock()
	s := &m.state
	s.busy--
	before := s.failed
	p.update(s, came)
	after, until := s.failed, s.until
	p.mu.Unlock()
	switch {
	case after && !before:
		p.o.Logger.LogAttrs(ctx, slog.LevelWarn, "route: the replica failed", slog.String("server", p.server),
			slog.String("replica", m.ID), slog.Duration("pause", time.Until(until)))
	case before && !after:
		p.o.Logger.LogAttrs(ctx, slog.LevelInfo, "route: the replica is healthy again", slog.String("server", p.server),
			slog.String("replica", m.ID))
	}
}

// update moves one state; the caller holds the mutex.
func (p *Pool) update(s *state, came outcome) {
	switch {
	case came == neutral:
	case came == worked && !s.failed:
		s.streak = 0
	case came == worked:
		if s.streak++; s.streak >= p.o.Successes {
			*s = state{busy: s.busy}
		}
	case !s.failed:
		if s.streak++; s.streak >= p.o.Failures {
			s.failed, s.streak = true, 0
			p.rest(s)
		}
	case !time.Now().Before(s.until): // one that had begun before the pause does not prolong it
		s.streak = 0
		p.rest(s)
	}
}

func (p *Pool) rest(s *state) {
	if s.pause == 0 {
		s.pause = p.o.Pause
	} else if s.pause/p.o.Pause < maxPause && s.pause <= math.MaxInt64/2 {
		s.pause *= 2
	}
	s.until = time.Now().Add(s.pause)
}

// ErrNoReplica is in the tree of every error about a call that no replica may have.
var ErrNoReplica = errors.New("route: no replica")

// A NoReplicaError reports why no replica of the server may have the call. Nothing was sent.
type NoReplicaError struct {
	fault.Unsent

	Tool *middleware.Tool
	// Excluded are the replicas with the reasons, in the order of the pool.
	Excluded []Excluded
	// After is when the first of them may be tried again, 0 where waiting does not help.
	After time.Duration
}

// Excluded is a replica that may not have a call.
type Excluded struct{ Replica, Reason string }

func (e *NoReplicaError) Error() string {
	reasons := make([]string, len(e.Excluded))
	for i, x := range e.Excluded {
		reasons[i] = x.Replica + " " + x.Reason
	}
	next := "; add a replica that may have it"
	if e.After > 0 {
		next = fmt.Sprintf("; try again in %v", e.After.Round(time.Millisecond))
	}
	return fmt.Sprintf("route: no replica may have %s, which is %s: %s%s", e.Tool, e.Tool.Safety(), strings.Join(reasons, ", "), next)
}

func (e *NoReplicaError) ForModel() string {
	text := e.Tool.ModelName() + " was not called: its server cannot take the call now. "
	if e.After > 0 {
		return text + fmt.Sprintf("Call it again in %v, or do something else first.", e.After.Round(time.Millisecond))
	}
	return text + "Use another tool, or tell the user."
}

func (e *NoReplicaError) Is(target error) bool { return target == ErrNoReplica }

// Permanent reports whether waiting is of no use.
func (e *NoReplicaError) Permanent() bool { return e.After == 0 }

// RetryAfter returns when the first replica may be tried again.
func (e *NoReplicaError) RetryAfter() time.Duration { return e.After }

// none returns why each replica may not have the call; the caller holds the mutex.
func (p *Pool) none(tool *middleware.Tool, tried []*member, at time.Time) error {
	err := &NoReplicaError{Tool: tool}
	sooner := func(after time.Duration) time.Duration { return min(cmp.Or(err.After, after), after) }
	allowed, _ := p.allowed(tool)
	for _, m := range p.members {
		var reason string
		switch {
		case slices.Contains(tried, m):
			reason = "was tried"
		case tool.Safety().MustConfirm() && !m.primary():
			reason = fmt.Sprintf("is no primary (weight %d, below %d)", m.Weight, primary)
		case !slices.Contains(allowed, m):
			reason = "offers another definition of it"
		case at.Before(m.until):
			reason = "failed and rests"
			err.After = sooner(m.until.Sub(at))
		default:
			reason = "failed and is being tried by another call"
			err.After = sooner(p.o.Pause)
		}
		err.Excluded = append(err.Excluded, Excluded{m.ID, reason})
	}
	return err
}

// A Replica is one of several servers that stand for the same logical one.
type Replica struct {
	// ID names the replica in errors, logs and records.
	ID string
	// Caller calls the tool on this replica. It must be guarded; Catalog.Replica returns one that is. If it has a method
	// Offers(*middleware.Tool) bool, a tool for which that returns false is not sent there.
	Caller middleware.ToolCaller
	// Weight is the share of the calls under [Weighted], 1 to 100; 0 means 1. From 50 on a replica is a primary.
	Weight int
	// Categories are labels: "caching" attracts idempotent tools, "high-compute" complex ones or those above cost 100.
	Categories []string
	// Capabilities are the tags of tools that the replica is fit for (see [Capability]).
	Capabilities []string
}

const primary = 50

// Categories that draw tools by what is known about them.
const (
	Caching     = "caching"
	HighCompute = "high-compute"
)

type member struct {
	Replica
	state

	offers func(*middleware.Tool) bool // nil for one that offers all
}

func (m *member) primary() bool { return m.Weight >= primary }

func (m *member) is(category string) bool { return slices.Contains(m.Categories, category) }

func keep(among []*member, ok func(*member) bool) []*member {
	return slices.DeleteFunc(slices.Clone(among), func(m *member) bool { return !ok(m) })
}

// A Pool is the replicas of one server, with their health. It is safe for concurrent use.
type Pool struct {
	server   string
	strategy Strategy
	members  []*member
	used     atomic.Bool
	o        Options // once New has it

	mu   sync.Mutex // guards the health of the members
	turn uint64     // of the strategies that go round
}

// NewPool returns the pool of a server, by the id that the host gave it. It panics without a replica, on two with one ID,
// on one without an ID or a caller, on a weight below 0 or above 100, and on an unknown strategy.
func NewPool(server string, strategy Strategy, replicas ...Replica) *Pool {
	switch {
	case server == "":
		panic("route: NewPool was given no server")
	case strategy > Affinity:
		panic(fmt.Sprintf("route: the strategy of the pool of %s is %d; use one of RoundRobin to Affinity", server, strategy))
	case len(replicas) == 0:
		panic(fmt.Sprintf("route: the pool of %s has 0 replicas; it needs one", server))
	}
	p := &Pool{server: server, strategy: strategy}
	ids := make(map[string]bool)
	for i, r := range replicas {
		switch {
		case r.ID == "" || ids[r.ID]:
			panic(fmt.Sprintf("route: replica %d of %s needs an ID of its own, not %q", i, server, r.ID))
		case r.Caller == nil:
			panic(fmt.Sprintf("route: the replica %s of %s has a nil Caller", r.ID, server))
		case r.Weight < 0 || r.Weight > 100:
			panic(fmt.Sprintf("route: the weight of the replica %s of %s is %d; it must be 0 to 100", r.ID, server, r.Weight))
		}
		ids[r.ID] = true
		r.Weight = max(r.Weight, 1)
		m := &member{Replica: r}
		if o, ok := r.Caller.(interface {
			Offers(tool *middleware.Tool) bool
		}); ok {
			m.offers = o.Offers
		}
		p.members = append(p.members, m)
	}
	return p
}

// Candidates returns the IDs of the replicas to which a call of the tool may go now, in the order of the pool, without
// calling any. The error is a [*NoReplicaError].
func (p *Pool) Candidates(tool *middleware.Tool) ([]string, error) {
	if tool == nil {
		tool = new(middleware.Tool) // an unknown one
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := time.Now()
	found, _ := p.narrow(tool, nil, at)
	if len(found) == 0 {
		return nil, p.none(tool, nil, at)
	}
	var ids []string
	for _, m := range found {
		ids = append(ids, m.ID)
	}
	return ids, nil
}

// pick chooses a replica for one try and marks it as busy. why is for records.
func (p *Pool) pick(call middleware.Call, tried []*member) (chosen *member, why string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := time.Now()
	found, why := p.narrow(call.Tool, tried, at)
	if len(found) == 0 {
		return nil, "", p.none(call.Tool, tried, at)
	}
	chosen = p.choose(call, found)
	chosen.busy++
	return chosen, why, nil
}

// narrow applies the rules in their order: safety, health, then preferences if there is a choice.
func (p *Pool) narrow(tool *middleware.Tool, tried []*member, at time.Time) (found []*member, why string) {
	allowed, why := p.allowed(tool)
	allowed = keep(allowed, func(m *member) bool { return !slices.Contains(tried, m) })
	safe := tool.Safety() == annotation.Safe
	// A read is a good trial: if it fails, another replica answers.
	found = keep(allowed, func(m *member) bool { return !m.failed || safe && m.trial(at) })
	switch {
	case len(found) == 0:
		found = keep(allowed, func(m *member) bool { return m.trial(at) })
	case !safe && tool.Annotations.Idempotent == annotation.Yes && !tool.Safety().MustConfirm():
		found, why = prefer(found, Caching, why, "idempotent: a caching replica")
	}
	if a := &tool.Annotations; a.Complexity == annotation.Complex || a.CostHint != nil && *a.CostHint > 100 {
		found, why = prefer(found, HighCompute, why, "complex or costly: a high-compute replica")
	}
	return found, why
}

func (p *Pool) allowed(tool *middleware.Tool) ([]*member, string) {
	found, why := p.members, "any replica"
	if tool.Safety().MustConfirm() {
		found, why = keep(found, (*member).primary), "dangerous or unknown: primaries only"
	}
	return keep(found, func(m *member) bool { return m.offers == nil || m.offers(tool) }), why
}

func prefer(found []*member, category, why, because string) ([]*member, string) {
	if preferred := keep(found, func(m *member) bool { return m.is(category) }); len(preferred) > 0 {
		return preferred, because
	}
	return found, why
}

// A Strategy chooses among the replicas that safety and health leave. The zero value goes round.
type Strategy uint8

const (
	// RoundRobin gives each its turn.
	RoundRobin Strategy = iota
	// Weighted gives each its share by weight.
	Weighted
	// LeastConnections takes the one with the fewest calls under way.
	LeastConnections
	// Category takes those of the tool's category where there are any, in turns.
	Category
	// Capability takes those that have most of the tool's tags as capabilities, in turns.
	Capability
	// Affinity keeps a scope at one replica; replicas that come and go move only their own scopes.
	Affinity
)

// choose returns one of the replicas found; the caller holds the mutex.
func (p *Pool) choose(call middleware.Call, found []*member) *member {
	p.turn++
	switch p.strategy {
	case Weighted:
		return p.byWeight(found)
	case LeastConnections:
		found = best(found, func(m *member) int { return -m.busy })
	case Category:
		found, _ = prefer(found, call.Tool.Annotations.Category, "", "")
	case Capability:
		found = best(found, func(m *member) int { return m.capable(call.Tool) })
	case Affinity:
		// Rendezvous hashing: each scope ranks the replicas in its own order, the same in every process.
		return slices.MaxFunc(found, func(a, b *member) int { return bytes.Compare(a.rank(call.Scope), b.rank(call.Scope)) })
	case RoundRobin:
	}
	return found[p.turn%uint64(len(found))]
}

func best(found []*member, score func(*member) int) []*member {
	most := math.MinInt
	for _, m := range found {
		most = max(most, score(m))
	}
	return keep(found, func(m *member) bool { return score(m) == most })
}

func (m *member) capable(tool *middleware.Tool) int {
	n := 0
	for _, tag := range tool.Annotations.Tags {
		if slices.Contains(m.Capabilities, tag) {
			n++
		}
	}
	return n
}

// golden spreads consecutive numbers evenly over a uint64, so that the shares alternate.
const golden = 0x9E3779B97F4A7C15

func (p *Pool) byWeight(found []*member) *member {
	total := 0
	for _, m := range found {
		total += m.Weight
	}
	at := int((p.turn * golden >> 32) * uint64(total) >> 32)
	for _, m := range found {
		if at -= m.Weight; at < 0 {
			return m
		}
	}
	return found[len(found)-1]
}

func (m *member) rank(scope string) []byte {
	sum := sha256.Sum256([]byte(m.ID + "\x00" + scope))
	return sum[:]
}
