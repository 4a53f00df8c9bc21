package sim

// The same scenario with and without one more in the chain that only looks on: an audit trail, a telemetry, and middlewares of the
// host's own, which read the record of each call. Nothing may depend on whether they are there.

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An onlooker is what a chain has besides the scenario's own slots.
type onlooker string

const (
	alone     onlooker = "none"
	trail     onlooker = "an audit trail"
	telemetry onlooker = "a telemetry"
	hosts     onlooker = "middlewares of the host that read the record"
)

// yields is an onlooker that reads nothing and lets other goroutines run first.
const yields onlooker = "one that yields"

// alike is one of the scenarios that are compared. The methods of nil do nothing.
type alike struct {
	with  onlooker
	turns int // how often one that yields does so

	mu       sync.Mutex
	outcomes map[*record]string // what calls came back with
	reads    int                // of a record
}

// came keeps what a call came back with, and what its caller can find out about an error.
func (a *alike) came(r *record, res *mcp.CallToolResult, err error) {
	if a == nil {
		return
	}
	text := outcome(res, err)
	if err != nil {
		_, unknown := errors.AsType[*middleware.OutcomeUnknownError](err)
		text = fmt.Sprintf("unknown %t, not sent %t, permanent %t, for the model %q: %s", unknown, middleware.NotSent(err), middleware.Permanent(err), middleware.ForModel(err), text)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.outcomes[r] = text
}

// join puts the onlooker into the chains.
func (a *alike) join(outermost, inner *chain.Standard) {
	switch {
	case a == nil:
	case a.with == telemetry:
		outermost.Telemetry = a.look("telemetry")
	case a.with == hosts, a.with == yields:
		outermost.Outermost = append(slices.Clone(outermost.Outermost), a.look("metrics"))
		inner.PerCall = append(slices.Clone(inner.PerCall), a.look(""))
		inner.PerAttempt = append(slices.Clone(inner.PerAttempt), a.look("my-audit"))
	}
}

// look returns a middleware of that kind, which reads the record before and after the call.
func (a *alike) look(kind string) middleware.Middleware {
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		looking := middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			a.read(ctx)
			defer a.read(ctx)
			return next.CallTool(ctx, call)
		})
		if kind == "" {
			return looking
		}
		return &described{looking, middleware.Description{Kind: kind, Next: next}}
	}
}

func (a *alike) read(ctx context.Context) {
	if a.with == yields {
		for range a.turns {
			runtime.Gosched()
		}
		return
	}
	if _, ok := chain.RecordOf(ctx); ok {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.reads++
	}
}

type described struct {
	middleware.ToolCaller

	as middleware.Description
}

func (d *described) Describe() middleware.Description { return d.as }

// A course is how a scenario went: a line for each call and each execution.
type course struct {
	lines []string
	reads int
	out   Outcome
}

func (c *course) text() string { return strings.Join(c.lines, "\n") }

// numbers are those of executions, which two of one instant may exchange.
var numbers = regexp.MustCompile(`(execution )?\b\d+(: c\d)?`)

// add adds a line without the numbers of executions.
func (c *course) addf(format string, args ...any) {
	c.lines = append(c.lines, numbers.ReplaceAllStringFunc(fmt.Sprintf(format, args...), func(s string) string {
		before, its := strings.HasPrefix(s, "execution"), strings.Index(s, ":")
		switch {
		case before:
			return "execution"
		case its >= 0:
			return s[its:]
		}
		return s
	}))
}

// courseOf plays the scenario of a seed with an onlooker.
func courseOf(t *testing.T, seed uint64, with onlooker, turns int) *course {
	w := newScenario(seed)
	w.alike = &alike{with: with, turns: turns, outcomes: make(map[*record]string)}
	w.journal.play(t, w.play)
	c := &course{reads: w.alike.reads, out: Outcome{len(w.order), len(w.execs), w.violations, func() string { return w.print(w.settings) }}}
	for _, r := range w.order {
		c.addf("%v asked %d times, ended after %v: %s", r, r.asked, r.ended.Sub(r.begun), w.alike.outcomes[r])
		for _, e := range r.execs {
			c.addf("%v sent to %s %s at %v as %s: %s", r, e.server, e.replica, e.start.Sub(w.start), e.fault, e.text)
		}
	}
	return c
}

// plays is how often a scenario is played at most to find out that it has more than one course: events of one instant
// may happen in either order, and of several calls that wait for one person any may be the next.
const plays = 12

// RunAlike plays the scenario of a seed with and without each onlooker, if it is one of every fourth. One that has several
// courses of its own shows nothing.
func RunAlike(t *testing.T, seed uint64) Outcome {
	if seed%4 != 0 {
		return Outcome{Trace: func() string { return "" }}
	}
	usual := courseOf(t, seed, alone, 0)
	out := usual.out
	for _, with := range []onlooker{trail, telemetry, hosts} {
		own := courseOf(t, seed, with, 0)
		out.Violations = append(out.Violations, own.out.Violations...)
		if (with == telemetry || with == hosts) && own.reads == 0 && own.out.Calls > 0 {
			out.Violations = append(out.Violations, fmt.Sprintf("with %s no record was read", with))
		}
		if own.text() == usual.text() {
			continue
		}
		for play := range plays {
			if courseOf(t, seed, yields, play).text() != usual.text() || courseOf(t, seed, with, 0).text() != own.text() {
				return Outcome{Trace: out.Trace, Violations: out.Violations} // with no calls: they are not compared
			}
		}
		out.Violations = append(out.Violations, fmt.Sprintf("with %s the scenario goes another way: %s", with, difference(usual.lines, own.lines)))
		without := out.Trace
		out.Trace = func() string { return without() + "\n" + string(with) + "\n" + own.out.Trace() }
	}
	return out
}

// difference returns the first line of two courses that differs.
func difference(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("\n  without: %s\n  with:    %s", a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines without, %d with", len(a), len(b))
}
