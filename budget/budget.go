// Package budget stops a session that has made as many calls, cost as much or taken as long as the host allows,
// and one that repeats itself in a loop.
//
// A session is a scope ([middleware.Call].Scope) until it has been idle for a while. The error tells the model
// why, what else to do, and when it may go on. Nothing here waits.
package budget

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of [New]. The zero value ends loops and sets no limit.
type Options struct {
	// Session is what one session may spend, over all classes.
	Session Limit
	// Classes is what a session may spend on calls of one class, within Session. A class that is not named has no
	// limit of its own.
	Classes map[annotation.Safety]Limit
	// Idle ends a session: after so long without a call its budget begins anew. Stopped calls do not count. 0
	// means one hour.
	Idle time.Duration
	// Repeats is how often in a row the same call, or the same few in turn, may have the same answers before the
	// next is stopped as a loop; at most 100, and five times as often if the answers differ. 0 means 4.
	Repeats int
	// Pause is how long after such a call it is let through once more, for slow polling. 0 means 30 seconds.
	Pause time.Duration
	// Ledger holds what was spent, for a host that reads or resets it, or shares it between chains. Nil means one
	// of its own for each application of the middleware.
	Ledger *Ledger
	// Logger gets, at level Warn, each call that is stopped. Nil is silent.
	Logger *slog.Logger
}

// A Limit is how much may be spent. A zero field means no such limit.
type Limit struct {
	// Calls is how many calls may be made; cached answers count, and calls that were not carried out do not.
	Calls int
	// Cost is the sum of the tools' cost hints; a tool that has none costs nothing.
	Cost float64
	// Time is the sum of how long calls took, without the time that a person takes. A call is not begun when
	// it is used up, and not broken off.
	Time time.Duration
}

// New returns a middleware that stops calls with a [*StoppedError]. The cost of a call is reserved before it is
// made, so that concurrent calls cannot spend more together, and settled afterwards. New panics on a number that
// is negative or not finite.
func New(o Options) middleware.Middleware {
	fault.RefuseNegative("budget: Options", o)
	if o.Repeats > 100 {
		panic("budget: Options.Repeats is not between 0 and 100")
	}
	o.Idle, o.Repeats, o.Pause = cmp.Or(o.Idle, time.Hour), cmp.Or(o.Repeats, 4), cmp.Or(o.Pause, 30*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	b := budget{Options: o, timed: o.Session.Time > 0}
	for class, l := range o.Classes {
		if class > annotation.Safe {
			panic(fmt.Sprintf("budget: Options.Classes has a limit for class %d, and there is none of that number", class))
		}
		b.classes[class] = l
		b.timed = b.timed || l.Time > 0
	}
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		mine := b
		mine.next = next
		if mine.Ledger == nil {
			mine.Ledger = NewLedger(0)
		}
		return &mine
	}
}

type budget struct {
	Options

	next    middleware.ToolCaller
	classes [annotation.Safe + 1]Limit
	timed   bool // there is a limit on time
}

func (b *budget) Describe() middleware.Description {
	return middleware.Description{Kind: "budget", Next: b.next}
}

func (b *budget) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if ctx.Err() != nil {
		return nil, fault.GivenUp(ctx)
	}
	began := b.Ledger.now()
	taken, stopped := b.take(ctx, began, &call)
	if stopped != nil {
		callstate.Of(ctx).Decide("budget", "stopped", string(stopped.Reason))
		b.Logger.LogAttrs(ctx, slog.LevelWarn, "budget: stopped", slog.String("tool", call.Tool.String()), slog.String("class", call.Tool.Safety().String()),
			slog.String("reason", string(stopped.Reason)), slog.Duration("after", stopped.After))
		return nil, stopped
	}
	var said *callstate.State
	if b.timed {
		ctx, said = new(callstate.Root).Join(ctx, "budget")
	}
	waited := said.Record().Waited
	var end ending
	defer func() { // a panic on its way out is an end too
		end.at = b.Ledger.now()
		end.took = max(0, end.at-began-(said.Record().Waited-waited))
		b.settle(taken, end)
	}()
	res, err := b.next.CallTool(ctx, call)
	end.answer = b.Ledger.answer(res, err)
	end.returned = err != nil && (middleware.NotSent(err) || middleware.Refused(err))
	return res, err
}

// ErrStopped is in the tree of every error that stops a call in this package.
var ErrStopped = errors.New("budget: stopped")

// A Reason names what was used up.
type Reason string

// The reasons.
const (
	Calls Reason = "calls"
	Cost  Reason = "cost"
	Time  Reason = "time"
	Loop  Reason = "loop"
)

