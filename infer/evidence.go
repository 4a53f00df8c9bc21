package infer

import (
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// longDescription is how many characters a description may have for a tool to
// count as simple, as the first seed has it.
const longDescription = 100

// A statement is a value of one field with its reason.
type statement struct {
	field annotation.Field
	value string
	why   finding
}

// annotate writes what was found as hints, with one piece of evidence for each.
func annotate(def *mcp.Tool, m *name, v *verdict, r *reading, c *cues, f finding) (a annotation.Annotations) {
	var said [6]statement
	n := 0
	say := func(field annotation.Field, value string, why finding) {
		said[n] = statement{field, value, why}
		n++
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
		say(annotation.IdempotentHint, "yes", finding{place: v.place, word: v.word})
	}
	open, why := openWorld(m, v, r)
	if a.OpenWorld = open; open != annotation.Unset {
		say(annotation.OpenWorldHint, open.String(), why)
	}
	complexity, why := complexityOf(def, m, r)
	a.Complexity = complexity
	say(annotation.ComplexityHint, string(complexity), why)
	a.Evidence = evidence(r.table, said[:n])
	return a
}

// evidence writes statements as evidence of this package.
func evidence(t *table, said []statement) []annotation.Evidence {
	out := make([]annotation.Evidence, len(said))
	for i := range said {
		s, e := &said[i], &out[i]
		e.Field, e.Value, e.Source = s.field, s.value, annotation.Inferred
		e.Word, e.Place, e.Strength = t.words[s.why.word], places[s.why.place], annotation.Strong
		switch s.why.place {
		case inDescription, inSchema, inTitle, longText, shortText:
			e.Strength = annotation.Weak
		}
	}
	return out
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
	return c.named || r.table.words[v.word] != "update"
}

// openWorld says whether the tool reaches outside: what the name says goes
// before what the description says, and outside before inside.
func openWorld(m *name, v *verdict, r *reading) (annotation.Hint, finding) {
	hint, why := annotation.Unset, finding{}
	for i := range m.all() {
		switch w := &m.words[i]; {
		case w.is(outside):
			return annotation.Yes, finding{place: inName, word: w.id}
		case w.is(inside) && w.form == base:
			hint, why = annotation.No, finding{place: inName, word: w.id}
		}
	}
	switch {
	case hint != annotation.Unset:
		return hint, why
	case r.seen&outside != 0:
		return annotation.Yes, finding{place: inDescription, word: r.open}
	case v.verb.sense&compute != 0 && v.verb.sense&weak == 0:
		return annotation.No, finding{place: v.place, word: v.word}
	}
	return annotation.Unset, finding{}
}

// complexityOf follows the first seed: one of seven stems makes a tool complex,
// a description of more than 100 characters makes it medium.
func complexityOf(def *mcp.Tool, m *name, r *reading) (annotation.Complexity, finding) {
	for i := range m.all() {
		if m.words[i].is(involved) {
			return annotation.Complex, finding{place: inName, word: m.words[i].id}
		}
	}
	if r.seen&involved != 0 {
		return annotation.Complex, finding{place: inDescription, word: r.stem}
	}
	// A character has one to four bytes.
	n := len(def.Description)
	if n > 4*longDescription || n > longDescription && (!r.wide || utf8.RuneCountInString(def.Description) > longDescription) {
		return annotation.Medium, finding{place: longText}
	}
	return annotation.Simple, finding{place: shortText}
}
