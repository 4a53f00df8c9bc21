package flow

import (
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/middleware"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxTools = 4096 // with cached profiles
	maxStem  = 5    // letters of a stem
)

// A tracer is what all applications of one middleware share.
type tracer struct {
	Options

	tools *lru.Cache[*mcp.Tool, *profile]
}

// A profile is what the definition of a tool shows about its arguments, computed once.
type profile struct {
	kinds    map[string]argumentKind // by name
	stems    [][]byte                // of the words of its name
	nouns    [][]byte                // of those but the first, and of the words of its server's name
	defaults map[string]string       // of its arguments, by name
	commits  bool                    // it spends or binds
	defined  *result                 // its definition as a text
	moves    bool                    // it moves or copies things, from one place to another
	installs bool                    // it installs software
}

func (t *tracer) profile(tool *middleware.Tool) *profile {
	if p, ok := t.tools.Get(tool.Definition); ok {
		return p
	}
	p := &profile{kinds: make(map[string]argumentKind), defaults: make(map[string]string), defined: defined(tool, t.Trusted(tool))}
	p.installs = slices.Contains(split(tool.Name()), "install")
	p.members(tool.Definition.InputSchema, tool.Definition.InputSchema, 0)
	for i, word := range append(split(tool.Name()), split(tool.Server)...) {
		if i > 0 && len(word) >= minPart {
			p.nouns = append(p.nouns, []byte(word[:min(len(word), maxStem)]))
		}
	}
	for _, word := range split(tool.Name()) {
		p.commits, p.moves = p.commits || slices.Contains(commits, word), p.moves || word == "move" || word == "copy" || word == "rename"
		if len(word) >= minPart && !slices.ContainsFunc(p.stems, func(s []byte) bool { return strings.HasPrefix(word, string(s)) }) {
			p.stems = append(p.stems, []byte(word[:min(len(word), maxStem)]))
		}
	}
	t.tools.Add(tool.Definition, p)
	return p
}

// members notes the kinds and defaults of a schema's properties, at every depth.
func (p *profile) members(root, schema any, depth int) {
	switch at := schema.(type) {
	case map[string]any:
		if depth > 8 {
			return
		}
		properties, _ := at["properties"].(map[string]any)
		for name, of := range properties {
			kind := named(name)
			property, ok := of.(map[string]any)
			if chosen(root, of, 0) {
				kind = kindChoice
			} else if ok && kind == kindName {
				kind = described(property)
			}
			p.kinds[name] = kind
			if value, ok := property["default"].(string); ok && value != "" {
				p.defaults[name] = value
			}
		}
		for _, below := range at {
			p.members(root, below, depth+1)
		}
	case []any:
		for _, below := range at {
			p.members(root, below, depth+1)
		}
	}
}

// chosen reports whether a schema lists all values that there may be, also as items of an array, by a reference, or beside
// null.
func chosen(root, schema any, depth int) bool {
	at, ok := schema.(map[string]any)
	if !ok || depth > 4 {
		return false
	}
	if at["enum"] != nil || at["const"] != nil {
		return true
	}
	if ref, ok := at["$ref"].(string); ok {
		return chosen(root, referred(root, ref), depth+1)
	}
	if at["type"] == "array" {
		return chosen(root, at["items"], depth+1)
	}
	for _, of := range []string{"anyOf", "oneOf"} {
		if list, ok := at[of].([]any); ok {
			list = slices.DeleteFunc(slices.Clone(list), func(one any) bool {
				m, ok := one.(map[string]any)
				return ok && m["type"] == "null"
			})
			return len(list) > 0 && !slices.ContainsFunc(list, func(one any) bool { return !chosen(root, one, depth+1) })
		}
	}
	return false
}

// referred returns what a reference within a schema refers to, nil for nothing.
func referred(root any, ref string) any {
	ref, local := strings.CutPrefix(ref, "#/")
	if !local {
		return nil
	}
	for name := range strings.SplitSeq(ref, "/") {
		at, _ := root.(map[string]any)
		root = at[name]
	}
	return root
}

// described returns the kind that the format of a property shows, Name without one.
func described(property map[string]any) argumentKind {
	switch property["format"] {
	case "email":
		return kindRecipient
	case "uri", "uri-reference", "iri":
		return kindURL
	case "hostname", "ipv4", "ipv6":
		return kindHost
	case "date", "date-time", "time", "duration":
		return kindTime
	case "uuid":
		return kindID
	}
	return kindName
}
