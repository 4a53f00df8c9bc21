// Package catalog holds the tools of every server: what each declares, what was inferred, what the host sets,
// and the class that follows. It is also the guarded executor at the end of a chain. Package catalog/search
// finds tools in it, and catalog/pins holds back definitions that were not accepted.
package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/finding"
	"github.com/fairlead-go/fairlead/catalog/internal/layers"
	"github.com/fairlead-go/fairlead/catalog/internal/listing"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/internal/scope"
	"github.com/fairlead-go/fairlead/internal/sdkerr"
	"github.com/fairlead-go/fairlead/internal/session"
	"github.com/fairlead-go/fairlead/internal/toolname"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Session lists and calls tools; *mcp.ClientSession is one.
type Session interface {
	session.Caller
	listing.Session
}

// A Lock holds back tools that are not as they were accepted, as a *pins.Lock does. It must not call the catalogue.
type Lock interface {
	// Check returns nil for a tool that is as it was accepted, and otherwise the error of its calls. The form is
	// the JSON that the digest is over. A method Reason() string of the error gives the text of the finding.
	Check(tool *middleware.Tool, form []byte) error
	// Accepted returns the names of a server's tools that were accepted. One that is no longer listed is a finding.
	Accepted(server string) []string
	// Decided returns what a review decided of the definition: the host's word, and a claim that can only raise.
	Decided(tool *middleware.Tool) (word, claim annotation.Annotations)
}

// Options are the settings of [New]. The zero value is ready.
type Options struct {
	// Timeout is how long one server may take to list its tools; 0 means 10 seconds.
	Timeout time.Duration
	// MaxTools is how many tools one server may list; 0 means 10,000.
	MaxTools int
	// MaxBytes is how much the definitions that one server lists may hold together; 0 means 64 MiB.
	MaxBytes int
	// OnEvent gets each [Event], one after the other, on a goroutine of its own; nil gets none.
	OnEvent func(Event)
	// Permission returns the permission that a caller of the tool needs, such as "customers.read", for
	// [Catalog.View]. It is called often and concurrently, and must return the same for the same tool. Base
	// it on the server's id and the class, since a name is the server's to choose. "", and nil for every
	// tool, means none, which only "*.all" covers.
	Permission func(tool *middleware.Tool) string
	// Lock holds back what was not accepted (see package pins); nil means that whatever a server lists is taken.
	Lock Lock
	// Logger gets a line for each finding; nil is silent.
	Logger *slog.Logger
}

// A Catalog holds the tools of servers. It is safe for concurrent use. Make it with [New], and close it after use.
type Catalog struct {
	*caller // that sees every tool

	limits     listing.Limits
	log        *slog.Logger
	permission func(*middleware.Tool) string
	lock       Lock
	events     events
	meter      meter

	life context.Context //nolint:containedctx // of what the catalogue does by itself; it ends at Close
	end  context.CancelFunc
	work sync.WaitGroup // the lists that the catalogue began by itself

	mu      sync.Mutex // guards all below but current, and the building of a snapshot
	closed  bool
	notices bool // of changed lists arrive
	servers map[string]*server
	listers []weak.Pointer[lister] // a server or a replica holds each
	rules   []layers.Rule
	current atomic.Pointer[snapshot]
}

// A server holds the facts about one server, which may not have been added yet.
type server struct {
	lister      *lister // nil until it is added
	executor    middleware.ToolCaller
	definitions []*definition     // by name
	leftOut     []finding.Finding // what its list held that could not be taken
	bare        string            // the features that its unprepared session lacks, "" for none
	stale       string            // why the definitions are not those of the last list, "" if they are
	own         bool              // the tools are the host's own, and their declarations are trusted
	trusted     bool              // by the host
	overrides   map[string]annotation.Annotations
}

