// Package chain puts middlewares in order. Most callers fill in a [Standard]; [New] composes any middlewares
// in an order of one's own, which [Verify] checks.
package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/internal/turn"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Chain is a list of middlewares, the first one outermost. The zero value passes every call through.
type Chain struct{ links []middleware.Middleware }

// New returns a chain of the middlewares, the first one outermost. It panics on a nil middleware.
func New(links ...middleware.Middleware) Chain {
	if slices.ContainsFunc(links, func(m middleware.Middleware) bool { return m == nil }) {
		panic("chain: New was given a nil middleware")
	}
	return Chain{links: slices.Clone(links)}
}

// Then puts the chain in front of an executor, which should be guarded (see [Guard]). The result is safe for
// concurrent use. The state of a middleware belongs to it unless its documentation states otherwise, so call
// Then once and keep the result. c.Then is itself a [middleware.Middleware].
func (c Chain) Then(executor middleware.ToolCaller) middleware.ToolCaller {
	if executor == nil {
		panic("chain: Then was given a nil executor")
	}
	return assemble(c.links, executor, entry{guards: guarded(executor)})
}

// assemble puts the middlewares in front of an executor, and the entry outside of them if it is needed.
func assemble(links []middleware.Middleware, executor middleware.ToolCaller, e entry) middleware.ToolCaller {
	if r, ok := executor.(*reader); ok { // the chain is read and not used
		return r.read(links)
	}
	e.first = executor
	asks, tells := e.judge != nil, false
	for _, link := range slices.Backward(links) {
		e.first = link(e.first)
		// A middleware without a kind, and telemetry, may call RecordOf; the others have something to record.
		d, ok := e.first.(middleware.Describer)
		if !ok || d.Describe().Kind == "" || d.Describe().Kind == "telemetry" {
			asks = true
		} else {
			tells = true
		}
	}
	if !asks || !tells {
		return e.first
	}
	return &e
}

// An entry begins the state of a call that enters a chain, for RecordOf.
type entry struct {
	first  middleware.ToolCaller
	kind   string
	guards bool            // the executor is guarded
	judge  callstate.Judge // of the chain's Preflight, nil without one
}

func (e *entry) Describe() middleware.Description {
	return middleware.Description{Kind: e.kind, Next: e.first, Guards: e.guards}
}

func (e *entry) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return e.first.CallTool(callstate.Enter(ctx, &call, e.judge), call)
}

// Recover returns a middleware that turns a panic further in into a [*PanicError], and neither or both of result
// and error into an error. The outcome of an unsafe call that panicked is unknown. A [Standard] has it already.
func Recover() middleware.Middleware {
	return fault.Recover
}

// A PanicError is a panic further in. Its text does not repeat the value; Value and Stack are for the log.
type PanicError = fault.PanicError

// ErrRefused is in the tree of every error of a guard that refused a call.
var ErrRefused = guard.ErrRefused

// Guard returns the executor behind a guard, which a catalog and package mount have already and which
// [Standard.Then] adds if it is missing. It refuses a Dangerous or Unknown call without a person's approval of
// exactly this tool, these arguments and this scope, whatever is outside it. A tool has the class that
// infer.New gave it further out, and otherwise is Unknown.
func Guard(executor middleware.ToolCaller) middleware.ToolCaller {
	return guard.Classified(executor)
}

func guarded(executor middleware.ToolCaller) bool {
	for d := range turn.Described(executor) {
		if d.Guards {
			return true
		}
	}
	return false
}

// A Record is what has happened to a call so far.
type Record struct {
	// Tool is the tool as it was classified furthest in, with these arguments; nil if nothing has classified it.
	Tool *middleware.Tool
	// Cached is true if the result is an earlier one, or that of a call in flight.
	Cached bool
	// Age is how old a cached result is, 0 for that of a call in flight.
	Age time.Duration
	// Approval is how the call was approved; the zero value is not approved.
	Approval Approval
	// Attempts is how often the call was handed on by retry, 0 without one.
	Attempts int
	// Replica is the one that was called last, "" without routing.
	Replica string
	// Waited is how long the call waited for people.
	Waited time.Duration
	// Sources are where the arguments came from, if package flow traced them for a question to a person.
	Sources []Source
	// Decisions are what the middlewares decided about the call, in order.
	Decisions []Decision
}

