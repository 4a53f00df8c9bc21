package flow

import (
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/middleware"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const maxTools = 4096 // with cached profiles

// A tracer is what all applications of one middleware share.
type tracer struct {
	Options

	tools *lru.Cache[*mcp.Tool, *profile]
}

// A profile is what the definition of a tool shows about its arguments, computed once.
type profile struct {
	kinds   map[string]argumentKind // by name
	stems   [][]byte                // of the words of its name
	commits bool                    // it spends or binds
	defined *result                 // its definition as a text
	moves   bool                    // it moves or copies things, from one place to another
}

func (t *tracer) profile(tool *middleware.Tool) *profile {
	if p, ok := t.tools.Get(tool.Definition); ok {
		return p
	}
	p := &profile{kinds: make(map[string]argumentKind), defined: defined(tool, t.Trusted(tool))}
	p.members(tool.Definition.InputSchema, 0)
	for _, word := range split(tool.Name()) {
		p.commits, p.moves = p.commits || slices.Contains(commits, word), p.moves || word == "move" || word == "copy" || word == "rename"
		if len(word) >= minPart && !slices.ContainsFunc(p.stems, func(s []byte) bool { return strings.HasPrefix(word, string(s)) }) {
			p.stems = append(p.stems, []byte(word[:min(len(word), 5)]))
		}
	}
	t.tools.Add(tool.Definition, p)
	return p
}

// members notes the kinds of a schema's properties, at every depth.
func (p *profile) members(schema any, depth int) {
	switch at := schema.(type) {
	case map[string]any:
		if depth > 8 {
			return
		}
		properties, _ := at["properties"].(map[string]any)
		for name, of := range properties {
			kind := named(name)
			if property, ok := of.(map[string]any); ok && property["enum"] != nil {
				kind = kindChoice
			} else if ok && kind == kindName {
				kind = described(property)
			}
			p.kinds[name] = kind
		}
		for _, below := range at {
			p.members(below, depth+1)
		}
	case []any:
		for _, below := range at {
			p.members(below, depth+1)
		}
	}
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
