package catalog

import (
	"fmt"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/finding"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/scope"
	"github.com/fairlead-go/fairlead/middleware"
)

// A Scope is a permission, or a pattern of them, up to a security level. A permission is a resource and an
// action, with the last dot between them: "customers.read" covers itself alone, "*.read" this action of every
// resource, "customers.*" and "customers.all" every action of this resource, and "*.all" everything. It is compared
// by case.
type Scope struct {
	// Permission is what it covers. A word without a dot, such as "openid", covers only itself. The empty one is an
	// error.
	Permission string
	// Ceiling is the highest security level that it reaches; "" means public.
	Ceiling annotation.SecurityLevel
}

// A View is the catalog as one caller may see it. A tool that its scopes do not cover is neither listed nor
// found, and a call of it ends as that of an unknown tool. A View has no state: it shows the catalog as it
// is now. The zero value is not ready; use [Catalog.View].
type View struct{ *caller }

// View returns the catalog for a caller with these scopes. A tool is visible if one scope covers its
// permission (see [Options.Permission]) and reaches its security level. Make a View for each caller, and never
// use it for another one. An error names each scope that is not valid.
func (c *Catalog) View(scopes ...Scope) (*View, error) {
	own := make([]scope.Scope, len(scopes))
	for i, s := range scopes {
		own[i] = scope.Scope(s)
	}
	set, err := scope.New(own...)
	if err != nil {
		return nil, fmt.Errorf("catalog: the scopes of a view: %w", err)
	}
	return &View{newCaller(c, func(tool *middleware.Tool) bool {
		return set.Covers(c.permission(tool), tool.Annotations.SecurityLevel)
	}, true)}, nil
}

// misfits returns a finding for each tool whose permission is not valid. It calls the host without the mutex.
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