// An Approval is how a call was approved.
type Approval struct {
	ID       string // of the question, under which the store of approvals has it
	By       string // who approved, as the confirmer named the person
	Standing bool   // by a remembered approval
}

// A Decision is one decision of one middleware about the call.
type Decision struct {
	Stage string // the kind of the middleware: "cache", "retry"
	What  string // one of few words, fit for a metric: "hit", "miss"
	Why   string // for people, "" if What is enough; may repeat arguments
}

// A Source is where one argument came from. Its texts are safe to show to a person.
type Source = callstate.Source

// RecordOf returns what has happened so far to the call that ctx belongs to. A middleware of the host's own
// calls it when next has returned, with the context that it passed to next or was given:
//
//	res, err := next.CallTool(ctx, call)
//	record, ok := chain.RecordOf(ctx)
//
// It is false outside of a chain, and for what an executor does.
func RecordOf(ctx context.Context) (Record, bool) {
	state := callstate.Of(ctx)
	if !state.HasRecord() {
		return Record{}, false
	}
	r := state.Record()
	record := Record{
		Tool: r.Tool, Cached: r.Cached, Age: r.Age, Approval: Approval(r.Approval), Attempts: r.Attempts,
		Replica: r.Replica, Waited: r.Waited, Sources: r.Sources, Decisions: make([]Decision, len(r.Decisions)),
	}
	for i, d := range r.Decisions {
		d.Why = cmp.Or(d.Why, r.Memory(d))
		record.Decisions[i] = Decision(d)
	}
	return record, true
}

// Standard is the chain in its argued order, with one slot for each middleware. An empty slot is left out:
//
//	Outermost → Output → Telemetry → Audit (record) → recover → Infer → Budget → Preflight →
//	admission → Flow → Doubt → Confirm → PerCall → Audit (intent) → Cache → Retry → RateLimit → PerAttempt → Timeout → Route → executor
//
// Only Output turns errors into results and truncates them, so the cache holds whole results and records see
// errors as errors. A person is asked once, about the class that these arguments have, outside the cache and
// retries. A cached result costs no token of the rate limit; every attempt pays for its own, has its own
// time limit, and may go to another replica. Without Confirm, the guard at the executor refuses dangerous
// calls. A call that the executor would refuse is refused at admission. The calls of one batch (package
// batch) are kept in their order behind Confirm. A panic further in than recover becomes an error there.
type Standard struct {
	// Outermost middlewares see every call and its final result, as the model will see it.
	Outermost []middleware.Middleware
	// Output turns errors into results and truncates what is too long (output.New).
	Output middleware.Middleware
	// Telemetry measures the whole call (contrib/otel).
	Telemetry middleware.Middleware
	// Audit records each call, before it is made and when it has ended (audit.New).
	Audit Auditor
	// Infer classifies tools that no catalog has classified (infer.New).
	Infer middleware.Middleware
	// Budget bounds what a session may use, and ends loops (budget.New).
	Budget middleware.Middleware
	// Preflight classifies the call by its arguments, also those that a person edits (preflight.New).
	Preflight middleware.Middleware
	// Flow traces where arguments came from, and asks about those of untrusted results (flow.New).
	Flow middleware.Middleware
	// Doubt holds the repetition of a call that may have happened (doubt.New).
	Doubt middleware.Middleware
	// Confirm asks a person (hitl.New).
	Confirm middleware.Middleware
	// PerCall middlewares see what was approved, before the cache is looked up.
	PerCall []middleware.Middleware
	// Cache keeps the results of reads (cache.New).
	Cache middleware.Middleware
	// Retry repeats what failed (retry.New).
	Retry middleware.Middleware
	// RateLimit waits for a token, or refuses (ratelimit.New).
	RateLimit middleware.Middleware
	// PerAttempt middlewares see each attempt, once it may be sent.
	PerAttempt []middleware.Middleware
	// Timeout bounds each attempt (timeout.New).
	Timeout middleware.Middleware
	// Route chooses among the replicas of a server (package route).
	Route middleware.Middleware

	// Observe, if it is set, leaves out Output, Budget, Doubt, Cache, Retry, RateLimit and Timeout, and has the place
	// of Confirm: each call is sent once and as it came, without a question. The record of the call has what Observe
	// returns, which is what the chain would have done with a call of this tool (see [Standard.Describe]). Use it to
	// look at calls before rules are made for them; it protects from nothing. Nil observes nothing.
	Observe func(tool *middleware.Tool) string

	admit middleware.Middleware // the executor's own, nil if it has none
}

