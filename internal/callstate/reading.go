package callstate

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Reading reads a result as it will be shown to the model, and adds to the record of the call what is left out of it.
type Reading func(*mcp.CallToolResult)

// WithReading returns a context that carries a reading for the middlewares further in. It holds for the call alone.
func WithReading(ctx context.Context, read Reading) context.Context {
	p := derive(ctx)
	p.holds.reading = read
	return &p.State
}

// ReadEarly has a result read before the record of the call is written, further in than it is shown.
func ReadEarly(ctx context.Context, res *mcp.CallToolResult) {
	if read := Of(ctx).within().reading; read != nil {
		read(res)
	}
}
