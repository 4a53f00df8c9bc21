// Package route chooses which of several replicas of a server gets a call. Dangerous and Unknown calls go to primaries
// alone, whatever the strategy; only a failed read, or a call that was not sent, is tried at the next replica. Filters of
// safety come first, then preferences, then the strategy. The rules are those of the NeuroLink article.
package route

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
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
	return middleware.Description{Kind: "route", Next: r.next, Plan: r.will}
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
	var last, reached error // reached is of the first replica that may have executed the call
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
		err = fault.Later(call.Tool, reached, err)
		if ctx.Err() != nil || !elsewhere(call, err) {
			return nil, err
		}
		if reached == nil && !middleware.NotSent(err) && !middleware.Refused(err) {
			reached = err
		}
		p.o.Logger.LogAttrs(ctx, slog.LevelInfo, "route: the call goes to the next replica", slog.String("server", p.server),
			slog.String("after", chosen.ID), slog.String("tool", call.Tool.Name()), slog.Any("error", redact.Value{Call: call, Value: err}))
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

// try makes one attempt, and learns the health of the replica from it. A panic counts as a failure.
func (p *Pool) try(ctx context.Context, chosen *member, call middleware.Call) (res *mcp.CallToolResult, err error) {
	came := failed
	defer func() { p.learn(ctx, chosen, came) }()
	res, err = chosen.Caller.CallTool(ctx, call)
	came = judge(ctx, err)
	return res, err
}