// A StoppedError reports which call was stopped, why, and when it may go on. The call was not sent.
type StoppedError struct {
	fault.Unsent

	Tool   *middleware.Tool
	Reason Reason
	// Class is the one whose limit it is, "" for the whole session's.
	Class string
	// Spent and Limit are those that a limit stops by.
	Spent Spent
	Limit Limit
	// Times is how often the loop went round, Turns how many calls take turns in it, and SameAnswer whether each
	// always had the same answer.
	Times, Turns int
	SameAnswer   bool
	// After is when it may go on, for a limit from the last call that was made; 0 means never, because one call
	// costs more than the whole budget.
	After time.Duration
}

func (e *StoppedError) Error() string {
	why, _ := e.text()
	return fmt.Sprintf("budget: %s was stopped: %s", e.Tool, why)
}

func (e *StoppedError) ForModel() string {
	why, instead := e.text()
	return fmt.Sprintf("%s was stopped: %s. %s.", e.Tool.ModelName(), why, instead)
}

func (e *StoppedError) text() (why, instead string) {
	if e.Reason == Loop {
		return fmt.Sprintf("%s; this call is let through again in %v", e.round(), shown(e.After)),
			"Use the answer that you have, change the arguments, or do something else"
	}
	what := "this session"
	if e.Class != "" {
		what = fmt.Sprintf("this session, for %s calls,", e.Class)
	}
	if e.After <= 0 {
		return fmt.Sprintf("one call of it costs more than all that %s may spend (%v)", what, e.Limit.Cost), "Use another tool, or tell the user"
	}
	return fmt.Sprintf("%s has used up %s; the budget begins anew in %v if no call is made until then", what, e.used(), shown(e.After)),
		"Finish with what you have, and tell the user what is missing"
}

func (e *StoppedError) round() string {
	switch {
	case e.Turns > 1:
		return fmt.Sprintf("the last calls were the same %d in turn, %d times, each with the same answer", e.Turns, e.Times)
	case e.SameAnswer:
		return fmt.Sprintf("it was called %d times in a row with the same arguments, and the answer was the same each time", e.Times)
	}
	return fmt.Sprintf("it was called %d times in a row with the same arguments", e.Times)
}

func (e *StoppedError) used() string {
	switch e.Reason {
	case Cost:
		return fmt.Sprintf("%v of the cost of %v that it may have, and this call costs more than is left", e.Spent.Cost, e.Limit.Cost)
	case Time:
		return fmt.Sprintf("the %v that its calls may take", e.Limit.Time)
	}
	return fmt.Sprintf("the %d calls that it may make", e.Limit.Calls)
}

// shown rounds up to whole seconds, so that a call which waits that long is let through.
func shown(d time.Duration) time.Duration { return fault.RoundUp(d, time.Second) }

func (e *StoppedError) Is(target error) bool { return target == ErrStopped }

// Permanent reports whether no wait will help.
func (e *StoppedError) Permanent() bool { return e.After <= 0 }

// RetryAfter returns how long it is of no use to make this call again, 0 if it never is of use.
func (e *StoppedError) RetryAfter() time.Duration { return e.After }

// A Ledger holds what sessions have spent. It is safe for concurrent use. Use [NewLedger].
type Ledger struct {
	born time.Time
	seed maphash.Seed

	mu       sync.Mutex // guards sessions; never taken while a session's is held
	sessions *simplelru.LRU[string, *session]
}

// NewLedger returns an empty ledger for that many sessions; 0 means 100,000, which take 40 MB after one call each
// and at most 210 MB. One more ends the least recently used session, whose budget begins anew: no scope is
// refused because of others. NewLedger panics if sessions is negative.
func NewLedger(sessions int) *Ledger {
	fault.RefuseNegative("budget: the number of sessions", sessions)
	kept, _ := simplelru.NewLRU[string, *session](cmp.Or(sessions, 100_000), nil) // its one error is a size of 0 or less
	return &Ledger{born: time.Now(), seed: maphash.MakeSeed(), sessions: kept}
}

// now is how long the ledger has been there. It takes one reading of the clock, where time.Now takes two.
func (l *Ledger) now() time.Duration { return time.Since(l.born) }

// Spent is what was spent, calls under way included.
type Spent struct {
	Calls int
	Cost  float64
	Time  time.Duration // of calls that have come back
}

