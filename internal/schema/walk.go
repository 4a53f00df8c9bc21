package schema

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/internal/jsontree"
)

var errUnbounded = errors.New("it grows past all bounds when its references are followed")

// A walker finds references that go in circles, and schemas that grow without bound. A server's schema is followed by
// the validator for each value, and a few lines of it can ask for endless work: a schema that refers to itself, or
// twenty definitions each of which applies the one before twice. So for every object it adds up how many subschemas
// apply to one and the same value. A reference below a property is not a circle: it consumes a part of the value.
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

// expand returns how many subschemas apply to the same value as this one, reached by the keyword or reference.
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

// A target is a subschema that applies to the same value.
type target struct {
	by     string // the keyword or reference
	schema map[string]any
	err    error
}

// inPlace returns the subschemas that apply to the same value as a schema, without those for its parts.
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

// resolve returns the schema of a local reference. It never fetches another document and follows no names.
func resolve(root any, ref string) (map[string]any, error) {
	if !strings.HasPrefix(ref, "#") {
		return nil, fmt.Errorf("it refers to another document, %.80q, which is never fetched", ref)
	}
	path, escapes := url.PathUnescape(ref[1:])
	pointer, err := jsontree.ParsePointer(path)
	if err != nil || escapes != nil {
		return nil, fmt.Errorf("it refers to %.80q, want a path from the root, not a name", ref)
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

var anything = map[string]any{}
