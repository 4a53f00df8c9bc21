package chain

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
// hung before it, and makes no call. It sees whatever tells its kind
// ([middleware.Kinder]), in nested chains too. A middleware that tells nothing is
// passed over; what one builds inside itself with no chain is seen as far as each
// link tells its next ([middleware.Unwrapper]).
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
	order := kinds(c)
	problems := broken(order)
	if len(doubles) == 1 {
		problems = append(problems, driven(c, doubles[0], slices.Contains(order, kindRecord))...)
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		switch {
		case a.Warning == b.Warning:
			return 0
		case a.Warning:
			return 1
		}
		return -1
	})
	return problems
}

// A reader is the executor of a chain that is read. [Chain.Then] hands it each
// link, so that the ones in a nested chain are seen whatever stands around them.
type reader struct{ kinds []string }

// maxDepth ends the walk through links that tell each other as their next.
const maxDepth = 1000

// kinds returns the kinds of what the chain is made of, outermost first.
func kinds(c interface {
	Then(executor middleware.ToolCaller) middleware.ToolCaller
}) []string {
	r := new(reader)
	r.add(c.Then(r))
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
	for range maxDepth {
		if built == nil || built == middleware.ToolCaller(r) {
			break
		}
		if k, ok := built.(middleware.Kinder); ok {
			found = append(found, k.Kind())
		}
		u, ok := built.(middleware.Unwrapper)
		if !ok {
			break
		}
		built = u.Unwrap()
	}
	r.kinds = append(found, r.kinds...)
}

// CallTool is there for a link that calls next while it is built.
func (*reader) CallTool(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
	return nil, errors.New("chain: this chain was built to be looked at")
}

// The kinds that an order is judged by.
const (
	kindInfer     = "infer"
	kindConfirm   = "hitl"
	kindCache     = "cache"
	kindRetry     = "retry"
	kindRateLimit = "ratelimit"
	kindTimeout   = "timeout"
	kindGuard     = "guard"
	kindOutput    = "output"
	kindRecord    = "record"
	kindRecover   = "recover"
	kindBudget    = "budget"
	kindPreflight = "preflight"
	kindIntent    = "intent"
	kindRoute     = "route"
)

// places says for each two kinds which one belongs outside, and what breaks where
// it does not stand there.
var places = []struct {
	outer, inner string
	breaks       string
	warning      bool
}{
	{kindConfirm, kindCache, "what memory answers, nobody is asked about, and while a person thinks nothing of that server is remembered", false},
	{kindConfirm, kindRetry, "a person is asked again for each attempt", false},
	{kindInfer, kindConfirm, "a person is asked about every tool, since nobody has classed it yet", false},
	{kindInfer, kindCache, "no read is remembered, and each counts as a write, since nobody has classed it yet", false},
	{kindInfer, kindRetry, "no read is repeated, since nobody has classed it yet", false},
	{kindInfer, kindPreflight, "the arguments of a tool are judged before anyone has classed the tool", false},
	{kindPreflight, kindConfirm, "a person is asked about the tool and not about these arguments", false},
	{kindPreflight, kindCache, "what the arguments say of the call, memory does not know", false},
	{kindOutput, kindRecord, "a failure is recorded as an answer, and an answer as it was cut", false},
	{kindOutput, kindConfirm, "a no reaches the model as a failure of the host", false},
	{kindOutput, kindCache, "what is remembered is what was cut for one model", false},
	{kindOutput, kindRetry, "a failure is an answer before it can be repeated", false},
	{kindRecord, kindRecover, "a panic leaves no record", false},
	{kindRecord, kindConfirm, "what a person denies leaves no record", false},
	{kindRecord, kindIntent, "what was begun is not seen to end", false},
	{kindIntent, kindCache, "what memory does with a call is not written down before it", false},
	{kindIntent, kindRetry, "each attempt is written down as a call of its own", false},
	{kindConfirm, kindIntent, "what nobody has agreed to yet is written down as begun", true},
	{kindBudget, kindConfirm, "a person is asked about a call that the budget then stops", true},
	{kindBudget, kindCache, "a loop that memory answers goes on", true},
	{kindBudget, kindRetry, "each attempt is paid for as a call", true},
	{kindPreflight, kindRetry, "the arguments are judged again for each attempt", true},
	{kindRetry, kindRoute, "no attempt goes to another replica than the first", true},
	{kindRateLimit, kindRoute, "a replica is chosen before there is a place in the rate", true},
	{kindTimeout, kindRoute, "choosing a replica and its failures are outside the time limit", true},
	{kindRetry, kindRateLimit, "attempts after the first go out unpaced", false},
	{kindConfirm, kindRateLimit, "a place in the rate is taken before a person has said yes, and for what is denied as well", true},
	{kindConfirm, kindTimeout, "the time in which a person thinks counts as the server's", true},
	{kindCache, kindRetry, "each attempt goes through memory again, and who waits for another's call gets its failure as often as that is repeated", true},
	{kindCache, kindRateLimit, "an answer from memory costs a place in the rate", true},
	{kindRetry, kindTimeout, "all attempts share the time of one", true},
	{kindRateLimit, kindTimeout, "the wait for a place in the rate counts as the server's time", true},
}

// once says what breaks where a kind is there twice.
var once = []struct {
	kind, breaks string
	warning      bool
}{
	{kindConfirm, "what is said to one, the other does not know", false},
	{kindCache, "the inner one is asked for what the outer one has forgotten on purpose", false},
	{kindRetry, "the attempts of the two multiply", false},
	{kindRecord, "each call is recorded twice", false},
	{kindIntent, "each call is begun twice", false},
	{kindBudget, "each call is paid for twice", true},
	{kindRateLimit, "each attempt costs two places in the rate", true},
}

// pairs says which kind is of no use without which other.
var pairs = []struct{ one, other, breaks string }{
	{kindRecord, kindIntent, "a call leaves no trace if the process ends in its middle, and what must be recorded is refused"},
	{kindIntent, kindRecord, "what was begun is never seen to end, so what must be written down is refused"},
}

// broken judges an order by its kinds.
func broken(order []string) []Problem {
	var problems []Problem
	for _, p := range places {
		outer, inner := slices.Index(order, p.outer), slices.Index(order, p.inner)
		if inner >= 0 && inner < outer {
			problems = append(problems, Problem{
				Text:    fmt.Sprintf("%s stands outside %s: %s; put %s further out", p.inner, p.outer, p.breaks, p.outer),
				Warning: p.warning,
			})
		}
	}
	for _, o := range once {
		if first := slices.Index(order, o.kind); first >= 0 && slices.Contains(order[first+1:], o.kind) {
			problems = append(problems, Problem{
				Text:    fmt.Sprintf("%s stands in the chain more than once: %s; leave one out", o.kind, o.breaks),
				Warning: o.warning,
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
