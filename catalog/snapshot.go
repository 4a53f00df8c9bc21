package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
)

// A snapshot is one state of the catalogue. It never changes once it is there.
type snapshot struct {
	tools     map[name]entry
	models    map[string]*middleware.Tool
	list      []*middleware.Tool // by server and name
	executors map[string]middleware.ToolCaller
	findings  []Finding
	rules     []rule
	index     func() *index   // built by the first search
	held      map[name]Change // what the lock does not accept
}

type name struct{ server, tool string }

type entry struct {
	tool *middleware.Tool
	of   *definition
}

// shown is what the catalogue makes of a definition.
type shown struct {
	tool  middleware.Tool // with the effective annotations
	model string
	noted []noted // what stands out about it
}

type noted struct {
	kind FindingKind
	text string
}

func build(servers map[string]*server, rules []rule) *snapshot {
	size := 0
	for _, known := range servers {
		size += len(known.definitions)
	}
	s := &snapshot{
		rules:     rules,
		tools:     make(map[name]entry, size),
		models:    make(map[string]*middleware.Tool, size),
		list:      make([]*middleware.Tool, 0, size),
		executors: make(map[string]middleware.ToolCaller),
	}
	for _, id := range slices.Sorted(maps.Keys(servers)) {
		if known := servers[id]; known.added {
			s.add(id, known)
		}
	}
	s.findings = sorted(s.findings)
	s.index = sync.OnceValue(func() *index { return newIndex(s.list) })
	return s
}

func byName(a, b *middleware.Tool) int {
	return cmp.Or(strings.Compare(a.Server, b.Server), strings.Compare(a.Name(), b.Name()))
}

// sorted sorts findings in place.
func sorted(findings []Finding) []Finding {
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Server, b.Server), strings.Compare(a.Tool, b.Tool), strings.Compare(a.Text, b.Text))
	})
	return findings
}

// add takes in one server's tools.
func (s *snapshot) add(id string, known *server) {
	s.executors[id] = known.executor
	s.findings = append(s.findings, known.refused...)
	if known.bare != "" {
		s.find(id, "", FindingUnprepared, known.bare)
	}
	if known.stale != "" {
		s.find(id, "", FindingStale, known.stale)
	}
	for _, d := range known.definitions {
		s.addTool(id, known, d)
	}
	for tool := range known.overrides {
		if _, ok := s.tools[name{id, tool}]; !ok {
			s.find(id, tool, FindingUnused, "the host overrides a tool that the server does not list")
		}
	}
}

func (s *snapshot) addTool(id string, known *server, d *definition) {
	if d.shown == nil {
		d.shown = s.show(id, known, d)
	}
	tool := &d.shown.tool
	if other, taken := s.models[d.shown.model]; taken {
		s.find(id, tool.Name(), FindingLeftOut, fmt.Sprintf("left out: a model could not tell its name from that of %s", other))
		return
	}
	for _, n := range d.shown.noted {
		s.find(id, tool.Name(), n.kind, n.text)
	}
	s.tools[name{id, tool.Name()}] = entry{tool, d}
	s.models[d.shown.model] = tool
	s.list = append(s.list, tool)
}

// show works out what a tool is, and what stands out about it.
func (s *snapshot) show(id string, known *server, d *definition) *shown {
	out := &shown{tool: *d.tool}
	tool := &out.tool
	var before annotation.Safety
	tool.Annotations, before = s.effective(id, known, d)
	out.model = tool.ModelName()
	if d.fault != "" {
		out.noted = append(out.noted, noted{FindingUnreadable, "declares what cannot be read: " + d.fault})
	}
	if before != annotation.Unknown && before < tool.Safety() {
		out.noted = append(out.noted, noted{FindingLowered, fmt.Sprintf("the host's word lowers it from %s to %s", before, tool.Safety())})
	}
	out.noted = append(out.noted, conflicts(d.declared, d.inferred, tool.Annotations, known.believed())...)
	return out
}

// effective lays the layers over each other: inferred, declared, the host's rules
// and the host's word on this tool; before is the class without that word. What a
// server that nobody trusts declares comes last and can only raise, where the host
// has not spoken: so whatever it says, no class is milder than without it.
func (s *snapshot) effective(id string, known *server, d *definition) (a annotation.Annotations, before annotation.Safety) {
	a = d.inferred
	claim := d.declared.Attribute(annotation.Declared, id)
	if known.believed() {
		a, claim = annotation.Merge(a, claim), annotation.Annotations{}
	}
	for _, r := range s.rules {
		switch {
		case !r.matches(id, d.tool.Name()):
		case d.inferred.Safety() == annotation.Dangerous:
			a = annotation.Raise(a, r.word)
		default:
			a, claim = annotation.Merge(a, r.word), claim.Yield(r.word)
		}
	}
	word, spoken := known.overrides[d.tool.Name()]
	if !spoken {
		if len(claim.Evidence) > 0 {
			a = annotation.Raise(a, claim)
		}
		return a, a.Safety()
	}
	before = annotation.Raise(a, claim).Safety()
	word = word.Attribute(annotation.Host, "")
	return annotation.Raise(annotation.Merge(a, word), claim.Yield(word)), before
}

// conflicts says where what a server declares and what its words say do not go
// together.
func conflicts(declared, inferred, effective annotation.Annotations, trusted bool) []noted {
	var found []noted
	say := func(kind FindingKind, format string, args ...any) {
		found = append(found, noted{kind, fmt.Sprintf(format, args...)})
	}
	if declared.ReadOnly == annotation.Yes && declared.Destructive == annotation.Yes {
		say(FindingContradiction, "declares itself both read-only and destructive; it counts as destructive")
	}
	because := func(f annotation.Field) string {
		if e, ok := inferred.EvidenceOf(f); ok {
			return e.String()
		}
		return "inferred"
	}
	believed := "which is not believed"
	if trusted {
		believed = "which is believed, since the server is trusted"
	}
	if declared.ReadOnly == annotation.Yes && inferred.ReadOnly == annotation.No {
		field := annotation.ReadOnlyHint
		if inferred.Destructive == annotation.Yes {
			field = annotation.DestructiveHint
		}
		say(FindingDoubted, "declares itself read-only, %s; its words say otherwise (%s)", believed, because(field))
	} else if declared.Safety() > max(effective.Safety(), annotation.Dangerous) {
		say(FindingUnbelieved, "declares itself %s, %s; it is %s", declared.Safety(), believed, effective.Safety())
	}
	if declared.Idempotent == annotation.Yes && inferred.RequiresConfirmation == annotation.Yes && declared.ReadOnly != annotation.Yes {
		say(FindingRepeatable, "declares itself idempotent, but what it does cannot be taken back (%s)", because(annotation.RequiresConfirmation))
	}
	return found
}

func (s *snapshot) find(server, tool string, kind FindingKind, text string) {
	s.findings = append(s.findings, Finding{Server: server, Tool: tool, Kind: kind, Text: text})
}