// New returns an empty catalogue. It panics on a negative number.
func New(o Options) *Catalog {
	fault.RefuseNegative("catalog: Options", o)
	log := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Permission == nil {
		o.Permission = func(*middleware.Tool) string { return "" }
	}
	c := &Catalog{
		limits: listing.Limits{
			Timeout:  cmp.Or(o.Timeout, 10*time.Second),
			MaxTools: cmp.Or(o.MaxTools, 10_000),
			MaxBytes: cmp.Or(o.MaxBytes, 64<<20),
			Forms:    o.Lock != nil,
		},
		events: events{listener: o.OnEvent, log: log, most: 50_000}, meter: meter{tools: make(map[name]*Calls)},
		log: log, permission: o.Permission, lock: o.Lock, servers: make(map[string]*server),
	}
	c.life, c.end = context.WithCancel(context.Background())
	c.current.Store(c.build())
	c.caller = newCaller(c, func(*middleware.Tool) bool { return true }, false)
	return c
}

// Add lists the tools of a server under an id that the host chooses, and calls them by the session. A tool
// that cannot be taken is left out and reported by [Catalog.Findings]. After an error nothing of this server
// was added. Add many servers concurrently, so that one that hangs does not delay the others.
func (c *Catalog) Add(ctx context.Context, id string, s Session) error {
	if cs, ok := s.(*mcp.ClientSession); s == nil || ok && cs == nil {
		return fmt.Errorf("catalog: server %q: the session is nil; connect first", id)
	}
	return c.add(ctx, id, s, session.Executor(s), false)
}

func (c *Catalog) add(ctx context.Context, id string, s Session, executor middleware.ToolCaller, own bool) error {
	if !toolname.IsServer(id) {
		return fmt.Errorf("catalog: %q cannot be a server's id: use 1 to 64 of A-Z, a-z, 0-9, '.', '-' and single '_'", id)
	}
	twice := fmt.Errorf("catalog: there is a server %q already; give each its own id", id)
	if c.isAdded(id) {
		return twice
	}
	n := c.newLister(id, s, func(ctx context.Context) error { return c.Refresh(ctx, id) })
	l, its, err := c.list(ctx, n)
	c.mu.Lock()
	defer c.mu.Unlock()
	n.busy = false
	entry := c.server(id)
	switch {
	case c.closed:
		err = fmt.Errorf("catalog: server %q: %w", id, ErrClosed)
	case err == nil && entry.lister != nil:
		err = twice
	}
	if err != nil {
		n.stop()
		return err
	}
	entry.lister, entry.executor, entry.own = n, executor, own
	c.install(ctx, entry, l, its)
	if n.changed {
		c.wake(n, settle)
	}
	return nil
}

func (c *Catalog) isAdded(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.servers[id]
	return s != nil && s.lister != nil
}

// server returns the entry of an id; the caller holds the mutex.
func (c *Catalog) server(id string) *server {
	s := c.servers[id]
	if s == nil {
		s = new(server)
		c.servers[id] = s
	}
	return s
}

// Remove takes a server and its tools out, and keeps what the host has set for it. It does not close the session.
func (c *Catalog) Remove(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.servers[id]
	if s == nil || s.lister == nil {
		return
	}
	s.lister.stop()
	c.servers[id] = &server{trusted: s.trusted, overrides: s.overrides}
	c.rebuild(context.Background())
}

// rebuild makes a new snapshot; the caller holds the mutex.
func (c *Catalog) rebuild(ctx context.Context) {
	before := c.current.Load()
	next := c.build()
	c.current.Store(next)
	c.report(before, next)
	known := make(map[finding.Finding]bool, len(before.findings))
	for _, f := range before.findings {
		known[f] = true
	}
	for _, f := range next.findings {
		if !known[f] {
			c.log.LogAttrs(ctx, slog.LevelWarn, "catalog: finding",
				slog.String("server", f.Server), slog.String("tool", f.Tool), slog.String("kind", string(f.Kind)), slog.String("text", f.Text))
		}
	}
}

// Recheck asks [Options.Lock] about every tool again. Call it after the lock has changed, as pins.Lock.Accept does.
func (c *Catalog) Recheck() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.servers {
		s.forget(func(string) bool { return true })
	}
	c.rebuild(context.Background())
}

