package sim

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/doubt"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/route"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/fairlead-go/fairlead/verify/world"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A rogue is what a middleware of the host does to a call that needs an approval. None of it may
// lead past the guard.
type rogue string

const (
	honest   rogue = ""
	kinder   rogue = "kinder"   // outermost: a copy of the tool with less strict annotations
	tampers  rogue = "tampers"  // after the approval: other arguments
	crosses  rogue = "crosses"  // after the approval: another scope
	reroutes rogue = "reroutes" // after the approval: another server with the same definition
	doubles  rogue = "doubles"  // after the approval: next is called twice
	twins    rogue = "twins"    // after the approval: next is called twice at once
	lingers  rogue = "lingers"  // after the approval: next is called once more after the return
	skips    rogue = "skips"    // after the approval: next is called only after the return
	freshens rogue = "freshens" // for each attempt: the tool as it is accepted then
	fiddles  rogue = "fiddles"  // for each attempt: other arguments
)

var rogues = []rogue{kinder, tampers, crosses, reroutes, doubles, twins, lingers, skips, freshens, fiddles}

// outermost swaps in a less strict copy before the question: after it, no guard could see that the cache
// keeps a result that it must not.
func (w *scenario) outermost(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
	w.mu.Lock()
	r := w.calls[call.ID]
	swaps := r.rogue == kinder && r.law == asks && r.asked == 0
	w.mu.Unlock()
	if swaps {
		tool := *call.Tool
		a := &tool.Annotations
		a.ReadOnly, a.Destructive, a.RequiresConfirmation = annotation.Yes, annotation.No, annotation.No
		call.Tool = &tool
	}
	return next.CallTool(ctx, call)
}

// perCall misbehaves between the approval and the cache.
func (w *scenario) perCall(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
	r := w.find(call.ID)
	if !w.tempting(r) {
		return next.CallTool(ctx, call)
	}
	// again is what still runs when the call has returned: nothing of it may be executed.
	again := func(wait time.Duration) {
		own := call
		own.Arguments, own.Meta = bytes.Clone(call.Arguments), maps.Clone(call.Meta)
		later(&w.background, wait, func() { _, _ = chain.Recover()(next).CallTool(context.WithoutCancel(ctx), own) })
	}
	switch r.rogue {
	case tampers:
		call.Arguments = json.RawMessage(tampered)
	case crosses:
		call.Scope += "w"
	case reroutes:
		if other, ok := w.tools.Lookup(cmp.Or(map[string]string{trusty: replica}[r.server], trusty), r.tool.name); ok {
			call.Tool = other
		}
	case doubles:
		res, err := next.CallTool(ctx, call)
		_, _ = next.CallTool(ctx, call)
		return res, err
	case twins:
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = chain.Recover()(next).CallTool(ctx, call) })
		defer wg.Wait()
	case lingers:
		defer again(time.Second + time.Duration(r.n))
	case skips:
		again(time.Second + time.Duration(r.n))
		return nil, errors.New("the host's middleware did not call next")
	}
	return next.CallTool(ctx, call)
}

// perAttempt misbehaves inside the rate limit.
func (w *scenario) perAttempt(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
	r := w.find(call.ID)
	if w.tempting(r) {
		switch r.rogue {
		case freshens:
			if now, ok := w.tools.Lookup(call.Tool.Server, call.Tool.Name()); ok {
				call.Tool = now
			}
		case fiddles:
			call.Arguments = json.RawMessage(tampered)
		}
	}
	return next.CallTool(ctx, call)
}

// wrap makes a middleware of a func that gets the next caller.
func wrap(do func(context.Context, middleware.Call, middleware.ToolCaller) (*mcp.CallToolResult, error)) middleware.Middleware {
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			return do(ctx, call, next)
		})
	}
}

type seenKey struct{}

