package schema

import (
	"maps"
	"slices"
	"strings"
)

// A Parameter is one place of a value in a normal form: schemas that allow the same values lead to the same one,
// whether they spell it by const or enum, by anyOf, oneOf, allOf or a reference, with or without null.
type Parameter struct {
	Name        string // of the member; "" for the whole value, an element, and a member of any other name
	Description string
	Types       Types // those that a value may have, without null
	Values      []any // named by const and enum, each once, in the order of the schema
	Open        bool  // other values are allowed as well
	Default     any   // nil without one
	Required    bool
	Members     []*Parameter // of an object, by name
	Elements    *Parameter   // of a list; nil if nothing is stated
}

// Types is a set of the types of JSON.
type Types uint8

// The types. A number may be an integer.
const (
	Text Types = 1 << iota
	Number
	Bool
	Object
	List
	null
)

const anyType = Text | Number | Bool | Object | List | null

// Only reports whether a value has one of these types and no other.
func (p *Parameter) Only(t Types) bool { return p.Types != 0 && p.Types&^t == 0 }

// May reports whether a value may have one of these types.
func (p *Parameter) May(t Types) bool { return p.Types&t != 0 }

// Limits on what is read. The rest is left out.
const (
	maxNormalDepth = 12
	maxNormalNodes = 20_000
	maxNamedValues = 512
)

// Normal returns the normal form of a decoded schema.
func Normal(root any) *Parameter {
	n := normalizer{root: root}
	p := n.read(root, 0)
	p.finish()
	return p
}

type normalizer struct {
	root  any
	nodes int
}

// read returns what one schema states about a place.
func (n *normalizer) read(schema any, depth int) *Parameter {
	p := new(Parameter)
	n.readInto(p, schema, depth)
	return p
}

func (n *normalizer) readInto(p *Parameter, schema any, depth int) {
	p.Types, p.Open = anyType, true
	object, ok := schema.(map[string]any)
	if n.nodes++; !ok || depth > maxNormalDepth || n.nodes > maxNormalNodes {
		return
	}
	if p.leaf(object) {
		return
	}
	p.name(object)
	n.members(p, object, depth)
	n.elements(p, object, depth)
	if ref, ok := object["$ref"].(string); ok {
		if target, err := resolve(n.root, ref); err == nil {
			p.and(n.read(target, depth+1))
		}
	}
	if all, ok := object["allOf"].([]any); ok {
		for _, part := range all {
			p.and(n.read(part, depth+1))
		}
	}
	for _, key := range [...]string{"anyOf", "oneOf"} {
		if branches, ok := object[key].([]any); ok && len(branches) > 0 {
			p.and(n.union(branches, depth+1))
		}
	}
	for _, key := range [...]string{"then", "else"} {
		if sometimes, ok := object[key]; ok {
			also := n.read(sometimes, depth+1)
			for _, m := range also.Members {
				m.Required = false
			}
			p.Members = joined(p.Members, also.Members, (*Parameter).and)
		}
	}
}

// leaf takes the type, the description and the default, and reports whether nothing else is stated, as of most members.
func (p *Parameter) leaf(object map[string]any) bool {
	types, hasTypes := object["type"]
	description, hasDescription := object["description"]
	initially, hasDefault := object["default"]
	p.Types, p.Default = typesOf(types), initially
	p.Description, _ = description.(string)
	n := 0
	for _, has := range [...]bool{hasTypes, hasDescription, hasDefault} {
		if has {
			n++
		}
	}
	return n == len(object)
}

// union returns what holds for a value to which one of the schemas applies.
func (n *normalizer) union(branches []any, depth int) *Parameter {
	var p *Parameter
	for _, branch := range branches {
		b := n.read(branch, depth)
		switch {
		case b.Types == null: // nullable
		case p == nil:
			p = b
		default:
			p.or(b)
		}
	}
	if p == nil {
		return &Parameter{Types: anyType, Open: true}
	}
	return p
}

var typeNames = map[string]Types{
	"string": Text, "number": Number, "integer": Number, "boolean": Bool, "object": Object, "array": List, "null": null,
}

func typesOf(stated any) (t Types) {
	switch stated := stated.(type) {
	case string:
		t = typeNames[stated]
	case []any:
		for _, name := range stated {
			if name, ok := name.(string); ok {
				t |= typeNames[name]
			}
		}
	}
	if t == 0 {
		return anyType
	}
	return t
}