// Spent returns what the session of a scope has spent.
func (l *Ledger) Spent(scope string) Spent {
	l.mu.Lock()
	s, ok := l.sessions.Peek(scope)
	l.mu.Unlock()
	if !ok {
		return Spent{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// Forget lets the session of a scope begin anew, as when its user agrees to more.
func (l *Ledger) Forget(scope string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sessions.Remove(scope)
}

type session struct {
	idle time.Duration

	mu      sync.Mutex // guards what follows
	all     Spent
	classes [annotation.Safe + 1]Spent
	calls   history
	flying  int           // calls in flight
	last    time.Duration // when one began or came back, by the ledger's clock
}

func (s *session) over(now time.Duration) bool {
	return s.flying == 0 && now-s.last >= s.idle
}

func (l *Ledger) enter(scope string, now, idle time.Duration) *session {
	s := l.session(scope, now, idle)
	s.mu.Lock()
	if s.over(now) {
		s.all, s.classes, s.calls = Spent{}, [len(s.classes)]Spent{}, history{}
		s.idle, s.last = idle, now
	}
	return s
}

func (l *Ledger) session(scope string, now, idle time.Duration) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.sessions.Get(scope); ok {
		return s
	}
	for _, oldest, ok := l.sessions.GetOldest(); ok && oldest.ended(now); _, oldest, ok = l.sessions.GetOldest() {
		l.sessions.RemoveOldest()
	}
	s := &session{last: now, idle: idle}
	l.sessions.Add(scope, s)
	return s
}

// ended is over for a session that is not locked, and false if another call has locked it.
func (s *session) ended(now time.Duration) bool {
	if !s.mu.TryLock() {
		return false
	}
	defer s.mu.Unlock()
	return s.over(now)
}

type taking struct {
	session *session
	class   annotation.Safety
	cost    float64
	place   int // in the session's history
}

type ending struct {
	at, took time.Duration
	answer   uint64
	returned bool // it was not carried out
}

func (b *budget) take(ctx context.Context, now time.Duration, call *middleware.Call) (taking, *StoppedError) {
	this := entry{tool: call.Tool, written: maphash.Bytes(b.Ledger.seed, call.Arguments), at: now}
	class := min(call.Tool.Safety(), annotation.Safe)
	cost := costOf(call.Tool)
	s := b.Ledger.enter(call.Scope, now, b.Idle)
	defer s.mu.Unlock()
	anew := max(s.last+s.idle-now, time.Millisecond)
	stopped := b.Session.stops(&s.all, cost, anew)
	if stopped == nil {
		if stopped = b.classes[class].stops(&s.classes[class], cost, anew); stopped != nil {
			stopped.Class = class.String()
		}
	}
	if stopped == nil {
		this.call = s.calls.identity(ctx, b.Ledger.seed, this, call)
		stopped = s.calls.loop(&b.Options, this.call, now)
	}
	if stopped != nil {
		stopped.Tool = call.Tool
		return taking{}, stopped
	}
	s.flying++
	s.last = now
	s.all.add(1, cost, 0)
	s.classes[class].add(1, cost, 0)
	return taking{session: s, class: class, cost: cost, place: s.calls.begin(b.Repeats, this)}, nil
}

func (b *budget) settle(t taking, e ending) {
	s := t.session
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flying--
	s.last = max(s.last, e.at)
	s.calls.end(t.place, e.answer)
	calls, cost := 0, 0.0
	if e.returned {
		calls, cost = -1, -t.cost
	}
	if t.cost >= maxExact { // what was spent beside it is lost in the sum
		cost = 0
	}
	s.all.add(calls, cost, e.took)
	s.classes[t.class].add(calls, cost, e.took)
}

// maxExact is where float64 begins to leave whole numbers out.
const maxExact = 1 << 53

func (s *Spent) add(calls int, cost float64, took time.Duration) {
	s.Calls += calls
	s.Time += took
	if cost != 0 { // few tools cost anything
		s.Cost = max(0, s.Cost+cost)
	}
}

// stops returns the limit that another call would break; the budget begins anew after that time.
func (l *Limit) stops(spent *Spent, cost float64, anew time.Duration) *StoppedError {
	switch {
	case l.Calls > 0 && spent.Calls >= l.Calls:
		return &StoppedError{Reason: Calls, Spent: *spent, Limit: *l, After: anew}
	case l.Cost > 0 && cost > l.Cost:
		return &StoppedError{Reason: Cost, Spent: *spent, Limit: *l}
	case l.Cost > 0 && spent.Cost+cost > l.Cost:
		return &StoppedError{Reason: Cost, Spent: *spent, Limit: *l, After: anew}
	case l.Time > 0 && spent.Time >= l.Time:
		return &StoppedError{Reason: Time, Spent: *spent, Limit: *l, After: anew}
	}
	return nil
}

// costOf is what a call of the tool costs; a hint that is not a number costs more than there is.
func costOf(tool *middleware.Tool) float64 {
	if tool == nil || tool.Annotations.CostHint == nil {
		return 0
	}
	if c := *tool.Annotations.CostHint; c >= 0 {
		return c
	}
	return math.Inf(1)
}

const (
	longest = 4 // calls that may take turns in a loop
	patient = 5 // times as often where the answers differ
)

type entry struct {
	tool    *middleware.Tool
	written uint64 // a digest of the arguments
	call    uint64 // a digest of the call, however its arguments are written
	answer  uint64
	at      time.Duration // by the ledger's clock
	back    bool
}

type history struct {
	last []entry
	made int    // all that there were
	most int    // that a loop can have
	form []byte // room for one call's canonical arguments
}

// nth returns the nth call before the next one, from 1, nil if it is forgotten.
func (h *history) nth(n int) *entry {
	if n > len(h.last) {
		return nil
	}
	return &h.last[len(h.last)-n]
}

// begin notes a call. Chains that share the ledger may differ in how many calls they look back.
func (h *history) begin(repeats int, e entry) (place int) {
	h.most = max(h.most, max(longest, patient)*repeats)
	if len(h.last) >= 2*h.most {
		h.last = slices.Delete(h.last, 0, len(h.last)-h.most)
	}
	h.last = append(h.last, e)
	h.made++
	return h.made - 1
}

// end notes its answer, unless it is forgotten already.
func (h *history) end(place int, answer uint64) {
	if e := h.nth(h.made - place); e != nil {
		e.answer, e.back = answer, true
	}
}

// loop returns an error if the next call goes on with a loop too soon: one or more calls in turn, with one answer each.
func (h *history) loop(o *Options, call uint64, now time.Duration) *StoppedError {
	for period := 1; period <= longest; period++ {
		before := h.nth(period) // what would be the same call
		if before == nil || before.call != call || now-before.at >= o.Pause {
			continue
		}
		again := &StoppedError{Reason: Loop, Turns: period, After: o.Pause - (now - before.at)}
		if same := h.run(period, true); same >= period*o.Repeats {
			again.Times, again.SameAnswer = same/period, true
			return again
		}
		if period == 1 { // with whatever answers, and then none of the longer ones
			if again.Times = h.run(1, false); again.Times >= patient*o.Repeats {
				return again
			}
			if again.Times >= longest {
				return nil
			}
		}
	}
	return nil
}

func (h *history) run(period int, answers bool) int {
	n := period
	for {
		later, earlier := h.nth(n-period+1), h.nth(n+1)
		if earlier == nil || later.call != earlier.call || answers && (!later.back || !earlier.back || later.answer != earlier.answer) {
			return n
		}
		n++
	}
}

// maxForm keeps one long text from pinning its room for good.
const maxForm = 1 << 16

// identity is a digest of the tool and the arguments, however these are written.
func (h *history) identity(ctx context.Context, seed maphash.Seed, this entry, call *middleware.Call) uint64 {
	for i := len(h.last) - 1; i >= 0; i-- {
		if e := &h.last[i]; e.tool == this.tool && e.written == this.written {
			return e.call
		}
	}
	form, err := callstate.AppendForm(h.form[:0], callstate.Of(ctx), call)
	if err != nil {
		form = append(form[:0], call.Arguments...)
	}
	if cap(form) <= maxForm {
		h.form = form
	}
	var names [2]string
	if call.Tool != nil {
		names = [2]string{call.Tool.Server, call.Tool.Name()}
	}
	return maphash.Comparable(seed, names) ^ maphash.Bytes(seed, form)
}

func text(h *maphash.Hash, s string) { // with its length, so that no two lists of texts are the same
	maphash.WriteComparable(h, len(s))
	_, _ = h.WriteString(s)
}

// answer is a digest of what came back. One that cannot be read is like no other.
func (l *Ledger) answer(res *mcp.CallToolResult, err error) uint64 {
	if err == nil && res != nil && !res.IsError && len(res.Content) == 1 && res.StructuredContent == nil {
		if t, ok := res.Content[0].(*mcp.TextContent); ok { // as most are
			return maphash.String(l.seed, t.Text)
		}
	}
	var h maphash.Hash
	h.SetSeed(l.seed)
	switch {
	case err != nil:
		text(&h, "error")
		text(&h, err.Error())
	case res != nil:
		maphash.WriteComparable(&h, res.IsError)
		for _, c := range res.Content {
			if t, ok := c.(*mcp.TextContent); ok {
				text(&h, t.Text)
			} else {
				value(&h, c)
			}
		}
		if res.StructuredContent != nil {
			value(&h, res.StructuredContent)
		}
	}
	return h.Sum64()
}

func value(h *maphash.Hash, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		maphash.WriteComparable(h, math.NaN()) // never the same
	}
	text(h, string(raw))
}