// atCache records the calls that reach the cache, and those that the cache counts as writes.
func (w *scenario) atCache(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
	w.mu.Lock()
	r := w.calls[call.ID]
	r.passes++
	r.entered = time.Now()
	w.checkTurn(r)
	server, named := call.Tool.Server, w.names(call.Tool.Server, call.Tool.Name(), string(call.Arguments))
	isWrite := call.Tool.Safety() != annotation.Safe
	if isWrite {
		w.writeEvents[server] = append(w.writeEvents[server], time.Now())
		w.writing[server] = append(w.writing[server], named)
	}
	r.overlaps = len(w.writing[server]) > 0
	r.touched = touch(w.writing[server], named)
	w.mu.Unlock()
	if isWrite {
		defer func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			under := w.writing[server]
			at := slices.Index(under, named)
			w.writing[server] = slices.Delete(under, at, at+1)
			w.writeEvents[server] = append(w.writeEvents[server], time.Now())
		}()
	}
	return next.CallTool(ctx, call)
}

// atLimit records the calls that pass the rate limit.
func (w *scenario) atLimit(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
	w.mu.Lock()
	r := w.calls[call.ID]
	r.attempts++
	w.checkRate(r, call)
	w.mu.Unlock()
	return next.CallTool(ctx, call)
}

// atExecutor passes on the call as the host last sees it.
func (*scenario) atExecutor(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
	return next.CallTool(context.WithValue(ctx, seenKey{}, &call), call)
}

// tempting reports whether only a guard prevents harm by a middleware of the host.
func (w *scenario) tempting(r *record) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return r.law == asks || r.worse != "" || r.lowered() && (r.rogue == tampers || r.rogue == fiddles)
}

func (w *scenario) find(id string) *record {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[id]
}

// slots are those of a chain that may be empty, and which of them are filled in a scenario.
type slots struct {
	judged   bool // the arguments decide the class
	careful  bool // writes are asked about too
	standing bool // an approval may be remembered
	pooled   bool // trusty has replicas
	limit    int  // calls of a session, 0 for as many as it likes
	audited  bool
	required bool // replica/create_note must be recorded
	shown    bool // package output is in the chain
	viewed   bool // every other caller may not see everything
	locked   bool // definitions must be accepted
	entities bool // the arguments of trusty's tools name entities
	doubted  bool // a call that may have happened is held
	traced   bool // the sources of arguments are known
}

func drawSlots(r *rand.Rand) slots {
	one := func(in int) bool { return r.IntN(in) == 0 }
	s := slots{
		judged: one(2), careful: one(6), standing: one(5), pooled: one(3), audited: one(2), required: one(4),
		shown: one(3), viewed: one(3), locked: one(4), entities: one(3),
	}
	if one(4) {
		s.limit = 3 + r.IntN(8)
	}
	s.doubted, s.traced = one(2), one(4)
	return s
}

// The replicas of trusty. Two of them are primaries.
const (
	first, losesAnswers, second = "a", "b", "c"
	shownLimit                  = 1000
)

var weights = map[string]int{first: 60, losesAnswers: 10, second: 50}

