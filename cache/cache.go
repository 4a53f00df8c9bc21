// Package cache answers repeated reads from memory. Only calls of class Safe are
// remembered, and a write to a server ends what is known of that server, or of
// the entities that it names.
package cache

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of [New]. The zero value is ready.
type Options struct {
	// Store is where results are kept, for a host that wants to see its statistics,
	// to forget something, or to share it between chains; nil means one of its own
	// for each application of the middleware.
	Store *Store
	// Entries bounds the store that New makes, see [StoreOptions]; 0 means 1,000.
	// It panics beside a Store, which has bounds already.
	Entries int
	// Bytes likewise; 0 means 64 MiB.
	Bytes int64
	// TTL is how long a result is believed; 0 means 5 minutes. A tool that was
	// declared open-world is believed for at most 30 seconds.
	TTL time.Duration
	// Idempotent names Moderate tools, as "server/tool", whose results are kept
	// too, for at most 30 seconds: the host's word that a repeated call may be
	// left out. Empty means none. A Dangerous or Unknown tool is never kept.
	Idempotent []string
	// Entities says, by "server/tool", which members of a tool's arguments name
	// what the call is about: {"crm/get_customer": {"id"}, "crm/move_orders":
	// {"ids", "customer"}}. A member holds a text, a number or a list of these.
	// A write that names entities ends only the reads of the same server that name
	// one of them, under whatever member, and those that name none, such as lists
	// and searches. Name a member only if it is the one way by which the server
	// knows the thing, and the write changes no other thing that a read names.
	// A call that leaves a member out, or whose arguments a server could read in
	// two ways, counts as one that names nothing. Empty means none: a write ends
	// all that is known of its server.
	Entities map[string][]string
	// Slow is the estimated duration above which a tool's results are given up
	// last where room is wanted; they are not believed any longer than others.
	// 0 means 500 ms.
	Slow time.Duration
	// Remote is a memory that replicas of the host share: what one of them has read
	// the others know, and what one of them writes ends it for all. Store then holds
	// what Near says and nothing else. nil means that this process is alone.
	Remote Remote
	// Near is how long what came from Remote is answered without asking it again, and
	// so how much older than another replica's write an answer may be; a write of this
	// process ends it at once. 0 means that Remote is always asked.
	Near time.Duration
	// Shared is the host's word that nobody writes to a result. A hit is then a
	// shallow copy; false means a deep one.
	Shared bool
	// Logger gets a line for each hit; nil is silent.
	Logger *slog.Logger
}

const (
	defaultEntries = 1000
	defaultBytes   = 64 << 20
	defaultTTL     = 5 * time.Minute
	shortTTL       = 30 * time.Second // open-world reads, idempotent writes
	defaultSlow    = 500 * time.Millisecond
)

// New returns a middleware that remembers the results of safe calls.
//
// A result is found again by scope, server, the digest of the tool's definition
// and the canonical form of the arguments. Errors, results with IsError, results
// that ask for input and calls that answer such a request are never kept, and
// neither is anything of a tool without a digest (see [middleware.NewTool]).
// Concurrent identical reads share one call: it keeps the deadline of the one who
// came first and ends early only when all who wait for it have gone. A result that
// asks for input is one caller's exchange with the server: the others make their
// own call.
//
// Every call that is not Safe counts as a write to its server, whatever comes of
// it: while one is under way the reads of what it may change are neither answered
// from memory nor kept, and what was known before it began is forgotten. That is
// the whole server, or less where [Options.Entities] says so.
//
// New panics on a negative number and on an entity rule that says nothing. It
// starts nothing that needs closing.
func New(o Options) middleware.Middleware {
	switch {
	case o.Entries < 0:
		panic("cache: Options.Entries is negative")
	case o.Bytes < 0:
		panic("cache: Options.Bytes is negative")
	case o.TTL < 0:
		panic("cache: Options.TTL is negative")
	case o.Slow < 0:
		panic("cache: Options.Slow is negative")
	case o.Near < 0:
		panic("cache: Options.Near is negative")
	case o.Near > 0 && o.Remote == nil:
		panic("cache: Options.Near stands without a Remote; without one everything is near")
	case o.Remote != nil && len(o.Idempotent) > 0:
		panic("cache: Options.Idempotent stands beside a Remote; replicas share what was read, and never the answer of a write")
	case o.Store != nil && (o.Entries != 0 || o.Bytes != 0):
		panic("cache: Options.Entries and Options.Bytes stand beside a Store; set them in StoreOptions")
	}
	c := cacher{
		ttl:        cmp.Or(o.TTL, defaultTTL),
		slow:       cmp.Or(o.Slow, defaultSlow),
		idempotent: make(map[string]bool, len(o.Idempotent)),
		naming:     newNaming(o.Entities),
		clone:      deepCopy,
		remote:     o.Remote,
		near:       o.Near,
		landings:   &landings{open: make(map[landingKey]*landing)},
		log:        cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
	}
	if o.Shared {
		c.clone = shallowCopy
	}
	for _, name := range o.Idempotent {
		c.idempotent[name] = true
	}
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		mine := c
		mine.next, mine.recovering, mine.store = next, fault.Recover(next), o.Store
		if mine.store == nil {
			mine.store = NewStore(StoreOptions{Entries: o.Entries, Bytes: o.Bytes})
		}
		return &mine
	}
}

