// Package infer reads from a tool's name, title, description and schema what the
// tool does, and says so as annotations, each with its evidence.
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
	var r reading
	r.read(def.Description)
	v := judge(name, max(min(shared, len(name)-1), 0))
	c := readSchema(def.InputSchema)
	return withFreshness(annotate(def, name, &v, &r, &c, decide(&v, &r, titled(def.Title), &c)), def, name)
}

// decide weighs what was found, mildest first: only the name's verb, or the
// main verb of the description where the name has none, can say that a tool is
// harmless; all the rest raises.
func decide(v *verdict, r *reading, title finding, c *cues) finding {
	f := v.finding
	if !v.firm {
		f = asked(v, r)
	} else if runs(v.verb.sense) && r.main.effect == commands && !r.claimsHarmless {
		f = r.main
	} else if (r.plain && r.main.effect.writes() || r.main.effect == commands && f.effect.writes()) && !r.claimsHarmless {
		f = f.worse(r.main) // the name and the description are at odds
	}
	if v.verb.sense&manage != 0 {
		f = managed(v, r, c)
	}
	f = f.worse(r.also)
	f = f.worse(title)
	if f.effect == reads && soft(v, r, f) {
		f = f.worse(r.stays)
	}
	if f.effect != reads {
		f = f.worse(r.warn)
	}
	return f.worse(c.weigh(v, r, f))
}

// asked is what a name says that does not stand on its own, once the description
// was asked.
func asked(v *verdict, r *reading) finding {
	f, main := v.finding, r.main
	if main.effect == reads && r.unreadable() {
		main = finding{}
	}
	if r.vague && (f.effect.dangerous() || f.effect.writes() && v.verb.sense&noun == 0) {
		main = finding{} // a phrase without a verb lowers no verb
	}
	if r.listed.effect.writes() {
		main = main.worse(r.listed)
	}
	if v.verb.sense&power != 0 && main.effect.writes() {
		main = main.worse(f) // a shell that opens something is one
	}
	switch {
	case main.effect != unknown && (main.word != v.word || main.word == "" || main.effect.dangerous() || main.effect == reads && !v.obj.some):
		return main
	case r.unread && f.effect == reads && main.effect == unknown:
		return finding{} // a verb that we do not know
	case r.unreadable() && f.effect == reads && v.verb.sense&weak != 0:
		f.effect = adds // a verb that says little, and the rest in another language
	}
	return f
}

// titled is what a title says. It can only raise, and only by a plain verb that
// leads it.
func titled(title string) finding {
	v := judge(cut(title), 0)
	if v.at != 0 || !v.firm || !v.effect.dangerous() {
		return finding{}
	}
	v.place = inTitle
	return v.finding
}

// managed is what a verb such as "manage" stands for: the gravest of what the
// parameters let one choose or the description lists; and where neither tells,
// the gravest that it may be.
func managed(v *verdict, r *reading, c *cues) finding {
	if c.chosen {
		return c.action
	}
	if r.listed.effect != unknown {
		return r.listed
	}
	if v.verb.sense&noun != 0 {
		return finding{}
	}
	return finding{takes, v.place, v.word}
}

// weigh says how far the parameters raise what the words said.
func (c *cues) weigh(v *verdict, r *reading, f finding) finding {
	var out finding
	if c.action.effect.writes() && !(v.firm && v.verb.sense&add != 0) {
		out = c.action
	}
	open := !v.firm && !(v.told && r.plain && r.main.effect == reads) || runs(v.verb.sense)
	if open && !r.claimsHarmless {
		out = out.worse(c.command)
	}
	out = out.worse(c.switched)
	if f.effect == reads {
		out = out.worse(c.tried)
		if !v.firm {
			out = out.worse(c.body)
		}
	}
	if !v.firm || v.verb.sense&manage != 0 {
		out = out.worse(c.noun)
	}
	if f.effect.writes() {
		out = out.worse(c.forced)
	}
	return out
}

// sharedPrefix counts the words that all names begin with. A plain verb is not
// counted, since a catalogue may well do one thing only, nor is the last word of
// any name.
func sharedPrefix(names [][]word) int {
	if len(names) < 2 {
		return 0
	}
	first := names[0]
	shared := len(first) - 1
	for _, name := range names[1:] {
		n := 0
		for n < min(shared, len(name)-1) && name[n].base == first[n].base && name[n].form == first[n].form {
			n++
		}
		shared = n
	}
	for i := range max(shared, 0) {
		if w := &first[i]; w.is(verbs) && w.sense&noun == 0 && w.form == base {
			return i
		}
	}
	return max(shared, 0)
}
