package approvals

import "context"

// A Finder is a [Store] that finds the remembered approvals which may cover one call, so that the call costs the same
// however many are remembered of its tool.
type Finder interface {
	Store
	// Find returns what Remembered does for one tool, without approvals of exact arguments whose Arguments are others.
	Find(ctx context.Context, scope, server, tool, arguments string) ([]Standing, error)
}

// Find returns the remembered approvals of a tool that may cover a call with these [ExactArguments]; of a store that is
// not a [Finder], all of the tool.
func Find(ctx context.Context, store Store, scope, server, tool, arguments string) ([]Standing, error) {
	if f, ok := store.(Finder); ok {
		return f.Find(ctx, scope, server, tool, arguments)
	}
	return store.Remembered(ctx, scope, server, tool)
}
