// Package infer reads from a tool's name, title, description and schema what the tool does, and returns it as
// annotations, each with its evidence and the rule that decided. Most callers use [ToolsOf]. All functions are pure.
//
// The evidence is asymmetric. A read verb that leads the name makes a tool Safe, as does, for a name without a
// verb, the main verb of the description; a verb that adds or changes makes it Moderate; every other word only
// raises. A tool that is not understood stays Unknown.
package infer

import (
	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/schema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tool returns what the words of one definition imply, without the annotations that it declares. Evidence for the
// complexity is always there; only a nil definition gives the zero value.
func Tool(def *mcp.Tool) annotation.Annotations {
	if def == nil {
		return annotation.Annotations{}
	}
	return named("").infer(def, cut(def.Name), 0)
}

// Tools is [Tool] for all tools of one server, and finds what a tool alone does not show: what most of them state
// distinguishes none. It passes over what begins the names, such as browser_ or a brand, and over texts of parameters
// that are repeated.
func Tools(defs []*mcp.Tool) []annotation.Annotations { return ToolsOf("", defs) }

// ToolsOf is [Tools] for a server and its name in the host's configuration: sqlite, orders-postgres. The name gives the
// language of a text that is carried out if no tool does, so that the text can be judged. It is one of the host's own:
// with a name that the server gave itself, the server would choose how it is judged.
func ToolsOf(name string, defs []*mcp.Tool) []annotation.Annotations {
	s := survey(defs)
	s.queried = languageNamed(name)
	names := make([][]word, 0, len(defs))
	for _, def := range defs {
		if def != nil {
			names = append(names, s.words(def.Name))
		}
	}
	shared := sharedPrefix(names)
	out := make([]annotation.Annotations, len(defs))
	for i, def := range defs {
		if def != nil {
			out[i] = s.infer(def, names[0], shared)
			names = names[1:]
		}
	}
	return out
}

func (s *server) infer(def *mcp.Tool, name []word, shared int) annotation.Annotations {
	t := &s.tool
	*t = tool{title: def.Title, words: name[shared:], name: judge(name[shared:])}
	t.said.name = def.Name
	t.said.read(def.Description)
	t.params.about, t.params.named, t.params.of = def.Description, def.Name, s
	if t.name.firm && t.name.effect.writes() {
		t.params.own = t.name.verb.base
	}
	t.params.listens, t.params.repeated = !t.name.firm || t.name.effect == reads, s.texts
	if def.InputSchema != nil {
		t.params.read(schema.Decoded(def.InputSchema))
	}
	t.decide()
	return t.annotate(def, name)
}

// Version names the lexicon and the rules together. It changes whenever a tool may get another class.
const Version = "16"
