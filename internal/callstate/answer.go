package callstate

import (
	"context"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
)

// An Over returns the annotations of one call from those of its tool. It is applied to the call's own annotations
// and, at the executor, to the accepted ones, so that a less strict copy of the tool gains nothing.
type Over func(annotation.Annotations) annotation.Annotations

// An answer is the class that preflight found for exactly one call: by a rule of the host, or from a server that
// answers before the call. It may lower the class of the tool, so it is bound to the bytes of the arguments, and
// whatever is changed afterwards loses it ([Judged]).
type answer struct {
	binding Binding
	static  *middleware.Tool // without the answer
	found   annotation.Annotations
	over    Over
	outer   *answer // the answer before, to this call or an enclosing one; nil for none
}

// WithAnswer returns a context that carries which class the call has with exactly its arguments, from a source
// that may lower it: the host's own rules, and a server that the host trusts. The call's tool is the static
// one, changed by over. Further in, an answer to the same call can only be raised: it is laid over the first.
func WithAnswer(ctx context.Context, call *middleware.Call, static *middleware.Tool, over Over) context.Context {
	p := derive(ctx)
	a := &answer{binding: Bind(Of(ctx), call), static: static, found: call.Tool.Annotations, over: over, outer: p.holds.answer}
	if have := p.holds.answer.to(a.binding); have != nil {
		if have.found.Safety() < a.found.Safety() {
			return ctx
		}
		a.static = have.static
		a.over = func(accepted annotation.Annotations) annotation.Annotations { return over(have.over(accepted)) }
	}
	p.holds.answer = a
	return &p.State
}

// to returns the innermost answer to the call with that binding, nil for none.
func (a *answer) to(call Binding) *answer {
	for a != nil && a.binding != call {
		a = a.outer
	}
	return a
}

// Answer gives a call the class that it has with exactly its arguments, and returns a context that carries it.
func Answer(ctx context.Context, call *middleware.Call, over Over) context.Context {
	static, tool := Static(ctx, call.Tool), *call.Tool
	tool.Annotations = over(tool.Annotations)
	call.Tool = &tool
	ctx = WithAnswer(ctx, call, static, over)
	Of(ctx).Classify(call.Tool)
	return ctx
}

// Static returns a tool as it was before an answer about one call changed it, or the tool itself.
func Static(ctx context.Context, tool *middleware.Tool) *middleware.Tool {
	for a := nearest(ctx).within().answer; a != nil; a = a.outer {
		if a.static.Server == tool.Server && a.static.Name() == tool.Name() && a.static.Digest == tool.Digest {
			return a.static
		}
	}
	return tool
}

// Answered returns what preflight found about exactly this call.
func Answered(ctx context.Context, call *middleware.Call) (annotation.Annotations, bool) {
	if a := answerTo(ctx, call); a != nil {
		return a.found, true
	}
	return annotation.Annotations{}, false
}

// answerTo returns the answer to exactly this call, nil without one. Without any answer it computes no binding.
func answerTo(ctx context.Context, call *middleware.Call) *answer {
	if a := nearest(ctx).within().answer; a != nil {
		return a.to(Bind(Of(ctx), call))
	}
	return nil
}

// Judged returns the accepted tool as preflight's answer changes it for these arguments. An answer to a call
// that was changed after it counts only if it raises: what was found to be dangerous does not become safe by
// other bytes, another scope, server or definition. A call that must be recorded stays so.
func Judged(ctx context.Context, call *middleware.Call, accepted *middleware.Tool) *middleware.Tool {
	answers := nearest(ctx).within().answer
	if answers == nil { // as for most calls, which need no copy of the tool
		return accepted
	}
	its := *call
	its.Tool = accepted
	tool := *accepted
	if exactly := answers.to(Bind(Of(ctx), &its)); exactly != nil {
		tool.Annotations = exactly.over(accepted.Annotations)
	} else {
		for a := answers; a != nil; a = a.outer {
			if a.static.Name() == tool.Name() && a.found.Safety() < tool.Safety() {
				tool.Annotations = annotation.Raise(tool.Annotations, a.found)
			}
		}
	}
	if accepted.Annotations.AuditRequired == annotation.Yes {
		tool.Annotations.AuditRequired = annotation.Yes
	}
	return &tool
}
