package catalog

import (
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/middleware"
)

// List returns a new slice of the tools that the caller may use, sorted by server and name.
func (v *caller) List() []*middleware.Tool {
	return slices.DeleteFunc(slices.Clone(v.c.current.Load().list), func(t *middleware.Tool) bool { return !v.sees(t) })
}

// Lookup returns the tool of a server as it is accepted now, if the caller may use it.
func (v *caller) Lookup(server, tool string) (*middleware.Tool, bool) {
	t := v.c.current.Load().tools[name{server, tool}].tool
	if t == nil || !v.sees(t) {
		return nil, false
	}
	return t, true
}

// Find returns the visible tool of a name: the one that a model was given (see middleware.Tool.ModelName),
// "server/tool", or the tool's own name if only one server has it. A name with two underscores in a row is
// never a tool's own. The error is an [*AmbiguousError] or an [*UnknownToolError].
func (v *caller) Find(text string) (*middleware.Tool, error) {
	now := v.c.current.Load()
	server, tool, qualified := strings.Cut(text, "/")
	for _, t := range []*middleware.Tool{now.tools[name{server, tool}].tool, now.models[text]} {
		if t != nil && v.sees(t) {
			return t, nil
		}
	}
	if qualified {
		return nil, &UnknownToolError{Server: server, Tool: tool}
	}
	var same []*middleware.Tool
	if !strings.Contains(text, "__") {
		same = slices.DeleteFunc(slices.Clone(now.list), func(t *middleware.Tool) bool { return t.Name() != text || !v.sees(t) })
	}
	switch len(same) {
	case 0:
		return nil, &UnknownToolError{Tool: text}
	case 1:
		return same[0], nil
	}
	return nil, &AmbiguousError{Name: text, Tools: same}
}
