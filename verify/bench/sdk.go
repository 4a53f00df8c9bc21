package main

import (
	"context"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sdkCall is one call between an in-memory client and server of the MCP SDK.
func sdkCall() func(int) error {
	ctx := context.Background()
	s := mcp.NewServer(&mcp.Implementation{Name: "crm", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: reads.Name(), InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			own := *answer // the SDK writes to what it is given
			return &own, nil
		})
	here, there := mcp.NewInMemoryTransports()
	if _, err := s.Connect(ctx, there, nil); err != nil {
		panic(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, here, nil)
	if err != nil {
		panic(err)
	}
	raw := newArgument(200).raw
	return func(n int) error {
		for range n {
			if err := check(session.CallTool(ctx, &mcp.CallToolParams{Name: reads.Name(), Arguments: raw})); err != nil {
				return err
			}
		}
		return nil
	}
}

// sdkOverhead is what the chain adds to a call of the SDK, and what a hit costs
// instead of one.
func sdkOverhead(name string, ours func(int) error) contest {
	return contest{
		name: name, ours: ours, peers: []subject{{"sdk", sdkCall()}},
		goals: map[string]float64{"sdk": 100}, allocs: 4,
	}
}

func sdkCalled() contest {
	return sdkOverhead("sdk-overhead/call", calling(ours(cache.Options{}), middleware.Call{Tool: writes}))
}

func sdkHit() contest {
	return sdkOverhead("sdk-overhead/hit", asking(ours(cache.Options{}), 200, false, ""))
}