type cacher struct {
	next       middleware.ToolCaller
	recovering middleware.ToolCaller // next, where a panic must not take others down
	store      *Store
	ttl, slow  time.Duration
	idempotent map[string]bool
	naming     naming
	remote     Remote // nil where this process is alone
	near       time.Duration
	landings   *landings
	clone      func(*mcp.CallToolResult) *mcp.CallToolResult
	log        *slog.Logger
}

// Describe implements [middleware.Describer].
func (c *cacher) Describe() middleware.Description {
	return middleware.Description{Kind: "cache", Next: c.next, Will: c.will, Caches: true}
}

// Will says whether results are kept.
func (c *cacher) will(tool *middleware.Tool) string {
	if tool == nil || c.lifetime(tool, tool.Safety()) == 0 {
		return "never cache"
	}
	return "remember"
}

func (c *cacher) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if ctx.Err() != nil {
		return nil, fault.GivenUp(ctx)
	}
	if call.Tool == nil {
		return c.next.CallTool(ctx, call)
	}
	class := call.Tool.Safety()
	ttl := c.lifetime(call.Tool, class)
	if class != annotation.Safe {
		if c.remote != nil {
			return c.writeShared(ctx, &call)
		}
		if ttl > 0 && memorable(&call) {
			return c.writeKept(ctx, &call, ttl)
		}
		res, _, err := c.write(ctx, &call, c.naming.of(c.store.seed, &call))
		return res, err
	}
	if !memorable(&call) {
		callstate.Of(ctx).Decide("cache", "passed", notMemorable(&call))
		return c.next.CallTool(ctx, call)
	}
	if c.remote != nil {
		return c.readShared(ctx, &call, ttl)
	}
	return c.read(ctx, &call, ttl)
}

// memorable reports whether the call can be found again: a tool without a digest
// may have another definition the next time.
func memorable(call *middleware.Call) bool {
	return call.Input == nil && len(call.Arguments) <= maxArguments && call.Tool.Digest != middleware.Digest{}
}

// notMemorable says why the call cannot be found again.
func notMemorable(call *middleware.Call) string {
	switch {
	case call.Input != nil:
		return "it answers what the server asked for"
	case len(call.Arguments) > maxArguments:
		return "its arguments are too long"
	}
	return "its definition has no digest"
}

// lifetime is how long a result of the tool, which has that class, is believed, 0 for
// not at all.
func (c *cacher) lifetime(tool *middleware.Tool, class annotation.Safety) time.Duration {
	switch class {
	case annotation.Safe:
		if tool.Annotations.OpenWorld == annotation.Yes && tool.Annotations.SourceOf(annotation.OpenWorldHint) != annotation.Inferred {
			return min(c.ttl, shortTTL)
		}
		return c.ttl
	case annotation.Moderate:
		if len(c.idempotent) > 0 && c.idempotent[tool.String()] {
			return min(c.ttl, shortTTL)
		}
	}
	return 0
}

