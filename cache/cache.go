// Package cache answers repeated reads from memory. Only results of class Safe are
// cached, for as long as the freshness of their tool allows, and a write to a server
// invalidates the cached results of that server, or of the entities that it names.
package cache

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/bounded"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/cause"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/resultcopy"
	"github.com/fairlead-go/fairlead/internal/versions"
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
	// server declares them idempotent: a repeated call is then left out. Near does not apply to them. It is
	// false by default. A Dangerous or Unknown tool is never cached.
	Idempotent bool
	// Entities lists, by "server/tool", the members of a tool's arguments that name what the call is about:
	// {"crm/get_customer": {"id"}, "crm/move_orders": {"ids", "customer"}}. A member holds a text, a number or
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
	// what Near allows. nil means that this process is alone.
	Remote Remote
	// Near is how long a result that came from Remote is used without asking it again. A result may be older
	// than another replica's write by that time; a write of this process invalidates it at once. 0 means that
	// Remote is always asked.
	Near time.Duration
	// Shared declares that no caller writes to a result. A hit is then a shallow copy; false means a deep one.
	Shared bool
	// Logger gets a line for each hit; nil is silent.
	Logger *slog.Logger
}

const (
	defaultEntries = 1000
	defaultBytes   = 64 << 20
	defaultTTL     = 5 * time.Minute
	shortTTL       = 30 * time.Second // shared reads, idempotent writes
	defaultSlow    = 500 * time.Millisecond
)

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
	case o.Near > 0 && o.Remote == nil:
		panic("cache: Options.Near requires Options.Remote")
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

type cacher struct {
	Options

	next     middleware.ToolCaller
	naming   naming
	bound    *bounded.Bound // of the calls of Remote
	joinable *sync.Map      // fetches of this process for Remote, a *fetch by digest and ticket
}

// clone returns the copy of a cached result that a caller gets.
func (c *cacher) clone(res *mcp.CallToolResult) *mcp.CallToolResult {
	if c.Shared {
		return new(*res)
	}
	out, _ := resultcopy.Copy(res)
	return out
}

func (c *cacher) Describe() middleware.Description {
	return middleware.Description{Kind: "cache", Next: c.next, Will: c.will, Caches: true}
}

func (c *cacher) will(tool *middleware.Tool) string {
	if tool == nil {
		return "never cache"
	}
	class := tool.Safety()
	switch ttl, why := c.lifetime(tool, class); {
	case ttl > 0:
		return "cache for " + ttl.String()
	case why == "":
		return "join calls in flight"
	case class == annotation.Safe:
		return "never cache, " + why
	}
	return "never cache"
}

func (c *cacher) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if ctx.Err() != nil {
		return nil, fault.GivenUp(ctx)
	}
	if call.Tool == nil {
		return c.next.CallTool(ctx, call)
	}
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

// notCacheable returns why the call cannot be found again, "" if it can. A tool
// without a digest may have another definition the next time.
func notCacheable(call *middleware.Call) string {
	switch {
	case call.Input != nil:
		return "it answers what the server asked for"
	case callstate.HasMeta(call.Meta):
		return "its _meta may change the result"
	case len(call.Arguments) > maxArguments:
		return "its arguments are too long"
	case call.Tool.Digest == middleware.Digest{}:
		return "its definition has no digest"
	}
	return ""
}

// lifetime returns how long results of the tool, of that class, are used, 0 if they are not
// cached. It also returns why identical calls do not share one result, "" if they do.
func (c *cacher) lifetime(tool *middleware.Tool, class annotation.Safety) (ttl time.Duration, why string) {
	a := &tool.Annotations
	switch {
	case a.Secret == annotation.Yes:
		return 0, "its result is a secret"
	case class == annotation.Safe && a.Freshness == annotation.Stable:
		ttl = c.TTL
	case class == annotation.Safe && a.Freshness == annotation.Shared, c.Idempotent && class == annotation.Moderate && a.SafeToRetry():
		ttl = min(c.TTL, shortTTL)
	case class != annotation.Safe:
		return 0, "it may change the server"
	default:
		why = "its result is volatile"
	}
	if c.Lifetime != nil {
		if ttl = c.Lifetime(tool, ttl); ttl > 0 {
			why = ""
		}
	}
	return ttl, why
}

