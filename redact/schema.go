package redact

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// A node is a schema, and the document that its references are about.
type node struct {
	is   map[string]any
	root any
}

// nodes are the schemas that apply to one value. They come from a server: what they
// say can only take more out.
type nodes []node

// maxNodes bounds what applies to one value; a value to which more applies is taken
// out.
const maxNodes = 200

// compile returns the schema in its generic form.
func compile(schema any) nodes {
	if schema == nil {
		return nil
	}
	if _, ok := schema.(map[string]any); !ok {
		raw, err := json.Marshal(schema)
		if err != nil {
			return nil
		}
		schema = nil
		if err := json.Unmarshal(raw, &schema); err != nil {
			return nil
		}
	}
	return nodes{}.and(schema, schema)
}

func (ns nodes) and(schema, root any) nodes {
	if m, ok := schema.(map[string]any); ok {
		ns = append(ns, node{m, root})
	}
	return ns
}

// andEach adds the schemas of a list or of an object's members.
func (ns nodes) andEach(schemas, root any) nodes {
	switch schemas := schemas.(type) {
	case []any:
		for _, s := range schemas {
			ns = ns.and(s, root)
		}
	case map[string]any:
		for _, s := range schemas {
			ns = ns.and(s, root)
		}
	}
	return ns
}

// inResult is where the schema of a tool's output applies in a result.
func (ns nodes) inResult() nodes {
	var all nodes
	for _, n := range ns {
		all = append(all, node{map[string]any{"properties": map[string]any{
			"structuredContent": n.is,
			"content":           map[string]any{"items": map[string]any{"properties": map[string]any{"text": map[string]any{"contentSchema": n.is}}}},
		}}, n.root})
	}
	return all
}

// expand adds what the schemas refer to and are made of, whatever the condition.
func (ns nodes) expand() (nodes, bool) {
	all := append(nodes(nil), ns...)
	for i := 0; i < len(all); i++ {
		if len(all) > maxNodes {
			return nil, false
		}
		n := all[i]
		for _, key := range [...]string{"allOf", "anyOf", "oneOf", "dependentSchemas"} {
			all = all.andEach(n.is[key], n.root)
		}
		for _, key := range [...]string{"if", "then", "else"} {
			all = all.and(n.is[key], n.root)
		}
		for _, key := range [...]string{"$ref", "$dynamicRef"} {
			if ref, ok := n.is[key].(string); ok && i < maxNodes {
				all = all.and(resolve(n.root, ref), n.root)
			}
		}
	}
	return all, true
}

// resolve follows a reference within the document; others are not followed.
func resolve(root any, ref string) any {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && pointer[0] != '/' {
		return nil
	}
	if plain, err := url.PathUnescape(pointer); err == nil {
		pointer = plain
	}
	at := root
	for _, part := range strings.Split(pointer, "/")[1:] {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch v := at.(type) {
		case map[string]any:
			at = v[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			at = v[i]
		default:
			return nil
		}
	}
	return at
}

// secret reports whether one of the schemas says that the value is one.
func (ns nodes) secret() bool {
	for _, n := range ns {
		if n.is["writeOnly"] == true || n.is["format"] == "password" {
			return true
		}
	}
	return false
}

// member returns what applies to a member of an object.
func (ns nodes) member(name string) nodes {
	var all nodes
	for _, n := range ns {
		properties, _ := n.is["properties"].(map[string]any)
		all = all.and(properties[name], n.root)
		patterns, _ := n.is["patternProperties"].(map[string]any)
		for pattern, s := range patterns {
			if re, err := regexp.Compile(pattern); err != nil || re.MatchString(name) {
				all = all.and(s, n.root)
			}
		}
		if _, named := properties[name]; !named {
			all = all.and(n.is["additionalProperties"], n.root).and(n.is["unevaluatedProperties"], n.root)
		}
	}
	return all
}

// item returns what may apply to an item of a list.
func (ns nodes) item(i int) nodes {
	var all nodes
	for _, n := range ns {
		for _, key := range [...]string{"items", "additionalItems", "contains", "unevaluatedItems"} {
			all = all.and(n.is[key], n.root)
		}
		for _, key := range [...]string{"prefixItems", "items"} {
			if list, ok := n.is[key].([]any); ok && i < len(list) {
				all = all.and(list[i], n.root)
			}
		}
	}
	return all
}

// content returns what applies to the JSON that a text holds.
func (ns nodes) content() nodes {
	var all nodes
	for _, n := range ns {
		all = all.and(n.is["contentSchema"], n.root)
	}
	return all
}
