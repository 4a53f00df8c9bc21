package main

import (
	"context"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// passThrough is the way through a proxy that is made of the SDK's server and client and has no chain.
func (w *way) passThrough() (mcp.Transport, error) {
	t, err := w.direct()
	if err != nil {
		return nil, err
	}
	back, err := w.dial(t)
	if err != nil {
		return nil, err
	}
	front, err := fronting(back)
	if err != nil {
		return nil, err
	}
	if w.transport == "http" {
		return w.toURL(w.listen(front)), nil
	}
	return w.through(func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		return front.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
	})
}

// fronting makes a server that hands each call on to another.
func fronting(back *mcp.ClientSession) (*mcp.Server, error) {
	list, err := back.ListTools(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	front := mcp.NewServer(&mcp.Implementation{Name: "proxy", Version: "1"}, nil)
	for _, tool := range list.Tools {
		front.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return back.CallTool(ctx, &mcp.CallToolParams{Meta: r.Params.Meta, Name: r.Params.Name, Arguments: r.Params.Arguments})
		})
	}
	return front, nil
}
