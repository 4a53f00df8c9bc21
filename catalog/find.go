package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/finding"
	"github.com/fairlead-go/fairlead/catalog/gofunc"
	"github.com/fairlead-go/fairlead/catalog/internal/layers"
	"github.com/fairlead-go/fairlead/catalog/internal/listing"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/internal/scope"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/safetext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// List returns a new slice of the tools that the caller may use, sorted by server and name.
func (v *caller) List() []*middleware.Tool {
	return slices.DeleteFunc(slices.Clone(v.c.current.Load().list), func(t *middleware.Tool) bool { return !v.sees(t) })
}

// Lookup returns the tool of a server as it is accepted now, if the caller may use it.
func (v *caller) Lookup(server, tool string) (*middleware.Tool, bool) {
	t := v.c.current.Load().tools[name{server, tool}].tool
	if t == nil || !v.sees(t) {
		return nil, false
	}
	return t, true
}

// Find returns the visible tool of a name: the one that a model was given (see middleware.Tool.ModelName),
// "server/tool", or the tool's own name if only one server has it. A name with two underscores in a row is
// never a tool's own. The error is an [*AmbiguousError] or an [*UnknownToolError].
func (v *caller) Find(text string) (*middleware.Tool, error) {
	now := v.c.current.Load()
	server, tool, qualified := strings.Cut(text, "/")
	for _, t := range []*middleware.Tool{now.tools[name{server, tool}].tool, now.models[text]} {
		if t != nil && v.sees(t) {
			return t, nil
		}
	}
	if qualified {
		return nil, &UnknownToolError{Server: server, Tool: tool}
	}
	var same []*middleware.Tool
	if !strings.Contains(text, "__") {
		same = slices.DeleteFunc(slices.Clone(now.list), func(t *middleware.Tool) bool { return t.Name() != text || !v.sees(t) })
	}
	switch len(same) {
	case 0:
		return nil, &UnknownToolError{Tool: text}
	case 1:
		return same[0], nil
	}
	return nil, &AmbiguousError{Name: text, Tools: same}
}

// A Scope is a permission, or a pattern of them, up to a security level. A permission is a resource and an
// action, with the last dot between them: "customers.read" covers itself alone, "*.read" this action of every
// resource, "customers.*" and "customers.all" every action of this resource, and "*.all" everything.
type Scope = scope.Scope

// A View is the catalogue as one caller may see it. A tool that its scopes do not cover is neither listed nor
// found, and a call of it ends as that of an unknown tool. A View has no state: it shows the catalogue as it
// is now. The zero value is not ready; use [Catalog.View].
type View struct{ *caller }

// View returns the catalogue for a caller with these scopes. A tool is visible if one scope covers its
// permission (see [Options.Permission]) and reaches its security level. Make a View for each caller, and never
// use it for another one. An error names each scope that is not valid.
func (c *Catalog) View(scopes ...Scope) (*View, error) {
	set, err := scope.New(scopes...)
	if err != nil {
		return nil, fmt.Errorf("catalog: the scopes of a view: %w", err)
	}
	return &View{newCaller(c, func(tool *middleware.Tool) bool {
		return set.Covers(c.permission(tool), tool.Annotations.SecurityLevel)
	}, true)}, nil
}

// misfits returns a finding for each tool whose permission is not valid. It calls the host without the mutex.
func (c *Catalog) misfits(tools []*middleware.Tool) (found []finding.Finding) {
	for _, tool := range tools {
		if permission := c.permission(tool); permission != "" {
			if err := scope.Check(permission); err != nil {
				found = append(found, finding.Finding{
					Server: tool.Server, Tool: tool.Name(), Kind: finding.Permission,
					Text: safetext.Line("Options.Permission: " + err.Error() + `; only "*.all" covers it`),
				})
			}
		}
	}
	return found
}

