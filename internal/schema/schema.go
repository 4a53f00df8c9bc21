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
	if size := Size(root); size > maxSchemaBytes {
		return fmt.Errorf("it has %d bytes, more than %d", size, maxSchemaBytes)
	}
	w := walker{root: root, cost: make(map[uintptr]int)}
	return w.all(root, 0)
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
