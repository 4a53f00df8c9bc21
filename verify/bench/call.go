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

// turns is how many calls take turns: one that comes again and again is a loop,
// which budget ends.
const turns = 16

// A build puts what is measured before a server.
type build func(*server) middleware.ToolCaller

// peersBefore are the naive composition, failsafe-go and the floor, if a row has one, each
// at the work of a row. The limit is that of an attempt; 0 is none.
func peersBefore(limit time.Duration, floor build, work func(build) func(int) error) []subject {
	peers := []subject{
		{"naive", work(func(s *server) middleware.ToolCaller { return newNaive(s, limit) })},
		{"failsafe", work(func(s *server) middleware.ToolCaller { return newResilient(s, limit) })},
	}
	if floor != nil {
		peers = append(peers, subject{"floor", work(floor)})
	}
	return peers
}

// calling makes some calls by turns, again and again.
func calling(with build, call middleware.Call) func(int) error {
	arguments := several(200)
	return reaching(context.Background(), with, call, func(n int) json.RawMessage { return arguments[n%turns].raw })
}

// reaching makes calls with the n-th arguments, and sees that each one reached the server.
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

// writing makes writes.
func writing(with build) func(int) error { return calling(with, middleware.Call{Tool: writes}) }

// callPlain is a write through the whole chain.
func callPlain() contest {
	return contest{
		name:   "call/plain",
		ours:   writing(ours(cache.Options{})),
		peers:  peersBefore(0, func(s *server) middleware.ToolCaller { return newFloor(s) }, writing),
		goals:  map[string]float64{"naive": 2.5, "failsafe": 6, "floor": 0.7},
		allocs: 1,
		floor:  "its clocks, locks, hashes and the token alone are just at 6× failsafe-go",
	}
}

// callDeadline is the same with a time limit for each attempt.
func callDeadline() contest {
	return contest{
		name:   "call/deadline",
		ours:   writing(oursInTime),
		peers:  peersBefore(time.Minute, func(s *server) middleware.ToolCaller { return newFloor(&inTime{s}) }, writing),
		goals:  map[string]float64{"naive": 1.5, "failsafe": 4},
		allocs: 5,
		floor:  "context.WithTimeout is more than half of it",
	}
}

// agreeing stands where a confirmation got its yes: it gives one to every call.
type agreeing struct{ next middleware.ToolCaller }

func (a agreeing) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	ctx, once := callstate.WithGrant(ctx, &call, annotation.Dangerous, time.Minute, nil)
	defer once.Void()
	return a.next.CallTool(ctx, call)
}

// callAudited is call/plain with everything written down, to a sink that does
// nothing.
func callAudited() contest {
	return contest{
		name:   "call/audited",
		ours:   writing(oursAudited),
		allocs: 6, // two records, each handed over by a goroutine that a blocked sink keeps
	}
}

// callGranted is a dangerous call with a person's yes, which the guard spends. No
// peer knows of such a thing.
func callGranted() contest {
	call := middleware.Call{Tool: wipes}
	return contest{
		name:   "call/granted",
		ours:   calling(func(s *server) middleware.ToolCaller { return agreeing{ours(cache.Options{})(s)} }, call),
		allocs: 3,
	}
}

// asking asks questions whose answers are remembered, in the same bytes or each time
// in others.
func asking(with build, size int, fresh bool, scope string) func(int) error {
	s := new(server)
	caller, ctx, arguments := with(s), context.Background(), several(size)
	var asked struct {
		_ [64]byte // two goroutines may count side by side
		n int
		_ [64]byte
	}
	one := func() error {
		asked.n++
		a := arguments[asked.n%turns]
		if fresh {
			a.write(asked.n)
		}
		return check(caller.CallTool(ctx, middleware.Call{Scope: scope, Tool: reads, Arguments: a.raw}))
	}
	return func(n int) error {
		for asked.n < 3*turns { // the first ones are misses
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

// hit is a read whose answer is known.
func hit(size int, name string, fresh bool) contest {
	c := contest{
		name:  "hit/" + name + "/repeat",
		ours:  asking(ours(cache.Options{Shared: !fresh}), size, fresh, ""),
		goals: map[string]float64{"naive": 20}, allocs: 1,
	}
	var floor build
	switch {
	case fresh:
		c.name = "hit/" + name + "/fresh"
		floor = func(s *server) middleware.ToolCaller { return newRemembering(s) }
		c.goals, c.allocs = map[string]float64{"naive": 9}, 4
		c.floor = "the text must be read once and its form hashed with SHA-256"
	case size > 4<<10:
		c.floor = "a long text is known again by its SHA-256"
	case size < 200:
		c.floor = "the clocks, locks and hashes of a hit are more than a twentieth of decoding so little"
	}
	c.peers = peersBefore(0, floor, func(with build) func(int) error { return asking(with, size, fresh, "") })
	return c
}

// missing asks another question each time.
func missing(ctx context.Context, with build) func(int) error {
	a := newArgument(200)
	return reaching(ctx, with, middleware.Call{Tool: reads}, func(n int) json.RawMessage {
		a.ask(n)
		return a.raw
	})
}

func miss(ctx context.Context, floor build) contest {
	return contest{
		ours:  missing(ctx, ours(cache.Options{})),
		peers: peersBefore(0, floor, func(with build) func(int) error { return missing(ctx, with) }),
	}
}

func missPlain() contest {
	c := miss(context.Background(), func(s *server) middleware.ToolCaller { return newRemembering(s) })
	c.name, c.goals, c.allocs = "miss/plain", map[string]float64{"naive": 6}, 5
	c.floor = "the text must be read once, its form hashed with SHA-256, and the answer kept in another's place"
	return c
}

// missDeadline asks with a context that can be cancelled and ends: ours then flies
// on a goroutine of its own, so that one who gives up takes nobody down.
func missDeadline() contest {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	_ = cancel // the process ends before it
	c := miss(ctx, func(s *server) middleware.ToolCaller { return newFloor(&flying{s}) })
	c.name, c.goals, c.allocs = "miss/deadline", map[string]float64{"naive": 4}, 12
	c.floor = "a goroutine and a deadline of its own, so that who leaves takes nobody down"
	return c
}
