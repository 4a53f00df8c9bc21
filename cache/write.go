package cache

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"time"

	"github.com/fairlead-go/fairlead/internal/bounded"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/versions"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// write makes a call that may change the server. What was cached before it begins is stale, and until it has
// returned, or for half a minute longer if it may go on, reads of what it may change are neither answered from the cache
// nor cached: the server changes at a moment of the call that is not known. It returns the version of the result, too, and the
// ticket for a remote cache.
func (c *cacher) write(ctx context.Context, call *middleware.Call, names []EntityKey) (res *mcp.CallToolResult, since versions.Version, ticket string, err error) {
	record(ctx, "passed", "it may change the server")
	w, returned := c.Store.servers.Begin(call.Tool.Server, names), false
	defer func() {
		if !returned || mayGoOn(ctx, err) {
			late := w
			time.AfterFunc(afterwards, func() { late.End() })
			return
		}
		w.End()
	}()
	if c.Remote != nil {
		res, ticket, err = c.writeShared(ctx, call, names)
	} else {
		res, err = c.next.CallTool(ctx, *call)
	}
	returned = true
	return res, w.Since, ticket, err
}

// afterwards is how long a write counts as in flight that may go on at its server.
const afterwards = shortTTL

// mayGoOn reports whether a write that has returned may still happen: if its outcome is unknown, as that of a task, or if
// its caller has given it up.
func mayGoOn(ctx context.Context, err error) bool {
	if err == nil || middleware.NotSent(err) {
		return false
	}
	_, unknown := errors.AsType[*middleware.OutcomeUnknownError](err)
	return unknown || ctx.Err() != nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// writeShared makes a write that other replicas are told of.
func (c *cacher) writeShared(ctx context.Context, call *middleware.Call, names []EntityKey) (res *mcp.CallToolResult, ticket string, err error) {
	end := c.beginShared(ctx, call, names)
	defer func() { ticket = end() }()
	if ctx.Err() != nil {
		return nil, "", fault.GivenUp(ctx)
	}
	res, err = c.next.CallTool(ctx, *call)
	return res, "", err
}

// beginShared reports the begin of a write to the other replicas. The func that it returns
// reports the end, and returns the ticket to keep its result with.
func (c *cacher) beginShared(ctx context.Context, call *middleware.Call, names []EntityKey) (end func() (ticket string)) {
	w := Write{ID: rand.Text(), Server: call.Tool.Server, Entities: names}
	w.Until, _ = ctx.Deadline()
	over := make(chan struct{})
	tellEnd := func(ctx context.Context) (string, error) {
		return bounded.Do(ctx, c.bound, func(ctx context.Context) (string, error) { return c.Remote.End(ctx, w) }, nil)
	}
	lost := c.tell(ctx, func(ctx context.Context) error { return c.Remote.Begin(ctx, w) }, func(struct{}) { // the end is what counts
		<-over // a beginning that comes late is ended once more
		_, _ = tellEnd(context.WithoutCancel(ctx))
	})
	return func() string {
		close(over)
		ticket, err := tellEnd(ctx)
		if err != nil {
			record(ctx, "not announced", "other replicas may use results that are older than this write, until the shared cache works again or they expire")
			c.Logger.LogAttrs(ctx, slog.LevelDebug, "cache: the end of a write was not reported to the shared cache", slog.Any("err", err))
		}
		if lost != nil || err != nil { // it may have begun there only after another
			return ""
		}
		return ticket
	}
}
