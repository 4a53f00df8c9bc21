package redact

import (
	"encoding/json"
	"regexp"

	"github.com/fairlead-go/fairlead/internal/schema"
)

// A place is what a schema says of one value: the parts that apply to it, and the
// document that their references are about. They come from a server: what they say
// can only take more out.
type place struct {
	root  any
	parts []map[string]any
}

// maxParts bounds what applies to one value; a value to which more applies is taken
// out, and so is one whose schema refers to itself.
const maxParts = 200

// compile returns what the schema says of the whole value.
func compile(root any) place {
	if _, ok := root.(map[string]any); !ok && root != nil {
		raw, err := json.Marshal(root)
		if err != nil {
			return place{}
		}
		root = nil
		if err := json.Unmarshal(raw, &root); err != nil {
			return place{}
		}
	}
	p := place{root: root}
	p.add(root)
	return p
}

// add adds those of the schemas that are objects.
func (p *place) add(schemas ...any) {
	for _, s := range schemas {
		if m, ok := s.(map[string]any); ok {
			p.parts = append(p.parts, m)
		}
	}
}

// inResult is where the schema of a tool's output applies in a result.
func (p place) inResult() place {
	if len(p.parts) == 0 {
		return place{}
	}
	return place{p.root, []map[string]any{{"properties": map[string]any{
		"structuredContent": p.root,
		"content":           map[string]any{"items": map[string]any{"properties": map[string]any{"text": map[string]any{"contentSchema": p.root}}}},
	}}}}
}

// expand adds what the parts refer to and are made of, whatever the condition.
func (p place) expand() (place, bool) {
	if len(p.parts) == 0 {
		return p, true
	}
	all, ok := schema.Applying(p.root, maxParts, p.parts...)
	return place{p.root, all}, ok
}

// secret reports whether the schema says that the value is one.
func (p place) secret() bool {
	for _, s := range p.parts {
		if s["writeOnly"] == true || s["format"] == "password" {
			return true
		}
	}
	return false
}

// member returns what applies to a member of an object.
func (p place) member(name string) place {
	out := place{root: p.root}
	for _, s := range p.parts {
		properties, _ := s["properties"].(map[string]any)
		out.add(properties[name])
		patterns, _ := s["patternProperties"].(map[string]any)
		for pattern, sub := range patterns {
			if re, err := regexp.Compile(pattern); err != nil || re.MatchString(name) {
				out.add(sub)
			}
		}
		if _, named := properties[name]; !named {
			out.add(s["additionalProperties"], s["unevaluatedProperties"])
		}
	}
	return out
}

// item returns what may apply to an item of a list.
func (p place) item(i int) place {
	out := place{root: p.root}
	for _, s := range p.parts {
		out.add(s["items"], s["additionalItems"], s["contains"], s["unevaluatedItems"])
		for _, key := range [...]string{"prefixItems", "items"} {
			if list, ok := s[key].([]any); ok && i < len(list) {
				out.add(list[i])
			}
		}
	}
	return out
}

// content returns what applies to the JSON that a text holds.
func (p place) content() place {
	out := place{root: p.root}
	for _, s := range p.parts {
		out.add(s["contentSchema"])
	}
	return out
}
