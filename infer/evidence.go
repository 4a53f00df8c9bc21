package infer

import (
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// longDescription is how many characters a description may have for a tool to
// count as simple, as the first seed has it.
const longDescription = 100

// annotate writes what was found as hints, with one piece of evidence for each.
func (t *tool) annotate(def *mcp.Tool, name []word) annotation.Annotations {
	a := annotation.Annotations{Evidence: make([]annotation.Evidence, 0, 4)}
	f, rule := t.so, t.rule
	say := func(field annotation.Field, value string, why finding) {
		a.Evidence = append(a.Evidence, annotation.Evidence{
			Field: field, Value: value, Source: annotation.Inferred, Word: why.word, Place: string(why.place), Strength: why.place.strength(), Rule: rule,
		})
	}
	switch {
	case f.effect == unknown:
		say(annotation.ReadOnlyHint, "unset", f)
	case f.effect == reads:
		a.ReadOnly = annotation.Yes
		say(annotation.ReadOnlyHint, "yes", f)
	default:
		a.ReadOnly, a.Destructive = annotation.No, annotation.HintOf(f.effect >= takes)
		say(annotation.ReadOnlyHint, "no", f)
		say(annotation.DestructiveHint, a.Destructive.String(), f)
	}
	if f.effect == leaves || f.gives != "" {
		a.RequiresConfirmation = annotation.Yes
		say(annotation.RequiresConfirmation, "yes", f)
		if f.gives != "" {
			a.Evidence[len(a.Evidence)-1].Place += " and " + string(f.gives)
		}
	}
	rule = "" // those below follow from words alone
	if t.idempotent(f) {
		a.Idempotent = annotation.Yes
		say(annotation.IdempotentHint, "yes", t.v.finding)
	}
	open, why := t.openWorld(name)
	if a.OpenWorld = open; open != annotation.Unset {
		say(annotation.OpenWorldHint, open.String(), why)
	}
	a.Complexity, why = t.complexity(def, name)
	say(annotation.ComplexityHint, string(a.Complexity), why)
	return a
}

// idempotent reports whether a verb of the short list leads the name of a change
// that takes nothing away. An update counts where a parameter names its target.
// What the description says to be created may be there twice.
func (t *tool) idempotent(f finding) bool {
	created := t.r.main.effect == adds || t.r.also.effect == adds
	if t.v.verb.sense&settled == 0 || !f.effect.writes() || f.effect.dangerous() || created {
		return false
	}
	return t.c.named || t.v.word != "update"
}

// openWorld returns whether the tool reaches outside: what the name says goes
// before what the description says, and outside before inside.
func (t *tool) openWorld(name []word) (annotation.Hint, finding) {
	out, in := first(name, outside), first(name, inside)
	switch {
	case out != "":
		return annotation.Yes, finding{place: inName, word: out}
	case in != "":
		return annotation.No, finding{place: inName, word: in}
	case t.r.open != "":
		return annotation.Yes, finding{place: inDescription, word: t.r.open}
	case t.v.verb.sense&(compute|weak) == compute:
		return annotation.No, t.v.finding
	}
	return annotation.Unset, finding{}
}

// complexity follows the first seed: one of seven stems makes a tool complex,
// a description of more than 100 characters makes it medium.
func (t *tool) complexity(def *mcp.Tool, name []word) (annotation.Complexity, finding) {
	stem := first(name, involved)
	switch {
	case stem != "":
		return annotation.Complex, finding{place: inName, word: stem}
	case t.r.stem != "":
		return annotation.Complex, finding{place: inDescription, word: t.r.stem}
	case utf8.RuneCountInString(def.Description) > longDescription:
		return annotation.Medium, finding{place: longText}
	}
	return annotation.Simple, finding{place: shortText}
}
