package output

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Resources returns those of a server's resources that are for the role, the most
// important first; a missing priority counts as 0.5, and equals keep their order. The
// error names what is not valid in their annotations: it counts as missing, and an
// audience that nobody knows is neither the user nor the assistant. The list that was
// handed in stays as it is.
func Resources(listed []*mcp.Resource, role mcp.Role) ([]*mcp.Resource, error) {
	return list(listed, role, func(r *mcp.Resource) (string, *mcp.Annotations) { return r.URI, r.Annotations })
}

// ResourceTemplates is [Resources] for resource templates.
func ResourceTemplates(listed []*mcp.ResourceTemplate, role mcp.Role) ([]*mcp.ResourceTemplate, error) {
	return list(listed, role, func(r *mcp.ResourceTemplate) (string, *mcp.Annotations) { return r.URITemplate, r.Annotations })
}

func list[T any](listed []*T, role mcp.Role, about func(*T) (string, *mcp.Annotations)) ([]*T, error) {
	type ranked struct {
		item *T
		rank float64
	}
	var kept []ranked
	var errs []error
	for _, item := range listed {
		if item == nil {
			continue
		}
		uri, annotations := about(item)
		content, err := annotation.ContentOf(annotations)
		if err != nil {
			errs = append(errs, fmt.Errorf("output: the resource %.200q: %w", uri, err))
		}
		if content.For(role) {
			kept = append(kept, ranked{item, content.Rank()})
		}
	}
	slices.SortStableFunc(kept, func(a, b ranked) int { return cmp.Compare(b.rank, a.rank) })
	items := make([]*T, len(kept))
	for i, k := range kept {
		items[i] = k.item
	}
	return items, errors.Join(errs...)
}
