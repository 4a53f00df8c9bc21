package catalog

import (
	"context"

	"github.com/fairlead-go/fairlead/middleware"
)

// Search is [Catalog.Search] among the tools that the caller may use.
func (v *View) Search(q Query) (Page, error) {
	q.Where = v.narrow(q.Where)
	return v.c.Search(q)
}

// Select is [Catalog.Select] among the tools that the caller may use: no name and
// no rank brings in another one.
func (v *View) Select(ctx context.Context, message string, o SelectOptions) ([]*middleware.Tool, error) {
	o.Where = v.narrow(o.Where)
	return v.c.Select(ctx, message, o)
}

func (v *View) narrow(where func(*middleware.Tool) bool) func(*middleware.Tool) bool {
	return func(t *middleware.Tool) bool { return v.sees(t) && (where == nil || where(t)) }
}
