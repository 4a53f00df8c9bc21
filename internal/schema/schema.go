// Package schema checks which JSON Schemas may be given to a validator, and reads what a
// schema states about each place of a value.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/jsontree"
)

// Limits on a schema. A validator that follows a hostile one runs out of stack or
// of time, so it is refused before any validator sees it.
const (
	maxSchemaBytes = 1 << 20
	maxSchemaDepth = 128
	maxExpansion   = 10_000 // subschemas that apply to one and the same value
)

// CheckInput says what keeps a schema, decoded, from being used for the arguments of
// a tool.
func CheckInput(root any) error {
	object, ok := root.(map[string]any)
	if !ok {
		return fmt.Errorf("it is %.40s and not an object", jsontree.Encode(root))
	}
	if t, ok := object["type"]; ok && t != "object" {
		return fmt.Errorf("its type is %.40s; the arguments of a tool are an object", fmt.Sprintf("%q", t))
	}
	return Check(root)
}

// Check is [CheckInput] for a schema of any type.
func Check(root any) error {
	if size := Size(root); size > maxSchemaBytes {
		return fmt.Errorf("it has %d bytes, more than %d", size, maxSchemaBytes)
	}
	w := walker{root: root, cost: make(map[uintptr]int)}
	return w.all(root, 0)
}

// Applying returns the schemas of a document and all those that apply to the same value
// (see inPlace), once each, without those under not and references that lead nowhere. It
// reports false if references go in a circle or if more than most schemas apply.
func Applying(root any, most int, schemas ...map[string]any) (all []map[string]any, ok bool) {
	seen := make(map[uintptr]bool, len(schemas)) // whether it is still open, by identity
	var add func(schema map[string]any) bool
	add = func(schema map[string]any) bool {
		id := identity(schema)
		if open, again := seen[id]; again {
			return !open
		}
		if len(all) == most {
			return false
		}
		seen[id] = true
		all = append(all, schema)
		for _, t := range inPlace(root, schema) {
			if t.by != "not" && t.err == nil && !add(t.schema) {
				return false
			}
		}
		seen[id] = false
		return true
	}
	for _, schema := range schemas {
		if !add(schema) {
			return nil, false
		}
	}
	return all, true
}

// Size returns about how many bytes a decoded value has as JSON, without writing it.
func Size(v any) int { return sizeOf(v, 0) }

func sizeOf(v any, depth int) int {
	if depth > canonical.MaxDepth { // it will be refused
		return 0
	}
	n := 2
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			n += len(`"":,`) + len(k) + sizeOf(e, depth+1)
		}
	case []any:
		for _, e := range v {
			n += len(`,`) + sizeOf(e, depth+1)
		}
	case string:
		n += len(v)
	case json.RawMessage:
		n = len(v)
	case nil, bool, float64:
		n = 4
	}
	return n
}

var errUnbounded = errors.New("it grows past all bounds when its references are followed")

// A walker finds references that go in circles without consuming anything of the
// value, and schemas that grow without bound when they are followed.
type walker struct {
	root  any
	cost  map[uintptr]int // by identity, of those that others apply with; open while it is being worked out
	chain int             // how many are open
}

const open = -1

func identity(schema map[string]any) uintptr { return reflect.ValueOf(schema).Pointer() }

// all looks at every object in v as if it were a schema.
func (w *walker) all(v any, depth int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("it is nested deeper than %d levels", maxSchemaDepth)
	}
	switch v := v.(type) {
	case map[string]any:
		if root, ok := w.root.(map[string]any); !ok || identity(v) != identity(root) {
			if id, ok := v["$id"].(string); ok {
				return fmt.Errorf("a part of it calls itself %.80q, which changes what references mean", id)
			}
		}
		if _, err := w.expand("#", v); err != nil {
			return err
		}
		for _, k := range slices.Sorted(maps.Keys(v)) { // the same fault is named each time
			if err := w.all(v[k], depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, e := range v {
			if err := w.all(e, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// expand returns how many subschemas apply to the same value as this one, which
// was reached by the keyword or reference given.
func (w *walker) expand(by string, schema map[string]any) (int, error) {
	id := identity(schema)
	switch cost := w.cost[id]; {
	case cost == open:
		return 0, fmt.Errorf("its references go in a circle by %.80q", by)
	case cost > 0:
		return cost, nil
	}
	if w.chain++; w.chain > maxSchemaDepth {
		return 0, errUnbounded
	}
	w.cost[id] = open
	total := 1
	for _, t := range inPlace(w.root, schema) {
		if t.err != nil {
			return 0, t.err
		}
		cost, err := w.expand(t.by, t.schema)
		if err != nil {
			return 0, err
		}
		if total += cost; total > maxExpansion {
			return 0, errUnbounded
		}
	}
	w.chain--
	w.cost[id] = total
	return total, nil
}

type target struct {
	by     string // the keyword or reference
	schema map[string]any
	err    error
}

// inPlace returns the subschemas that apply to the same value: what $ref and its
// kin, allOf, anyOf, oneOf, not, if, then, else and the dependent schemas hold.
func inPlace(root any, schema map[string]any) (all []target) {
	add := func(by string, e any) {
		if sub, ok := e.(map[string]any); ok {
			all = append(all, target{by: by, schema: sub})
		}
	}
	for _, k := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if ref, ok := schema[k].(string); ok {
			sub, err := resolve(root, ref)
			all = append(all, target{ref, sub, err})
		}
	}
	for _, k := range []string{"not", "if", "then", "else"} {
		add(k, schema[k])
	}
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := schema[k].([]any)
		for _, e := range list {
			add(k, e)
		}
	}
	for _, k := range []string{"dependentSchemas", "dependencies"} {
		byProperty, _ := schema[k].(map[string]any)
		for _, e := range byProperty {
			add(k, e)
		}
	}
	return all
}

// resolve returns the schema that a local reference leads to. Another document is never
// fetched, and names are not followed, since validators disagree about them.
func resolve(root any, ref string) (map[string]any, error) {
	if !strings.HasPrefix(ref, "#") {
		return nil, fmt.Errorf("it refers to another document, %.80q, which is never fetched", ref)
	}
	path, escapes := url.PathUnescape(ref[1:])
	pointer, err := jsontree.ParsePointer(path)
	if err != nil || escapes != nil {
		return nil, fmt.Errorf("it refers to %.80q, a name and no path from the root", ref)
	}
	at, _ := pointer.In(root)
	switch v := at.(type) {
	case map[string]any:
		return v, nil
	case bool: // true and false are schemas too
		return anything, nil
	}
	return nil, fmt.Errorf("it refers to %.80q, which is not there", ref)
}

// anything is the schema that true stands for.
var anything = map[string]any{}
