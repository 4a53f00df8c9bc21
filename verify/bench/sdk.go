package main

import (
	"context"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sdkOverhead compares what the chain does for a call with a call of the Go SDK between a client and a server in
// memory: how little the chain adds, and how much a hit saves.
func sdkOverhead(its work) contest {
	return contest{
		ways:  []subject{{name: "ours", run: its(ours(cache.Options{}))}, {name: "sdk", run: sdkCalls()}},
		goals: map[string]float64{"sdk": 100}, allocs: 4,
	}
}

// sdkCalls makes calls of the SDK, without a chain.
func sdkCalls() func(int) error {
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
