package callstate

import (
	"context"

	"github.com/fairlead-go/fairlead/middleware"
)

// WithClass returns a context that carries the class which inference gave to a tool without a catalog. It holds for
// exactly this definition. Further in, the class of a tool can only be raised.
func WithClass(ctx context.Context, tool *middleware.Tool) context.Context {
	have, ok := find[*middleware.Tool](nearest(ctx), nil)
	if ok && have.Server == tool.Server && have.Name() == tool.Name() && have.Safety() < tool.Safety() {
		return ctx
	}
	return Keep(ctx, tool)
}

// Classified returns the tool that inference classified, if it is the one that the call
// names: the same definition of the same server.
func Classified(ctx context.Context, named *middleware.Tool) (*middleware.Tool, bool) {
	tool, ok := find[*middleware.Tool](nearest(ctx), nil)
	return tool, ok && tool.Server == named.Server && tool.Definition == named.Definition && tool.Digest == named.Digest
}

// A limit reports whether a caller may use a tool.
type limit func(*middleware.Tool) bool

// WithLimit returns a context for a caller that may use only the tools that sees returns
// true for, whichever executor of the catalog the call comes to.
func WithLimit(ctx context.Context, sees func(*middleware.Tool) bool) context.Context {
	return Keep(ctx, limit(sees))
}

// Sees reports whether the caller may use a tool.
func Sees(ctx context.Context, tool *middleware.Tool) bool {
	for s := Of(ctx); s != nil && !s.over; s = s.outer {
		if sees, ok := s.added.(limit); ok && !sees(tool) {
			return false
		}
	}
	return true
}
