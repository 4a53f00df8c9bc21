package grant

import (
	"context"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
)

type answerKey struct{}

// An Over makes of what a tool is known to do what one call of it does. It is asked
// with the call's own annotations and once more, at the executor, with the accepted
// ones, so that a kinder copy of the tool buys nothing.
type Over func(annotation.Annotations) annotation.Annotations

// An answer is what preflight found of a call with exactly these arguments.
type answer struct {
	binding Binding
	static  *middleware.Tool // as it is without an answer
	found   annotation.Annotations
	over    Over
	outer   *answer // of an enclosing call
}

// WithAnswer returns a context that says which class the call has with exactly its
// arguments, for the one who may lower it: the host's own rules, and a server that
// the host trusts. The call's tool is the static one, changed by over. Further in,
// an answer to the same call can only be raised.
func WithAnswer(ctx context.Context, call *middleware.Call, static *middleware.Tool, over Over) context.Context {
	outer, _ := ctx.Value(answerKey{}).(*answer)
	a := &answer{binding: Bind(call), static: static, found: call.Tool.Annotations, over: over, outer: outer}
	if have := answerTo(outer, a.binding); have != nil {
		if have.found.Safety() < a.found.Safety() {
			return ctx
		}
		a.static = have.static
	}
	return context.WithValue(ctx, answerKey{}, a)
}

// Static returns a tool as it was before an answer about one call changed it: itself
// where there was none.
func Static(ctx context.Context, tool *middleware.Tool) *middleware.Tool {
	a, _ := ctx.Value(answerKey{}).(*answer)
	for ; a != nil; a = a.outer {
		if a.static.Server == tool.Server && a.static.Name() == tool.Name() && a.static.Digest == tool.Digest {
			return a.static
		}
	}
	return tool
}

// Answered returns what preflight found of exactly this call.
func Answered(ctx context.Context, call *middleware.Call) (annotation.Annotations, bool) {
	a, _ := ctx.Value(answerKey{}).(*answer)
	if a == nil {
		return annotation.Annotations{}, false
	}
	if a = answerTo(a, Bind(call)); a == nil {
		return annotation.Annotations{}, false
	}
	return a.found, true
}

// answerTo returns the innermost answer to a call.
func answerTo(a *answer, want Binding) *answer {
	for a != nil && a.binding != want {
		a = a.outer
	}
	return a
}

// answered returns the accepted tool as preflight's answer changes it for these
// arguments. An answer to a call that was changed after it counts only where it
// raises: other bytes, another scope or definition do not make tame what was found
// wild. What must be recorded stays so.
func answered(ctx context.Context, call middleware.Call, accepted *middleware.Tool) *middleware.Tool {
	a, _ := ctx.Value(answerKey{}).(*answer)
	if a == nil {
		return accepted
	}
	call.Tool = accepted
	tool := *accepted
	if exactly := answerTo(a, Bind(&call)); exactly != nil {
		tool.Annotations = exactly.over(accepted.Annotations)
	} else {
		for ; a != nil; a = a.outer {
			if a.static.Server == tool.Server && a.static.Name() == tool.Name() && a.found.Safety() < tool.Safety() {
				tool.Annotations = annotation.Raise(tool.Annotations, a.found)
			}
		}
	}
	if accepted.Annotations.AuditRequired == annotation.Yes {
		tool.Annotations.AuditRequired = annotation.Yes
	}
	return &tool
}

type recordKey struct{}

// WithRecord returns a context that says that exactly this call is written down,
// before it is made.
func WithRecord(ctx context.Context, call *middleware.Call) context.Context {
	return context.WithValue(ctx, recordKey{}, Bind(call))
}

// recorded reports whether exactly this call is written down.
func recorded(ctx context.Context, call *middleware.Call) bool {
	b, ok := ctx.Value(recordKey{}).(Binding)
	return ok && b == Bind(call)
}