// An Auditor has the two middlewares of an audit trail; audit.New returns one.
type Auditor interface {
	Record(next middleware.ToolCaller) middleware.ToolCaller // what came of each call
	Intent(next middleware.ToolCaller) middleware.ToolCaller // what is about to be done
}

// An Admitter is an executor that can refuse a call early. Admit is a middleware that passes what the executor
// would not refuse; [Standard] puts it in front of Confirm. The executor itself checks again.
type Admitter interface {
	Admit(next middleware.ToolCaller) middleware.ToolCaller
}

func (s *Standard) links() []middleware.Middleware {
	var links []middleware.Middleware
	for _, slot := range slots {
		for _, link := range slot.in(s) {
			if link != nil {
				links = append(links, link)
			}
		}
	}
	return links
}

// Then puts the chain in front of an executor: a catalog, one of package mount's, or one of the host's own,
// which gets a [Guard] unless it describes itself as guarded ([middleware.Description]). Call it once and keep
// the result, which is safe for concurrent use. An [Admitter], such as a catalog, is asked at admission.
func (s Standard) Then(executor middleware.ToolCaller) middleware.ToolCaller {
	if executor == nil {
		panic("chain: Then was given a nil executor")
	}
	if _, read := executor.(*reader); read || guarded(executor) {
		return s.before(executor)
	}
	return s.before(Guard(executor))
}

func (s Standard) before(next middleware.ToolCaller) middleware.ToolCaller {
	if s.Observe != nil {
		s.Confirm = s.observe
		s.Output, s.Budget, s.Doubt, s.Cache, s.Retry, s.RateLimit, s.Timeout = nil, nil, nil, nil, nil, nil, nil
	}
	if a, ok := next.(Admitter); ok {
		s.admit = a.Admit
	}
	e := entry{kind: turn.Kind, guards: guarded(next)}
	if s.Preflight != nil {
		e.judge = callstate.JudgeBy(s.Preflight)
	}
	return assemble(s.links(), next, e)
}

// Middleware returns the chain as a middleware, for an executor that is guarded, or as a part of a longer chain.
func (s Standard) Middleware() middleware.Middleware { return s.before }

// Describe returns what the whole chain, with a guard at the executor, does with the calls of a tool.
func (s Standard) Describe() middleware.Description {
	all := middleware.Description{Kind: "chain", Guards: true}
	var will []func(*middleware.Tool) string
	for _, link := range s.links() {
		d, ok := link(nowhere).(middleware.Describer)
		if !ok {
			continue
		}
		one := d.Describe()
		all.Confirms = all.Confirms || one.Confirms
		all.ConfirmsWrites = all.ConfirmsWrites || one.ConfirmsWrites
		all.Caches = all.Caches || one.Caches
		all.Retries = all.Retries || one.Retries
		all.Limits = all.Limits || one.Limits
		all.Deadlines = all.Deadlines || one.Deadlines
		if one.Will != nil {
			will = append(will, one.Will)
		}
	}
	confirms := s.Confirm != nil
	all.Will = func(tool *middleware.Tool) string {
		var words []string
		switch {
		case confirms:
		case tool.Safety().MustConfirm(): // by the guard
			words = append(words, "refuse, nobody can be asked")
		default:
			words = append(words, "run")
		}
		for _, will := range will {
			if word := will(tool); word != "" {
				words = append(words, word)
			}
		}
		return strings.Join(words, " · ")
	}
	return all
}

// nowhere is the executor of a chain that is only looked at.
var nowhere = middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
	return nil, errLooked
})

var errLooked = errors.New("chain: this chain was built to be looked at")

// Explain returns what class the tool has, why, and what this chain will do with a call of it.
func (s Standard) Explain(tool *middleware.Tool) string {
	return tool.Explain() + "  will: " + s.Describe().Will(tool) + "\n"
}