// Held returns the error of each tool that the lock holds back, and by server the accepted tools that are gone.
func (c *Catalog) Held() (held []error, gone map[string][]string) {
	now := c.current.Load()
	for _, h := range now.held {
		held = append(held, h.err)
	}
	return held, maps.Clone(now.gone)
}

// Findings returns the findings about all servers and tools, sorted. The slice is the caller's.
func (c *Catalog) Findings() []finding.Finding {
	now := c.current.Load()
	all := slices.Concat(now.findings, c.misfits(now.list))
	slices.SortFunc(all, func(a, b finding.Finding) int {
		return cmp.Or(strings.Compare(a.Server, b.Server), strings.Compare(a.Tool, b.Tool), strings.Compare(a.Text, b.Text))
	})
	return all
}

// Layers returns what the server declares of a tool, and what was inferred.
func (c *Catalog) Layers(t *middleware.Tool) (declared, inferred annotation.Annotations) {
	if d := c.current.Load().tools[name{t.Server, t.Name()}].of; d != nil {
		return d.Declared, d.Inferred
	}
	return declared, inferred
}

// How often the catalogue lists a server by itself.
const (
	settle      = 200 * time.Millisecond // after a change, since more may follow
	pace        = 5 * time.Second        // between the beginnings of two lists
	shortestTTL = time.Minute
	tryAgain    = time.Minute // after a list that failed
)

// ErrClosed is in the tree of the errors of Add and Refresh after Close.
var ErrClosed = errors.New("the catalogue is closed; make a new one")

// A lister lists a server or a replica. The catalogue's mutex guards all but the first three fields and the changes.
type lister struct {
	session Session
	reader  *listing.Reader
	refresh func(context.Context) error // lists it by itself

	announced, read atomic.Int64 // changes that the server announced, and those that the list has

	asked, taken int           // how many lists were asked for, and which of them counts
	fresh        time.Duration // how long a list is, 0 if the server does not say
	timer        *time.Timer   // of the next list, nil for none
	due, began   time.Time     // of the next list, and of the last one that the catalogue began by itself
	busy         bool          // nothing is planned until a list has returned
	changed      bool          // meanwhile the list has changed
	stopped      bool
}

// newLister returns the lister of a session, busy so that no change is missed until it has listed.
func (c *Catalog) newLister(id string, s Session, refresh func(context.Context) error) *lister {
	n := &lister{session: s, reader: listing.NewReader(id, s, c.limits, c.log), refresh: refresh, busy: true}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listers = append(slices.DeleteFunc(c.listers, func(known weak.Pointer[lister]) bool {
		n := known.Value()
		return n == nil || n.stopped
	}), weak.Make(n))
	return n
}

type turn struct {
	number int
	seen   int64
}

func (c *Catalog) list(ctx context.Context, n *lister) (l *listing.Listing, its turn, err error) {
	c.mu.Lock()
	n.asked++
	its = turn{n.asked, n.announced.Load()}
	c.mu.Unlock()
	l, err = n.reader.Read(ctx)
	return l, its, err
}

// take makes a list the one that counts; the caller holds the mutex.
func (n *lister) take(its turn) {
	n.taken = its.number
	n.read.Store(max(n.read.Load(), its.seen))
}

func (n *lister) changing() bool { return n.announced.Load() != n.read.Load() }

// Refresh lists the tools of a server again. After an error its tools stay as they were, with a finding. Of
// several concurrent calls, the list that was requested last counts.
//
// The catalogue refreshes by itself when a client that was made with mount.Options receives notice of a
// change, and when the server's ttlMs is over, at most once a minute. An SDK session that was not prepared by
// mount.Transport answers from its own cache for that time.
func (c *Catalog) Refresh(ctx context.Context, id string) error {
	c.mu.Lock()
	entry := c.servers[id]
	var n *lister
	if entry != nil {
		n = entry.lister
	}
	c.mu.Unlock()
	if n == nil {
		return fmt.Errorf("catalog: there is no server %q; add it first", id)
	}
	l, its, err := c.list(ctx, n)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return fmt.Errorf("catalog: server %q: %w", id, ErrClosed)
	case c.servers[id] != entry:
		return fmt.Errorf("catalog: server %q was removed while its tools were listed", id)
	case its.number < n.taken:
	case err == nil:
		c.install(ctx, entry, l, its)
	case ctx.Err() == nil:
		entry.stale = "the last refresh failed, so what was known before counts: it " +
			strings.TrimPrefix(listing.Line(err), fmt.Sprintf("catalog: server %q ", id))
		c.rebuild(ctx)
		c.events.add(Event{Kind: EventRefreshFailed, Server: id, Err: err})
	}
	return err
}