// assemble puts the chains in front of the catalog: one for callers that may see everything, and one
// for those that may not. They share all that can be shared.
func (w *scenario) assemble(t *testing.T) {
	s := w.settings
	asking := hitl.Options{Timeout: askTimeout, Lifetime: s.lifetime, MaxPending: s.maxPending, Writes: s.careful}
	if s.standing {
		asking.Remember, asking.OfferMembers, asking.Store = hitl.Session, true, w.approvals
	}
	jitter := func() float64 { return w.dice(forBackoff, uint64(w.now()), 0).Float64() } // of the instant, so that a replay draws the same
	outer, inner := chain.Standard{}, chain.Standard{
		Outermost:  []middleware.Middleware{wrap(w.outermost)},
		Infer:      infer.New(infer.Options{}),
		PerCall:    []middleware.Middleware{wrap(w.perCall), wrap(w.atCache)},
		Cache:      cache.New(w.memory()),
		Retry:      retry.New(retry.Options{Attempts: s.attempts, First: 500 * time.Millisecond, Rand: jitter}),
		RateLimit:  ratelimit.New(ratelimit.Options{PerMinute: s.perMinute, Burst: s.burst}),
		PerAttempt: []middleware.Middleware{wrap(w.atLimit), wrap(w.perAttempt), wrap(w.atExecutor)},
		Timeout:    timeout.New(timeout.Options{Default: attemptTimeout}),
	}
	outermost := &outer
	if s.nested == single {
		outermost = &inner
	}
	if s.judged {
		judge := preflight.New(preflight.Options{Rules: rules, Resolver: w, Trusted: w.trusts})
		outer.Preflight, inner.Preflight = judge, judge
	}
	if s.traced {
		outermost.Flow = w.tracing(t)
	}
	ask := hitl.New(w, asking)
	outer.Confirm, inner.Confirm = ask, ask
	if s.pooled {
		inner.Route = w.pool(t)
	}
	w.ledger = budget.NewLedger(0)
	if s.limit > 0 {
		inner.Budget = budget.New(budget.Options{Session: budget.Limit{Calls: s.limit}, Ledger: w.ledger})
	}
	if s.audited {
		trail := audit.New(w, audit.Options{})
		if s.nested == single {
			inner.Audit = trail
		} else { // one trail over two chains
			outermost.Telemetry, inner.PerCall = trail.Record, append(inner.PerCall, trail.Intent)
		}
	}
	if s.doubted {
		outermost.Doubt = doubt.New(doubt.Options{})
	}
	if s.shown {
		outermost.Output = output.New(output.Options{Limit: shownLimit})
		outermost.Output = chain.New(outermost.Output, wrap(w.atEdge)).Then
	}
	w.caller = w.nest(outer, inner, w.tools)
	w.narrow = w.caller
	if s.viewed {
		view, err := w.tools.View(catalog.Scope{Permission: replica + ".*"}, catalog.Scope{Permission: liar + ".read"})
		if err != nil {
			t.Fatal(err)
		}
		w.narrow = w.nest(outer, inner, view)
	}
}

type guarding interface {
	middleware.ToolCaller
	chain.Admitter

	Guard(executor middleware.ToolCaller) middleware.ToolCaller
}

func (w *scenario) nest(outer, inner chain.Standard, executor guarding) middleware.ToolCaller {
	outer.Infer = executor.Admit // by hand, since the executor of the outer chain is a chain
	switch w.settings.nested {
	case twoAsk:
		return outer.Then(inner.Then(executor))
	case guarded:
		return outer.Then(executor.Guard(inner.Then(executor)))
	}
	return inner.Then(executor)
}

func (w *scenario) memory() cache.Options {
	o := cache.Options{TTL: ttl, Store: cache.NewStore(cache.StoreOptions{Entries: 8000}), Idempotent: w.settings.remembered}
	if w.settings.entities {
		o.Entities = make(map[string][]string)
		for _, tool := range naming {
			o.Entities[trusty+"/"+tool] = []string{"id"}
		}
	}
	return o
}

func (w *scenario) pool(t *testing.T) middleware.Middleware {
	var all []route.Replica
	for _, id := range []string{first, losesAnswers, second} {
		r, err := w.tools.Replica(t.Context(), trusty, id, &session{w, trusty, id})
		if err != nil {
			t.Fatal(err)
		}
		w.replicas[id] = r
		all = append(all, route.Replica{ID: id, Caller: r, Weight: weights[id]})
	}
	strategy := route.Strategy(w.dice(forSlots, 1, 0).IntN(int(route.Affinity) + 1))
	return route.New(route.Options{}, route.NewPool(trusty, strategy, all...))
}

func (w *scenario) catalogOptions() catalog.Options {
	var o catalog.Options
	if w.settings.viewed {
		o.Permission = func(tool *middleware.Tool) string {
			byClass := map[annotation.Safety]string{annotation.Safe: ".read", annotation.Moderate: ".write"}
			return tool.Server + cmp.Or(byClass[tool.Safety()], ".danger")
		}
	}
	if w.settings.locked {
		w.lock = new(pins.Lock)
		o.Lock = w.lock
	}
	return o
}

// sees reports whether the scopes of the caller cover the call, worked out by hand.
func (r *record) sees(server string, l law) bool {
	return !r.narrow || server == replica || server == liar && l == reads
}

// refresh lists the tools of a server and its replicas again, which accepts them without a lock.
func (w *scenario) refresh(server string) {
	err := w.tools.Refresh(context.Background(), server)
	if server == trusty {
		for _, r := range w.replicas {
			err = errors.Join(err, r.Refresh(context.Background()))
		}
	}
	if err != nil {
		w.badf("harness", server, "refresh: %v", err)
	}
}

