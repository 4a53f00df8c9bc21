// Package cache answers repeated reads from memory. Only results of class Safe are
// cached, for as long as the freshness of their tool allows, and a write to a server
// invalidates the cached results of that server, or of the entities that it names.
package cache

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/bounded"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/resultcopy"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of [New]. The zero value is ready.
type Options struct {
	// Store holds the cached results. A host makes one to read its statistics, to drop results, or to share it
	// between chains; nil means one for the middleware, however often it is applied.
	Store *Store
	// Entries bounds the store that New makes, see [StoreOptions]; 0 means 1,000.
	// It panics beside a Store, which has bounds already.
	Entries int
	// Bytes likewise; 0 means 64 MiB.
	Bytes int64
	// TTL is the longest lifetime of a result; 0 means 5 minutes. That is
	// for stable results. Shared ones are used for at most 30 seconds, volatile ones
	// not at all. A server shortens it for one result by "ttlMs" in its _meta.
	TTL time.Duration
	// Lifetime overrides how long results of a tool are used: it gets the lifetime that
	// follows from TTL and the freshness. With 0 they are not cached, but identical reads in
	// flight share a call unless the tool is volatile. It is called for each read, so
	// it has to be fast. nil means no override. A secret is not cached in any case.
	Lifetime func(tool *middleware.Tool, usual time.Duration) time.Duration
	// Idempotent has the results of Moderate tools cached too, for at most 30 seconds, if the host or a trusted
	// server declares them idempotent: a repeated call is then left out. LocalTTL does not apply to them. It is
	// false by default. A Dangerous or Unknown tool is never cached.
	Idempotent bool
	// Entities lists, by "server/tool", the members of a tool's arguments that name what the call is about:
	// {"crm/get_customer": {"id"}, "crm/move_orders": {"ids", "customer"}}. A member holds a string, a number or
	// a list of these. A write that names entities invalidates only the reads of the same server that name one
	// of them, under whatever member, and those that name none, such as lists and searches. Name a member only
	// if it is the server's only identification of the entity, and the write changes no other entity that a
	// read names. A call that leaves a member out, or whose arguments a server could read in two ways, counts as one
	// that names nothing. Empty means none: a write invalidates all cached results of its server.
	Entities map[string][]string
	// Slow is the estimated duration above which a tool's results are evicted after
	// those of others; they do not expire any later. 0 means 500 ms.
	Slow time.Duration
	// Remote is a cache that replicas of the host share: a result that one of them has read
	// is cached for all, and a write of one invalidates it for all. Store then holds only
	// what LocalTTL allows. nil means that this process is alone.
	Remote Remote
	// LocalTTL is how long a result that came from Remote is used without asking it again. A result may be older
	// than another replica's write by that time; a write of this process invalidates it at once. 0 means that
	// Remote is always asked.
	LocalTTL time.Duration
	// ImmutableResults declares that no caller writes to a result. A hit is then a shallow copy; false means a deep one.
	ImmutableResults bool
	// Logger gets a line for each hit; nil is silent.
	Logger *slog.Logger
}

// New returns a middleware that caches the results of safe calls.
//
// A result is found by scope, server, the digest of the tool's definition and the canonical form of the
// arguments. Errors, results with IsError, results that ask for input and calls that answer such a request are
// never cached. Nor are results of a tool without a digest (see [middleware.NewTool]), or of a call whose _meta
// has members other than those of its transport and its trace. Concurrent identical reads share one call: it
// keeps the deadline of the first caller and is cancelled only when all callers that wait for it have gone. A
// result that asks for input is one caller's exchange with the server: the others make their own call.
//
// Every call that is not Safe counts as a write to its server, whatever its outcome: while it is in flight the
// reads of what it may change are neither answered from the cache nor cached, and what was cached before it
// began is invalid. That is the whole server, or less if [Options.Entities] names what the call is about.
//
// New panics on a negative number and on an entity rule without members. It starts nothing that needs closing.
func New(o Options) middleware.Middleware {
	fault.RefuseNegative("cache: Options", o)
	switch {
	case o.LocalTTL > 0 && o.Remote == nil:
		panic("cache: Options.LocalTTL requires Options.Remote")
	case o.Store != nil && (o.Entries != 0 || o.Bytes != 0):
		panic("cache: Options.Entries and Options.Bytes have no effect on a Store; set them in StoreOptions")
	}
	if o.Store == nil {
		o.Store = NewStore(StoreOptions{Entries: o.Entries, Bytes: o.Bytes})
	}
	o.TTL, o.Slow = cmp.Or(o.TTL, defaultTTL), cmp.Or(o.Slow, defaultSlow)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	c := cacher{
		Options: o, naming: newNaming(o.Entities), joinable: new(sync.Map),
		bound: &bounded.Bound{Limit: remoteLimit, Name: "cache: Options.Remote", Logger: o.Logger, Late: &o.Store.late},
	}
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		mine := c
		mine.next = next
		return &mine
	}
}

