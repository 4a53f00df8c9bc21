package main

import (
	"context"
	"fmt"

	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// passing hands a call on.
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

// passthrough is n layers that do nothing, ours and those of the MCP SDK.
func passthrough(n int) contest {
	call := middleware.Call{Tool: writes, Arguments: newArgument(200).raw}
	return contest{
		name:  fmt.Sprintf("passthrough/%d", n),
		ours:  calling(func(s *server) middleware.ToolCaller { return layers(n, s) }, call),
		peers: []subject{{"sdk", sdkLayers(n)}},
		goals: map[string]float64{"sdk": 0.2},
	}
}

func sdkLayers(n int) func(int) error {
	calls := 0
	handler := mcp.MethodHandler(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		calls++
		return answer, nil
	})
	for range n {
		next := handler
		handler = func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			return next(ctx, method, req)
		}
	}
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: writes.Name()}}
	ctx := context.Background()
	return passes(&calls, func() (any, error) { return handler(ctx, "tools/call", req) })
}

// passes calls a peer's layers, and checks the answers and that each call came through.
func passes(calls *int, one func() (any, error)) func(int) error {
	return func(n int) error {
		before := *calls
		for range n {
			res, err := one()
			if err != nil {
				return err
			}
			if err := check(res.(*mcp.CallToolResult), nil); err != nil {
				return err
			}
		}
		if *calls-before != n {
			return errOdd
		}
		return nil
	}
}