// observe is in the place of Confirm in a chain that only observes.
func (s Standard) observe(next middleware.ToolCaller) middleware.ToolCaller {
	return &observer{next, s.Observe}
}

type observer struct {
	next  middleware.ToolCaller
	would func(*middleware.Tool) string
}

func (o *observer) Describe() middleware.Description {
	return middleware.Description{Kind: "observe", Next: o.next}
}

func (o *observer) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if call.Tool != nil {
		callstate.Of(ctx).Decide("observe", "passed", fmt.Sprintf("would: %s; it is %s (%s)", o.would(call.Tool), call.Tool.Safety(), because(call.Tool)))
	}
	ctx, grant := callstate.WithGrant(ctx, &call, annotation.Unknown, time.Hour, nil)
	defer grant.Void()
	return o.next.CallTool(ctx, call)
}

func because(tool *middleware.Tool) string {
	a := tool.Annotations
	for _, hint := range [...]struct {
		field   annotation.Field
		decides bool
	}{
		{annotation.DestructiveHint, a.Destructive == annotation.Yes},
		{annotation.RequiresConfirmation, a.RequiresConfirmation == annotation.Yes},
		{annotation.ReadOnlyHint, true},
	} {
		if e, ok := a.EvidenceOf(hint.field); ok && hint.decides {
			return e.String()
		}
	}
	return "nothing is known of it"
}

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

// A reader is the executor of a chain that is read. [Chain.Then] passes it each link, also of a nested chain.
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

// A slot is one place of [Standard]. The order of the slots is the order of the chain.
type slot struct {
	name string // as the documentation of Standard has it
	kind string // of what belongs there (see [middleware.Description]), "" if that may be anything
	in   func(s *Standard) list
	// breaks lists what breaks if a kind further in is outside of it, or its own kind is there twice.
	breaks []breach
}

type list = []middleware.Middleware

type breach struct {
	kind    string
	breaks  string
	warning bool // as in Problem
}

func one(m middleware.Middleware) list { return list{m} }

