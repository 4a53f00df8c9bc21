// Package infer reads from a tool's name, title, description and schema what the
// tool does, and returns it as annotations, each with its evidence and the rule
// that decided. Most callers use [Tools] for all the tools of one server.
//
// The evidence is asymmetric. A verb that reads and leads the name makes a tool
// Safe, as does, for a name without a verb, the main verb of the description's
// first sentence; a verb that adds or changes makes it Moderate; every other
// word only raises. Where nothing is found, and where the language is not
// understood, the tool stays Unknown.
//
// All functions are pure: the same definition always gives the same answer.
package infer

import (
	"github.com/fairlead-go/fairlead/annotation"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tool returns what the words of one definition give away. The annotations that
// it declares are ignored. Evidence for the complexity is always there, so an
// answer can be told from no answer even where the class is Unknown; only a nil
// definition gives the zero value.
func Tool(def *mcp.Tool) annotation.Annotations {
	if def == nil {
		return annotation.Annotations{}
	}
	return infer(def, cut(def.Name), 0)
}

// Tools is [Tool] for all the tools of one server. Words that every name begins
// with, such as browser_ or notion-, say nothing about any of them and are
// passed over.
func Tools(defs []*mcp.Tool) []annotation.Annotations {
	names := make([][]word, 0, len(defs))
	for _, def := range defs {
		if def != nil {
			names = append(names, cut(def.Name))
		}
	}
	shared := sharedPrefix(names)
	out := make([]annotation.Annotations, len(defs))
	for i, def := range defs {
		if def != nil {
			out[i] = infer(def, names[0], shared)
			names = names[1:]
		}
	}
	return out
}

// infer looks at one definition whose name begins with shared words that say
// nothing.
func infer(def *mcp.Tool, name []word, shared int) annotation.Annotations {
	t := tool{title: def.Title, v: judge(name[shared:])}
	t.r.name = def.Name
	t.r.read(def.Description)
	t.c.listens = !t.v.firm || t.v.effect == reads
	if def.InputSchema != nil {
		t.c.walk(decoded(def.InputSchema), 0)
	}
	t.decide()
	return withFreshness(t.annotate(def, name), def, name)
}

// sharedPrefix counts the words that all names begin with. A plain verb is not
// counted, since a catalogue may well do one thing only, nor is the last word of
// any name.
func sharedPrefix(names [][]word) int {
	for n := 0; len(names) > 1; n++ {
		for _, name := range names {
			if n+1 >= len(name) || name[n].base != names[0][n].base || name[n].form != names[0][n].form {
				return n
			}
		}
		if w := &names[0][n]; w.is(verbs) && w.sense&noun == 0 && w.form == base {
			return n
		}
	}
	return 0
}
