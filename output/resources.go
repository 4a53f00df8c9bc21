package output

import (
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Resources returns those of a server's resources that are for the role, the most
// important first; a missing priority counts as 0.5, and equals keep their order. The
// error names what is not valid in their annotations: it counts as missing, and an
// audience that nobody knows is neither the user nor the assistant. The list that was
// handed in stays as it is.
func Resources(listed []*mcp.Resource, role mcp.Role) ([]*mcp.Resource, error) {
	mine, _, err := forRole(present(listed), role, func(r *mcp.Resource) (string, *mcp.Annotations) { return r.URI, r.Annotations })
	return mine, err
}

// ResourceTemplates is [Resources] for resource templates.
func ResourceTemplates(listed []*mcp.ResourceTemplate, role mcp.Role) ([]*mcp.ResourceTemplate, error) {
	mine, _, err := forRole(present(listed), role, func(r *mcp.ResourceTemplate) (string, *mcp.Annotations) { return r.URITemplate, r.Annotations })
	return mine, err
}

func present[T any](listed []*T) []*T {
	return slices.DeleteFunc(slices.Clone(listed), func(item *T) bool { return item == nil })
}
