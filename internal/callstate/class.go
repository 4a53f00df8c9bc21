package callstate

import (
	"context"

	"github.com/fairlead-go/fairlead/middleware"
)

// WithClass returns a context that carries the class which inference gave to a tool without a catalog. It holds for
// exactly this definition. Further in, the class of a tool can only be raised.
func WithClass(ctx context.Context, tool *middleware.Tool) context.Context {
	if have := nearest(ctx).within().class; have != nil && have.Server == tool.Server && have.Name() == tool.Name() && have.Safety() < tool.Safety() {
		return ctx
	}
	p := derive(ctx)
	p.holds.class = tool
	return &p.State
}

// Classified returns the tool that inference classified, if it is the one that the call
// names: the same definition of the same server.
func Classified(ctx context.Context, named *middleware.Tool) (*middleware.Tool, bool) {
	tool := nearest(ctx).within().class
	return tool, tool != nil && tool.Server == named.Server && tool.Definition == named.Definition && tool.Digest == named.Digest
}

// A limit reports whether a caller may use a tool. All limits of a call count.
type limit struct {
	sees  func(*middleware.Tool) bool
	outer *limit
}

// WithLimit returns a context for a caller that may use only the tools that sees returns
// true for, whichever executor of the catalog the call comes to.
func WithLimit(ctx context.Context, sees func(*middleware.Tool) bool) context.Context {
	l := new(limited)
	l.derive(ctx)
	l.limit = limit{sees, l.holds.limit}
	l.holds.limit = &l.limit
	return &l.State
}

// limited is a limit and the state that carries it, in one piece.
type limited struct {
	Point

	limit limit
}

// Sees reports whether the caller may use a tool.
func Sees(ctx context.Context, tool *middleware.Tool) bool {
	for l := Of(ctx).within().limit; l != nil; l = l.outer {
		if !l.sees(tool) {
			return false
		}
	}
	return true
}