// slots are the places of Standard, outermost first, from which assembly, [Verify] and the documented order follow.
var slots = []slot{
	{name: "Outermost", in: func(s *Standard) list { return s.Outermost }},
	{name: "Output", kind: "output", in: func(s *Standard) list { return one(s.Output) }, breaks: []breach{
		{"record", "a failure is recorded as a result, and a result as it was truncated", false},
		{"hitl", "a denial reaches the model as a failure of the host", false},
		{"cache", "what is cached was truncated for one model", false},
		{"retry", "a failure is a result before it can be repeated", false},
	}},
	{name: "Telemetry", in: func(s *Standard) list { return one(s.Telemetry) }},
	{name: "Audit (record)", kind: "record", in: func(s *Standard) list { return s.audit(Auditor.Record) }, breaks: []breach{
		{"recover", "a panic is not recorded", false},
		{"hitl", "what a person denies is not recorded", false},
		{"intent", "the end of what was begun is not recorded", false},
		{"record", "each call is recorded twice", false}, // twice
	}},
	{name: "recover", kind: "recover", in: func(*Standard) list { return one(Recover()) }},
	{name: "Infer", kind: "infer", in: func(s *Standard) list { return one(s.Infer) }, breaks: []breach{
		{"hitl", "a person is asked about every tool, since nothing has classified it yet", false},
		{"cache", "no read is cached, and each counts as a write, since nothing has classified it yet", false},
		{"retry", "no read is retried, since nothing has classified it yet", false},
		{"preflight", "the arguments of a tool are judged before anything has classified the tool", false},
	}},
	{name: "Budget", kind: "budget", in: func(s *Standard) list { return one(s.Budget) }, breaks: []breach{
		{"hitl", "a person is asked about a call that the budget then stops", true},
		{"cache", "a loop that the cache answers goes on", true},
		{"retry", "each attempt counts as a call", true},
		{"budget", "each call is counted twice", true}, // twice
	}},
	{name: "Preflight", kind: "preflight", in: func(s *Standard) list { return one(s.Preflight) }, breaks: []breach{
		{"hitl", "a person is asked about the tool and not about these arguments", false},
		{"cache", "the cache does not know what the arguments make of the call", false},
		{"retry", "the arguments are judged again for each attempt", true},
	}},
	{name: "admission", kind: "admit", in: func(s *Standard) list { return one(s.admit) }},
	{name: "Flow", kind: "flow", in: func(s *Standard) list { return one(s.Flow) }, breaks: []breach{
		{"hitl", "a person is asked before the sources of the arguments are known", false},
		{"cache", "a read that sends a value out is answered or sent before its sources are known", false},
		{"flow", "each result is taken in twice", true}, // twice
	}},
	{name: "Doubt", kind: "doubt", in: func(s *Standard) list { return one(s.Doubt) }, breaks: []breach{
		{"hitl", "a person is asked about a call that may have happened already, and does not see that it may", false},
		{"intent", "what is held is recorded as begun", true},
		{"cache", "a result from the cache counts as one that shows whether a call has happened", false},
		{"retry", "an attempt is held because of the one before it", false},
		{"doubt", "each of them holds the repetition of a call once", true}, // twice
	}},
	{name: "Confirm", kind: "hitl", in: func(s *Standard) list { return one(s.Confirm) }, breaks: []breach{
		{"cache", "the cache answers without a question, and while a person thinks nothing of that server is cached", false},
		{"retry", "a person is asked again for each attempt", false},
		{"intent", "a call is recorded as begun before it is approved", true},
		{"ratelimit", "a token of the rate limit is taken before a person has approved, and for what is denied as well", true},
		{"timeout", "the time of a person's decision counts as the server's", true},
		{"hitl", "an answer to one is not an answer to the other", false}, // twice
	}},
	{name: "batch", in: func(s *Standard) list { return one(s.gate()) }},
	{name: "PerCall", in: func(s *Standard) list { return s.PerCall }},
	{name: "Audit (intent)", kind: "intent", in: func(s *Standard) list { return s.audit(Auditor.Intent) }, breaks: []breach{
		{"cache", "what the cache does with a call is not recorded before it", false},
		{"retry", "each attempt is recorded as a call of its own", false},
		{"intent", "each call is begun twice", false}, // twice
	}},
	{name: "Cache", kind: "cache", in: func(s *Standard) list { return one(s.Cache) }, breaks: []breach{
		{"retry", "each attempt goes through the cache again, and callers that wait for the call of another get its failure as often as that is retried", true},
		{"ratelimit", "a cached result costs a token of the rate limit", true},
		{"cache", "the inner one is asked for what the outer one has dropped on purpose", false}, // twice
	}},
	{name: "Retry", kind: "retry", in: func(s *Standard) list { return one(s.Retry) }, breaks: []breach{
		{"route", "no attempt goes to another replica than the first", true},
		{"ratelimit", "attempts after the first are sent without a token of the rate limit", false},
		{"timeout", "all attempts share the time of one", true},
		{"retry", "the attempts of the two multiply", false}, // twice
	}},
	{name: "RateLimit", kind: "ratelimit", in: func(s *Standard) list { return one(s.RateLimit) }, breaks: []breach{
		{"route", "a replica is chosen before there is a token of the rate limit", true},
		{"timeout", "the wait for a token of the rate limit counts as the server's time", true},
		{"ratelimit", "each attempt costs two tokens of the rate limit", true}, // twice
	}},
	{name: "PerAttempt", in: func(s *Standard) list { return s.PerAttempt }},
	{name: "Timeout", kind: "timeout", in: func(s *Standard) list { return one(s.Timeout) }, breaks: []breach{
		{"route", "choosing a replica and its failures are outside the time limit", true},
	}},
	{name: "Route", kind: "route", in: func(s *Standard) list { return one(s.Route) }},
}

func (s *Standard) gate() middleware.Middleware {
	if s.Confirm != nil && turn.Gated(s.Confirm(nowhere)) {
		return nil
	}
	return turn.Gate()
}

func (s *Standard) audit(which func(Auditor, middleware.ToolCaller) middleware.ToolCaller) list {
	if s.Audit == nil {
		return nil
	}
	return one(func(next middleware.ToolCaller) middleware.ToolCaller { return which(s.Audit, next) })
}

// pairs are the kinds that need another one.
var pairs = []struct{ one, other, breaks string }{
	{"record", "intent", "a call leaves no trace if the process ends in its middle, and what must be recorded is refused"},
	{"intent", "record", "the end of what was begun is never recorded, so what must be recorded is refused"},
}