// install takes a list as what a server offers from now on; the caller holds the mutex.
func (c *Catalog) install(ctx context.Context, entry *server, l *listing.Listing, its turn) {
	n := entry.lister
	entry.definitions = keep(entry.definitions, l.Tools)
	entry.leftOut, entry.stale, entry.bare = l.LeftOut, "", listing.Lost(n.session, l.Prepared, c.notices)
	c.rebuild(ctx)
	n.take(its)
	if n.fresh = l.TTL; l.TTL > 0 {
		n.fresh = max(l.TTL, shortestTTL)
		c.wake(n, n.fresh)
	}
}

func keep(old []*definition, listed []*listing.Definition) []*definition {
	known := make(map[string]*definition, len(old))
	for _, d := range old {
		known[d.Tool.Name()] = d
	}
	all, fresh := make([]*definition, len(listed)), make([]definition, len(listed))
	for i, d := range listed {
		if all[i] = known[d.Tool.Name()]; all[i] == nil || !all[i].same(d) {
			fresh[i].Definition = d
			all[i] = &fresh[i]
		}
	}
	return all
}

func (d *definition) same(l *listing.Definition) bool {
	return d.Tool.Digest == l.Tool.Digest && d.Fault == l.Fault &&
		reflect.DeepEqual(d.Declared, l.Declared) && reflect.DeepEqual(d.Inferred, l.Inferred)
}

// Watch returns the func for mcp.ClientOptions.ToolListChangedHandler; mount.Options sets it. Many notices
// cause few lists: one after 200 ms, and then one every five seconds at most.
func (c *Catalog) Watch() func(context.Context, *mcp.ToolListChangedRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notices = true
	return func(_ context.Context, req *mcp.ToolListChangedRequest) {
		if req != nil && req.Session != nil {
			c.Changed(req.Session)
		}
	}
}

// Changed records that a session has announced a change of its tools, for a host that receives the notice
// itself. Approved calls of them wait until the catalogue has read the new list, which it does soon.
func (c *Catalog) Changed(s Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, known := range c.listers {
		if n := known.Value(); n != nil && n.session == s {
			n.announced.Add(1)
			c.wake(n, settle)
		}
	}
}

// wake plans a list after a while, unless one is planned earlier; the caller holds the mutex.
func (c *Catalog) wake(n *lister, after time.Duration) {
	switch {
	case c.closed || n.stopped:
		return
	case n.busy:
		n.changed = n.changed || after <= settle
		return
	}
	now := time.Now()
	due := now.Add(after)
	if soonest := n.began.Add(pace); due.Before(soonest) {
		due = soonest
	}
	if n.timer != nil {
		if !due.Before(n.due) {
			return
		}
		n.timer.Stop()
	}
	held := weak.Make(n) // its replica may be gone by then
	n.due, n.timer = due, time.AfterFunc(due.Sub(now), func() {
		if n := held.Value(); n != nil {
			c.fire(n)
		}
	})
}

func (c *Catalog) fire(n *lister) {
	c.mu.Lock()
	if c.closed || n.busy || n.timer == nil || time.Now().Before(n.due) {
		c.mu.Unlock()
		return
	}
	n.timer, n.busy, n.changed, n.began = nil, true, false, time.Now()
	c.work.Add(1)
	defer c.work.Done()
	c.mu.Unlock()

	err := n.refresh(c.life)

	c.mu.Lock()
	defer c.mu.Unlock()
	n.busy = false
	switch {
	case sdkerr.ClosedBefore("tools/list", err): // the finding remains until the host adds another session
	case n.changed:
		c.wake(n, settle)
	case err != nil:
		c.wake(n, tryAgain)
	case n.fresh > 0:
		c.wake(n, n.fresh)
	}
}

