package infer

import (
	"encoding/json"
	"maps"
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
	tried    finding // a parameter that only a tool which changes something has
	named    bool    // a parameter names what is acted on
	nodes    int
}

// readSchema looks for cues. A schema may be anything that can be written as
// JSON; what cannot gives none.
func readSchema(schema any) (c cues) {
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
	if last.is(chooser) {
		c.choice(property)
	}
	kind, _ := property["type"].(string)
	switch {
	case depth > 0:
	case kind != "boolean" && len(ws) > 1 && first.sense&outlet == outlet && holds(last.sense):
		c.tried = c.tried.worse(finding{adds, inSchema, first.base})
	case last.is(namer):
		c.named = true
	case len(ws) == 1 && last.is(strict) && kind != "object" && kind != "boolean" && property["enum"] == nil:
		c.command = c.command.worse(finding{commands, inSchema, last.base})
	case len(ws) == 1 && last.is(switcher) && last.form == base && kind == "boolean":
		c.switched = c.switched.worse(finding{takes, inSchema, last.base})
	case last.is(body) && required:
		c.body = c.body.worse(finding{adds, inSchema, last.base})
	case kind == "boolean" && first.is(trial) && (first.sense&force == 0 || first.is(verbs)):
		c.tried = c.tried.worse(finding{changes, inSchema, first.base})
	case kind == "boolean" && last.is(force) && last.sense&trial == 0:
		c.forced = c.forced.worse(finding{takes, inSchema, last.base})
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
				c.noun = c.noun.worse(finding{v.effect, inChoice, v.word})
				continue
			}
			c.chosen = true
			c.action = c.action.worse(finding{v.effect, inChoice, v.word})
		}
	}
}

// requires reports whether a schema says that a property has to be there.
func requires(schema map[string]any, label string) bool {
	required, _ := schema["required"].([]any)
	return slices.ContainsFunc(required, func(v any) bool { return v == label })
}
