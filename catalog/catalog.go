// Package catalog knows the tools of every server: what each declares, what was
// inferred, what the host says, and the one class that follows. It is also the
// executor at the end of a chain, guarded by the definitions that it accepted.
package catalog

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/internal/session"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Session is what the catalogue needs of an MCP session; *mcp.ClientSession is
// one.
type Session interface {
	session.Caller
	ListTools(ctx context.Context, params *mcp.ListToolsParams) (*mcp.ListToolsResult, error)
}

// Options are the settings of [New]. The zero value is ready.
type Options struct {
	// Timeout is how long one server may take to list its tools; 0 means 10
	// seconds.
	Timeout time.Duration
	// MaxTools is how many tools one server may list; 0 means 10,000.
	MaxTools int
	// MaxBytes is how much the definitions that one server lists may hold together;
	// 0 means 64 MiB.
	MaxBytes int
	// OnEvent is told what changed, one event after the other, on a goroutine of its
	// own (see [Event]); nil is told nothing.
	OnEvent func(Event)
	// Permission says which permission a caller of the tool needs, such as
	// "customers.read", for [Catalog.View]. It is asked often, by many goroutines,
	// and answers alike for the same tool. Rest it on what the host knows, the
	// server's id and the class first of all: a name is the server's to choose. "",
	// and nil for every tool, means none, and then only "*.all" covers it.
	Permission func(tool *middleware.Tool) string
	// Lock holds the definitions that were accepted (see [LoadLock]): any other is
	// refused until it is accepted with [Catalog.Accept]. An empty Lock refuses
	// all; nil means that whatever a server lists is taken.
	Lock *Lock
	// Logger gets a line for each finding; nil is silent.
	Logger *slog.Logger
}

const (
	defaultTimeout  = 10 * time.Second
	defaultMaxTools = 10_000
	defaultMaxBytes = 64 << 20
)

// A Catalog holds the tools of any number of servers. It is safe for concurrent
// use; a call sees one state of it. Close it when it is no longer needed. The zero value
// is not ready; use [New].
type Catalog struct {
	timeout  time.Duration
	maxTools int
	maxBytes int
	log      *slog.Logger
	guarded  middleware.ToolCaller
	events   events
	watcher  watcher
	meter    meter

	permission func(*middleware.Tool) string
	pinned     bool // there is a lock

	mu       sync.Mutex // guards all below but current, the watcher and the building of a snapshot
	servers  map[string]*server
	replicas []weak.Pointer[Replica] // whoever calls one holds it
	rules    []rule
	lock     *Lock
	current  atomic.Pointer[snapshot]
}

// A server is what is known of one server, whether it has been added yet or not.
type server struct {
	added       bool
	executor    middleware.ToolCaller
	session     Session
	asking      asking        // what it lists
	definitions []*definition // by name
	refused     []Finding     // what its list held that could not be taken
	bare        string        // what is lost because its session was not prepared, "" for nothing
	stale       string        // why the definitions are not those of the last list, "" where they are
	asked       int           // how many lists were asked for
	answered    int           // which of them the definitions are
	own         bool          // the tools are the host's own, and what they declare is its word
	trusted     bool          // the host said so
	overrides   map[string]annotation.Annotations
	ttl         time.Duration // how long its list is fresh, 0 for nobody knows
	next        nextList
}

// New returns an empty catalogue. It panics on a negative number.
func New(o Options) *Catalog {
	switch {
	case o.Timeout < 0:
		panic("catalog: Options.Timeout is negative")
	case o.MaxTools < 0:
		panic("catalog: Options.MaxTools is negative")
	case o.MaxBytes < 0:
		panic("catalog: Options.MaxBytes is negative")
	}
	c := &Catalog{
		timeout:  cmp.Or(o.Timeout, defaultTimeout),
		maxTools: cmp.Or(o.MaxTools, defaultMaxTools),
		maxBytes: cmp.Or(o.MaxBytes, defaultMaxBytes),
		log:      cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
		servers:  make(map[string]*server),
		watcher:  newWatcher(),

		permission: o.Permission,
		lock:       o.Lock,
		pinned:     o.Lock != nil,
	}
	c.events.listener, c.events.most, c.events.log = o.OnEvent, maxEvents, c.log
	c.current.Store(build(nil, nil))
	c.guarded = c.Guard(middleware.ToolCallerFunc(c.execute))
	return c
}

