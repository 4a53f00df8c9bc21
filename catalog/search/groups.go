package catalog

import (
	"iter"
	"slices"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
)

// Where yields the tools that keep holds for, sorted by server and name.
func (c *Catalog) Where(keep func(*middleware.Tool) bool) iter.Seq[*middleware.Tool] {
	list := c.current.Load().list
	return func(yield func(*middleware.Tool) bool) {
		for _, t := range list {
			if keep(t) && !yield(t) {
				return
			}
		}
	}
}

// BySafety returns the tools of each class that has any, sorted by server and
// name.
func (c *Catalog) BySafety() map[annotation.Safety][]*middleware.Tool {
	groups := make(map[annotation.Safety][]*middleware.Tool)
	for _, t := range c.current.Load().list {
		groups[t.Safety()] = append(groups[t.Safety()], t)
	}
	return groups
}

// MustConfirm returns the tools that a person must agree to before each call, the
// Dangerous and the Unknown, sorted by server and name.
func (c *Catalog) MustConfirm() []*middleware.Tool {
	return slices.Collect(c.Where(func(t *middleware.Tool) bool { return t.Safety().MustConfirm() }))
}
