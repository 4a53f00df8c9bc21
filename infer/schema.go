package infer

import (
	"encoding/json"
	"slices"
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
	forced   finding // a parameter that overrides a protection
	switched finding // a switch that takes something away
	body     finding // a required parameter that holds what is to be written
	items    bool    // what comes out is a list
	tried    finding // a parameter that only a tool which changes something has
	named    bool    // a parameter names what is acted on
	nodes    int
}

// readSchema looks for cues. A schema may be anything that can be written as
// JSON; what cannot gives none.
func readSchema(schema any) (c cues) {
	if object := decoded(schema); object != nil {
		c.walk(object, 0)
	}
	return c
}

// decoded is a schema as an object, nil where it is none.
func decoded(schema any) map[string]any {
	object, ok := schema.(map[string]any)
	if !ok && schema != nil {
		return parsed(schema)
	}
	return object
}

// parsed is decoded for what is no map.
func parsed(schema any) (object map[string]any) {
	defer func() {
		if recover() != nil { // a MarshalJSON of somebody else's
			object = nil
		}
	}()
	raw, isRaw := schema.(json.RawMessage)
	if !isRaw {
		var err error
		if raw, err = json.Marshal(schema); err != nil {
			return nil
		}
	}
	if len(raw) > maxSchemaBytes || json.Unmarshal(raw, &object) != nil {
		return nil
	}
	return object
}

// walk goes through the properties of a schema and of those nested in it.
// References are not followed.
func (c *cues) walk(schema map[string]any, depth int) {
	if depth > maxSchemaDepth {
		return
	}
	properties, _ := schema["properties"].(map[string]any)
	for label, value := range properties {
		if c.nodes++; c.nodes > maxSchemaNodes {
			return
		}
		property, _ := value.(map[string]any)
		c.property(label, property, depth, requires(schema, label))
		if property != nil {
			c.walk(property, depth+1)
		}
	}
	for _, key := range [...]string{"oneOf", "anyOf", "allOf"} {
		choices, _ := schema[key].([]any)
		for _, choice := range choices {
			if c.nodes++; c.nodes > maxSchemaNodes {
				return
			}
			if object, ok := choice.(map[string]any); ok {
				c.walk(object, depth+1)
			}
		}
	}
}

func (c *cues) property(label string, property map[string]any, depth int, required bool) {
	ws := cut(label)
	if len(ws) == 0 {
		return
	}
	first, last := &ws[0], &ws[len(ws)-1]
	if last.is(chooser) {
		c.choice(property)
	}
	kind, _ := property["type"].(string)
	switch {
	case depth > 0:
	case kind != "boolean" && len(ws) > 1 && first.sense&outlet == outlet && holds(last.sense):
		c.tried = graver(c.tried, finding{adds, inSchema, first.base})
	case last.is(namer):
		c.named = true
	case len(ws) == 1 && last.is(strict) && kind != "object" && kind != "boolean" && property["enum"] == nil:
		c.command = graver(c.command, finding{commands, inSchema, last.base})
	case len(ws) == 1 && last.is(switcher) && last.form == base && kind == "boolean":
		c.switched = graver(c.switched, finding{takes, inSchema, last.base})
	case last.is(body) && required:
		c.body = graver(c.body, finding{adds, inSchema, last.base})
	case kind == "boolean" && first.is(trial) && (first.sense&force == 0 || first.is(verbs)):
		c.tried = graver(c.tried, finding{changes, inSchema, first.base})
	case kind == "boolean" && last.is(force) && last.sense&trial == 0:
		c.forced = graver(c.forced, finding{takes, inSchema, last.base})
	}
}

// choice reads the values of a parameter such as "action" like names of tools.
func (c *cues) choice(property map[string]any) {
	values, _ := property["enum"].([]any)
	if len(values) == 0 {
		if constant, ok := property["const"]; ok {
			values = []any{constant}
		}
	}
	for _, value := range values {
		text, _ := value.(string)
		if len(text) > 128 {
			continue
		}
		v := judge(cut(text), 0)
		if v.at == 0 && v.effect != unknown && (v.firm || v.effect.dangerous() && v.verb.sense&weak == 0) {
			if v.verb.sense&noun != 0 {
				c.noun = graver(c.noun, finding{v.effect, inChoice, v.word})
				continue
			}
			c.chosen = true
			c.action = graver(c.action, finding{v.effect, inChoice, v.word})
		}
	}
}

// requires reports whether a schema says that a property has to be there.
func requires(schema map[string]any, label string) bool {
	required, _ := schema["required"].([]any)
	return slices.ContainsFunc(required, func(v any) bool { return v == label })
}

// listsItems reports whether an output schema is a list, or an object with one
// list of objects in it.
func listsItems(schema any) bool {
	object := decoded(schema)
	if object == nil {
		return false
	}
	if object["type"] == "array" {
		return true
	}
	properties, _ := object["properties"].(map[string]any)
	lists := 0
	for _, value := range properties {
		property, _ := value.(map[string]any)
		items, _ := property["items"].(map[string]any)
		if property["type"] == "array" && items["type"] == "object" {
			lists++
		}
	}
	return lists == 1
}

// graver is worse for findings in no order: at par the word that the lexicon has
// first decides, so that the answer does not depend on the order of a map.
func graver(f, g finding) finding {
	if g.effect > f.effect || g.effect == f.effect && ranks()[g.word] < ranks()[f.word] {
		return g
	}
	return f
}
