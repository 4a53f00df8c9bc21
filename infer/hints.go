package infer

import (
	"strings"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const longDescription = 100

func (t *tool) annotate(def *mcp.Tool, name []word) annotation.Annotations {
	var a annotation.Annotations
	var room [8]annotation.Evidence // more than most tools have
	evidence := room[:0]
	f, rule := t.so, t.rule
	say := func(field annotation.Field, value string, why finding) {
		evidence = append(evidence, annotation.Evidence{
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
	t.limit(&a, say)
	if f.effect == leaves || f.gives != "" {
		a.RequiresConfirmation = annotation.Yes
		say(annotation.RequiresConfirmation, "yes", f)
		evidence[len(evidence)-1].Given = t.rests()
		if f.gives != "" {
			evidence[len(evidence)-1].Place += " and " + string(f.gives)
		}
	}
	rule = "" // those below follow from words alone
	if t.idempotent(f) {
		a.Idempotent = annotation.Yes
		say(annotation.IdempotentHint, "yes", t.name.finding)
	}
	open, why := t.openWorld(name)
	if a.OpenWorld = open; open != annotation.Unset {
		say(annotation.OpenWorldHint, open.String(), why)
	}
	a.Complexity, why = t.complexity(def, name)
	say(annotation.ComplexityHint, string(a.Complexity), why)
	fresh, secret, why := freshness(def, name, t.params.reveals)
	if secret || a.ReadOnly != annotation.No || t.deed.effect == reads { // of a write it only matters whether it is a secret
		if a.Freshness = fresh; fresh != "" {
			say(annotation.FreshnessHint, string(fresh), why)
		}
	}
	if secret {
		a.Secret = annotation.Yes
		say(annotation.SecretHint, "yes", why)
	}
	a.Evidence = append(make([]annotation.Evidence, 0, len(evidence)), evidence...)
	return a
}

// limit adds the conditions, with their evidence.
func (t *tool) limit(a *annotation.Annotations, say func(annotation.Field, string, finding)) {
	a.Conditions = t.conditions()
	for i := range a.Conditions {
		c := &a.Conditions[i]
		say(annotation.Conditions, c.String(), finding{word: c.Name(), place: inSchema})
	}
}

// rests returns the optional parameters without which no one has to agree, "" if there are none: they name people, and
// nothing else makes the call grave.
func (t *tool) rests() (names string) {
	if t.so.place != inSchema || t.deed.effect.dangerous() || t.deed.gives != "" {
		return ""
	}
	for _, p := range t.counts {
		if p.kind != writesToPeople || p.Required || strings.ContainsAny(p.Name, " \t\n") {
			return ""
		}
		names = strings.TrimLeft(names+" "+p.Name, " ")
	}
	return names
}

// idempotent reports whether the name's settled verb neither deletes nor creates. An update needs a target parameter.
func (t *tool) idempotent(f finding) bool {
	created := t.said.main.effect == adds || t.said.also.effect == adds
	if !t.name.verb.means(settled) || !f.effect.writes() || f.effect.dangerous() || created {
		return false
	}
	return t.params.names || t.name.word != "update"
}

// openWorld returns whether the tool reaches outside, by the name before the description and outside before inside.
func (t *tool) openWorld(name []word) (annotation.Hint, finding) {
	out, in := first(name, outside), first(name, inside)
	switch {
	case out != "":
		return annotation.Yes, finding{place: inName, word: out}
	case in != "":
		return annotation.No, finding{place: inName, word: in}
	case t.said.open != "":
		return annotation.Yes, finding{place: inDescription, word: t.said.open}
	case t.name.verb.means(compute) && !t.name.verb.means(weak):
		return annotation.No, t.name.finding
	}
	return annotation.Unset, finding{}
}

// complexity returns complex for one of seven stems, and otherwise medium for a long description.
func (t *tool) complexity(def *mcp.Tool, name []word) (annotation.Complexity, finding) {
	stem := first(name, involved)
	switch {
	case stem != "":
		return annotation.Complex, finding{place: inName, word: stem}
	case t.said.stem != "":
		return annotation.Complex, finding{place: inDescription, word: t.said.stem}
	case utf8.RuneCountInString(def.Description) > longDescription:
		return annotation.Medium, finding{place: longText}
	}
	return annotation.Simple, finding{place: shortText}
}
