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

func writing(with build) func(int) error { return calling(with, middleware.Call{Tool: writes}) }
func wiping(with build) func(int) error  { return calling(with, middleware.Call{Tool: wipes}) }

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

// agreeing takes the place of a confirmation and approves every call.
type agreeing struct{ next middleware.ToolCaller }

func (a agreeing) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	ctx, once := callstate.WithGrant(ctx, &call, annotation.Dangerous, time.Minute, nil)
	defer once.Void()
	return a.next.CallTool(ctx, call)
}

// oursAgreed has a person who approves every call. No peer has that.
func oursAgreed(s *server) middleware.ToolCaller { return agreeing{ours(cache.Options{})(s)} }

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

// repeating and rewriting ask for cached results of a size, in the same bytes and in different ones.
func repeating(size int) func(build) func(int) error {
	return func(with build) func(int) error { return asking(with, size, false) }
}

func rewriting(size int) func(build) func(int) error {
	return func(with build) func(int) error { return asking(with, size, true) }
}

func missing(ctx context.Context) func(build) func(int) error {
	return func(with build) func(int) error {
		a := newArgument(200)
		return reaching(ctx, with, middleware.Call{Tool: reads}, func(n int) json.RawMessage {
			a.ask(n)
			return a.raw
		})
	}
}

// ending is a context that ends after the process.
var ending, _ = context.WithTimeout(context.Background(), time.Hour)
