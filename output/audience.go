package output

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// forRole returns the items for the role, the most important first, and the others. The error names invalid annotations.
func forRole[T any](items []T, role mcp.Role, about func(T) (name string, a *mcp.Annotations)) (mine, others []T, err error) {
	mine = make([]T, 0, len(items))
	var errs []error
	for _, item := range items {
		name, annotations := about(item)
		content, err := annotation.ContentOf(annotations)
		if err != nil {
			errs = append(errs, fmt.Errorf("output: the resource %.200q: %w", name, err))
		}
		if content.For(role) {
			mine = append(mine, item)
		} else {
			others = append(others, item)
		}
	}
	rank := func(item T) float64 {
		_, annotations := about(item)
		content, _ := annotation.ContentOf(annotations)
		return content.Rank()
	}
	slices.SortStableFunc(mine, func(a, b T) int { return cmp.Compare(rank(b), rank(a)) })
	return mine, others, errors.Join(errs...)
}

func annotationsOf(content mcp.Content) (name string, a *mcp.Annotations) {
	switch c := content.(type) {
	case *mcp.TextContent:
		return "", c.Annotations
	case *mcp.ImageContent:
		return "", c.Annotations
	case *mcp.AudioContent:
		return "", c.Annotations
	case *mcp.ResourceLink:
		return "", c.Annotations
	case *mcp.EmbeddedResource:
		return "", c.Annotations
	}
	return "", nil
}

// Resources returns the resources that are for the role, the most important first; a missing priority counts as
// 0.5. The error names each annotation that is not valid, which counts as missing; an unknown audience is neither
// the user nor the assistant. The list itself is not changed.
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
