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
	"github.com/fairlead-go/fairlead/catalog/known"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/session"
	"github.com/fairlead-go/fairlead/internal/toolname"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Session lists and calls the tools of one server; *mcp.ClientSession is one. It must be safe for concurrent use.
//
// If it has a method SendCall(context.Context, middleware.Call) (*mcp.CallToolResult, error), that is called in place
// of CallTool, with the whole call: its tool as it was accepted, and its Params.
type Session interface {
	// ListTools returns one page of the tools, and in NextCursor the cursor of the next one. All pages of a list
	// together may take [Options.Timeout].
	ListTools(ctx context.Context, params *mcp.ListToolsParams) (*mcp.ListToolsResult, error)
	// CallTool calls a tool. The params are the session's own: it may change them.
	CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error)
}

// A Lock holds back tools that are not as they were accepted, as a *pins.Lock does. It must not call the catalog.
type Lock interface {
	// Check returns nil for a tool that is as it was accepted, and otherwise the error of its calls. The form is
	// the JSON that the digest is over. A method Reason() string of the error gives the text of the finding; by
	// WasAccepted() (annotation.Safety, bool) a view reads of a change only what it has seen before.
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
	// NoKnown leaves out the classes of public servers in package known. By default they outrank what was inferred and
	// what a server declares, trusted or not, and are outranked by whatever the host sets.
	NoKnown bool
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
	reviewed   func(*middleware.Tool) annotation.Annotations // reviewed classes of public servers
	events     events
	meter      meter
	nulls      nulls

	life context.Context //nolint:containedctx // of what the catalog does by itself; it ends at Close
	end  context.CancelFunc
	work sync.WaitGroup // the lists that the catalog began by itself

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

// ErrClosed is in the tree of the errors of Add and Refresh after Close.
var ErrClosed = errors.New("the catalog is closed; make a new one")

// New returns an empty catalog. It panics on a negative number.
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
		log: log, permission: o.Permission, lock: o.Lock, reviewed: known.Of, servers: make(map[string]*server),
	}
	if o.NoKnown {
		c.reviewed = func(*middleware.Tool) annotation.Annotations { return annotation.Annotations{} }
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

// add lists the tools without the mutex, since a server may hang, and adds them under it, if no other has taken the id
// meanwhile. A change that arrives during this first list causes another one.
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

// Findings returns the findings about all servers and tools, sorted, with those that calls have shown so far. The slice is the caller's.
func (c *Catalog) Findings() []finding.Finding {
	now := c.current.Load()
	all := slices.Concat(now.findings, c.misfits(now.list), c.nulls.of(func(id name) *middleware.Tool { return now.tools[id].tool }))
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

// Close ends the catalog's own work: no server is listed and no event is sent after it has returned, except
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
