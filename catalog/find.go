package catalog

import (
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/middleware"
)

// Lookup returns the tool of a server as it is accepted now.
func (c *Catalog) Lookup(server, tool string) (*middleware.Tool, bool) {
	t, ok := c.current.Load().tools[name{server, tool}]
	return t.tool, ok
}

// Find returns the tool that a model or a person means: the name that the model was given (see
// middleware.Tool.ModelName), "server/tool", or the tool's own name if only one server has it. A
// name with two underscores in a row is never a tool's own: it names a server, and if that has no
// such tool, no other server's is found. The error is an [*AmbiguousError] or an
// [*UnknownToolError].
func (c *Catalog) Find(name string) (*middleware.Tool, error) { return c.find(name, everyTool) }

func (c *Catalog) find(text string, sees func(*middleware.Tool) bool) (*middleware.Tool, error) {
	now := c.current.Load()
	server, tool, qualified := strings.Cut(text, "/")
	for _, t := range []*middleware.Tool{now.tools[name{server, tool}].tool, now.models[text]} {
		if t != nil && sees(t) {
			return t, nil
		}
	}
	if qualified {
		return nil, &UnknownToolError{Server: server, Tool: tool}
	}
	var same []*middleware.Tool
	if !strings.Contains(text, "__") {
		same = slices.DeleteFunc(slices.Clone(now.list), func(t *middleware.Tool) bool { return t.Name() != text || !sees(t) })
	}
	switch len(same) {
	case 0:
		return nil, &UnknownToolError{Tool: text}
	case 1:
		return same[0], nil
	}
	return nil, &AmbiguousError{Name: text, Tools: same}
}