func (w *scenario) accept() {
	if !w.settings.locked {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.lock.Accept(w.tools, w.lock.Changes(w.tools)...); err != nil {
		w.badf("harness", "the lock", "%v", err)
	}
	for _, server := range servers {
		for _, t := range toolSpecs {
			at := place{server, t.name}
			w.pinned[at] = pin{w.listed[at], w.policy.law(server, t, w.listed[at])}
		}
	}
}

// A manner is how the person, or a layer in between, answers a question.
type manner string

const (
	approves     manner = "yes"
	denies       manner = "no"
	silent       manner = "silent" // until the question ends, with the error of its context
	stuck        manner = "stuck"  // until long after the question has ended, then approves
	late         manner = "late yes"
	tied         manner = "yes at the deadline"
	hurried      manner = "yes when it was over"
	zero         manner = "zero" // no decision
	odd          manner = "odd verdict"
	yesWithError manner = "yes with an error"
	panics       manner = "panic"
	exits        manner = "Goexit"
	edits        manner = "edit"             // approves with other arguments
	editsBadly   manner = "bad edit"         // approves with arguments that cannot be sent
	scrawls      manner = "scrawl, then yes" // overwrites the bytes that it was shown
	closes       manner = "closes"           // a form, which is a denial with other desks
	leaves       manner = "leaves"           // with the client; with other desks it is silence
)

var manners = []manner{approves, denies, silent, stuck, late, tied, hurried, zero, odd, yesWithError, panics, exits, edits, editsBadly, denies, scrawls}

func (w *scenario) Confirm(ctx context.Context, request hitl.Request) (hitl.Decision, error) {
	r, how, wait := w.question(request)
	defer w.answered()
	switch how {
	case silent:
		asked := time.Now()
		<-ctx.Done()
		if lasted := time.Since(asked); lasted > askTimeout {
			w.badf("I13", r, "a question was unanswered for %v", lasted)
		}
		return hitl.Decision{}, ctx.Err()
	case hurried:
		<-ctx.Done()
	case stuck:
		time.Sleep(wait + time.Hour)
	case late:
		<-ctx.Done()
		time.Sleep(wait)
	case tied:
		if deadline, ok := ctx.Deadline(); ok {
			time.Sleep(time.Until(deadline))
		}
	default:
		if err := world.Wait(ctx, wait); err != nil {
			return hitl.Decision{}, err
		}
	}
	return w.answer(ctx, r, how, request)
}

// answer returns the manner's decision, and records an approval that counts.
func (w *scenario) answer(ctx context.Context, r *record, how manner, request hitl.Request) (hitl.Decision, error) {
	yes := hitl.Decision{Verdict: hitl.Approved, By: "sim"}
	bytes := string(request.Arguments)
	switch how {
	case denies:
		return hitl.Decision{Reason: "not today", By: "sim"}, nil
	case zero:
		return hitl.Decision{}, nil
	case odd:
		return hitl.Decision{Verdict: 7}, nil
	case yesWithError:
		return yes, errors.New("the desk is closed")
	case panics:
		panic("the desk burns")
	case exits:
		runtime.Goexit()
	case edits:
		bytes = w.edit(r, bytes)
		yes.Arguments = json.RawMessage(bytes)
	case editsBadly:
		yes.Arguments = json.RawMessage(ambiguous)
		return yes, nil
	case scrawls:
		smear(request.Arguments)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	deadline, ok := ctx.Deadline()
	if ctx.Err() != nil || ok && !time.Now().Before(deadline) {
		return yes, nil
	}
	w.say(r.id, "approved", bytes)
	if how == edits && r.worse == "" && !request.Tool.Safety().MustConfirm() && w.wild(r, bytes) {
		r.worse = bytes // no person has seen these arguments
		return yes, nil
	}
	r.yes = &approval{at: time.Now(), bytes: bytes}
	if w.settings.standing && r.n%5 == 4 {
		w.revoke(ctx)
	}
	if w.settings.standing && how == approves && r.n%2 == 0 && len(request.Offers) > 0 {
		yes.Remember = hitl.Session
		s := standing{question: question{w.effectOf(r, bytes), r.digest, r.narrow}, since: time.Now()}
		if r.n%4 == 0 && len(request.Free) > 0 {
			s.free = request.Free[0].Name
			yes.Free = []string{s.free}
		}
		w.standing = append(w.standing, s)
	}
	return yes, nil
}

// A standing is a remembered approval, with the member that may differ.
type standing struct {
	question

	free           string
	since, revoked time.Time
}

func (w *scenario) revoke(ctx context.Context) {
	all, err := w.approvals.List(ctx)
	for _, s := range all {
		err = errors.Join(err, w.approvals.Forget(ctx, s.Scope, s.ID))
	}
	if err != nil {
		w.badf("harness", w.order[0], "revoking: %v", err)
	}
	for i, s := range w.standing { // one of the same instant may be recorded after it
		if s.revoked.IsZero() && s.since.Before(time.Now()) {
			w.standing[i].revoked = time.Now()
		}
	}
}

// stands reports whether a remembered approval covers such executions and was not revoked.
func (w *scenario) stands(asked question, at time.Time) bool {
	return slices.ContainsFunc(w.standing, func(s standing) bool {
		form := s.question
		form.text = asked.text
		return form == asked && (s.revoked.IsZero() || !s.revoked.Before(at)) && (s.text == asked.text || s.free != "" && s.fits(asked.text))
	})
}

// fits reports whether arguments differ only in the member that was left free: a text
// stays a name, and anything else may become anything.
func (s standing) fits(text string) bool {
	var was, is map[string]any
	if json.Unmarshal([]byte(s.text), &was) != nil || json.Unmarshal([]byte(text), &is) != nil {
		return false
	}
	if _, name := was[s.free].(string); name {
		if to, isText := is[s.free].(string); !isText || to == "" || strings.Contains(to, "/") {
			return false
		}
	}
	_, there := is[s.free]
	delete(was, s.free)
	delete(is, s.free)
	return there && reflect.DeepEqual(was, is)
}

// smear overwrites arguments; the result is still an object.
func smear(arguments []byte) {
	for i, c := range arguments {
		if '1' <= c && c <= '8' || c == 'x' {
			arguments[i]++
		}
	}
}

// question records that a person is asked, and draws the answer.
func (w *scenario) question(request hitl.Request) (*record, manner, time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.calls[request.CallID]
	dice, shown, before := w.dice(forApprover, uint64(r.n), 0), r.text, 0
	if r.worse != "" {
		dice, shown, before = w.dice(forApprover, uint64(r.n), 1), r.worse, 1
	}
	how, wait := approves, span(dice, 10*time.Millisecond, 12*time.Second)
	if !w.epilogue && dice.IntN(100) < 50 {
		how = manners[dice.IntN(len(manners))]
	}
	if how == late {
		wait = span(dice, time.Millisecond, 10*time.Second)
	}
	if r.turn != nil && r.yes != nil && time.Since(r.yes.at) >= w.settings.lifetime {
		before, shown = before+1, r.yes.bytes // the approval expired while the call waited for its turn
	}
	w.say(r.id, "asked", string(how))
	r.told = !request.InDoubt.IsZero()
	r.asked++
	w.asking++
	switch {
	case r.asked > 1+before:
		w.badf("I1", r, "was asked about %d times", r.asked)
	case w.asking > w.settings.maxPending && !w.epilogue:
		w.badf("I19", r, "%d questions wait, more than %d", w.asking, w.settings.maxPending)
	case request.Scope != r.scope || request.Tool.Server != r.server || request.Tool.Name() != r.tool.name || request.Tool.Digest != r.digest:
		w.badf("I1", r, "a person was shown %v of %q", request.Tool, request.Scope)
	case string(request.Arguments) != shown:
		w.badf("I1", r, "a person was shown %s and not %s", request.Arguments, shown)
	case r.narrow && r.server == trusty:
		w.badf("I22", r, "a person was asked about a tool that its caller may not see")
	}
	if r.smears {
		smear(r.sent)
	}
	return r, how, wait
}

func (w *scenario) answered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asking--
}
