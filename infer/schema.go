package infer

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/fairlead-go/fairlead/infer/internal/text"
)

// Limits on what is looked at of a schema. What lies beyond them gives no cue.
const (
	maxSchemaBytes = 4 << 20
	maxSchemaDepth = 6
	maxSchemaNodes = 20000
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
	body     finding // a required parameter that holds what is to be written
	tried    finding // a parameter that only a tool which changes something has
	said     finding // the gravest of what the description of a parameter says to happen
	carries  string  // a parameter that carries a method, an operation, a body or code
	named    bool    // a parameter names what is acted on
	listens  bool    // descriptions of parameters are read
	nodes    int
}

// readSchema looks for cues. A schema may be anything that can be written as
// JSON; what cannot gives none. It reads descriptions if it listens.
func readSchema(schema any, listens bool) cues {
	c := cues{listens: listens}
	if schema != nil {
		c.walk(decoded(schema), 0)
	}
	return c
}

// decoded is a schema as an object, nil where it is none.
func decoded(schema any) (object map[string]any) {
	defer func() {
		if recover() != nil { // a MarshalJSON of somebody else's
			object = nil
		}
	}()
	object, ok := schema.(map[string]any)
	if ok {
		return object
	}
	raw, err := json.Marshal(schema)
	if err != nil || len(raw) > maxSchemaBytes || json.Unmarshal(raw, &object) != nil {
		return nil
	}
	return object
}

// walk goes through the properties of a schema and of those nested in it, by their
// names, so that the answer does not depend on the order of a map. References are
// not followed.
func (c *cues) walk(schema any, depth int) {
	object, _ := schema.(map[string]any)
	if c.nodes++; depth > maxSchemaDepth || c.nodes > maxSchemaNodes {
		return
	}
	properties, _ := object["properties"].(map[string]any)
	for _, label := range slices.Sorted(maps.Keys(properties)) {
		property, _ := properties[label].(map[string]any)
		c.property(label, property, depth, requires(object, label))
		c.walk(property, depth+1)
	}
	for _, key := range [...]string{"oneOf", "anyOf", "allOf"} {
		choices, _ := object[key].([]any)
		for _, choice := range choices {
			c.walk(choice, depth+1)
		}
	}
}

func (c *cues) property(label string, property map[string]any, depth int, required bool) {
	ws := cut(label)
	if len(ws) == 0 {
		return
	}
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
	if depth > 0 {
		return
	}
	switch at := func(e effect, w *word) finding { return finding{effect: e, place: inSchema, word: w.base} }; {
	case kind != "boolean" && len(ws) > 1 && first.may(outlet) && last.holds():
		c.tried = c.tried.worse(at(adds, first))
	case last.may(namer):
		c.named = true
	case isRun(ws) && kind != "object" && kind != "boolean" && property["enum"] == nil:
		f := at(commands, last)
		f.gives = givesPower
		if last.base == "code" {
			c.code = f
		} else {
			c.command = f
		}
	case len(ws) == 1 && last.may(switcher) && kind == "boolean":
		c.switched = c.switched.worse(at(takes, last))
	case last.may(body) && required:
		c.body = c.body.worse(at(adds, last))
	case kind == "boolean" && first.may(trial):
		c.tried = c.tried.worse(at(changes, first))
	case kind == "boolean" && last.may(force):
		c.forced = c.forced.worse(at(takes, last))
	}
}

// isRun reports whether a parameter of this name is run: sql, shell_command.
func isRun(ws []word) bool {
	last := &ws[len(ws)-1]
	return last.may(strict) && (len(ws) == 1 || len(ws) == 2)
}

// listen reads the description of a parameter. That of a switch says what is done when
// it is on, and that of code may say that it is run.
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
		text, _ := value.(string)
		if len(text) > 128 {
			continue
		}
		v := judge(cut(text))
		if v.firm || v.verb.sense&weak == 0 {
			if v.verb.sense&noun != 0 {
				c.noun = c.noun.worse(v.at(inChoice))
				continue
			}
			c.chosen = true
			c.action = c.action.worse(v.at(inChoice))
		}
	}
}

// requires reports whether a schema says that a property has to be there.
func requires(schema map[string]any, label string) bool {
	required, _ := schema["required"].([]any)
	return slices.ContainsFunc(required, func(v any) bool { return v == label })
}
