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

// CheckInput returns an error for a decoded schema that cannot be used for the arguments of a tool. The survey is that of
// the schema, before it was decoded.
func CheckInput(root any, s Survey) error {
	object, ok := root.(map[string]any)
	if !ok {
		return fmt.Errorf("it is %.40s and not an object", jsontree.Encode(root))
	}
	if t, ok := object["type"]; ok && t != "object" {
		return fmt.Errorf("its type is %.40s; the arguments of a tool are an object", fmt.Sprintf("%q", t))
	}
	return check(root, s)
}

// Check is [CheckInput] for a schema of any type.
func Check(root any) error { return check(root, Look(root)) }

func check(root any, s Survey) error {
	if s.foreign {
		s = Look(root)
	}
	switch {
	case s.Size > maxSchemaBytes:
		return fmt.Errorf("it has %d bytes, more than %d", s.Size, maxSchemaBytes)
	case s.plain():
		return nil
	}
	w := walker{root: root, cost: make(map[uintptr]int)}
	return w.all(root, 0)
}

// A Survey is what one look at a schema shows.
type Survey struct {
	Size int // about, in bytes of JSON

	objects int
	deepest int  // level of nesting
	refers  bool // it has a reference, or a part that references lead into by a name of its own
	foreign bool // it has values of other types than JSON decodes
}

// Look surveys a schema, without writing it.
func Look(schema any) (s Survey) {
	s.add(schema, 0)
	return s
}

// plain reports whether nothing in the schema has to be followed: most schemas have no reference, and without one no
// part applies twice.
func (s *Survey) plain() bool {
	return !s.refers && s.deepest <= maxSchemaDepth && s.objects <= maxExpansion
}

func (s *Survey) add(v any, depth int) {
	if s.deepest = max(s.deepest, depth); depth > canonical.MaxDepth { // it will be refused
		return
	}
	switch v := v.(type) {
	case map[string]any:
		s.objects++
		for k, e := range v {
			s.Size += len(`"":,`) + len(k)
			switch k {
			case "$ref", "$dynamicRef", "$recursiveRef", "$id":
				s.refers = true
			}
			s.add(e, depth+1)
		}
		s.Size += len("{}")
	case []any:
		for _, e := range v {
			s.Size += len(",")
			s.add(e, depth+1)
		}
		s.Size += len("[]")
	case string:
		s.Size += len(v) + len(`""`)
	case nil, bool, float64:
		s.Size += len("null")
	case json.RawMessage:
		s.Size += len(v)
		s.foreign = true
	default:
		s.Size += len(`""`)
		s.foreign = true
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
func Size(v any) int { return Look(v).Size }
