package catalog

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/finding"
	"github.com/fairlead-go/fairlead/catalog/internal/layers"
	"github.com/fairlead-go/fairlead/catalog/internal/listing"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/internal/intern"
	"github.com/fairlead-go/fairlead/middleware"
)

// A snapshot is one state of the catalog. It never changes: whatever changes the catalog builds a new one under
// the mutex, and lookups and calls read the current one without a lock. A definition that has not changed keeps its
// tool, so that a host may compare pointers and a rebuild costs little; forget drops what has to be computed again.
type snapshot struct {
	tools    map[name]entry
	models   map[string]*middleware.Tool
	list     []*middleware.Tool // by server and name
	sources  map[string]source
	findings []finding.Finding
	rules    []layers.Rule
	lock     Lock                                          // nil for none
	reviewed func(*middleware.Tool) annotation.Annotations // of public servers
	held     map[name]held                                 // the tools that the lock does not accept
	gone     map[string][]string                           // by server, the tools that it accepts and that are not listed
}

// A source is a server as the guard needs it.
type source struct {
	lister *lister
	target guard.Target // without the tool
}

type name struct{ server, tool string }

type entry struct {
	tool *middleware.Tool
	of   *definition
}

// A held tool is listed by its server, and every call of it ends with the error. A caller reads the error only if it
// sees the tool as it is and as it was accepted: to all others it is an unknown tool, as before.
type held struct {
	tool *middleware.Tool
	was  *middleware.Tool // with the class that was accepted; the tool itself if none was
	err  error
}

// A definition is one of a server's list. shown is nil if it must be computed.
type definition struct {
	*listing.Definition

	shown *shown
}

// shown is what follows from a definition, and from what the host has set for it.
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
		rules: c.rules, lock: c.lock, reviewed: c.reviewed, sources: make(map[string]source), tools: make(map[name]entry, size),
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

// add adds the tools of a server, and its findings.
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

// addTool adds a tool unless a model could not tell it from one that is there.
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

// show computes the effective annotations of a definition.
func (s *snapshot) show(id string, known *server, d *definition) *shown {
	out := &shown{tool: *d.Tool}
	tool := &out.tool
	l := layers.Layers{Server: id, Tool: tool.Name(), Declared: d.Declared, Inferred: d.Inferred, Trusted: known.believed(), Rules: s.rules}
	l.Override = known.overrides[tool.Name()]
	l.Known = s.reviewed(tool)
	if s.lock != nil {
		l.Reviewed, l.Judged = s.lock.Decided(tool)
	}
	tool.Annotations, out.findings = l.Effective()
	out.model = tool.ModelName()
	if d.Unchecked != "" {
		out.findings = append(out.findings, finding.Finding{Server: id, Tool: tool.Name(), Kind: finding.Unchecked, Text: "its answers pass unchecked, since its output schema cannot be compiled: " + d.Unchecked})
	}
	if d.Fault != "" {
		out.findings = append(out.findings, finding.Finding{Server: id, Tool: tool.Name(), Kind: finding.Unreadable, Text: "declares what cannot be read: " + d.Fault})
	}
	return shownOf.Share(shownKey{id, tool.Digest}, out, (*shown).same)
}

// shownOf has what the catalogs of this process show of a tool. Many sessions show the same.
var shownOf intern.Set[shownKey, shown]

type shownKey struct {
	server string
	digest middleware.Digest
}

func (s *shown) same(other *shown) bool {
	return s.tool.Definition == other.tool.Definition && s.model == other.model && slices.Equal(s.findings, other.findings) &&
		reflect.DeepEqual(s.tool.Annotations, other.tool.Annotations)
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
		was := tool
		var change interface {
			Reason() string
			WasAccepted() (class annotation.Safety, before bool)
		}
		if errors.As(err, &change) {
			text = change.Reason()
			if class, before := change.WasAccepted(); before {
				was = ofClass(tool, class)
			}
		}
		s.held[id] = held{tool: tool, was: was, err: err}
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

// ofClass returns a tool as it would be with another class, for those who decide by the class who may see it.
func ofClass(tool *middleware.Tool, class annotation.Safety) *middleware.Tool {
	as := *tool
	as.Annotations = map[annotation.Safety]annotation.Annotations{
		annotation.Safe: annotation.ReadOnly(), annotation.Moderate: annotation.Write(), annotation.Dangerous: annotation.Destructive(),
	}[class]
	as.Annotations.SecurityLevel = tool.Annotations.SecurityLevel
	return &as
}

// known returns the tools that are listed and those that are held back.
func (s *snapshot) known() []*middleware.Tool {
	tools := slices.Clone(s.list)
	for _, h := range s.held {
		tools = append(tools, h.tool)
	}
	return tools
}
