// Package incoming carries the request of a client that a chain on a server of ours
// works for, from where the chain hangs to the links that can speak to that client.
package incoming

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// InputRequired is the first revision of the protocol in which a server asks a
// client by a result, and by nothing else.
const InputRequired = "2026-07-28"

type key struct{}

// With returns a context that carries the request.
func With(ctx context.Context, req *mcp.CallToolRequest) context.Context {
	return context.WithValue(ctx, key{}, req)
}

// Of returns the request that the context carries, nil where there is none.
func Of(ctx context.Context) *mcp.CallToolRequest {
	req, _ := ctx.Value(key{}).(*mcp.CallToolRequest)
	return req
}
