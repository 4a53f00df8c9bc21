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
func annotate(def *mcp.Tool, name []word, v *verdict, r *reading, c *cues, f finding) annotation.Annotations {
	a := annotation.Annotations{Evidence: make([]annotation.Evidence, 0, 4)}
	say := func(field annotation.Field, value string, why finding) {
		a.Evidence = append(a.Evidence, annotation.Evidence{
			Field: field, Value: value, Source: annotation.Inferred, Word: why.word, Place: string(why.place), Strength: why.place.strength(),
		})
	}
	switch {
	case f.effect == unknown:
	case f.effect == reads:
		a.ReadOnly = annotation.Yes
		say(annotation.ReadOnlyHint, "yes", f)
	default:
		a.ReadOnly, a.Destructive = annotation.No, annotation.HintOf(f.effect >= takes)
		say(annotation.ReadOnlyHint, "no", f)
		say(annotation.DestructiveHint, a.Destructive.String(), f)
	}
	if f.effect == leaves {
		a.RequiresConfirmation = annotation.Yes
		say(annotation.RequiresConfirmation, "yes", f)
	}
	if idempotent(r, v, c, f) {
		a.Idempotent = annotation.Yes
		say(annotation.IdempotentHint, "yes", v.finding)
	}
	open, why := openWorld(name, v, r)
	if a.OpenWorld = open; open != annotation.Unset {
		say(annotation.OpenWorldHint, open.String(), why)
	}
	complexity, why := complexityOf(def, name, r)
	a.Complexity = complexity
	say(annotation.ComplexityHint, string(complexity), why)
	return a
}

// idempotent reports whether a verb of the short list leads the name of a change
// that takes nothing away. An update counts where a parameter names its target.
// What the description says to be created may be there twice.
func idempotent(r *reading, v *verdict, c *cues, f finding) bool {
	if v.verb.sense&settled == 0 || !v.firm || f.effect != changes && f.effect != adds {
		return false
	}
	if r.main.effect == adds || r.also.effect == adds {
		return false
	}
	return c.named || v.word != "update"
}

// openWorld returns whether the tool reaches outside: what the name says goes
// before what the description says, and outside before inside.
func openWorld(name []word, v *verdict, r *reading) (annotation.Hint, finding) {
	if w := first(name, outside); w != "" {
		return annotation.Yes, finding{place: inName, word: w}
	}
	for i := len(name) - 1; i >= 0; i-- {
		if name[i].is(inside) && name[i].form == base {
			return annotation.No, finding{place: inName, word: name[i].base}
		}
	}
	switch {
	case r.open != "":
		return annotation.Yes, finding{place: inDescription, word: r.open}
	case v.verb.sense&compute != 0 && v.verb.sense&weak == 0:
		return annotation.No, v.finding
	}
	return annotation.Unset, finding{}
}

// complexityOf follows the first seed: one of seven stems makes a tool complex,
// a description of more than 100 characters makes it medium.
func complexityOf(def *mcp.Tool, name []word, r *reading) (annotation.Complexity, finding) {
	stem := first(name, involved)
	switch {
	case stem != "":
		return annotation.Complex, finding{place: inName, word: stem}
	case r.stem != "":
		return annotation.Complex, finding{place: inDescription, word: r.stem}
	case utf8.RuneCountInString(def.Description) > longDescription:
		return annotation.Medium, finding{place: longText}
	}
	return annotation.Simple, finding{place: shortText}
}
