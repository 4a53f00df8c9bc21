package callstate

import (
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
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

// An Over returns the annotations of one call from those of its tool. It is applied to the call's own annotations
// and, at the executor, to the accepted ones, so that a less strict copy of the tool gains nothing.
type Over func(annotation.Annotations) annotation.Annotations

// A Judge classifies a call by its arguments.
type Judge func(ctx context.Context, call middleware.Call) (*middleware.Tool, error)

type answer struct {
	binding Binding
	static  *middleware.Tool // without the answer
	found   annotation.Annotations
	over    Over
}

// WithAnswer returns a context that carries which class the call has with exactly its arguments, from a source
// that may lower it: the host's own rules, and a server that the host trusts. The call's tool is the static
// one, changed by over. Further in, an answer to the same call can only be raised.
func WithAnswer(ctx context.Context, call *middleware.Call, static *middleware.Tool, over Over) context.Context {
	a := &answer{binding: Bind(Of(ctx), call), static: static, found: call.Tool.Annotations, over: over}
	if have := answerTo(ctx, call); have != nil {
		if have.found.Safety() < a.found.Safety() {
			return ctx
		}
		a.static = have.static
	}
	return Keep(ctx, a)
}

// Answer gives a call the class that it has with exactly its arguments, and returns a context that carries it.
func Answer(ctx context.Context, call *middleware.Call, over Over) context.Context {
	static, tool := Static(ctx, call.Tool), *call.Tool
	tool.Annotations = over(tool.Annotations)
	call.Tool = &tool
	ctx = WithAnswer(ctx, call, static, over)
	Of(ctx).Write(func(r *Record) { r.Tool = call.Tool })
	return ctx
}

// JudgeBy returns a judge that classifies a call as the middleware does.
func JudgeBy(m middleware.Middleware) Judge {
	return func(ctx context.Context, call middleware.Call) (tool *middleware.Tool, err error) {
		call.Tool = Static(ctx, call.Tool) // not as it was with the arguments before
		_, err = m(middleware.ToolCallerFunc(func(_ context.Context, judged middleware.Call) (*mcp.CallToolResult, error) {
			tool = judged.Tool
			return &mcp.CallToolResult{}, nil
		})).CallTool(ctx, call)
		return tool, err
	}
}

// WithJudge returns a context that carries a judge for arguments that a person edits.
func WithJudge(ctx context.Context, judge Judge) context.Context { return Keep(ctx, judge) }

// JudgeAgain returns the call with the tool of the judge that the context carries, and as it
// is without one. Another tool is an error.
func JudgeAgain(ctx context.Context, call middleware.Call) (middleware.Call, error) {
	judge := JudgeOf(ctx)
	if judge == nil {
		return call, nil
	}
	tool, err := judge(ctx, call)
	switch {
	case err != nil:
		return call, fmt.Errorf("they cannot be classed: %w", err)
	case tool == nil || tool.Server != call.Tool.Server || tool.Name() != call.Tool.Name() || tool.Digest != call.Tool.Digest:
		return call, errors.New("they were classed as those of another tool")
	}
	call.Tool = tool
	return call, nil
}

// JudgeOf returns the judge that the context carries, nil without one.
func JudgeOf(ctx context.Context) Judge {
	judge, _ := Own[Judge](ctx)
	return judge
}

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

// Static returns a tool as it was before an answer about one call changed it, or the tool itself.
func Static(ctx context.Context, tool *middleware.Tool) *middleware.Tool {
	a, ok := find(nearest(ctx), func(a *answer) bool {
		return a.static.Server == tool.Server && a.static.Name() == tool.Name() && a.static.Digest == tool.Digest
	})
	if ok {
		return a.static
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
	s := nearest(ctx)
	if _, ok := find[*answer](s, nil); !ok {
		return nil
	}
	want := Bind(Of(ctx), call)
	a, _ := find(s, func(a *answer) bool { return a.binding == want })
	return a
}

// Judged returns the accepted tool as preflight's answer changes it for these arguments. An answer to a call
// that was changed after it counts only if it raises: what was found to be dangerous does not become safe by
// other bytes, another scope, server or definition. A call that must be recorded stays so.
func Judged(ctx context.Context, call *middleware.Call, accepted *middleware.Tool) *middleware.Tool {
	s := nearest(ctx)
	if _, ok := find[*answer](s, nil); !ok {
		return accepted
	}
	its := *call
	its.Tool = accepted
	tool := *accepted
	if exactly := answerTo(ctx, &its); exactly != nil {
		tool.Annotations = exactly.over(accepted.Annotations)
	} else {
		for ; s != nil; s = s.outer {
			if a, ok := s.added.(*answer); ok && a.static.Name() == tool.Name() && a.found.Safety() < tool.Safety() {
				tool.Annotations = annotation.Raise(tool.Annotations, a.found)
			}
		}
	}
	if accepted.Annotations.AuditRequired == annotation.Yes {
		tool.Annotations.AuditRequired = annotation.Yes
	}
	return &tool
}

// WithMark returns a context that carries audit's mark: exactly this call is recorded, before it is made.
func WithMark(ctx context.Context, call *middleware.Call) context.Context {
	return Keep(ctx, Bind(Of(ctx), call))
}

// Marked reports whether exactly this call is recorded.
func Marked(ctx context.Context, call *middleware.Call) bool {
	recorded, ok := find[Binding](nearest(ctx), nil)
	return ok && recorded == Bind(Of(ctx), call)
}
