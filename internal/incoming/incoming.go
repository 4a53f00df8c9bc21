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

type elicitKey struct{}

// An Elicit puts a form to a client of a revision before [InputRequired] and waits for
// what comes back.
type Elicit func(ctx context.Context, form *mcp.ElicitParams) (*mcp.ElicitResult, error)

// WithElicit returns a context whose client is asked by ask, for a request that came
// without a session of the SDK.
func WithElicit(ctx context.Context, ask Elicit) context.Context {
	return context.WithValue(ctx, elicitKey{}, ask)
}

// ElicitOf returns how the client is asked, nil where it cannot be.
func ElicitOf(ctx context.Context) Elicit {
	if ask, ok := ctx.Value(elicitKey{}).(Elicit); ok {
		return ask
	}
	if req := Of(ctx); req != nil && req.Session != nil {
		return req.Session.Elicit
	}
	return nil
}
