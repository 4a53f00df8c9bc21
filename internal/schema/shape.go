package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

type object = map[string]any

// Limits on what a hostile schema can grow to.
const (
	maxParts  = 1000 // schemas that apply to one place
	maxShapes = 10_000
)

// A Shape is what the schemas that apply to one place of a value state about it; a nil one allows everything. It
// is not safe for concurrent use.
//
// Several schemas may apply to one place: all parts of an allOf, and the target of each reference. Which branch of an
// anyOf holds is not tried: a shape has all of them, so it names a member if one branch does. Shapes are made when
// they are asked for, and one for each set of schemas, since a schema may be recursive.
type Shape struct {
	doc     *document
	parts   []object
	known   bool            // false if more apply than can be followed
	needed  map[string]bool // the required members
	members map[string]member
	items   map[int]*Shape
}

// A member is the shape of one member, and whether the schemas name it.
type member struct {
	shape *Shape
	named bool
}

// A document is what the shapes of one schema share.
type document struct {
	root   any
	wide   bool
	shapes map[string]*Shape // by the identity of the schemas that lead to them
}

// NewShape returns the shape of a value. References lead into root. A wide shape includes what may not apply.
func NewShape(root, schema any, wide bool) *Shape {
	d := &document{root: root, wide: wide, shapes: make(map[string]*Shape)}
	return d.shape([]any{schema})
}

// shape returns the shape of a place to which all the schemas apply. Anything but an object states nothing.
func (d *document) shape(schemas []any) *Shape {
	var parts []object
	var ids []string
	for _, s := range schemas {
		if o, ok := s.(object); ok {
			parts = append(parts, o)
			ids = append(ids, fmt.Sprint(identity(o)))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	slices.Sort(ids)
	key := strings.Join(slices.Compact(ids), " ")
	if s, ok := d.shapes[key]; ok {
		return s
	}
	s := &Shape{doc: d, needed: make(map[string]bool), members: make(map[string]member), items: make(map[int]*Shape)}
	if len(d.shapes) < maxShapes {
		s.parts, s.known = Applying(d.root, maxParts, parts...)
		d.shapes[key] = s
	}
	for _, o := range s.parts {
		names, _ := o["required"].([]any)
		for _, name := range names {
			if name, ok := name.(string); ok {
				s.needed[name] = true
			}
		}
	}
	return s
}

// Known reports whether all schemas that apply could be followed.
func (s *Shape) Known() bool { return s == nil || s.known }

// Any reports whether one of the schemas that apply is as is reports.
func (s *Shape) Any(is func(schema map[string]any) bool) bool {
	return s != nil && slices.ContainsFunc(s.parts, is)
}

// Member returns the shape of a member, nil if nothing is stated about it.
func (s *Shape) Member(name string) *Shape {
	m, _ := s.Lookup(name)
	return m
}

// Lookup is [Shape.Member] that also reports whether the schemas, if all are known, name the member.
func (s *Shape) Lookup(name string) (*Shape, bool) {
	if s == nil {
		return nil, true
	}
	m, ok := s.members[name]
	if !ok {
		m = s.member(name)
		s.members[name] = m
	}
	return m.shape, m.named
}

// member returns what the schemas state about a member. Additional properties are open only if no schema that applies
// has a list of its own: a member that is in no list is otherwise one that the author did not think of.
func (s *Shape) member(name string) member {
	named, open := false, s.known
	var found []any
	for _, o := range s.parts {
		properties, _ := o["properties"].(object)
		patterns, _ := o["patternProperties"].(object)
		sub, here := properties[name]
		found = append(found, sub)
		matched := false
		for pattern, sub := range patterns {
			if re, err := regexp.Compile(pattern); err != nil || re.MatchString(name) {
				found, matched = append(found, sub), true
			}
		}
		for _, k := range []string{"additionalProperties", "unevaluatedProperties"} {
			others := o[k]
			if !here && (!matched || s.doc.wide) {
				found = append(found, others)
			}
			if others, ok := others.(object); ok && len(others) > 0 { // {} states as little as true
				named = true
			}
			open = open && others != false
		}
		named = named || here || matched
		open = open && len(properties) == 0 && len(patterns) == 0
	}
	return member{s.doc.shape(found), named || open}
}

// Item returns the shape of an element.
func (s *Shape) Item(i int) *Shape {
	if s == nil {
		return nil
	}
	first := 0 // elements with a schema of their own
	for _, o := range s.parts {
		first = max(first, len(prefix(o)))
	}
	i = min(i, first)
	item, ok := s.items[i]
	if !ok {
		item = s.item(i)
		s.items[i] = item
	}
	return item
}

func (s *Shape) item(i int) *Shape {
	var found []any
	for _, o := range s.parts {
		own := prefix(o)
		if i < len(own) {
			found = append(found, own[i])
		}
		if i >= len(own) || s.doc.wide {
			found = append(found, o["items"], o["additionalItems"], o["unevaluatedItems"])
		}
		if s.doc.wide {
			found = append(found, o["contains"])
		}
	}
	return s.doc.shape(found)
}

func prefix(o object) []any {
	if list, ok := o["prefixItems"].([]any); ok {
		return list
	}
	list, _ := o["items"].([]any) // until draft 2019-09
	return list
}

// Content returns the shape of the JSON value that a string holds.
func (s *Shape) Content() *Shape {
	if s == nil {
		return nil
	}
	var found []any
	for _, o := range s.parts {
		found = append(found, o["contentSchema"])
	}
	return s.doc.shape(found)
}

// Requires reports whether the schemas require the member.
func (s *Shape) Requires(name string) bool { return s != nil && s.needed[name] }

// NeedsNothingBut reports whether an object with that member alone can be complete.
func (s *Shape) NeedsNothingBut(name string) bool {
	return s == nil || len(s.needed) == 0 || len(s.needed) == 1 && s.needed[name]
}

var fixing = []string{"const", "enum", "pattern", "format", "minLength", "contentEncoding", "contentMediaType"}

// IsFixed reports whether only certain texts are allowed here.
func (s *Shape) IsFixed() bool {
	return s.Any(func(o map[string]any) bool {
		return slices.ContainsFunc(fixing, func(k string) bool { _, ok := o[k]; return ok })
	})
}

// Element is what stands for any element of a list in the path of a member.
const Element = "[]"

// Strip removes from v every member that the schemas do not name, at every depth, and calls removed with the path of
// each, which is valid until removed returns. It returns how many there were.
func (s *Shape) Strip(v any, removed func(path []string)) int {
	return s.strip(v, nil, removed)
}

func (s *Shape) strip(v any, path []string, removed func(path []string)) int {
	if s == nil {
		return 0
	}
	n := 0
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if member, named := s.Lookup(k); named {
				n += member.strip(e, append(path, k), removed)
			} else {
				delete(v, k)
				removed(append(path, k))
				n++
			}
		}
	case []any:
		path = append(path, Element)
		for i, e := range v {
			n += s.Item(i).strip(e, path, removed)
		}
	}
	return n
}
