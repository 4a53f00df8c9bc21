package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Limits on a schema. A validator that follows a hostile one runs out of stack or
// of time, so it is refused before any validator sees it.
const (
	maxSchemaBytes = 1 << 20
	maxSchemaDepth = 128
	maxExpansion   = 10_000 // subschemas that apply to one and the same value
)

// checkSchema says what keeps an input schema from being used.
func checkSchema(schema any) error {
	root, err := decode(schema)
	if err != nil {
		return err
	}
	object, ok := root.(map[string]any)
	if !ok {
		return fmt.Errorf("it is %s and no object", kind(root))
	}
	if t, ok := object["type"]; ok && t != "object" {
		return fmt.Errorf("its type is %s; the arguments of a tool are an object", cut(fmt.Sprintf("%q", t), 40))
	}
	return walkSchema(root)
}

// checkReferences is checkSchema for a schema of any type.
func checkReferences(schema any) error {
	root, err := decode(schema)
	if err != nil {
		return err
	}
	return walkSchema(root)
}

func decode(schema any) (any, error) {
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	if len(raw) > maxSchemaBytes {
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(raw), maxSchemaBytes)
	}
	var root any
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, err
	}
	return root, nil
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case []any:
		return "a list"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	}
	return "a number"
}

func walkSchema(root any) error {
	if err := checkDepth(root, 0); err != nil {
		return err
	}
	w := walker{root: root, cost: make(map[string]int)}
	return w.all("#", root)
}

var errDeep = fmt.Errorf("it is nested deeper than %d levels", maxSchemaDepth)

func checkDepth(v any, depth int) error {
	if depth > maxSchemaDepth {
		return errDeep
	}
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if err := checkDepth(e, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, e := range v {
			if err := checkDepth(e, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// A walker finds references that go in circles without consuming anything of the
// value, and schemas that grow without bound when they are followed.
type walker struct {
	root any
	cost map[string]int // by JSON pointer; open while it is being worked out
}

const open = -1

// all looks at every object below v as if it were a schema.
func (w *walker) all(at string, v any) error {
	switch v := v.(type) {
	case map[string]any:
		if id, ok := v["$id"].(string); ok && at != "#" {
			return fmt.Errorf("its part %s calls itself %q, which changes what references mean", cut(at, 80), cut(id, 80))
		}
		if _, err := w.expand(at, v); err != nil {
			return err
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if err := w.all(at+"/"+escapePointer(k), v[k]); err != nil {
				return err
			}
		}
	case []any:
		for i, e := range v {
			if err := w.all(at+"/"+strconv.Itoa(i), e); err != nil {
				return err
			}
		}
	}
	return nil
}

// expand returns how many subschemas apply to the same value as the one at the
// pointer.
func (w *walker) expand(at string, schema map[string]any) (int, error) {
	switch cost := w.cost[at]; {
	case cost == open:
		return 0, fmt.Errorf("its references go in a circle at %s", cut(at, 80))
	case cost > 0:
		return cost, nil
	}
	w.cost[at] = open
	total := 1
	for next, target := range w.inPlace(at, schema) {
		if target.err != nil {
			return 0, target.err
		}
		cost, err := w.expand(next, target.schema)
		if err != nil {
			return 0, err
		}
		if total += cost; total > maxExpansion {
			return 0, errors.New("it grows past all bounds when its references are followed")
		}
	}
	w.cost[at] = total
	return total, nil
}

type target struct {
	schema map[string]any
	err    error
}

// inPlace yields the subschemas that apply to the same value: what $ref and its
// kin, allOf, anyOf, oneOf, not, if, then, else and the dependent schemas hold.
func (w *walker) inPlace(at string, schema map[string]any) func(yield func(string, target) bool) {
	return func(yield func(string, target) bool) {
		for _, k := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
			if ref, ok := schema[k].(string); ok && !yield(ref, w.resolve(ref)) {
				return
			}
		}
		for _, k := range []string{"dependentSchemas", "dependencies"} {
			subs, _ := schema[k].(map[string]any)
			for property, e := range subs {
				if sub, ok := e.(map[string]any); ok && !yield(at+"/"+k+"/"+escapePointer(property), target{schema: sub}) {
					return
				}
			}
		}
		for _, k := range []string{"not", "if", "then", "else"} {
			if sub, ok := schema[k].(map[string]any); ok && !yield(at+"/"+k, target{schema: sub}) {
				return
			}
		}
		for _, k := range []string{"allOf", "anyOf", "oneOf"} {
			list, _ := schema[k].([]any)
			for i, e := range list {
				if sub, ok := e.(map[string]any); ok && !yield(at+"/"+k+"/"+strconv.Itoa(i), target{schema: sub}) {
					return
				}
			}
		}
	}
}

// resolve finds what a local reference means. Another document is never fetched,
// and a reference that is no plain path is not followed: validators disagree
// about where it leads.
func (w *walker) resolve(ref string) target {
	if !strings.HasPrefix(ref, "#") {
		return target{err: fmt.Errorf("it refers to another document, %q, which is never fetched", cut(ref, 80))}
	}
	at := w.root
	path, _ := url.PathUnescape(ref) // "" where an escape is none
	parts := strings.Split(path, "/")
	if parts[0] != "#" {
		return target{err: fmt.Errorf("it refers to %q, a name and no path from the root", cut(ref, 80))}
	}
	for _, part := range parts[1:] {
		switch v := at.(type) {
		case map[string]any:
			at = v[unescapePointer.Replace(part)]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return target{err: missing(ref)}
			}
			at = v[i]
		default:
			return target{err: missing(ref)}
		}
	}
	switch v := at.(type) {
	case map[string]any:
		return target{schema: v}
	case bool: // true and false are schemas too
		return target{schema: map[string]any{}}
	}
	return target{err: missing(ref)}
}

func missing(ref string) error {
	return fmt.Errorf("it refers to %q, which is not there", cut(ref, 80))
}

var (
	pointerEscapes  = strings.NewReplacer("~", "~0", "/", "~1")
	unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")
)

func escapePointer(k string) string { return pointerEscapes.Replace(k) }