// Statistics are the figures of a catalogue.
type Statistics struct {
	Total      int                       // tools
	ByServer   map[string]int            // tools of each server
	ByCategory map[string]int            // tools of each category; those without one are left out
	BySafety   map[annotation.Safety]int // tools of each class
	// Calls are those of all tools, and ByTool those of each that was called, also if it is gone, by "server/tool".
	Calls  Calls
	ByTool map[string]Calls
}

// Calls are the attempts that reached a server; a call that was refused, cached or not sent does not count.
type Calls struct {
	Count    int64
	Failures int64         // ended in an error, or in a result that reports one
	Unknown  int64         // the failures whose outcome is unknown
	Duration time.Duration // of all of them together
}

// Mean is the mean duration of a call; 0 before the first.
func (c Calls) Mean() time.Duration { return c.Duration / time.Duration(max(c.Count, 1)) }

func (c *Calls) add(o Calls) {
	c.Count += o.Count
	c.Failures += o.Failures
	c.Unknown += o.Unknown
	c.Duration += o.Duration
}

// A meter counts calls over all lists. It holds only called tools, so no server makes it grow.
type meter struct {
	mu    sync.Mutex
	tools map[name]*Calls
}

func (m *meter) count(call middleware.Call, start time.Time, res *mcp.CallToolResult, err error) {
	if err != nil && middleware.NotSent(err) {
		return
	}
	one := Calls{Count: 1, Duration: time.Since(start)}
	if err != nil || res == nil || res.IsError {
		one.Failures = 1
	}
	if _, unknown := errors.AsType[*middleware.OutcomeUnknownError](middleware.OutcomeUnknown(call, err)); unknown {
		one.Unknown = 1
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	id := name{call.Tool.Server, call.Tool.Name()}
	if m.tools[id] == nil {
		m.tools[id] = new(Calls)
	}
	m.tools[id].add(one)
}

// Statistics counts the tools of the catalogue and what it saw of their calls.
func (c *Catalog) Statistics() Statistics {
	list := c.current.Load().list
	s := Statistics{
		Total: len(list), ByServer: make(map[string]int), ByCategory: make(map[string]int),
		BySafety: make(map[annotation.Safety]int), ByTool: make(map[string]Calls),
	}
	for _, t := range list {
		s.ByServer[t.Server]++
		s.ByCategory[t.Annotations.Category]++
		s.BySafety[t.Safety()]++
	}
	delete(s.ByCategory, "")
	c.meter.mu.Lock()
	defer c.meter.mu.Unlock()
	for id, calls := range c.meter.tools {
		s.ByTool[id.server+"/"+id.tool] = *calls
		s.Calls.add(*calls)
	}
	return s
}

// An Event is a change of the catalogue. Events come one at a time, in order. A slow listener delays nothing: beyond
// 50,000 waiting events the rest are dropped and counted.
type Event struct {
	Kind   EventKind
	Server string
	// Before and After are the tool as it was and as it is, or nil. Both are read-only.
	Before, After *middleware.Tool
	// Err is why a list failed, for EventRefreshFailed.
	Err error
	// Dropped is how many events were lost, for EventsDropped.
	Dropped int
}

// EventKind is the kind of an [Event].
type EventKind string

// The kinds.
const (
	EventDiscovered    EventKind = "tool discovered"
	EventChanged       EventKind = "tool changed" // its definition
	EventRemoved       EventKind = "tool removed"
	EventUpdated       EventKind = "annotations updated" // of the same definition: by trust, a rule, an override
	EventRefreshFailed EventKind = "refresh failed"      // the earlier list counts
	EventsDropped      EventKind = "events dropped"      // look at List
)

// String returns the event on one line.
func (e Event) String() string {
	switch {
	case e.Kind == EventRefreshFailed:
		return fmt.Sprintf("%s: %s: %s", e.Server, e.Kind, listing.Line(e.Err))
	case e.Kind == EventsDropped:
		return fmt.Sprintf("%s: %d", e.Kind, e.Dropped)
	case e.After == nil:
		return fmt.Sprintf("%s: %s", e.Before, e.Kind)
	case e.Before == nil || e.Before.Safety() == e.After.Safety():
		return fmt.Sprintf("%s: %s, %s", e.After, e.Kind, e.After.Safety())
	}
	return fmt.Sprintf("%s: %s, %s → %s", e.After, e.Kind, e.Before.Safety(), e.After.Safety())
}

// events are the events that wait for a listener. It gets them one by one, on goroutines of its own.
type events struct {
	listener func(Event) // nil for none
	log      *slog.Logger
	most     int // waiting events, after which one counts those that it drops

	mu      sync.Mutex
	waiting []Event
	running bool
	closed  bool
}

func (q *events) add(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.listener == nil || q.closed {
		return
	}
	if n := len(q.waiting); n >= q.most {
		if last := &q.waiting[n-1]; last.Kind == EventsDropped {
			last.Dropped++
			return
		}
		e = Event{Kind: EventsDropped, Dropped: 1}
	}
	q.waiting = append(q.waiting, e)
	if !q.running {
		q.running = true
		go q.run()
	}
}

// run passes one event and goes on with the next, even if the listener ends the goroutine.
func (q *events) run() {
	e, ok := q.take()
	if !ok {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			q.log.Error("catalog: Options.OnEvent panicked", slog.String("event", string(e.Kind)), slog.String("panic", fmt.Sprint(r)))
		}
		go q.run()
	}()
	q.listener(e)
}

