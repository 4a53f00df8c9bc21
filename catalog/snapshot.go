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
	list      []*middleware.Tool
	executors map[string]middleware.ToolCaller
	findings  []Finding
	rules     []rule
	index     func() *index   // built by the first search
	held      map[name]Change // what the lock does not accept
}

type name struct{ server, tool string }

type entry struct {
	tool               *middleware.Tool
	declared, inferred annotation.Annotations
	form               []byte // the definition in its canonical form
}

func build(servers map[string]*server, rules []rule) *snapshot {
	s := &snapshot{
		rules:     rules,
		tools:     make(map[name]entry),
		models:    make(map[string]*middleware.Tool),
		executors: make(map[string]middleware.ToolCaller),
	}
	for _, id := range slices.Sorted(maps.Keys(servers)) {
		if known := servers[id]; known.added {
			s.add(id, known)
		}
	}
	slices.SortFunc(s.list, byName)
	s.findings = sorted(s.findings)
	s.index = sync.OnceValue(func() *index { return newIndex(s.list) })
	return s
}

func byName(a, b *middleware.Tool) int {
	return cmp.Or(strings.Compare(a.Server, b.Server), strings.Compare(a.Name(), b.Name()))
}

// sorted sorts findings in place.
func sorted(findings []Finding) []Finding {
	slices.SortFunc(findings, func(a, b Finding) int { return strings.Compare(a.String(), b.String()) })
	return findings
}

// add takes in one server's tools.
func (s *snapshot) add(id string, known *server) {
	s.executors[id] = known.executor
	s.findings = append(s.findings, known.refused...)
	for _, d := range known.definitions {
		s.addTool(id, known, d)
	}
	for tool := range known.overrides {
		if _, ok := s.tools[name{id, tool}]; !ok {
			s.find(id, tool, "the host overrides a tool that the server does not list")
		}
	}
}

func (s *snapshot) addTool(id string, known *server, d definition) {
	tool := *d.tool
	tool.Annotations = s.effective(id, known, tool.Name(), d.declared, d.inferred)
	if d.fault != "" {
		s.find(id, tool.Name(), "declares what cannot be read: "+d.fault)
	}
	model := tool.ModelName()
	if other, taken := s.models[model]; taken {
		s.find(id, tool.Name(), fmt.Sprintf("left out: a model could not tell its name from that of %s", other))
		return
	}
	if _, ok := known.overrides[tool.Name()]; ok {
		without := *known
		without.overrides = nil
		if was := s.effective(id, &without, tool.Name(), d.declared, d.inferred).Safety(); was != annotation.Unknown && was < tool.Safety() {
			s.find(id, tool.Name(), fmt.Sprintf("the host's word lowers it from %s to %s", was, tool.Safety()))
		}
	}
	for _, text := range conflicts(d.declared, d.inferred, tool.Annotations, known.trusted) {
		s.find(id, tool.Name(), text)
	}
	s.tools[name{id, tool.Name()}] = entry{tool: &tool, declared: d.declared, inferred: d.inferred, form: d.form}
	s.models[model] = &tool
	s.list = append(s.list, &tool)
}

// effective lays the layers over each other: inferred, declared, the host's rules
// and the host's word on this tool.
func (s *snapshot) effective(id string, known *server, tool string, declared, inferred annotation.Annotations) annotation.Annotations {
	claim := declared.Attribute(annotation.Declared, id)
	if known.trusted {
		return s.hosts(id, known, tool, annotation.Merge(inferred, claim), inferred)
	}
	raised := annotation.Raise(inferred, claim)
	a := s.hosts(id, known, tool, raised, inferred)
	// A read whose server admits that it writes, but only adds, is a write that only
	// adds. Where the host itself says that it writes, the other half is no longer
	// an admission but a plea.
	if unclaimed := s.hosts(id, known, tool, inferred, inferred); unclaimed.MustConfirm() && !a.MustConfirm() {
		a = s.hosts(id, known, tool, raised.Without(annotation.DestructiveHint), inferred)
	}
	return a
}

// hosts lays the host's rules and its word on this tool over a.
func (s *snapshot) hosts(id string, known *server, tool string, a, inferred annotation.Annotations) annotation.Annotations {
	for _, r := range s.rules {
		switch {
		case !r.matches(id, tool):
		case inferred.Safety() == annotation.Dangerous:
			a = annotation.Raise(a, r.word)
		default:
			a = annotation.Merge(a, r.word)
		}
	}
	return annotation.Merge(a, known.overrides[tool].Attribute(annotation.Host, ""))
}

// conflicts says where what a server declares and what its words say do not go
// together.
func conflicts(declared, inferred, effective annotation.Annotations, trusted bool) []string {
	var texts []string
	say := func(format string, args ...any) { texts = append(texts, fmt.Sprintf(format, args...)) }
	if declared.ReadOnly == annotation.Yes && declared.Destructive == annotation.Yes {
		say("declares itself both read-only and destructive; it counts as destructive")
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
		say("declares itself read-only, %s; its words say otherwise (%s)", believed, because(field))
	} else if declared.Safety() > max(effective.Safety(), annotation.Dangerous) {
		say("declares itself %s, %s; it is %s", declared.Safety(), believed, effective.Safety())
	}
	if declared.Idempotent == annotation.Yes && inferred.RequiresConfirmation == annotation.Yes && declared.ReadOnly != annotation.Yes {
		say("declares itself idempotent, but what it does cannot be taken back (%s)", because(annotation.RequiresConfirmation))
	}
	return texts
}

func (s *snapshot) find(server, tool, text string) {
	s.findings = append(s.findings, Finding{Server: server, Tool: tool, Text: text})
}
