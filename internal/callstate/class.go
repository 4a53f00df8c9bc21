package callstate

import (
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// WithClass returns a context that carries the class which the host's own inference gave to a tool that no
// catalog knows. It holds for exactly this definition. Further in, the class of a tool can only be raised.
func WithClass(ctx context.Context, tool *middleware.Tool) context.Context {
	if have := classes(ctx); have != nil && have.Server == tool.Server && have.Name() == tool.Name() && have.Safety() < tool.Safety() {
		return ctx
	}
	return with(ctx, tool)
}

func classes(ctx context.Context) *middleware.Tool {
	tool, _ := find[*middleware.Tool](nearest(ctx), nil)
	return tool
}

// Classified returns the tool that inference classified, if it is the one that the call
// names: the same definition of the same server.
func Classified(ctx context.Context, named *middleware.Tool) (*middleware.Tool, bool) {
	tool := classes(ctx)
	if tool == nil || tool.Server != named.Server || tool.Definition != named.Definition || tool.Digest != named.Digest {
		return nil, false
	}
	return tool, true
}

// An Over makes of what a tool is known to do what one call of it does. It is applied to the call's own
// annotations and, at the executor, to the accepted ones, so that a less strict copy of the tool gains nothing.
type Over func(annotation.Annotations) annotation.Annotations

// A Judge classifies a call by its arguments.
type Judge func(ctx context.Context, call middleware.Call) (*middleware.Tool, error)

// An answer is what preflight found about a call with exactly these arguments.
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
	if have := answerTo(nearest(ctx), a.binding); have != nil {
		if have.found.Safety() < a.found.Safety() {
			return ctx
		}
		a.static = have.static
	}
	return with(ctx, a)
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

// WithJudge returns a context that carries what classifies the call by its arguments, for
// arguments that a person edits.
func WithJudge(ctx context.Context, judge Judge) context.Context { return with(ctx, judge) }

// JudgeAgain returns the call with its tool as what classifies calls by their arguments has it,
// and as it is without such a thing. Another tool is an error.
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

// JudgeOf returns what classifies the call by its arguments, nil if there is nothing.
func JudgeOf(ctx context.Context) Judge {
	judge, _ := own[Judge](Of(ctx))
	return judge
}

// A limit reports whether the caller may use a tool.
type limit func(*middleware.Tool) bool

// WithLimit returns a context for a caller that may use only the tools that sees returns
// true for, whichever executor of the catalog the call comes to.
func WithLimit(ctx context.Context, sees func(*middleware.Tool) bool) context.Context {
	return with(ctx, limit(sees))
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

// Static returns a tool as it was before an answer about one call changed it: itself if there was none.
func Static(ctx context.Context, tool *middleware.Tool) *middleware.Tool {
	if a, ok := find(nearest(ctx), func(a *answer) bool {
		return a.static.Server == tool.Server && a.static.Name() == tool.Name() && a.static.Digest == tool.Digest
	}); ok {
		return a.static
	}
	return tool
}

// Answered returns what preflight found about exactly this call.
func Answered(ctx context.Context, call *middleware.Call) (annotation.Annotations, bool) {
	if s := nearest(ctx); s.answers() {
		if a := answerTo(s, Bind(Of(ctx), call)); a != nil {
			return a.found, true
		}
	}
	return annotation.Annotations{}, false
}

func (s *State) answers() bool {
	_, ok := find[*answer](s, nil)
	return ok
}

// answerTo returns the innermost answer to a call.
func answerTo(s *State, want Binding) *answer {
	a, _ := find(s, func(a *answer) bool { return a.binding == want })
	return a
}

// Judged returns the accepted tool as preflight's answer changes it for these arguments. An answer to a call
// that was changed after it counts only if it raises: what was found to be dangerous does not become safe by
// other bytes, another scope, server or definition. A call that must be recorded stays so.
func Judged(ctx context.Context, call *middleware.Call, accepted *middleware.Tool) *middleware.Tool {
	s := nearest(ctx)
	if !s.answers() {
		return accepted
	}
	its := *call
	its.Tool = accepted
	tool := *accepted
	if exactly := answerTo(s, Bind(Of(ctx), &its)); exactly != nil {
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
	return with(ctx, Bind(Of(ctx), call))
}

// Marked reports whether exactly this call is recorded.
func Marked(ctx context.Context, call *middleware.Call) bool {
	recorded, ok := find[Binding](nearest(ctx), nil)
	return ok && recorded == Bind(Of(ctx), call)
}