// take returns the next event. Without one, running is false from then on.
func (q *events) take() (e Event, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.waiting, q.running = nil, false
		return e, false
	}
	e, q.waiting = q.waiting[0], q.waiting[1:]
	return e, true
}

func (q *events) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.waiting = true, nil
}

func (c *Catalog) report(before, next *snapshot) {
	if c.events.listener == nil {
		return
	}
	for _, after := range next.list {
		was := before.tools[name{after.Server, after.Name()}].tool
		switch {
		case was == after:
		case was == nil:
			c.events.add(Event{Kind: EventDiscovered, Server: after.Server, After: after})
		case was.Digest != after.Digest:
			c.events.add(Event{Kind: EventChanged, Server: after.Server, Before: was, After: after})
		case !reflect.DeepEqual(was.Annotations, after.Annotations):
			c.events.add(Event{Kind: EventUpdated, Server: after.Server, Before: was, After: after})
		}
	}
	for _, was := range before.list {
		if _, there := next.tools[name{was.Server, was.Name()}]; !there {
			c.events.add(Event{Kind: EventRemoved, Server: was.Server, Before: was})
		}
	}
}

// AddTools adds tools that no MCP server lists, all called by the executor, under an id that the host chooses.
// They are inferred, merged and checked as those of a server; what they declare only raises until
// [Catalog.Trust]. The executor needs no guard, since the catalogue has one. After an error, such as a
// declaration that contradicts itself, nothing was added.
func (c *Catalog) AddTools(id string, executor middleware.ToolCaller, tools ...*mcp.Tool) error {
	return c.addTools(id, executor, false, tools)
}

// AddFuncs adds Go funcs, made by gofunc.New, as the tools of one server, as [Catalog.AddTools] does. Their
// annotations are trusted. After an error, which names all faults, nothing was added.
func (c *Catalog) AddFuncs(id string, funcs ...gofunc.Func) error {
	tools, byName := make([]*mcp.Tool, 0, len(funcs)), make(functions, len(funcs))
	var errs []error
	for i, f := range funcs {
		tool, err := f.Tool()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", listing.Which(i, tool.Name), err))
		}
		tools, byName[tool.Name] = append(tools, tool), f
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("catalog: the funcs of %q: %w", id, err)
	}
	return c.addTools(id, byName, true, tools)
}

func (c *Catalog) addTools(id string, executor middleware.ToolCaller, own bool, tools []*mcp.Tool) error {
	if executor == nil {
		return fmt.Errorf("catalog: the tools of %q have no executor", id)
	}
	if err := listing.Check(tools); err != nil {
		return fmt.Errorf("catalog: the tools of %q: %w", id, err)
	}
	return c.add(context.Background(), id, local(tools), executor, own)
}

