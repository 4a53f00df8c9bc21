// Package route chooses which of several replicas of a server gets a call. Dangerous and Unknown calls go to primaries
// alone, whatever the strategy; only a failed read, or a call that was not sent, is tried at the next replica. Filters of
// safety come first, then preferences, then the strategy. The rules are those of the NeuroLink article.
package route

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
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
