// Package schema checks whether a JSON Schema may be used, and reads what it states about each place of a value.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/google/jsonschema-go/jsonschema"
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

// Check is [CheckInput] for a schema of any type.
func Check(root any) error {
	if size := Size(root); size > maxSchemaBytes {
		return fmt.Errorf("it has %d bytes, more than %d", size, maxSchemaBytes)
	}
	w := walker{root: root, cost: make(map[uintptr]int)}
	return w.all(root, 0)
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

var errUnbounded = errors.New("it grows past all bounds when its references are followed")

// A walker finds references that go in circles, and schemas that grow without bound.
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

type target struct {
	by     string // the keyword or reference
	schema map[string]any
	err    error
}

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

var anything = map[string]any{}

// A Contract is what a tool promises about its structured content.
type Contract struct {
	root      any
	validator *jsonschema.Resolved
}

// ReadContract reads an output schema, or reports why nothing can be checked against it.
func ReadContract(output any) (*Contract, error) {
	raw, err := json.Marshal(output)
	if err != nil {
		return nil, err
	}
	c := new(Contract)
	if err := json.Unmarshal(raw, &c.root); err != nil {
		return nil, err
	}
	if err := Check(c.root); err != nil {
		return nil, err
	}
	var parsed jsonschema.Schema
	if err := json.Unmarshal(raw, &parsed); err != nil {
		return nil, err
	}
	if c.validator, err = parsed.Resolve(nil); err != nil {
		return nil, err
	}
	return c, nil
}

// Shape returns the shape of the structured content, a new one for each call.
func (c *Contract) Shape() *Shape { return NewShape(c.root, c.root, false) }

// Check reports where the value breaks the schema. Cut the value first, since a hostile schema makes it slow.
func (c *Contract) Check(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var plain any // the validator takes a json.Number for a text
	if err := json.Unmarshal(raw, &plain); err != nil {
		return err
	}
	if err := c.validator.Validate(plain); err != nil {
		return fmt.Errorf("%s is not kept to", where(err))
	}
	return nil
}

// where returns the place in the schema and the keyword that a validator names, without the value.
func where(err error) string {
	place := "the schema"
	for step := range strings.SplitSeq(err.Error(), ": ") {
		inner, ok := strings.CutPrefix(step, "validating ")
		if !ok {
			return fmt.Sprintf("%.200s: %.40s", place, step)
		}
		place = inner
	}
	return place
}

type object = map[string]any

// Limits on what a hostile schema can grow to.
const (
	maxParts  = 1000 // schemas that apply to one place
	maxShapes = 10_000
)

// A Shape is what the schemas that apply to one place of a value state about it; a nil one allows everything. It
// is not safe for concurrent use.
type Shape struct {
	doc     *document
	parts   []object
	known   bool            // false if more apply than can be followed
	needed  map[string]bool // the required members
	members map[string]member
	items   map[int]*Shape
}

type member struct {
	shape *Shape
	named bool
}

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

// Content returns the shape of the JSON value that a text holds.
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

// Strip removes from v every member that the schemas do not name, at every depth, and returns how many.
func (s *Shape) Strip(v any) int {
	if s == nil {
		return 0
	}
	n := 0
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if member, named := s.Lookup(k); named {
				n += member.Strip(e)
			} else {
				delete(v, k)
				n++
			}
		}
	case []any:
		for i, e := range v {
			n += s.Item(i).Strip(e)
		}
	}
	return n
}
