package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// legacy is the last revision of the protocol with sessions.
const legacy = "2025-11-25"

// childKey names the variable that selects one of children.
const childKey = "FAIRLEAD_BENCH_CHILD"

// serveChild is the child that this process is meant to be, and reports whether it was one.
func serveChild() bool {
	child := children()[os.Getenv(childKey)]
	if child == nil {
		return false
	}
	if err := child(); err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	return true
}

// passThrough is a proxy that is made of the SDK's server and client and has no chain.
func passThrough(ctx context.Context) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	back, err := client.Connect(ctx, &mcp.CommandTransport{Command: serverCommand()}, &mcp.ClientSessionOptions{ProtocolVersion: legacy})
	if err != nil {
		return err
	}
	defer back.Close()
	list, err := back.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	front := mcp.NewServer(&mcp.Implementation{Name: "proxy", Version: "1"}, nil)
	for _, tool := range list.Tools {
		front.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return back.CallTool(ctx, &mcp.CallToolParams{Meta: r.Params.Meta, Name: r.Params.Name, Arguments: r.Params.Arguments})
		})
	}
	return front.Run(ctx, &mcp.StdioTransport{})
}