// name takes the values of const and enum, which close the place, and their types.
func (p *Parameter) name(object map[string]any) {
	values, closed := object["enum"].([]any)
	if value, ok := object["const"]; ok {
		values, closed = []any{value}, true
	}
	if !closed || len(values) > maxNamedValues {
		return
	}
	p.Open = false
	var types Types
	for _, v := range values {
		switch v := v.(type) {
		case string:
			types |= Text
		case bool:
			types |= Bool
		case nil:
			types |= null
			continue
		case map[string]any, []any: // cannot be compared, and no choice of a deed
			p.Open = true
			continue
		default:
			_ = v
			types |= Number
		}
		if !slices.Contains(p.Values, v) {
			p.Values = append(p.Values, v)
		}
	}
	if !p.Open {
		p.Types &= types
	}
}

func (n *normalizer) members(p *Parameter, object map[string]any, depth int) {
	properties, _ := object["properties"].(map[string]any)
	others, _ := object["additionalProperties"].(map[string]any)
	if len(properties) == 0 && len(others) == 0 {
		return
	}
	if object["type"] == nil {
		p.Types = Object
	}
	required, _ := object["required"].([]any)
	p.Members = make([]*Parameter, 0, len(properties)+1)
	if len(others) > 0 { // any other name, which comes first in the order
		p.Members = append(p.Members, n.read(others, depth+1))
	}
	members := make([]Parameter, len(properties)) // in one piece, since all of them are kept or none
	for i, name := range sortedKeys(properties) {
		m := &members[i]
		n.readInto(m, properties[name], depth+1)
		m.Name = name
		m.Required = slices.ContainsFunc(required, func(v any) bool { return v == name })
		p.Members = append(p.Members, m)
	}
}

// sortedKeys returns the names of the members of an object in order.
func sortedKeys(object map[string]any) []string {
	names := slices.AppendSeq(make([]string, 0, len(object)), maps.Keys(object))
	slices.Sort(names)
	return names
}

func (n *normalizer) elements(p *Parameter, object map[string]any, depth int) {
	for _, key := range [...]string{"items", "prefixItems", "additionalItems"} {
		switch items := object[key].(type) {
		case map[string]any:
			p.either(n.read(items, depth+1))
		case []any:
			for _, item := range items {
				p.either(n.read(item, depth+1))
			}
		}
	}
	if p.Elements != nil && object["type"] == nil {
		p.Types = List
	}
}

// either widens the elements by those of one more schema.
func (p *Parameter) either(q *Parameter) {
	if p.Elements == nil {
		p.Elements = q
		return
	}
	p.Elements.or(q)
}

// and narrows p by what also holds.
func (p *Parameter) and(q *Parameter) {
	if p.Types&q.Types != 0 { // else no value is valid, and what is read is what is there
		p.Types &= q.Types
	}
	p.add(q)
	p.Open = p.Open && q.Open
	p.Required = p.Required || q.Required
	p.Members = joined(p.Members, q.Members, (*Parameter).and)
	if q.Elements != nil {
		p.either(q.Elements)
	}
}

// or widens p by what may hold instead.
func (p *Parameter) or(q *Parameter) {
	p.Types |= q.Types
	p.add(q)
	p.Open = p.Open || q.Open
	for _, m := range p.Members {
		i, ok := named(q.Members, m.Name)
		m.Required = m.Required && ok && q.Members[i].Required
	}
	for _, m := range q.Members {
		i, ok := named(p.Members, m.Name)
		m.Required = m.Required && ok && p.Members[i].Required
	}
	p.Members = joined(p.Members, q.Members, (*Parameter).or)
	if q.Elements != nil {
		p.either(q.Elements)
	}
}

// add takes over the texts and the values.
func (p *Parameter) add(q *Parameter) {
	switch {
	case p.Description == "":
		p.Description = q.Description
	case q.Description != "" && q.Description != p.Description:
		p.Description += "\n" + q.Description
	}
	if p.Default == nil {
		p.Default = q.Default
	}
	for _, v := range q.Values {
		if !slices.Contains(p.Values, v) && len(p.Values) < maxNamedValues {
			p.Values = append(p.Values, v)
		}
	}
}

func named(members []*Parameter, name string) (int, bool) {
	return slices.BinarySearchFunc(members, name, func(m *Parameter, name string) int { return strings.Compare(m.Name, name) })
}

// joined merges two lists of members, both by name.
func joined(a, b []*Parameter, both func(p, q *Parameter)) []*Parameter {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	out := make([]*Parameter, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch c := strings.Compare(a[0].Name, b[0].Name); {
		case c < 0:
			out, a = append(out, a[0]), a[1:]
		case c > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			both(a[0], b[0])
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// finish takes null away, which every place may be.
func (p *Parameter) finish() {
	p.Types &^= null
	for _, m := range p.Members {
		m.finish()
	}
	if p.Elements != nil {
		p.Elements.finish()
	}
}