// serverID is what a server's id may be. It becomes part of names towards models
// and of rules in files, so it has no slash and no double underscore.
var serverID = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// Add lists the tools of a server under the id that the host chooses, and takes
// the session as the way to call them. A tool that cannot be taken is left out
// and reported by [Catalog.Findings]; the others are there. An error means that
// nothing of this server was added; other servers are not touched. Add many
// servers at once, each on a goroutine of its own: one that hangs holds up none of
// the others.
func (c *Catalog) Add(ctx context.Context, id string, s Session) error {
	if cs, ok := s.(*mcp.ClientSession); s == nil || ok && cs == nil {
		return fmt.Errorf("catalog: server %q: the session is nil; connect first", id)
	}
	return c.add(ctx, id, s, session.Executor(s), false)
}

func (c *Catalog) add(ctx context.Context, id string, s Session, executor middleware.ToolCaller, own bool) error {
	if !serverID.MatchString(id) || strings.Contains(id, "__") {
		return fmt.Errorf("catalog: %q cannot be a server's id: use 1 to 64 of A-Z, a-z, 0-9, '.', '-' and single '_'", id)
	}
	if c.isAdded(id) {
		return fmt.Errorf("catalog: there is a server %q already; give each its own id", id)
	}
	joining := c.join(s)
	defer c.joined(joining)
	places := newAsking()
	l, err := c.list(ctx, id, s, places)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watcher.closed { // whatever the session says, which may be closed with it
		return fmt.Errorf("catalog: server %q: %w", id, ErrClosed)
	}
	if err != nil {
		return err
	}
	entry := c.server(id)
	if entry.added {
		return fmt.Errorf("catalog: there is a server %q already; give each its own id", id)
	}
	entry.added, entry.session, entry.executor, entry.asking, entry.own = true, s, executor, places, own
	c.install(ctx, id, l)
	if joining.changed {
		c.wake(id, entry, settle)
	}
	return nil
}

func (c *Catalog) isAdded(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.servers[id]
	return s != nil && s.added
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

// rebuild makes a new snapshot; the caller holds the mutex.
func (c *Catalog) rebuild(ctx context.Context) {
	before := c.current.Load()
	next := build(c.servers, c.rules)
	next.hold(c.lock)
	c.current.Store(next)
	c.events.diff(before, next)
	known := make(map[Finding]bool, len(before.findings))
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

// Lookup returns the tool of a server as it is accepted now.
func (c *Catalog) Lookup(server, tool string) (*middleware.Tool, bool) {
	t, ok := c.current.Load().tools[name{server, tool}]
	return t.tool, ok
}

// LookupModelName returns the tool that a model knows by this name (see
// middleware.Tool.ModelName).
func (c *Catalog) LookupModelName(model string) (*middleware.Tool, bool) {
	t, ok := c.current.Load().models[model]
	return t, ok
}

// List returns all tools, sorted by server and name. The slice is the caller's.
func (c *Catalog) List() []*middleware.Tool { return slices.Clone(c.current.Load().list) }

// Layers returns what the effective annotations of a tool were made of: what the
// server declares, and what was inferred.
func (c *Catalog) Layers(t *middleware.Tool) (declared, inferred annotation.Annotations) {
	d := c.current.Load().tools[name{t.Server, t.Name()}].of
	if d == nil {
		return declared, inferred
	}
	return d.declared, d.inferred
}

// CallTool calls the tool on its server. The guard stands here: a Dangerous or
// Unknown call without a person's yes is refused, and the class is that of the
// accepted definition, whatever the call carries.
func (c *Catalog) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return c.guarded.CallTool(ctx, call)
}

// Describe implements [middleware.Describer].
func (*Catalog) Describe() middleware.Description {
	return middleware.Description{Kind: "guard", Guards: true}
}

func (c *Catalog) execute(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	now, id := c.current.Load(), name{call.Tool.Server, call.Tool.Name()}
	// Another server may have come in the place of the one that the guard saw.
	switch tool := now.tools[id].tool; {
	case tool == nil:
		return nil, &UnknownToolError{Server: id.server, Tool: id.tool}
	case tool.Digest != call.Tool.Digest:
		return nil, &ChangedError{Tool: tool}
	}
	return now.executors[id.server].CallTool(ctx, call)
}

// Guard stands before an executor other than the catalogue's own sessions that
// calls the same tools. It takes their class from the catalogue and refuses what
// the catalogue does not know.
func (c *Catalog) Guard(executor middleware.ToolCaller) middleware.ToolCaller {
	return c.guard(executor, everyTool)
}

// guard stands before an executor of tools for one who sees some of them.
func (c *Catalog) guard(executor middleware.ToolCaller, sees func(*middleware.Tool) bool) middleware.ToolCaller {
	return guard.New(c.meter.metered(executor), func(ctx context.Context, call middleware.Call) (*middleware.Tool, error) {
		return c.accepted(ctx, call, sees)
	})
}
