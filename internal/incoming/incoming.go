// Package incoming carries the request of a client from a server to the middlewares that can ask that client.
package incoming

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// InputRequired is the first revision of the protocol in which a server asks a client by a result alone.
const InputRequired = "2026-07-28"

// An Elicit puts a form to a client of a revision before [InputRequired] and waits for what comes back.
type Elicit func(ctx context.Context, form *mcp.ElicitParams) (*mcp.ElicitResult, error)

type key struct{}

type carried struct {
	req *mcp.CallToolRequest
	ask Elicit
}

func of(ctx context.Context) carried {
	c, _ := ctx.Value(key{}).(carried)
	return c
}

// With returns a context that carries the request.
func With(ctx context.Context, req *mcp.CallToolRequest) context.Context {
	return context.WithValue(ctx, key{}, carried{req, of(ctx).ask})
}

// Of returns the request that the context carries, nil if there is none.
func Of(ctx context.Context) *mcp.CallToolRequest { return of(ctx).req }

// WithElicit returns a context whose client is asked by ask, for a request that came without a session of the SDK.
func WithElicit(ctx context.Context, ask Elicit) context.Context {
	return context.WithValue(ctx, key{}, carried{of(ctx).req, ask})
}

// ElicitOf returns how the client is asked, nil if it cannot be.
func ElicitOf(ctx context.Context) Elicit {
	c := of(ctx)
	if c.ask == nil && c.req != nil && c.req.Session != nil {
		return c.req.Session.Elicit
	}
	return c.ask
}