// A cacher decides for each call whether it is a read to answer, a write to announce, or neither. The results are in
// its store, which several cachers may share.
type cacher struct {
	Options

	next     middleware.ToolCaller
	naming   naming
	bound    *bounded.Bound // of the calls of Remote
	joinable *sync.Map      // fetches of this process for Remote, a *fetch by digest and ticket
}

// clone returns the copy of a cached result that a caller gets.
func (c *cacher) clone(res *mcp.CallToolResult) *mcp.CallToolResult {
	if c.ImmutableResults {
		return new(*res)
	}
	out, _ := resultcopy.Copy(res)
	return out
}

func (c *cacher) Describe() middleware.Description {
	return middleware.Description{Kind: "cache", Next: c.next, Plan: c.will, Caches: true}
}

func (c *cacher) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if ctx.Err() != nil {
		return nil, fault.GivenUp(ctx)
	}
	if call.Tool == nil {
		return c.next.CallTool(ctx, call)
	}
	ctx, _ = callstate.Ensure(ctx)
	class := call.Tool.Safety()
	ttl, why := c.lifetime(call.Tool, class)
	if why == "" {
		why = notCacheable(&call)
	}
	switch {
	case class == annotation.Safe && why == "":
		return c.read(ctx, &call, ttl)
	case class == annotation.Safe:
		record(ctx, "passed", why)
		return c.next.CallTool(ctx, call)
	case ttl > 0 && why == "":
		return c.writeKept(ctx, &call, ttl)
	}
	res, _, _, err := c.write(ctx, &call, c.naming.of(ctx, &call))
	return res, err
}

// read answers a read from the cache, else from the remote cache, else by a call of its own or one that it joins.
func (c *cacher) read(ctx context.Context, call *middleware.Call, ttl time.Duration) (*mcp.CallToolResult, error) {
	now := c.Store.clock()
	if ttl <= 0 { // a result that another chain has cached has expired here
		now = math.MaxInt64
	}
	id, res, err := c.cached(ctx, call, now)
	if res != nil || err != nil {
		return res, err
	}
	names := c.naming.of(ctx, call)
	if c.Remote != nil && ttl > 0 {
		return c.readShared(ctx, call, id, names, ttl)
	}
	e, f, leads := c.Store.of(id.key()).join(ctx, id.key(), call.Tool.Server, names, now)
	switch {
	case e.res != nil:
		c.answered(ctx, call, "hit", now-e.at)
		return c.clone(e.res), nil
	case leads:
		record(ctx, "miss", "")
		return c.lead(ctx, *call, f, ttl)
	}
	if err := c.await(ctx, f); err != nil {
		return nil, err
	}
	if resultcopy.AsksForInput(f.kept) {
		record(ctx, "passed", "the server asks for input")
		return c.next.CallTool(ctx, *call)
	}
	c.answered(ctx, call, "joined", 0)
	return c.clone(f.kept), nil
}

// cached returns a copy of the call's result if it is cached, and the call's digest if it is not.
func (c *cacher) cached(ctx context.Context, call *middleware.Call, now time.Duration) (id digest, res *mcp.CallToolResult, err error) {
	at, from := c.Store.hot.of(call), time.Duration(0)
	if at.question != nil {
		res, from = at.question.result(now, c.Store.servers.Now())
		id = at.question.id
	} else {
		identity, err := callstate.IdentityOf(callstate.Of(ctx), call)
		if err != nil {
			return id, nil, err
		}
		id = digest(identity)
	}
	if res == nil {
		res, from = c.Store.of(id.key()).lookup(at, call, id, now)
	}
	if res == nil {
		return id, nil, nil
	}
	c.answered(ctx, call, "hit", now-from)
	return id, c.clone(res), nil
}

// keep caches a result that was returned age ago, for ttl from now or as long as the server allows.
func (c *cacher) keep(id key, call *middleware.Call, e entry, age, ttl time.Duration) {
	if ttl = resultcopy.Shortened(e.res, ttl); ttl <= 0 {
		return
	}
	now := c.Store.clock()
	e.tool, e.at = call.Tool, now-age
	e.expires, e.slow = now+min(ttl, math.MaxInt64-now), call.Tool.Annotations.EstimatedDuration > c.Slow
	c.Store.of(id).store(id, e, now)
}

func (c *cacher) answered(ctx context.Context, call *middleware.Call, how string, age time.Duration) {
	freshness := call.Tool.Annotations.Freshness
	callstate.Of(ctx).Remembered(age, freshness)
	record(ctx, how, "")
	if c.Logger.Enabled(ctx, slog.LevelDebug) {
		c.log(ctx, call, how, age)
	}
}

func (c *cacher) log(ctx context.Context, call *middleware.Call, how string, age time.Duration) {
	c.Logger.LogAttrs(ctx, slog.LevelDebug, "cache: "+how, slog.String("tool", call.Tool.String()),
		slog.String("class", call.Tool.Safety().String()), slog.Duration("age", age),
		slog.String("freshness", string(call.Tool.Annotations.Freshness)))
}

func record(ctx context.Context, what, why string) { callstate.Of(ctx).Decide("cache", what, why) }