// write passes a call that may change the server. What the server held before of
// what the call may change is forgotten when it begins, and what is asked for until
// it has returned is not kept.
func (c *cacher) write(ctx context.Context, call *middleware.Call, names []entity) (res *mcp.CallToolResult, began moment, err error) {
	callstate.Of(ctx).Decide("cache", "passed", "it may change the server")
	on, began := c.store.beginWrite(call.Tool.Server, names)
	defer c.store.endWrite(on, names) // a panic on its way out included
	res, err = c.next.CallTool(ctx, *call)
	return res, began, err
}

// writeKept is write where the host allows that what it answers is kept.
func (c *cacher) writeKept(ctx context.Context, call *middleware.Call, ttl time.Duration) (*mcp.CallToolResult, error) {
	id, err := keyOf(call)
	if err != nil {
		return nil, err
	}
	if res, ok := c.store.lookup(c.store.hot.of(c.store.seed, call), call, id, c.store.clock()); ok {
		c.answered(ctx, call, "hit")
		return c.clone(res), nil
	}
	names := c.naming.of(c.store.seed, call)
	res, began, err := c.write(ctx, call, names)
	if err != nil || !storable(res) {
		return res, err
	}
	if now, alone := c.store.alone(call.Tool.Server, names, began); alone {
		c.store.store(id, call.Tool, names, c.entry(call.Tool, now, deepCopy(res), ttl))
	}
	return res, nil
}

// entry is a result of the tool, asked for at the moment since.
func (c *cacher) entry(tool *middleware.Tool, since moment, res *mcp.CallToolResult, ttl time.Duration) entry {
	now := c.store.clock()
	return entry{
		res: res, since: since,
		expires: now + min(ttl, math.MaxInt64-now), slow: tool.Annotations.EstimatedDuration > c.slow,
	}
}

// read answers from memory, or joins the call that is already on its way, or
// makes it.
func (c *cacher) read(ctx context.Context, call *middleware.Call, ttl time.Duration) (*mcp.CallToolResult, error) {
	now, at := c.store.clock(), c.store.hot.of(c.store.seed, call)
	var id key
	if at.q != nil {
		if res := at.q.known(now); res != nil {
			c.answered(ctx, call, "hit")
			return c.clone(res), nil
		}
		id = at.q.id
	} else {
		var err error
		if id, err = keyOf(call); err != nil {
			return nil, err
		}
	}
	res, known := c.store.lookup(at, call, id, now)
	var f *flight
	var leads bool
	if !known { // only now is it worth while to read the arguments
		res, f, leads = c.store.join(ctx, id, call.Tool.Server, c.naming.of(c.store.seed, call), now)
	}
	switch {
	case res != nil:
		c.answered(ctx, call, "hit")
		return c.clone(res), nil
	case leads:
		callstate.Of(ctx).Decide("cache", "miss", "")
		return c.lead(ctx, *call, f, ttl)
	}
	if err := c.await(ctx, f); err != nil {
		return nil, err
	}
	switch {
	case f.err != nil:
		return nil, f.err
	case asksForInput(f.kept):
		callstate.Of(ctx).Decide("cache", "passed", "the server asks for input")
		return c.next.CallTool(ctx, *call)
	}
	c.answered(ctx, call, "joined")
	return c.clone(f.kept), nil
}

// answered says how a call was answered without being made.
func (c *cacher) answered(ctx context.Context, call *middleware.Call, how string) {
	callstate.Of(ctx).Decide("cache", how, "")
	if c.log.Enabled(ctx, slog.LevelDebug) {
		c.log.LogAttrs(ctx, slog.LevelDebug, "cache: "+how, slog.String("tool", call.Tool.String()), slog.String("class", call.Tool.Safety().String()))
	}
}

// storable reports whether a result may be kept. An empty result may be one of a
// kind that the SDK does not know, such as a task that has only begun.
func storable(res *mcp.CallToolResult) bool {
	return res != nil && !res.IsError && !asksForInput(res) && (len(res.Content) > 0 || res.StructuredContent != nil)
}

func asksForInput(res *mcp.CallToolResult) bool {
	return res.NeedsInput() || res.RequestState != "" || len(res.InputRequests) > 0
}
