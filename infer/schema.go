package infer

import (
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/infer/internal/text"
)

// Limits on what is looked at of a schema. Anything beyond them gives no cue.
const (
	maxSchemaDepth = 6
	maxSchemaNodes = 20000
	maxChoice      = 128
)

// cues are what the parameters give away.
type cues struct {
	action   finding // the gravest value of a parameter that chooses what is done
	noun     finding // the same, for a value that may be a noun: an email, a trash
	chosen   bool    // there is such a parameter, and every value could be read
	command  finding // a parameter that is itself a command
	code     finding // a parameter that may be one, or a short word for something: a country's code
	forced   finding // a parameter that overrides a protection
	switched finding // a switch that takes something away
	people   finding // a parameter that names people who are written to
	optional string  // all such parameters, "" if one is required
	required bool    // one of them is
	body     finding // a required parameter that holds what is to be written
	tried    finding // a parameter that only a tool which changes something has
	said     finding // the gravest effect that the description of a parameter has
	carries  string  // a parameter that carries a method, an operation, a body or code
	named    bool    // a parameter names what is acted on
	listens  bool    // descriptions of parameters are read
	nodes    int
}

// walk goes through the properties of a schema, by name, and of those nested in it. It follows no references.
func (c *cues) walk(schema any, depth int) {
	object, _ := schema.(map[string]any)
	if c.nodes++; depth > maxSchemaDepth || c.nodes > maxSchemaNodes {
		return
	}
	properties, _ := object["properties"].(map[string]any)
	required, _ := object["required"].([]any)
	for _, label := range slices.Sorted(maps.Keys(properties)) {
		property, _ := properties[label].(map[string]any)
		if ws := cut(label); len(ws) > 0 {
			must := slices.ContainsFunc(required, func(v any) bool { return v == label })
			c.property(ws, property, depth == 0, must)
			if depth == 0 && ws[0].may(addressee) {
				c.addressed(label, must)
			}
		}
		c.walk(property, depth+1)
	}
	for _, key := range [...]string{"oneOf", "anyOf", "allOf"} {
		choices, _ := object[key].([]any)
		for _, choice := range choices {
			c.walk(choice, depth+1)
		}
	}
}

// property looks at a parameter: at any depth what it may choose, carry or say, at the top what it is as well.
func (c *cues) property(ws []word, property map[string]any, top, required bool) {
	first, last := &ws[0], &ws[len(ws)-1]
	kind, _ := property["type"].(string)
	if last.may(chooser) {
		c.choice(property)
	}
	if last.may(chooser | body | strict | asked) {
		c.carries = last.base
	}
	if description, _ := property["description"].(string); c.listens {
		c.listen(description, kind == "boolean", last.may(strict))
	}
	at := func(e effect, w *word) finding { return finding{effect: e, place: inSchema, word: w.base} }
	switch isSwitch := kind == "boolean"; {
	case !top:
	case !isSwitch && len(ws) > 1 && first.may(outlet) && last.holds():
		c.tried = c.tried.worse(at(adds, first))
	case first.may(addressee):
		c.people = at(leaves, first)
	case last.may(namer):
		c.named = true
	case isSwitch && len(ws) == 1 && last.may(switcher):
		c.switched = c.switched.worse(at(takes, last))
	case isSwitch && first.may(trial):
		c.tried = c.tried.worse(at(changes, first))
	case isSwitch && last.may(force):
		c.forced = c.forced.worse(at(takes, last))
	case isSwitch:
	case last.may(strict) && len(ws) < 3 && kind != "object" && property["enum"] == nil: // sql, shell_command
		f := at(commands, last)
		if f.gives = givesPower; last.base == "code" {
			c.code = f
		} else {
			c.command = f
		}
	case last.may(body) && required:
		c.body = c.body.worse(at(adds, last))
	}
}

func (c *cues) addressed(label string, required bool) {
	c.required = c.required || required || strings.ContainsAny(label, " \t\n")
	c.optional = strings.TrimLeft(c.optional+" "+label, " ")
	if c.required {
		c.optional = ""
	}
}

// listen reads the description of a parameter: what a switch does when it is on, and whether code is run.
func (c *cues) listen(description string, isSwitch, isCode bool) {
	var r reading
	p := parser{scan: text.Scanner{Text: description}}
	for begins := true; p.next(); begins = false {
		r.passing(p.words)
		if isSwitch && begins {
			r.later(p.words)
		}
		if isCode && first(p.words, run) != "" {
			r.also = r.also.worse(finding{effect: commands, word: "code", gives: givesPower})
		}
	}
	if f := r.also.worse(r.done); f.effect > max(c.said.effect, adds) {
		c.said = f.at(ofParameter)
	}
}

// choice reads the values of a parameter such as "action" like names of tools.
func (c *cues) choice(property map[string]any) {
	values, _ := property["enum"].([]any)
	for _, value := range values {
		name, _ := value.(string)
		v := judge(cut(name[:min(len(name), maxChoice)]))
		switch {
		case v.head != 0, v.effect == unknown, !v.firm && (v.verb.sense&weak != 0 || !v.effect.dangerous()):
		case v.verb.sense&noun != 0:
			c.noun = c.noun.worse(v.at(inChoice))
		default:
			c.chosen = true
			c.action = c.action.worse(v.at(inChoice))
		}
	}
}