// stop plans no more lists; the caller holds the mutex.
func (n *lister) stop() {
	n.stopped = true
	if n.timer != nil {
		n.timer.Stop()
		n.timer = nil
	}
}

// Close ends the catalogue's own work: no server is listed and no event is sent after it has returned, except
// to a listener at work. Lookups and calls go on with what is known, and sessions stay open. It waits for
// the lists in flight, which end at once, and may be called more than once.
func (c *Catalog) Close() error {
	c.mu.Lock()
	c.closed = true
	c.end()
	for _, known := range c.listers {
		if n := known.Value(); n != nil {
			n.stop()
		}
	}
	c.events.close()
	c.mu.Unlock()
	c.work.Wait()
	return nil
}

// A caller is the catalogue as one caller sees it. A tool that it does not see is an unknown tool in every way.
type caller struct {
	c      *Catalog
	sees   func(*middleware.Tool) bool
	view   bool
	lookup guard.Lookup
}

func newCaller(c *Catalog, sees func(*middleware.Tool) bool, view bool) *caller {
	v := &caller{c: c, sees: sees, view: view}
	v.lookup = v.lookupFor(nil)
	return v
}

func (v *caller) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return guard.Call(ctx, call, v.lookup)
}

func (*caller) Describe() middleware.Description {
	return middleware.Description{Kind: "guard", Guards: true}
}

// Guard returns another executor of the same tools behind a guard that takes their class from the catalog.
func (v *caller) Guard(executor middleware.ToolCaller) middleware.ToolCaller {
	if executor == nil {
		panic("catalog: a guard needs an executor; got nil")
	}
	return guard.For(v.lookupFor(executor))
}

// lookupFor finds the targets of calls, which the executor executes, or that of each server if it is nil.
func (v *caller) lookupFor(executor middleware.ToolCaller) guard.Lookup {
	return func(ctx context.Context, call middleware.Call) (guard.Target, error) {
		tool, now, err := v.accepted(ctx, call)
		if err != nil {
			return guard.Target{}, err
		}
		from := now.sources[tool.Server]
		if was, ok := callstate.Own[admitted](ctx); ok && was.server == tool.Server && was.by != from.lister {
			return guard.Target{}, &ChangedError{Tool: tool}
		}
		target := from.target
		if target.Tool = tool; executor != nil {
			target.Next = executor
		}
		return target, nil
	}
}

// source returns what the guard of a call needs of its server: for an approved one it checks the snapshot, and
// reads a list that was announced.
func (c *Catalog) source(s *snapshot, id string, known *server) source {
	n := known.lister
	return source{n, guard.Target{
		Next: known.executor, Current: func() bool { return c.current.Load() == s && !n.changing() }, Ended: c.meter.count,
		Settle: func(ctx context.Context) error {
			if !n.changing() {
				return nil
			}
			if err := c.Refresh(ctx, id); err != nil {
				return &middleware.NotSentError{Err: err}
			}
			return nil
		},
	}}
}

// admitted is the session for which a call was admitted; another that takes its id does not get the call.
type admitted struct {
	server string
	by     *lister
}

// Admit is a middleware that refuses early what the catalog or the view would refuse, and replaces a copy of a tool
// that is less strict than the accepted one. chain.Standard has it; in a chain of another order, add it by hand.
func (v *caller) Admit(next middleware.ToolCaller) middleware.ToolCaller {
	return &admitter{next: next, caller: v}
}

type admitter struct {
	next   middleware.ToolCaller
	caller *caller
}

func (a *admitter) Describe() middleware.Description {
	return middleware.Description{Kind: "admit", Next: a.next}
}

