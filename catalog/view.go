package catalog

import (
	"fmt"

	"github.com/fairlead-go/fairlead/catalog/finding"
	"github.com/fairlead-go/fairlead/internal/scope"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/safetext"
)

// A Scope is one thing that a caller may do: a permission, or a pattern of them, up to a security
// level. A permission is a resource and an action, with the last dot between them. "customers.read"
// covers itself alone, "*.read" this action of every resource, "customers.*" and "customers.all"
// every action of this resource, and "*.all" everything. A star is never a part of a word.
type Scope = scope.Scope

// A View is the catalogue as one caller may see it. What its scopes do not cover is neither listed
// nor found nor called, and a call of it ends as that of a tool that is not there. It has no state:
// it shows what the catalogue holds now, and each call is decided by one state of it. The zero value
// is not ready; use [Catalog.View].
type View struct{ *caller }

// View returns the catalogue for a caller with these scopes; no scopes see nothing. A tool is
// covered if one scope covers the permission that [Options.Permission] says it needs and reaches its
// security level. Make a View for each caller and never give one caller's to another. An error names
// each scope that is none.
func (c *Catalog) View(scopes ...Scope) (*View, error) {
	set, err := scope.New(scopes...)
	if err != nil {
		return nil, fmt.Errorf("catalog: the scopes of a view: %w", err)
	}
	return &View{newCaller(c, func(tool *middleware.Tool) bool {
		return set.Covers(c.permission(tool), tool.Annotations.SecurityLevel)
	}, true)}, nil
}

// misfits returns a finding for each tool whose permission cannot be read. It is called without the
// mutex, since the func is the host's.
func (c *Catalog) misfits(tools []*middleware.Tool) (found []finding.Finding) {
	for _, tool := range tools {
		if permission := c.permission(tool); permission != "" {
			if err := scope.Check(permission); err != nil {
				found = append(found, finding.Finding{
					Server: tool.Server, Tool: tool.Name(), Kind: finding.Permission,
					Text: safetext.Line("Options.Permission: " + err.Error() + `; only "*.all" covers it`),
				})
			}
		}
	}
	return found
}
