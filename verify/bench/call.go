package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// turns is how many calls take turns: budget ends a call that comes again and again.
const turns = 16

// A build puts the measured middlewares before a server.
type build func(*server) middleware.ToolCaller

// peersBefore are the two peers, each doing the work of a row, with a time limit for each attempt unless 0.
func peersBefore(limit time.Duration, work func(build) func(int) error) []subject {
	return []subject{
		{name: "naive", run: work(func(s *server) middleware.ToolCaller { return newNaive(s, limit) })},
		{name: "failsafe", run: work(func(s *server) middleware.ToolCaller { return newResilient(s, limit) })},
	}
}

// calling makes some calls by turns, again and again.
func calling(with build, call middleware.Call) func(int) error {
	arguments := several(200)
	return reaching(context.Background(), with, call, func(n int) json.RawMessage { return arguments[n%turns].raw })
}

// reaching makes calls with the n-th arguments, and checks that each one reached the server.
func reaching(ctx context.Context, with build, call middleware.Call, arguments func(n int) json.RawMessage) func(int) error {
	s, made := new(server), 0
	caller := with(s)
	return func(n int) error {
		before := s.calls
		for range n {
			made++
			call.Arguments = arguments(made)
			if err := check(caller.CallTool(ctx, call)); err != nil {
				return err
			}
		}
		if reached := s.calls - before; reached != n {
			return fmt.Errorf("%d calls reached the server as %d", n, reached)
		}
		return nil
	}
}

// several are arguments of one size that differ.
func several(size int) []*argument {
	all := make([]*argument, turns)
	for i := range all {
		all[i] = newArgument(size)
		all[i].ask(i)
	}
	return all
}

func writing(with build) func(int) error { return calling(with, middleware.Call{Tool: writes}) }

// callPlain is a write through the whole chain.
func callPlain() contest {
	return contest{
		name:   "call/plain",
		ours:   writing(ours(cache.Options{})),
		peers:  peersBefore(0, writing),
		goals:  map[string]float64{"naive": 2.5, "failsafe": 6},
		allocs: 1,
	}
}

// callDeadline is the same with a time limit for each attempt.
func callDeadline() contest {
	return contest{
		name:   "call/deadline",
		ours:   writing(oursInTime),
		peers:  peersBefore(time.Minute, writing),
		goals:  map[string]float64{"naive": 1.5, "failsafe": 4},
		allocs: 5,
	}
}

// agreeing takes the place of a confirmation and approves every call.
type agreeing struct{ next middleware.ToolCaller }

func (a agreeing) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	ctx, once := callstate.WithGrant(ctx, &call, annotation.Dangerous, time.Minute, nil)
	defer once.Void()
	return a.next.CallTool(ctx, call)
}

// callAudited is call/plain with a record of everything, to a sink that does nothing.
func callAudited() contest {
	return contest{
		name:   "call/audited",
		ours:   writing(oursAudited),
		allocs: 6, // two records, each handed over by a goroutine that a blocked sink keeps
	}
}

// callGranted is a dangerous call with an approval, which the guard consumes. No peer has that.
func callGranted() contest {
	call := middleware.Call{Tool: wipes}
	return contest{
		name:   "call/granted",
		ours:   calling(func(s *server) middleware.ToolCaller { return agreeing{ours(cache.Options{})(s)} }, call),
		allocs: 3,
	}
}

// asking makes calls with cached results, in the same bytes or in different ones each time.
func asking(with build, size int, fresh bool) func(int) error {
	s := new(server)
	caller, ctx, arguments := with(s), context.Background(), several(size)
	asked := 0
	one := func() error {
		asked++
		a := arguments[asked%turns]
		if fresh {
			a.write(asked)
		}
		return check(caller.CallTool(ctx, middleware.Call{Tool: reads, Arguments: a.raw}))
	}
	return func(n int) error {
		for asked < 3*turns { // the first ones are misses
			if err := one(); err != nil {
				return err
			}
		}
		for range n {
			if err := one(); err != nil {
				return err
			}
		}
		if s.calls > turns {
			return fmt.Errorf("%d calls reached the server, want only the first %d", s.calls, turns)
		}
		return nil
	}
}

// hit is a read with a cached result.
func hit(size int, name string, fresh bool) contest {
	c := contest{
		name:  "hit/" + name + "/repeat",
		ours:  asking(ours(cache.Options{Shared: !fresh}), size, fresh),
		goals: map[string]float64{"naive": 20}, allocs: 1,
	}
	if fresh {
		c.name = "hit/" + name + "/fresh"
		c.goals, c.allocs = map[string]float64{"naive": 9}, 4
	}
	c.peers = peersBefore(0, func(with build) func(int) error { return asking(with, size, fresh) })
	return c
}

func missing(ctx context.Context, with build) func(int) error {
	a := newArgument(200)
	return reaching(ctx, with, middleware.Call{Tool: reads}, func(n int) json.RawMessage {
		a.ask(n)
		return a.raw
	})
}

func miss(ctx context.Context, name string, least, allocs float64) contest {
	return contest{
		name:   name,
		ours:   missing(ctx, ours(cache.Options{})),
		peers:  peersBefore(0, func(with build) func(int) error { return missing(ctx, with) }),
		goals:  map[string]float64{"naive": least},
		allocs: allocs,
	}
}

func missPlain() contest { return miss(context.Background(), "miss/plain", 6, 5) }

// missDeadline calls with a context that ends: the call then runs on a goroutine of its own.
func missDeadline() contest {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	_ = cancel // the process ends before it
	return miss(ctx, "miss/deadline", 4, 12)
}