// write makes a call that may change the server. It returns the version of the
// result, too, and the ticket for a remote cache.
func (c *cacher) write(ctx context.Context, call *middleware.Call, names []Name) (res *mcp.CallToolResult, since versions.Version, ticket string, err error) {
	record(ctx, "passed", "it may change the server")
	c.Store.writes.Add(1)
	since = c.Store.servers.Begin(call.Tool.Server, names)
	defer c.Store.servers.End(call.Tool.Server, names) // also after a panic
	if c.Remote != nil {
		end := c.beginShared(ctx, call, names)
		defer func() { ticket = end() }()
		if ctx.Err() != nil {
			return nil, since, "", fault.GivenUp(ctx)
		}
	}
	res, err = c.next.CallTool(ctx, *call)
	return res, since, "", err
}

func (c *cacher) writeKept(ctx context.Context, call *middleware.Call, ttl time.Duration) (*mcp.CallToolResult, error) {
	id, res, err := c.cached(ctx, call, c.Store.clock())
	if res != nil || err != nil {
		return res, err
	}
	names := c.naming.of(ctx, call)
	r := sharedRead{cacher: c, call: *call, ttl: ttl, q: Question{Server: call.Tool.Server, ID: id, Names: names}}
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

func (c *cacher) keep(id key, call *middleware.Call, e entry, age, ttl time.Duration) {
	if ttl = resultcopy.Shortened(e.res, ttl); ttl <= 0 {
		return
	}
	now := c.Store.clock()
	e.tool, e.at = call.Tool, now-age
	e.expires, e.slow = now+min(ttl, math.MaxInt64-now), call.Tool.Annotations.EstimatedDuration > c.Slow
	c.Store.of(id).store(id, e)
}

// cached returns a copy of the call's result if it is cached, and the call's digest if it is not.
func (c *cacher) cached(ctx context.Context, call *middleware.Call, now time.Duration) (id digest, res *mcp.CallToolResult, err error) {
	at, from := c.Store.hot.of(call), time.Duration(0)
	if at.question != nil {
		res, from = at.question.result(now, c.Store.servers.Now())
		id = at.question.id
	} else if id, err = digestOf(ctx, call); err != nil {
		return id, nil, err
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
		r := sharedRead{cacher: c, call: *call, ttl: ttl, near: c.Near, q: Question{Server: call.Tool.Server, ID: id, Names: names}}
		return r.read(ctx)
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

func (c *cacher) answered(ctx context.Context, call *middleware.Call, how string, age time.Duration) {
	freshness := call.Tool.Annotations.Freshness
	callstate.Of(ctx).Write(func(r *callstate.Record) { r.Cached, r.Age, r.Freshness = true, age, freshness })
	record(ctx, how, "")
	if c.Logger.Enabled(ctx, slog.LevelDebug) {
		c.Logger.LogAttrs(ctx, slog.LevelDebug, "cache: "+how, slog.String("tool", call.Tool.String()),
			slog.String("class", call.Tool.Safety().String()), slog.Duration("age", age), slog.String("freshness", string(freshness)))
	}
}

// maxArguments is the size of arguments above which a call is not worth caching:
// its digest costs more than it saves, and it pins memory.
const maxArguments = 1 << 20

// A digest identifies a read: the same digest means the same request in the same scope to the same tool.
type digest [sha256.Size]byte

func (d digest) key() key { return key(d[:]) }

var keyBuffers = sync.Pool{New: func() any { return new([]byte) }}

// digestOf hashes scope, server, name, definition and canonical arguments, the first
// three with their lengths, so that no two calls hash the same text.
func digestOf(ctx context.Context, call *middleware.Call) (digest, error) {
	buffer := keyBuffers.Get().(*[]byte)
	b := (*buffer)[:0]
	for _, part := range [...]string{call.Scope, call.Tool.Server, call.Tool.Name()} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	b = append(b, call.Tool.Digest[:]...)
	b, err := callstate.AppendForm(b, callstate.Of(ctx), call)
	id := digest(sha256.Sum256(b))
	if *buffer = b; cap(b) <= 4*maxArguments {
		keyBuffers.Put(buffer)
	}
	return id, err
}

func record(ctx context.Context, what, why string) { callstate.Of(ctx).Decide("cache", what, why) }

// maxNames is how many entities one call may name before it counts as one that names none.
const maxNames = 256

type naming map[string][]string

func newNaming(given map[string][]string) naming {
	n := make(naming, len(given))
	for tool, members := range given {
		if !strings.Contains(tool, "/") {
			panic("cache: Options.Entities names " + strconv.Quote(tool) + ", which is not server/tool")
		}
		if len(members) == 0 {
			panic("cache: Options.Entities of " + tool + " names no argument; leave the tool out")
		}
		n[tool] = slices.Clone(members)
	}
	return n
}

// of returns the entities that the call names, none if it does not name them all unambiguously:
// arguments that a server could read in two ways name nothing.
func (n naming) of(ctx context.Context, call *middleware.Call) []Name {
	if len(n) == 0 {
		return nil
	}
	members := n[call.Tool.String()]
	if len(members) == 0 {
		return nil
	}
	form, err := callstate.Form(callstate.Of(ctx), call)
	if err != nil {
		return nil
	}
	texts := canonical.Identities(form, members, maxNames)
	names := make([]Name, len(texts))
	for i, text := range texts {
		sum := sha256.Sum256([]byte(text))
		names[i] = Name(sum[:])
	}
	return names
}

type flight struct {
	id       key
	names    []Name             // what it is about; none for a list
	since    versions.Version   // when it began
	deadline time.Time          // the leader's; zero for none
	waiting  int                // callers; guarded by its shard's mutex
	done     chan struct{}      // likewise; nil without waiters
	cancel   context.CancelFunc // nil if the leader cannot be cancelled

	// Written before done is closed, and only read afterwards.
	res  *mcp.CallToolResult // the leader's
	kept *mcp.CallToolResult // the others copy from it
	size int64               // of kept
	err  error
}

// lead makes the call for all callers that join meanwhile. A leader that can be
// cancelled must not cancel the others, so the call then runs on its own goroutine
// with the leader's deadline and values but not its cancellation.
func (c *cacher) lead(ctx context.Context, call middleware.Call, f *flight, ttl time.Duration) (*mcp.CallToolResult, error) {
	if ctx.Done() == nil {
		c.fly(ctx, call, f, ttl)
		return f.res, f.err
	}
	own, cancel := context.WithoutCancel(ctx), context.CancelFunc(nil)
	if f.deadline.IsZero() {
		own, cancel = context.WithCancel(own)
	} else {
		own, cancel = context.WithDeadline(own, f.deadline)
	}
	f.cancel = cancel // read only after the last caller has left, the leader included
	// A leader that has left may use its buffers for something else.
	call.Arguments, call.Meta = bytes.Clone(call.Arguments), maps.Clone(call.Meta)
	go func() {
		defer cancel()
		c.fly(own, call, f, ttl)
	}()
	if err := c.await(ctx, f); err != nil {
		return nil, err
	}
	return f.res, nil
}

// fly makes the call and wakes its callers. The flight ends in any case, even if next panics
// or ends the goroutine.
func (c *cacher) fly(ctx context.Context, call middleware.Call, f *flight, ttl time.Duration) {
	returned := false
	defer func() {
		if !returned {
			f.err = fmt.Errorf("cache: the call of %s ended its goroutine without an answer", call.Tool)
		}
		c.Store.of(f.id).land(f)
	}()
	f.res, f.err = fault.Call(ctx, c.next, call) // a panic must not reach other callers
	returned = true
	if f.err == nil {
		f.keep(call.Tool)
	}
	if resultcopy.Storable(f.kept) {
		c.keep(f.id, &call, entry{res: f.kept, size: f.size, names: f.names, since: f.since}, 0, ttl)
	}
}

// keep makes the copy that the others share. A result that cannot be copied is an
// error: a type of the host's own may panic.
func (f *flight) keep(tool *middleware.Tool) {
	defer func() {
		if v := recover(); v != nil {
			f.res, f.err = nil, &fault.PanicError{Tool: tool, Value: v, Stack: debug.Stack()}
		}
	}()
	f.kept, f.size = resultcopy.Copy(f.res)
}

func (c *cacher) await(ctx context.Context, f *flight) error {
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		c.Store.of(f.id).leave(f)
		return cause.End(ctx)
	}
}

// A Remote is a cache that several replicas of a host share. [NewMemory] returns one
// in this process; storetest tests whether another keeps these promises:
//
//   - A value is found only if nothing that it is about was written to since the
//     look that returned its ticket. Both the begin and the end of a write count,
//     of any replica and in any order.
//   - While a write is in flight, values that it may change are neither found nor kept.
//     If its replica has died, it ends after a while.
//   - Of the callers that look for the same value at one time one leads; the others learn
//     that another does. A leader that has died is replaced.
//   - A value that cannot be read, is foreign or has another format is not found.
//
// It is safe for concurrent use. Each method returns soon after its context is done, which is after
// two seconds at the latest: an error costs a call to the server but does not prevent one. An operation that
// does not return is abandoned; see [Stats].
type Remote interface {
	// Look returns what is cached. A caller that is to lead calls Keep or Drop once.
	Look(ctx context.Context, q Question) (Found, error)
	// Keep caches a value that was requested after the look that returned the ticket, and ends the flight.
	Keep(ctx context.Context, q Question, ticket string, value []byte, ttl time.Duration) error
	// Drop ends the flight without a value.
	Drop(ctx context.Context, q Question, ticket string)
	// Begin records that a write is about to be sent.
	Begin(ctx context.Context, w Write) error
	// End records that it has returned. If it fails, the implementation documents how much longer a result that
	// the write may have changed is used. With the ticket the result of the write is kept, for a question with
	// its names that was looked for before it began; "" if another write of what it may change overlapped it.
	End(ctx context.Context, w Write) (ticket string, err error)
}

// A Name is the hash of what names one entity, the same in every process.
type Name [16]byte

// A Question is a read to look for.
type Question struct {
	Server string
	ID     [sha256.Size]byte // digest of scope, server, tool, definition and arguments
	Names  []Name            // what it is about; none for a list, which any write invalidates
}

// A Write is a call that may change the entities of its names, or without names the whole server.
type Write struct {
	ID     string // of this write alone
	Server string
	Names  []Name
	Until  time.Time // when it has ended in any case; zero if that is not known

	since versions.Version // of its result, in a Memory
}

// Found is what a look has found.
type Found struct {
	// Value is what was kept; nil if nothing is cached.
	Value []byte
	// Ticket identifies the time of the look; "" if nothing may be kept.
	Ticket string
	// Busy reports that another caller has asked the server: look again soon.
	Busy bool
}

const remoteLimit = 2 * time.Second

// How often a caller that waits for another replica looks again.
const (
	firstLook = 2 * time.Millisecond
	lastLook  = 25 * time.Millisecond
)

// A fetch is a call that this process makes for all replicas. Its other callers wait
// for it instead of looking again and again.
type fetch struct {
	done chan struct{}
	kept *mcp.CallToolResult // nil if there is nothing for others
}

type sharedRead struct {
	*cacher

	call  middleware.Call
	q     Question
	ttl   time.Duration
	near  time.Duration    // 0 for a write, which another replica may undo
	since versions.Version // in the store of this process
	asked time.Duration    // by its clock
}

// read answers from the remote cache, waits for the caller that asks the server already, or asks it.
func (r *sharedRead) read(ctx context.Context) (*mcp.CallToolResult, error) {
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		res, found, why, err := r.look(ctx)
		switch {
		case res != nil || err != nil:
			return res, err
		case why != "":
			record(ctx, "passed", why)
			return r.next.CallTool(ctx, r.call)
		case found.Value != nil || !found.Busy:
			return r.fetch(ctx, found.Ticket)
		}
		res, err = r.wait(ctx, found.Ticket, pause)
		if res != nil || err != nil {
			return res, err
		}
	}
}

// look returns the result of the remote cache. Without one it returns what was found
// instead, or why nothing could be.
func (r *sharedRead) look(ctx context.Context) (res *mcp.CallToolResult, found Found, why string, err error) {
	if r.since, r.asked = r.Store.servers.Request(r.q.Server, r.q.Names), r.Store.clock(); r.since == 0 { // Remote may not have the writes in flight here
		return nil, Found{}, "a write is in flight", nil
	}
	found, err = bounded.Do(ctx, r.bound, func(ctx context.Context) (Found, error) { return r.Remote.Look(ctx, r.q) },
		func(late Found) { r.release(ctx, late) })
	switch {
	case ctx.Err() != nil:
		if err == nil {
			r.release(ctx, found)
		}
		return nil, Found{}, "", fault.GivenUp(ctx)
	case err != nil:
		return nil, Found{}, "the shared memory does not answer", nil
	}
	res, at, ok := resultcopy.Decode(found.Value)
	if age := max(time.Since(at), 0); ok && age < r.ttl && resultcopy.Storable(res) { // the clocks of replicas differ
		r.keepNear(res, age)
		r.answered(ctx, &r.call, "hit", age)
		return res, found, "", nil
	}
	return nil, found, "", nil
}

func (r *sharedRead) release(ctx context.Context, found Found) {
	if found.Value == nil && !found.Busy && found.Ticket != "" {
		_ = r.tell(ctx, func(ctx context.Context) error {
			r.Remote.Drop(ctx, r.q, found.Ticket)
			return nil
		}, nil)
	}
}

// tell runs an operation of the remote cache that has no value. If it succeeds after it was
// given up, undo is called.
func (c *cacher) tell(ctx context.Context, operation func(context.Context) error, undo func(struct{})) error {
	_, err := bounded.Do(ctx, c.bound, func(ctx context.Context) (struct{}, error) { return struct{}{}, operation(ctx) }, undo)
	return err
}

// wait waits for the result that another caller has requested: until it is there, if that is one of this
// process, else for a while. It returns neither result nor error if the caller has to look again.
func (r *sharedRead) wait(ctx context.Context, ticket string, pause time.Duration) (*mcp.CallToolResult, error) {
	var done chan struct{}
	var again <-chan time.Time
	f, own := r.joinable.Load(r.joinKey(ticket))
	if own {
		done = f.(*fetch).done
	} else {
		again = time.After(pause)
	}
	select {
	case <-done:
		if kept := f.(*fetch).kept; kept != nil {
			r.answered(ctx, &r.call, "joined", 0)
			return r.clone(kept), nil
		}
	case <-again:
	case <-ctx.Done():
		return nil, fault.GivenUp(ctx)
	}
	return nil, nil //nolint:nilnil // look again
}

func (r *sharedRead) joinKey(ticket string) string { return string(r.q.ID[:]) + ticket }

func (r *sharedRead) fetch(ctx context.Context, ticket string) (*mcp.CallToolResult, error) {
	record(ctx, "miss", "")
	at, f, kept := r.joinKey(ticket), &fetch{done: make(chan struct{})}, false
	r.joinable.Store(at, f)
	defer func() { // also after a panic
		if !kept {
			r.release(ctx, Found{Ticket: ticket})
		}
		r.joinable.Delete(at)
		close(f.done)
	}()
	asked := time.Now()
	res, err := r.next.CallTool(ctx, r.call)
	if err != nil || !resultcopy.Storable(res) {
		return res, err
	}
	f.kept, _ = resultcopy.Copy(res)
	r.keepNear(f.kept, 0)
	kept = r.publish(ctx, f.kept, asked, ticket)
	return res, nil
}

// publish keeps a result for all, which was requested at a time, and reports whether that was
// tried. A result that is not kept is fetched again.
func (r *sharedRead) publish(ctx context.Context, res *mcp.CallToolResult, asked time.Time, ticket string) bool {
	ttl := resultcopy.Shortened(res, r.ttl)
	value, ok := resultcopy.Encode(res, asked)
	if !ok || ticket == "" || ttl <= 0 {
		return false
	}
	_ = r.tell(ctx, func(ctx context.Context) error { return r.Remote.Keep(ctx, r.q, ticket, value, ttl) }, nil)
	return true
}

// keepNear caches a result of that age in this process, for a while from when it was
// requested here: another replica may have written since.
func (r *sharedRead) keepNear(res *mcp.CallToolResult, age time.Duration) {
	if left := min(r.near, r.ttl) - (r.Store.clock() - r.asked); left > 0 {
		kept, size := resultcopy.Copy(res)
		r.keep(digest(r.q.ID).key(), &r.call, entry{res: kept, size: size, names: r.q.Names, since: r.since}, age, left)
	}
}

// beginShared reports the begin of a write to the other replicas. The func that it returns
// reports the end, and returns the ticket to keep its result with.
func (c *cacher) beginShared(ctx context.Context, call *middleware.Call, names []Name) (end func() (ticket string)) {
	w := Write{ID: rand.Text(), Server: call.Tool.Server, Names: names}
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