func (a *admitter) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if call.Tool != nil && call.Tool.Definition != nil { // the guard refuses other calls
		tool, now, err := a.caller.accepted(ctx, call)
		if err != nil {
			return nil, err
		}
		if tool = callstate.Judged(ctx, &call, tool); tool.Safety() < call.Tool.Safety() { // a copy that is less strict
			call.Tool = tool
		}
		if call.Tool.Safety().MustConfirm() || tool.Safety().MustConfirm() {
			ctx = callstate.Keep(ctx, admitted{tool.Server, now.sources[tool.Server].lister})
		}
	}
	if a.caller.view { // also where a route leads past the view
		ctx = callstate.WithLimit(ctx, a.caller.sees)
	}
	return a.next.CallTool(ctx, call)
}

func (v *caller) accepted(ctx context.Context, call middleware.Call) (*middleware.Tool, *snapshot, error) {
	callstate.Observe("lookup")
	now, id := v.c.current.Load(), name{call.Tool.Server, call.Tool.Name()}
	tool, held := now.tools[id].tool, now.held[id]
	switch {
	case tool != nil && !(v.sees(tool) && callstate.Sees(ctx, tool)), held.tool != nil && !v.sees(held.tool):
		v.c.log.LogAttrs(ctx, slog.LevelWarn, "catalog: a call was refused, since no scope of its caller covers the tool",
			slog.String("server", id.server), slog.String("tool", id.tool))
	case held.tool != nil:
		return nil, nil, held.err
	case tool != nil && tool.Digest != call.Tool.Digest:
		return nil, nil, &ChangedError{Tool: tool}
	case tool != nil:
		call.Tool = tool
		return tool, now, scope.CheckArguments(ctx, call, v.sees)
	}
	return nil, nil, &UnknownToolError{Server: id.server, Tool: id.tool}
}

// A Replica is another server for a server of the catalogue, for package route to choose from. It calls a tool
// only if it lists exactly the definition that the catalogue accepted. It is guarded, and safe for concurrent use.
type Replica struct {
	catalog    *Catalog
	server, id string
	lister     *lister
	guarded    middleware.ToolCaller
	offered    atomic.Pointer[map[string]middleware.Digest]
}

// Replica lists the tools of a replica of a server that was added before. The replica's own id names it in
// errors and logs. An error means that it could not list its tools.
func (c *Catalog) Replica(ctx context.Context, server, id string, s Session) (*Replica, error) {
	if cs, ok := s.(*mcp.ClientSession); s == nil || ok && cs == nil {
		return nil, fmt.Errorf("catalog: replica %q of server %q: the session is nil; connect first", id, server)
	}
	if !c.isAdded(server) {
		return nil, fmt.Errorf("catalog: there is no server %q for %q to be a replica of; add it first", server, id)
	}
	r := &Replica{catalog: c, server: server, id: id}
	direct := session.Executor(s)
	r.guarded = c.Guard(middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		if r.lister.changing() && call.Tool.Safety().MustConfirm() {
			if err := r.Refresh(ctx); err != nil {
				return nil, &middleware.NotSentError{Err: err}
			}
		}
		if !r.Offers(call.Tool) {
			return nil, &ReplicaError{Tool: call.Tool, Replica: id}
		}
		return direct.CallTool(ctx, call)
	}))
	held := weak.Make(r) // it may be gone by then
	r.lister = c.newLister(server, s, func(ctx context.Context) error {
		r := held.Value()
		if r == nil {
			return nil
		}
		err := r.Refresh(ctx)
		if err != nil {
			c.log.LogAttrs(ctx, slog.LevelWarn, "catalog: a replica could not list its tools", slog.String("replica", id), slog.String("error", listing.Line(err)))
		}
		return err
	})
	err := r.Refresh(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.lister.busy = false; r.lister.changed {
		c.wake(r.lister, settle)
	}
	return r, err
}

