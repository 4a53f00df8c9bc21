// Package schema checks whether a JSON Schema may be used, and reads what it states about each place of a value.
package schema

import (
	"encoding/json"
	"fmt"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/jsontree"
)

// Limits on a schema, beyond which a validator that follows a hostile one would run out of stack or of time.
const (
	maxSchemaBytes = 1 << 20
	maxSchemaDepth = 128
	maxExpansion   = 10_000 // subschemas that apply to one and the same value
)

// CheckInput returns an error for a decoded schema that cannot be used for the arguments of a tool.
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
	var s survey
	s.add(root, 0)
	switch {
	case s.size > maxSchemaBytes:
		return fmt.Errorf("it has %d bytes, more than %d", s.size, maxSchemaBytes)
	case s.plain():
		return nil
	}
	w := walker{root: root, cost: make(map[uintptr]int)}
	return w.all(root, 0)
}

// A survey is what one look at a schema shows.
type survey struct {
	size    int // about, in bytes of JSON
	objects int
	deepest int  // level of nesting
	refers  bool // it has a reference, or a part that references lead into by a name of its own
}

// plain reports whether nothing in the schema has to be followed: most schemas have no reference, and without one no
// part applies twice.
func (s *survey) plain() bool {
	return !s.refers && s.deepest <= maxSchemaDepth && s.objects <= maxExpansion
}

func (s *survey) add(v any, depth int) {
	if s.deepest = max(s.deepest, depth); depth > canonical.MaxDepth { // it will be refused
		return
	}
	switch v := v.(type) {
	case map[string]any:
		s.objects++
		for k, e := range v {
			s.size += len(`"":,`) + len(k)
			switch k {
			case "$ref", "$dynamicRef", "$recursiveRef", "$id":
				s.refers = true
			}
			s.add(e, depth+1)
		}
		s.size += len("{}")
	case []any:
		for _, e := range v {
			s.size += len(",")
			s.add(e, depth+1)
		}
		s.size += len("[]")
	default:
		s.size += leafSize(v)
	}
}

// Decoded returns a schema as JSON decodes it, nil for one that cannot be written as JSON.
func Decoded(schema any) (decoded any) {
	defer func() {
		if recover() != nil { // in a MarshalJSON method
			decoded = nil
		}
	}()
	if _, ok := schema.(map[string]any); ok {
		return schema
	}
	raw, err := json.Marshal(schema)
	if err != nil || json.Unmarshal(raw, &decoded) != nil {
		return nil
	}
	return decoded
}

// Applying returns the schemas and all that apply to the same value, once each, without those under not and
// broken references. It reports false if references go in a circle or more than most apply.
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
func Size(v any) int {
	var s survey
	s.add(v, 0)
	return s.size
}

func leafSize(v any) int {
	switch v := v.(type) {
	case string:
		return len(v) + len(`""`)
	case json.RawMessage:
		return len(v)
	case nil, bool, float64:
		return len("null")
	}
	return len(`""`)
}
