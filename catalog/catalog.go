// Package catalog knows the tools of every server: what each declares, what was
// inferred, what the host says, and the one class that follows. It is also the
// executor at the end of a chain, guarded by the definitions that it accepted.
package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/grant"
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
)

// A Catalog holds the tools of any number of servers. It is safe for concurrent
// use; a call sees one state of it.
type Catalog struct {
	timeout  time.Duration
	maxTools int
	log      *slog.Logger
	guarded  middleware.ToolCaller
	meter    meter

	permission func(*middleware.Tool) string

	mu      sync.Mutex // guards servers, rules, lock and the building of a snapshot
	servers map[string]*server
	rules   []rule
	lock    *Lock
	current atomic.Pointer[snapshot]
}

// A server is what is known of one server, whether it has been added yet or not.
type server struct {
	added       bool
	executor    middleware.ToolCaller
	session     Session
	definitions []definition
	refused     []Finding // what its list held that could not be taken
	asked       int       // how many lists were asked for
	answered    int       // which of them the definitions are
	trusted     bool
	overrides   map[string]annotation.Annotations
}

// New returns an empty catalogue. It panics on a negative number.
func New(o Options) *Catalog {
	switch {
	case o.Timeout < 0:
		panic("catalog: Options.Timeout is negative")
	case o.MaxTools < 0:
		panic("catalog: Options.MaxTools is negative")
	}
	c := &Catalog{
		timeout:  cmp.Or(o.Timeout, defaultTimeout),
		maxTools: cmp.Or(o.MaxTools, defaultMaxTools),
		log:      cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
		servers:  make(map[string]*server),

		permission: o.Permission,
		lock:       o.Lock,
	}
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
// nothing of this server was added; other servers are not touched.
func (c *Catalog) Add(ctx context.Context, id string, s Session) error {
	if cs, ok := s.(*mcp.ClientSession); s == nil || ok && cs == nil {
		return fmt.Errorf("catalog: server %q: the session is nil; connect first", id)
	}
	if !serverID.MatchString(id) || strings.Contains(id, "__") {
		return fmt.Errorf("catalog: %q cannot be a server's id: use 1 to 64 of A-Z, a-z, 0-9, '.', '-' and single '_'", id)
	}
	if c.isAdded(id) {
		return fmt.Errorf("catalog: there is a server %q already; give each its own id", id)
	}
	definitions, refused, err := c.list(ctx, id, s)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := c.server(id)
	if entry.added {
		return fmt.Errorf("catalog: there is a server %q already; give each its own id", id)
	}
	entry.added, entry.session, entry.executor = true, s, session.Executor(s)
	entry.definitions, entry.refused = definitions, refused
	c.rebuild(ctx)
	return nil
}

// Refresh lists the tools of a server again. After an error the catalogue is as
// it was. Of several at once, the list that was asked for last counts.
func (c *Catalog) Refresh(ctx context.Context, id string) error {
	s, turn := c.turn(id)
	if s == nil {
		return fmt.Errorf("catalog: there is no server %q; add it first", id)
	}
	definitions, refused, err := c.list(ctx, id, s)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry := c.server(id); turn > entry.answered {
		entry.definitions, entry.refused, entry.answered = definitions, refused, turn
		c.rebuild(ctx)
	}
	return nil
}

// turn returns the session of a server and the number of a new list of it, no
// session where none was added.
func (c *Catalog) turn(id string) (Session, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := c.servers[id]
	if entry == nil {
		return nil, 0
	}
	entry.asked++
	return entry.session, entry.asked
}

// Trust believes what a server declares of its tools, now and after a refresh.
// Without it a server's word can only raise the class of a tool. The server may
// be added later.
func (c *Catalog) Trust(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server(id).trusted = true
	c.rebuild(context.Background())
}

// Override is the host's word on one tool; it wins over everything else. What a
// leaves unset stays as it is. An error means that a contradicts itself, and
// nothing has changed.
func (c *Catalog) Override(id, tool string, a annotation.Annotations) error {
	if err := a.Validate(); err != nil {
		return fmt.Errorf("catalog: the override of %s/%s: %w", id, tool, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.server(id)
	overrides := maps.Clone(s.overrides)
	if overrides == nil {
		overrides = make(map[string]annotation.Annotations)
	}
	overrides[tool] = a
	s.overrides = overrides
	c.rebuild(context.Background())
	return nil
}

// OverrideMatching is the host's word on every tool whose "server/tool" matches
// the pattern, in the form of [path.Match], now and after a refresh: "github/*",
// "*/list_*". It returns what it matches now, so that a pattern that is wider than
// meant shows itself. It raises freely, but lowers only what inference does not
// call dangerous: for that, name the one tool with [Catalog.Override], which also
// wins over any pattern. Of two patterns the later call wins.
func (c *Catalog) OverrideMatching(pattern string, a annotation.Annotations) (matched []string, err error) {
	if _, err := path.Match(pattern, ""); err != nil || strings.Count(pattern, "/") != 1 {
		return nil, fmt.Errorf(`catalog: %q is no pattern for tools; write "server/tool", with * for any part of either`, pattern)
	}
	if err := a.Validate(); err != nil {
		return nil, fmt.Errorf("catalog: the override of %s: %w", pattern, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := rule{pattern: pattern, word: a.Attribute(annotation.Rule, pattern)}
	c.rules = append(slices.Clip(c.rules), r)
	c.rebuild(context.Background())
	for _, t := range c.current.Load().known() {
		if r.matches(t.Server, t.Name()) {
			matched = append(matched, t.String())
		}
	}
	return matched, nil
}

// A rule is the host's word on the tools that match a pattern.
type rule struct {
	pattern string
	word    annotation.Annotations
}

func (r rule) matches(server, tool string) bool {
	ok, err := path.Match(r.pattern, server+"/"+tool)
	return ok && err == nil
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
	for _, f := range next.findings {
		if !slices.Contains(before.findings, f) {
			c.log.LogAttrs(ctx, slog.LevelWarn, "catalog: finding",
				slog.String("server", f.Server), slog.String("tool", f.Tool), slog.String("text", f.Text))
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
	entry := c.current.Load().tools[name{t.Server, t.Name()}]
	return entry.declared, entry.inferred
}

// A Finding is something about a server or a tool that its owner or the host
// should know.
type Finding struct {
	Server string
	Tool   string // "" where it is about the server
	Text   string
}

// String returns the finding on one line.
func (f Finding) String() string {
	if f.Tool == "" {
		return f.Server + ": " + f.Text
	}
	return f.Server + "/" + f.Tool + ": " + f.Text
}

// Findings returns what stands out, sorted. The slice is the caller's.
func (c *Catalog) Findings() []Finding {
	now := c.current.Load()
	return sorted(slices.Concat(now.findings, c.misfits(now.list)))
}

// CallTool calls the tool on its server. The guard stands here: a Dangerous or
// Unknown call without a person's yes is refused, and the class is that of the
// accepted definition, whatever the call carries.
func (c *Catalog) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return c.guarded.CallTool(ctx, call)
}

// Promise says that the catalogue is guarded.
func (c *Catalog) Promise(p *middleware.Promises) { p.Guards = true }

// Kind returns "guard", since nothing stands between it and the servers.
func (*Catalog) Kind() string { return "guard" }

func (c *Catalog) execute(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	executor, ok := c.current.Load().executors[call.Tool.Server]
	if !ok {
		return nil, &UnknownToolError{Server: call.Tool.Server, Tool: call.Tool.Name()}
	}
	return executor.CallTool(ctx, call)
}

// Guard stands before an executor other than the catalogue's own sessions that
// calls the same tools. It takes their class from the catalogue and refuses what
// the catalogue does not know.
func (c *Catalog) Guard(executor middleware.ToolCaller) middleware.ToolCaller {
	return c.guard(executor, everyTool)
}

// guard stands before an executor of tools for one who sees some of them.
func (c *Catalog) guard(executor middleware.ToolCaller, sees func(*middleware.Tool) bool) middleware.ToolCaller {
	return grant.Guard(c.meter.metered(executor), func(ctx context.Context, call middleware.Call) (*middleware.Tool, error) {
		return c.accepted(ctx, call, sees)
	})
}

// ErrUnknownTool is in the tree of every error about a tool that is not there.
var ErrUnknownTool = errors.New("catalog: unknown tool")

// An UnknownToolError says that the catalogue has no such tool.
type UnknownToolError struct{ Server, Tool string }

func (e *UnknownToolError) Error() string {
	return fmt.Sprintf("catalog: there is no tool %q of server %q; list the tools again", e.Tool, e.Server)
}

// Is reports whether target is [ErrUnknownTool].
func (e *UnknownToolError) Is(target error) bool { return target == ErrUnknownTool }

// NotSent reports that the call did not leave.
func (e *UnknownToolError) NotSent() bool { return true }

// Permanent reports that the same call would only fail again.
func (e *UnknownToolError) Permanent() bool { return true }

// A ChangedError says that the definition that the call was made for is no longer
// the accepted one.
type ChangedError struct{ Tool *middleware.Tool }

func (e *ChangedError) Error() string {
	return fmt.Sprintf("catalog: the definition of %s is not the one that this call was made for; look the tool up again", e.Tool)
}

// NotSent reports that the call did not leave.
func (e *ChangedError) NotSent() bool { return true }

// Permanent reports that the same call would only fail again.
func (e *ChangedError) Permanent() bool { return true }
