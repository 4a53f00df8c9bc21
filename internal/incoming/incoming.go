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

// carried is the context that carries the request and how its client is asked.
type carried struct {
	context.Context

	req *mcp.CallToolRequest
	ask Elicit
}

func (c *carried) Value(of any) any {
	if of == (key{}) {
		return c
	}
	return c.Context.Value(of)
}

// of returns what a context carries, nothing if it has none.
func of(ctx context.Context) carried {
	if c, ok := ctx.Value(key{}).(*carried); ok {
		return *c
	}
	return carried{}
}

// With returns a context that carries the request.
func With(ctx context.Context, req *mcp.CallToolRequest) context.Context {
	return &carried{ctx, req, of(ctx).ask}
}

// Of returns the request that the context carries, nil if there is none.
func Of(ctx context.Context) *mcp.CallToolRequest { return of(ctx).req }

// WithElicit returns a context whose client is asked by ask, for a request that came without a session of the SDK.
func WithElicit(ctx context.Context, ask Elicit) context.Context {
	return &carried{ctx, of(ctx).req, ask}
}

// ElicitOf returns how the client is asked, nil if it cannot be.
func ElicitOf(ctx context.Context) Elicit {
	c := of(ctx)
	if c.ask == nil && c.req != nil && c.req.Session != nil {
		return c.req.Session.Elicit
	}
	return c.ask
}