type functions map[string]gofunc.Func

func (fs functions) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return fs[call.Tool.Name()].CallTool(ctx, call) // the guard has found it among the tools of this list
}

type local []*mcp.Tool

func (l local) ListTools(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	return &mcp.ListToolsResult{Tools: l}, nil
}

func (l local) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return nil, errors.New("catalog: these tools have an executor of their own")
}

// Trust makes a server's declarations count, now and later; without it they can only raise the class of a tool.
func (c *Catalog) Trust(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := c.server(id)
	entry.trusted = true
	entry.forget(func(string) bool { return true })
	c.rebuild(context.Background())
}

// Trusted reports whether what a server declares counts.
func (c *Catalog) Trusted(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.servers[id]
	return s != nil && s.believed()
}

func (s *server) believed() bool { return s.trusted || s.own }

// Override sets annotations for one tool, which win over all others. After an error (a contradiction) nothing changed.
func (c *Catalog) Override(id, tool string, a annotation.Annotations) error {
	if err := a.Validate(); err != nil {
		return fmt.Errorf("catalog: the override of %s/%s: %w", id, tool, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.server(id)
	if s.overrides = maps.Clone(s.overrides); s.overrides == nil {
		s.overrides = make(map[string]annotation.Annotations)
	}
	s.overrides[tool] = a.Attribute(annotation.Host, "")
	s.forget(func(name string) bool { return name == tool })
	c.rebuild(context.Background())
	return nil
}

// OverrideMatching sets annotations for every tool whose "server/tool" matches the pattern of [path.Match],
// now and after a refresh: "github/*", "*/list_*". It returns the tools that match now. It raises freely, but
// does not lower a tool that inference calls dangerous: use [Catalog.Override] for that, which also wins over
// any pattern. Of two patterns the later call wins.
func (c *Catalog) OverrideMatching(pattern string, a annotation.Annotations) (matched []string, err error) {
	r, err := layers.NewRule(pattern, a)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rules = append(slices.Clip(c.rules), r)
	for id, s := range c.servers {
		s.forget(func(name string) bool { return r.Matches(id, name) })
	}
	c.rebuild(context.Background())
	for _, t := range c.current.Load().known() {
		if r.Matches(t.Server, t.Name()) {
			matched = append(matched, t.String())
		}
	}
	slices.Sort(matched)
	return matched, nil
}

// forget makes the catalogue compute the tools of these names again.
func (s *server) forget(names func(string) bool) {
	for _, d := range s.definitions {
		if names(d.Tool.Name()) {
			d.shown = nil
		}
	}
}

// A snapshot is one state of the catalogue. It never changes.
type snapshot struct {
	tools    map[name]entry
	models   map[string]*middleware.Tool
	list     []*middleware.Tool // by server and name
	sources  map[string]source
	findings []finding.Finding
	rules    []layers.Rule
	lock     Lock                // nil for none
	held     map[name]held       // the tools that the lock does not accept
	gone     map[string][]string // by server, the tools that it accepts and that are not listed
}

type source struct {
	lister *lister
	target guard.Target // without the tool
}

type name struct{ server, tool string }

type entry struct {
	tool *middleware.Tool
	of   *definition
}

// A held tool is listed by its server, and every call of it ends with the error.
type held struct {
	tool *middleware.Tool
	err  error
}

// A definition is one of a server's list. shown is nil if it must be computed.
type definition struct {
	*listing.Definition

	shown *shown
}

type shown struct {
	tool     middleware.Tool // with the effective annotations
	model    string
	findings []finding.Finding
}

// build makes a snapshot of what is known; the caller holds the mutex.
func (c *Catalog) build() *snapshot {
	size := 0
	for _, known := range c.servers {
		size += len(known.definitions)
	}
	s := &snapshot{
		rules: c.rules, lock: c.lock, sources: make(map[string]source), tools: make(map[name]entry, size),
		models: make(map[string]*middleware.Tool, size), list: make([]*middleware.Tool, 0, size),
	}
	for _, id := range slices.Sorted(maps.Keys(c.servers)) {
		if known := c.servers[id]; known.lister != nil {
			s.sources[id] = c.source(s, id, known)
			s.add(id, known)
		}
	}
	s.hold()
	return s
}

func (s *snapshot) add(id string, known *server) {
	s.findings = append(s.findings, known.leftOut...)
	if known.bare != "" {
		s.find(id, "", finding.Unprepared, known.bare)
	}
	if known.stale != "" {
		s.find(id, "", finding.Stale, known.stale)
	}
	for _, d := range known.definitions {
		s.addTool(id, known, d)
	}
	for tool := range known.overrides {
		if _, ok := s.tools[name{id, tool}]; !ok {
			s.find(id, tool, finding.Unused, "the host overrides a tool that the server does not list")
		}
	}
}

func (s *snapshot) addTool(id string, known *server, d *definition) {
	if d.shown == nil {
		d.shown = s.show(id, known, d)
	}
	tool := &d.shown.tool
	if other, taken := s.models[d.shown.model]; taken {
		s.find(id, tool.Name(), finding.LeftOut, fmt.Sprintf("left out: a model could not tell its name from that of %s", other))
		return
	}
	s.findings = append(s.findings, d.shown.findings...)
	s.tools[name{id, tool.Name()}] = entry{tool, d}
	s.models[d.shown.model] = tool
	s.list = append(s.list, tool)
}

func (s *snapshot) show(id string, known *server, d *definition) *shown {
	out := &shown{tool: *d.Tool}
	tool := &out.tool
	l := layers.Layers{Server: id, Tool: tool.Name(), Declared: d.Declared, Inferred: d.Inferred, Trusted: known.believed(), Rules: s.rules}
	l.Override = known.overrides[tool.Name()]
	if s.lock != nil {
		l.Reviewed, l.Judged = s.lock.Decided(tool)
	}
	tool.Annotations, out.findings = l.Effective()
	out.model = tool.ModelName()
	if d.Fault != "" {
		out.findings = append(out.findings, finding.Finding{Server: id, Tool: tool.Name(), Kind: finding.Unreadable, Text: "declares what cannot be read: " + d.Fault})
	}
	return out
}

func (s *snapshot) find(server, tool string, kind finding.Kind, text string) {
	s.findings = append(s.findings, finding.Finding{Server: server, Tool: tool, Kind: kind, Text: text})
}

// hold removes the tools that the lock does not accept. They are not listed, since their texts may be an attack.
func (s *snapshot) hold() {
	if s.lock == nil {
		return
	}
	s.held, s.gone = make(map[name]held), make(map[string][]string)
	s.list = slices.DeleteFunc(s.list, func(tool *middleware.Tool) bool {
		id := name{tool.Server, tool.Name()}
		err := s.lock.Check(tool, s.tools[id].of.Form)
		if err == nil {
			return false
		}
		text := listing.Line(err)
		var change interface{ Reason() string }
		if errors.As(err, &change) {
			text = change.Reason()
		}
		s.held[id] = held{tool, err}
		delete(s.tools, id)
		delete(s.models, tool.ModelName())
		s.find(id.server, id.tool, finding.NotAccepted, text)
		return true
	})
	for id := range s.sources {
		for _, tool := range s.lock.Accepted(id) {
			if s.tools[name{id, tool}].tool == nil && s.held[name{id, tool}].tool == nil {
				s.gone[id] = append(s.gone[id], tool)
				s.find(id, tool, finding.Gone, "was accepted, and its server no longer lists it")
			}
		}
	}
}

func (s *snapshot) known() []*middleware.Tool {
	tools := slices.Clone(s.list)
	for _, h := range s.held {
		tools = append(tools, h.tool)
	}
	return tools
}
