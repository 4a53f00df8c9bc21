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

// A work makes n calls through what is built, and checks the results.
type work func(build) func(n int) error

// calling makes some calls by turns, again and again.
func calling(tool *middleware.Tool) work {
	arguments := several(200)
	return reaching(context.Background(), tool, func(n int) json.RawMessage { return arguments[n%turns].raw })
}

// missing makes calls that differ.
func missing(ctx context.Context) work {
	a := newArgument(200)
	return reaching(ctx, reads, func(n int) json.RawMessage {
		a.ask(n)
		return a.raw
	})
}

// reaching makes calls with the n-th arguments, and checks that each one reached the server.
func reaching(ctx context.Context, tool *middleware.Tool, arguments func(n int) json.RawMessage) work {
	return func(with build) func(int) error {
		s, made := new(server), 0
		caller := with(s)
		return func(n int) error {
			before := s.calls
			for range n {
				made++
				if err := check(caller.CallTool(ctx, middleware.Call{Tool: tool, Arguments: arguments(made)})); err != nil {
					return err
				}
			}
			if reached := s.calls - before; reached != n {
				return fmt.Errorf("%d calls reached the server as %d", n, reached)
			}
			return nil
		}
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

// oursAgreed has a person who approves every call. No peer has that.
func oursAgreed(s *server) middleware.ToolCaller {
	next := ours(cache.Options{})(s)
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		ctx, once := callstate.WithGrant(ctx, &call, annotation.Dangerous, time.Minute, nil)
		defer once.Void()
		return next.CallTool(ctx, call)
	})
}

// asking makes calls with cached results of a size, in the same bytes or in different ones each time.
func asking(size int, fresh bool) work {
	return func(with build) func(int) error {
		s, asked := new(server), 0
		caller, arguments := with(s), several(size)
		return func(n int) error {
			for last := max(asked, 3*turns) + n; asked < last; { // the first ones are misses
				asked++
				a := arguments[asked%turns]
				if fresh {
					a.write(asked)
				}
				if err := check(caller.CallTool(context.Background(), middleware.Call{Tool: reads, Arguments: a.raw})); err != nil {
					return err
				}
			}
			if s.calls > turns {
				return fmt.Errorf("%d calls reached the server, want only the first %d", s.calls, turns)
			}
			return nil
		}
	}
}

// ending is a context that ends after the process.
var ending, _ = context.WithTimeout(context.Background(), time.Hour)
