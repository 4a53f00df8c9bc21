package cache

import (
	"context"
	"time"

	"github.com/fairlead-go/fairlead/internal/resultcopy"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// writeKept makes a call of an idempotent write unless the result of the same call is cached. Two such calls that
// overlap do not share one: each may follow another write, which the first did not see. The result
// is kept at the version that the write itself gave its server, so any later write invalidates it.
func (c *cacher) writeKept(ctx context.Context, call *middleware.Call, ttl time.Duration) (*mcp.CallToolResult, error) {
	id, res, err := c.cached(ctx, call, c.Store.clock())
	if res != nil || err != nil {
		return res, err
	}
	names := c.naming.of(ctx, call)
	r := sharedRead{cacher: c, call: *call, ttl: ttl, q: Read{Server: call.Tool.Server, ID: id, Entities: names}}
	if c.Remote != nil {
		res, found, _, err := r.look(ctx)
		r.release(ctx, found) // two writes do not share a call
		if res != nil || err != nil {
			return res, err
		}
	}
	asked := time.Now()
	res, since, ticket, err := c.write(ctx, call, names)
	switch {
	case err != nil || !resultcopy.Storable(res):
	case c.Remote != nil:
		r.publish(ctx, res, asked, ticket)
	default:
		kept, size := resultcopy.Copy(res)
		c.keep(id.key(), call, entry{res: kept, size: size, names: names, since: since}, 0, ttl)
	}
	return res, err
}
