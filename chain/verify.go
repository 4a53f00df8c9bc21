package chain

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fairlead-go/fairlead/internal/turn"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Problem is a promise that an order breaks.
type Problem struct {
	// Text says what breaks, and what to move.
	Text string
	// Warning is true where it costs questions, places in the rate or time, and
	// nothing worse can come of it.
	Warning bool
}

// String returns the text, with "warning: " before it where it is one.
func (p Problem) String() string {
	if p.Warning {
		return "warning: " + p.Text
	}
	return p.Text
}

// Verify says in words which promises a hand-made order breaks, the worst first,
// and nothing where it finds none. A [Chain] and a [Standard] may be handed in, and
// anything else that hangs in front of an executor in the same way.
//
// Alone it reads: it lets the chain be built before an executor that notes what is
// hung before it, and makes no call. It sees whatever describes itself
// ([middleware.Describer]), in nested chains too. A middleware that does not is passed
// over; what one builds inside itself with no chain is seen as far as each link
// describes its next.
//
// With doubles it also makes a dozen calls, with tools of its own on a server that
// is called "fairlead.verify", and looks at what reaches the executor. So it sees
// what the middlewares that tell nothing do: call next twice, change what was
// agreed to, answer from memory what a person must be asked about. It takes
// microseconds where nothing in the chain waits; a failed call says that it has a
// millisecond left, so a retry whose repetitions are to be seen needs a Rand that
// returns 0. A call that is not answered within 5 seconds is a problem and the last.
//
// What it cannot see is the executor that the chain will hang before: whether a
// guard stands there is up to the one who writes Then (see [Guard]). An empty chain
// breaks no promise, since the guard refuses what nobody was asked about.
//
// Verify panics on a nil chain and on more than one Doubles.
func Verify(c interface {
	Then(executor middleware.ToolCaller) middleware.ToolCaller
}, doubles ...Doubles) []Problem {
	switch {
	case c == nil:
		panic("chain: Verify was given a nil chain")
	case len(doubles) > 1:
		panic("chain: Verify was given more than one Doubles")
	}
	order := kinds(c.Then)
	problems := broken(order)
	if len(doubles) == 1 {
		problems = append(problems, driven(c.Then, doubles[0], slices.Contains(order, kindRecord))...)
	}
	warnings := slices.Clone(problems)
	problems = slices.DeleteFunc(problems, func(p Problem) bool { return p.Warning })
	return append(problems, slices.DeleteFunc(warnings, func(p Problem) bool { return !p.Warning })...)
}

// A reader is the executor of a chain that is read. [Chain.Then] hands it each
// link, so that the ones in a nested chain are seen whatever stands around them.
type reader struct{ kinds []string }

// kinds returns the kinds of what the chain is made of, outermost first.
func kinds(whole middleware.Middleware) []string {
	r := new(reader)
	r.add(whole(r))
	return r.kinds
}

// read notes the links of one chain, from the innermost.
func (r *reader) read(links []middleware.Middleware) middleware.ToolCaller {
	for _, link := range slices.Backward(links) {
		r.add(link(r))
	}
	return r
}

// add notes what a link has built, up to the reader itself: all further in than
// that has been noted already.
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
	return nil, errors.New("chain: this chain was built to be looked at")
}

// broken judges an order by its kinds.
func broken(order []string) []Problem {
	var problems []Problem
	for _, slot := range slots {
		for _, b := range slot.before {
			outer, inner := slices.Index(order, slot.kind), slices.Index(order, b.kind)
			if inner >= 0 && inner < outer {
				problems = append(problems, Problem{
					Text:    fmt.Sprintf("%s stands outside %s: %s; put %s further out", b.kind, slot.kind, b.breaks, slot.kind),
					Warning: b.warning,
				})
			}
		}
	}
	for _, slot := range slots {
		if first := slices.Index(order, slot.kind); slot.twice.breaks != "" && first >= 0 && slices.Contains(order[first+1:], slot.kind) {
			problems = append(problems, Problem{
				Text:    fmt.Sprintf("%s stands in the chain more than once: %s; leave one out", slot.kind, slot.twice.breaks),
				Warning: slot.twice.warning,
			})
		}
	}
	for _, p := range pairs {
		if slices.Contains(order, p.one) && !slices.Contains(order, p.other) {
			problems = append(problems, Problem{
				Text: fmt.Sprintf("%s stands in the chain without %s: %s; put both links of one trail into the chain", p.one, p.other, p.breaks),
			})
		}
	}
	if guard := slices.Index(order, kindGuard); guard >= 0 && guard < len(order)-1 {
		problems = append(problems, Problem{
			Text: fmt.Sprintf("guard stands outside %s: what it has let through can still be changed or repeated; put it innermost, around the executor", order[guard+1]),
		})
	}
	return problems
}
