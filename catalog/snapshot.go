package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A snapshot is one state of the catalogue. It never changes once it is there.
type snapshot struct {
	tools     map[name]entry
	models    map[string]*middleware.Tool
	list      []*middleware.Tool
	executors map[string]middleware.ToolCaller
	findings  []Finding
}

type name struct{ server, tool string }

type entry struct {
	tool               *middleware.Tool
	declared, inferred annotation.Annotations
}

func build(servers map[string]*server) *snapshot {
	s := &snapshot{
		tools:     make(map[name]entry),
		models:    make(map[string]*middleware.Tool),
		executors: make(map[string]middleware.ToolCaller),
	}
	for _, id := range slices.Sorted(maps.Keys(servers)) {
		if known := servers[id]; known.added {
			s.add(id, known)
		}
	}
	slices.SortFunc(s.findings, func(a, b Finding) int { return strings.Compare(a.String(), b.String()) })
	return s
}

// add takes in one server's tools.
func (s *snapshot) add(id string, known *server) {
	s.executors[id] = known.executor
	s.findings = append(s.findings, known.refused...)
	for i, inferred := range infer.Tools(known.definitions) {
		s.addTool(id, known, known.definitions[i], inferred)
	}
	for tool := range known.overrides {
		if _, ok := s.tools[name{id, tool}]; !ok {
			s.find(id, tool, "the host overrides a tool that the server does not list")
		}
	}
}

func (s *snapshot) addTool(id string, known *server, def *mcp.Tool, inferred annotation.Annotations) {
	declared, err := annotation.FromTool(def)
	if err != nil {
		s.find(id, def.Name, "declares what cannot be read: "+err.Error())
	}
	effective := effective(id, known, declared, inferred, known.overrides[def.Name])
	tool, err := middleware.NewTool(id, def, effective)
	if err != nil {
		s.find(id, def.Name, "left out: "+err.Error())
		return
	}
	if other, taken := s.models[tool.ModelName()]; taken {
		s.find(id, def.Name, fmt.Sprintf("left out: a model could not tell its name from that of %s", other))
		return
	}
	if !known.trusted && declared.Safety() > max(effective.Safety(), annotation.Dangerous) {
		s.find(id, def.Name, fmt.Sprintf("declares itself %s, which is not believed: it is %s", declared.Safety(), effective.Safety()))
	}
	s.tools[name{id, def.Name}] = entry{tool: tool, declared: declared, inferred: inferred}
	s.models[tool.ModelName()] = tool
	s.list = append(s.list, tool)
}

// effective lays the layers over each other: inferred, declared, the host's word.
func effective(id string, known *server, declared, inferred, host annotation.Annotations) annotation.Annotations {
	claim := declared.Attribute(annotation.Declared, id)
	var a annotation.Annotations
	if known.trusted {
		a = annotation.Merge(inferred, claim)
	} else {
		a = annotation.Raise(inferred, claim)
	}
	return annotation.Merge(a, host.Attribute(annotation.Host, ""))
}

func (s *snapshot) find(server, tool, text string) {
	s.findings = append(s.findings, Finding{Server: server, Tool: tool, Text: text})
}
