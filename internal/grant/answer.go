package grant

import (
	"context"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
)

type answerKey struct{}

// An answer is what preflight found of a call with exactly these arguments.
type answer struct {
	binding Binding
	found   annotation.Annotations
	outer   *answer // of an enclosing call
}

// WithAnswer returns a context that says which class the call has with exactly its
// arguments, for the one who may lower it: the host's own rules, and a server that
// the host trusts. The call's tool is the copy with what was found. Further in, an
// answer to the same call can only be raised.
func WithAnswer(ctx context.Context, call *middleware.Call) context.Context {
	outer, _ := ctx.Value(answerKey{}).(*answer)
	a := &answer{binding: Bind(call), found: call.Tool.Annotations, outer: outer}
	if have, ok := Answered(ctx, call); ok && have.Safety() < a.found.Safety() {
		return ctx
	}
	return context.WithValue(ctx, answerKey{}, a)
}

// Answered returns what preflight found of exactly this call.
func Answered(ctx context.Context, call *middleware.Call) (annotation.Annotations, bool) {
	a, _ := ctx.Value(answerKey{}).(*answer)
	if a == nil {
		return annotation.Annotations{}, false
	}
	return a.to(call)
}

func (a *answer) to(call *middleware.Call) (annotation.Annotations, bool) {
	for want := Bind(call); a != nil; a = a.outer {
		if a.binding == want {
			return a.found, true
		}
	}
	return annotation.Annotations{}, false
}

// answered returns the accepted tool as preflight found it with these arguments.
// What must be recorded stays so.
func answered(accepted *middleware.Tool, found annotation.Annotations) *middleware.Tool {
	tool := *accepted
	tool.Annotations = found
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
