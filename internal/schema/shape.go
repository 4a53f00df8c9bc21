package schema

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A Shape is what the schemas that apply to one place of a document name there. A
// nil Shape is a place of which they say nothing: all may stand there.
type Shape struct {
	named    bool // the schemas name members here, so that others are outside them
	members  map[string]*Shape
	patterns []pattern
	others   *Shape // of the members that a map may have, whatever their names
	isMap    bool
	needed   map[string]bool
	first    []*Shape // of the elements at the beginning of a list
	items    *Shape
	fixed    bool // not any text may stand here
}

type pattern struct {
	names *regexp.Regexp
	shape *Shape
}

// Member returns the shape of a member, nil where nothing is said of it.
func (s *Shape) Member(name string) *Shape {
	m, _ := s.Lookup(name)
	return m
}

// Lookup is [Shape.Member] that also reports whether the schemas name the member.
func (s *Shape) Lookup(name string) (*Shape, bool) {
	if s == nil {
		return nil, true
	}
	if m, ok := s.members[name]; ok {
		return m, true
	}
	for _, p := range s.patterns {
		if p.names.MatchString(name) {
			return p.shape, true
		}
	}
	if s.isMap {
		return s.others, true
	}
	return nil, !s.named
}

// Item returns the shape of an element.
func (s *Shape) Item(i int) *Shape {
	switch {
	case s == nil:
		return nil
	case i < len(s.first):
		return s.first[i]
	}
	return s.items
}

// Requires reports whether the schemas require the member.
func (s *Shape) Requires(name string) bool { return s != nil && s.needed[name] }

// NeedsNothingBut reports whether an object with that member alone can be complete.
func (s *Shape) NeedsNothingBut(name string) bool {
	return s == nil || len(s.needed) == 0 || len(s.needed) == 1 && s.needed[name]
}

// IsFixed reports whether not any text may stand here.
func (s *Shape) IsFixed() bool { return s != nil && s.fixed }

// Strip takes out of v, which is ours to write to, every member that the schemas
// do not name, at every depth, and returns how many.
func (s *Shape) Strip(v any) int {
	if s == nil {
		return 0
	}
	n := 0
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			member, named := s.Lookup(k)
			if !named {
				delete(v, k)
				n++
				continue
			}
			n += member.Strip(e)
		}
	case []any:
		for i, e := range v {
			n += s.Item(i).Strip(e)
		}
	}
	return n
}

// maxShapes bounds what a hostile schema can grow to.
const maxShapes = 10_000

var errParts = errors.New("it has too many different parts")

// A shaper works the shapes out, one for each set of schemas that apply to one
// place together. Since they may refer to themselves, so may the shapes.
type shaper struct {
	schema *Schema
	known  map[string]*Shape
}

type object = map[string]any

// apply adds to the set what applies wherever sub does: true, false and what is no
// schema say nothing about names.
func (w *shaper) apply(set []object, sub any) []object {
	if o, ok := sub.(object); ok {
		return append(set, w.schema.Applying(o)...)
	}
	return set
}

// shape returns the shape of a set of schemas, nil for none.
func (w *shaper) shape(set []object) (*Shape, error) {
	if len(set) == 0 {
		return nil, nil //nolint:nilnil // nil is the shape of a place of which nothing is said
	}
	key := w.key(set)
	if s, ok := w.known[key]; ok {
		return s, nil
	}
	if len(w.known) == maxShapes {
		return nil, errParts
	}
	s := &Shape{members: make(map[string]*Shape), needed: make(map[string]bool)}
	w.known[key] = s
	for _, o := range set {
		s.note(o)
	}
	return s, errors.Join(w.shapeObject(s, set), w.shapeList(s, set))
}

// key tells sets apart by the identity of their schemas.
func (w *shaper) key(set []object) string {
	ids := make([]string, len(set))
	for i, o := range set {
		ids[i] = fmt.Sprintf("%p", o)
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), " ")
}

// note reads what the schema says of the place itself.
func (s *Shape) note(o object) {
	for _, k := range []string{"const", "enum", "pattern", "format", "minLength", "contentEncoding", "contentMediaType"} {
		if _, ok := o[k]; ok {
			s.fixed = true
		}
	}
	for _, k := range []string{"properties", "patternProperties"} {
		if m, ok := o[k].(object); ok && len(m) > 0 {
			s.named = true
		}
	}
	for _, k := range []string{"additionalProperties", "unevaluatedProperties"} {
		switch others := o[k].(type) {
		case bool:
			s.named = s.named || !others
		case object: // {} says as little as true
			s.isMap = s.isMap || len(others) > 0
		}
	}
	names, _ := o["required"].([]any)
	for _, name := range names {
		if name, ok := name.(string); ok {
			s.needed[name] = true
		}
	}
}

func (w *shaper) shapeObject(s *Shape, set []object) (err error) {
	var patterns, others []any
	for _, o := range set {
		byPattern, _ := o["patternProperties"].(object)
		for _, p := range slices.Sorted(maps.Keys(byPattern)) {
			names, err := regexp.Compile(p)
			if err != nil {
				return err
			}
			s.patterns = append(s.patterns, pattern{names: names})
			patterns = append(patterns, byPattern[p])
		}
		others = append(others, o["additionalProperties"], o["unevaluatedProperties"])
	}
	for i, sub := range patterns {
		if s.patterns[i].shape, err = w.shape(w.apply(nil, sub)); err != nil {
			return err
		}
	}
	var rest []object
	for _, sub := range others {
		rest = w.apply(rest, sub)
	}
	if s.others, err = w.shape(rest); err != nil {
		return err
	}
	for _, o := range set {
		properties, _ := o["properties"].(object)
		for name := range properties {
			if s.members[name], err = w.shape(w.memberSet(set, s.patterns, patterns, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// memberSet returns the schemas that apply to the member of that name.
func (w *shaper) memberSet(set []object, names []pattern, patterns []any, name string) (sub []object) {
	for _, o := range set {
		properties, _ := o["properties"].(object)
		if p, ok := properties[name]; ok {
			sub = w.apply(sub, p)
		} else {
			sub = w.apply(sub, o["additionalProperties"])
		}
	}
	for i, p := range names {
		if p.names.MatchString(name) {
			sub = w.apply(sub, patterns[i])
		}
	}
	return sub
}

func (w *shaper) shapeList(s *Shape, set []object) (err error) {
	var items []object
	first := 0
	for _, o := range set {
		prefix, _ := o["prefixItems"].([]any)
		legacy, _ := o["items"].([]any) // until draft 2019-09
		first = max(first, len(prefix), len(legacy))
		for _, k := range []string{"items", "additionalItems", "unevaluatedItems"} {
			items = w.apply(items, o[k])
		}
	}
	if first > maxShapes {
		return errParts
	}
	if s.items, err = w.shape(items); err != nil {
		return err
	}
	for i := range first {
		var at []object
		for _, o := range set {
			for _, k := range []string{"prefixItems", "items"} {
				if list, ok := o[k].([]any); ok && i < len(list) {
					at = w.apply(at, list[i])
				}
			}
		}
		e, err := w.shape(at)
		if err != nil {
			return err
		}
		s.first = append(s.first, e)
	}
	return nil
}