// Refresh lists the replica's tools again, which the catalogue also does when it receives notice of a change.
// After an error it offers the same as before; of several calls the list that was requested last counts.
func (r *Replica) Refresh(ctx context.Context) error {
	l, its, err := r.catalog.list(ctx, r.lister)
	if err != nil {
		return fmt.Errorf("catalog: replica %q: %w", r.id, err)
	}
	offered := make(map[string]middleware.Digest, len(l.Tools))
	for _, d := range l.Tools {
		offered[d.Tool.Name()] = d.Tool.Digest
	}
	r.catalog.mu.Lock()
	if its.number > r.lister.taken {
		r.offered.Store(&offered)
		r.lister.take(its)
	}
	r.catalog.mu.Unlock()
	for _, tool := range r.catalog.List() {
		if tool.Server == r.server && !r.Offers(tool) {
			r.catalog.log.LogAttrs(ctx, slog.LevelWarn, "catalog: a replica does not have a tool in the accepted definition",
				slog.String("replica", r.id), slog.String("tool", tool.String()))
		}
	}
	return nil
}

// Offers reports whether the replica lists the tool in exactly this definition.
func (r *Replica) Offers(tool *middleware.Tool) bool {
	offered := r.offered.Load()
	if offered == nil || tool == nil || tool.Server != r.server {
		return false
	}
	digest, ok := (*offered)[tool.Name()]
	return ok && digest == tool.Digest
}

// CallTool calls the tool on this replica, behind the guard of the catalogue.
func (r *Replica) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return r.guarded.CallTool(ctx, call)
}

func (*Replica) Describe() middleware.Description {
	return middleware.Description{Kind: "guard", Guards: true}
}

// refused is in each error about a call that did not leave and that would only fail again.
type refused = fault.Final

// ErrUnknownTool is in the tree of every error about a tool that is not there.
var ErrUnknownTool = errors.New("catalog: unknown tool")

// An UnknownToolError reports that the catalogue has no such tool. Server is "" if the name was given without one.
type UnknownToolError struct {
	refused

	Server, Tool string
}

func (e *UnknownToolError) Error() string {
	if e.Server == "" {
		return fmt.Sprintf("catalog: there is no tool %q of any server; list the tools again", e.Tool)
	}
	return fmt.Sprintf("catalog: there is no tool %q of server %q; list the tools again", e.Tool, e.Server)
}

func (e *UnknownToolError) ForModel() string {
	return "There is no such tool any more. Choose one from the list of tools."
}

func (e *UnknownToolError) Is(target error) bool { return target == ErrUnknownTool }

// An AmbiguousError reports that several servers have a tool of this name.
type AmbiguousError struct {
	refused

	Name  string
	Tools []*middleware.Tool
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("catalog: %q is a tool of several servers: write %s", e.Name, e.join((*middleware.Tool).String, " or "))
}

func (e *AmbiguousError) ForModel() string {
	return "Several tools have that name. Nothing was called. Call one of them by its full name: " + e.join((*middleware.Tool).ModelName, ", ") + "."
}

func (e *AmbiguousError) join(name func(*middleware.Tool) string, separator string) string {
	names := make([]string, len(e.Tools))
	for i, tool := range e.Tools {
		names[i] = name(tool)
	}
	return strings.Join(names, separator)
}

// A ChangedError reports that the accepted definition is not the one of the call.
type ChangedError struct {
	refused

	Tool *middleware.Tool
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("catalog: the definition of %s is not the one that this call was made for; look the tool up again", e.Tool)
}

func (e *ChangedError) ForModel() string {
	return e.Tool.ModelName() + " was not called: what it does or takes has changed since it was listed. Look it up again before you use it."
}

// A NotCoveredError refuses a call whose arguments make it more than the scopes of its caller cover.
type NotCoveredError = scope.NotCoveredError

// A ReplicaError reports that a replica does not have the tool in the accepted definition. Nothing was sent.
type ReplicaError struct {
	refused

	Tool    *middleware.Tool
	Replica string
}

func (e *ReplicaError) Error() string {
	return fmt.Sprintf("catalog: the replica %s does not have %s in the accepted definition; bring it up to date, or call another", e.Replica, e.Tool)
}

// NotOffered reports to package route that another replica may have the tool.
func (e *ReplicaError) NotOffered() bool { return true }

func (e *ReplicaError) ForModel() string {
	return fmt.Sprintf("%s was not called: the server that was asked has another version of it. Try again later.", e.Tool.ModelName())
}
