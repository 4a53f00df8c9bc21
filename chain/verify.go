package chain

import (
	"context"
	"fmt"
	"slices"

	"github.com/fairlead-go/fairlead/internal/turn"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Problem is a promise that an order breaks.
type Problem struct {
	// Text names the promise, and the middleware to move.
	Text string
	// Warning is true if the order only costs questions, tokens of the rate limit or time.
	Warning bool
}

// String returns the text, with "warning: " before it where it is one.
func (p Problem) String() string {
	if p.Warning {
		return "warning: " + p.Text
	}
	return p.Text
}

// Verify reports in words which promises a hand-made order breaks, the worst first. It takes a [Chain], a
// [Standard], or anything else that is put in front of an executor in the same way; it panics on nil.
//
// Verify makes no call: it builds the chain and reads what describes itself ([middleware.Describer]), in
// nested chains too. A middleware without a description is passed over; what it builds inside itself without
// a chain is seen as far as each middleware describes its next. To check what one middleware does with its
// calls, use middlewaretest.Run.
//
// Verify cannot see the executor: whether that is guarded is up to the caller of Then (see [Guard]). An empty
// chain breaks no promise, since the guard refuses what was not approved.
func Verify(c interface {
	Then(executor middleware.ToolCaller) middleware.ToolCaller
}) []Problem {
	if c == nil {
		panic("chain: Verify was given a nil chain")
	}
	problems := broken(kinds(c.Then))
	warnings := slices.Clone(problems)
	problems = slices.DeleteFunc(problems, func(p Problem) bool { return p.Warning })
	return append(problems, slices.DeleteFunc(warnings, func(p Problem) bool { return !p.Warning })...)
}

// A reader is the executor of a chain that is read. [Chain.Then] and [Standard.Then] recognize it, and instead of
// putting their links in front of it they pass it each link, from the innermost one outwards. A nested chain does so
// when it is built, which is while the outer one reads it; so the kinds come in the order of the whole. What a
// middleware has built without a chain is found by what it describes as its next.
type reader struct{ kinds []string }

func kinds(whole middleware.Middleware) []string {
	r := new(reader)
	r.add(whole(r))
	return r.kinds
}

func (r *reader) read(links []middleware.Middleware) middleware.ToolCaller {
	for _, link := range slices.Backward(links) {
		r.add(link(r))
	}
	return r
}

// add notes what a link has built, up to the reader itself: all further in than that has been noted already.
func (r *reader) add(built middleware.ToolCaller) {
	var found []string
	for d := range turn.Described(built) { // the reader does not describe itself
		if d.Kind != "" {
			found = append(found, d.Kind)
		}
	}
	r.kinds = append(found, r.kinds...)
}

// CallTool is there for a link that calls next while it is built.
func (*reader) CallTool(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
	return nil, errLooked
}

// broken returns what the kinds break in that order, outermost first.
func broken(order []string) []Problem {
	var problems []Problem
	add := func(warning bool, format string, args ...any) {
		problems = append(problems, Problem{Text: fmt.Sprintf(format, args...), Warning: warning})
	}
	for _, slot := range slots {
		outer := slices.Index(order, slot.kind)
		for _, b := range slot.breaks {
			inner := slices.Index(order, b.kind)
			switch {
			case b.kind == slot.kind && outer >= 0 && slices.Contains(order[outer+1:], b.kind):
				add(b.warning, "%s is in the chain more than once: %s; leave one out", b.kind, b.breaks)
			case inner >= 0 && inner < outer:
				add(b.warning, "%s is outside %s: %s; put %s further out", b.kind, slot.kind, b.breaks, slot.kind)
			}
		}
	}
	for _, p := range pairs {
		if slices.Contains(order, p.one) && !slices.Contains(order, p.other) {
			add(false, "%s is in the chain without %s: %s; put both middlewares of one trail into the chain", p.one, p.other, p.breaks)
		}
	}
	if guard := slices.Index(order, "guard"); guard >= 0 && guard < len(order)-1 {
		add(false, "guard is outside %s: what it has let through can still be changed or repeated; put it innermost, around the executor",
			order[guard+1])
	}
	return problems
}
