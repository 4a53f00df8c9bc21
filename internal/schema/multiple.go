package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
)

// without returns a schema without a keyword that has a number, at any depth, and whether it had one.
func without(v any, keyword string) (out any, had bool) {
	switch v := v.(type) {
	case map[string]any:
		all := maps.Clone(v)
		if _, is := all[keyword].(float64); is {
			delete(all, keyword)
			had = true
		}
		for name, e := range all {
			inner, has := without(e, keyword)
			all[name], had = inner, had || has
		}
		return all, had
	case []any:
		all := slices.Clone(v)
		for i, e := range all {
			inner, has := without(e, keyword)
			all[i], had = inner, had || has
		}
		return all, had
	}
	return v, false
}

// multiples reports whether the numbers of a value are multiples in decimals, as a schema has it for its members, its
// elements and under allOf. It reports false for a schema with multipleOf in another place, which it does not follow.
func multiples(schema, value any) bool {
	s, ok := schema.(map[string]any)
	if !ok {
		return true
	}
	if of, is := s["multipleOf"].(float64); is {
		if n, isNumber := value.(json.Number); isNumber && !multiple(string(n), of) {
			return false
		}
	}
	for name, part := range s {
		if _, has := without(part, "multipleOf"); !has || name == "multipleOf" {
			continue
		}
		if !multiplesIn(name, part, value) {
			return false
		}
	}
	return true
}

// multiplesIn is multiples for what a keyword of a schema applies to.
func multiplesIn(keyword string, part, value any) bool {
	members, _ := value.(map[string]any)
	elements, _ := value.([]any)
	switch keyword {
	case "properties":
		for name, schema := range asObject(part) {
			if v, there := members[name]; there && !multiples(schema, v) {
				return false
			}
		}
	case "items":
		for _, v := range elements {
			if !multiples(part, v) {
				return false
			}
		}
	case "allOf":
		all, _ := part.([]any)
		for _, schema := range all {
			if !multiples(schema, value) {
				return false
			}
		}
	default:
		return false
	}
	return true
}

func asObject(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// multiple reports whether a number is a multiple of another, both as they are written.
func multiple(number string, of float64) bool {
	const most = 400 // digits that are written out
	n, okN := new(big.Rat).SetString(number)
	d, okD := new(big.Rat).SetString(fmt.Sprint(of))
	return okN && okD && len(number) <= most && d.Sign() != 0 && n.Quo(n, d).IsInt()
}
