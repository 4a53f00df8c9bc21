package hitl

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/internal/drafts"
	"github.com/fairlead-go/fairlead/hitl/internal/entries"
	"github.com/fairlead-go/fairlead/hitl/internal/habits"
	"github.com/fairlead-go/fairlead/hitl/internal/waiting"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/turn"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/redact"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An asker is the middleware. It decides whether a call needs an approval, gets one from
// a remembered approval or by a question, and makes the call with it.
type asker struct {
	Options

	next      middleware.ToolCaller
	confirmer Confirmer
	people    *waiting.Queue // of all that one New returned, since it is the same people
	joins     waiting.Joins
	held      waiting.Held[query] // by their IDs, or for identical calls
	groups    waiting.Groups[Request, Decision]
	habits    habits.Habits
	drafts    *drafts.Registry
	session   string // the name under which remembered approvals for the session are kept
}

func (a *asker) Describe() middleware.Description {
	return middleware.Description{
		Kind: "hitl", Next: a.next, Will: a.will,
		Confirms: a.confirmer != nil, ConfirmsWrites: a.confirmer != nil && a.Writes, // a chain that has nobody to ask claims nothing
	}
}

func (a *asker) will(tool *middleware.Tool) string {
	switch {
	case !a.mustAsk(tool):
		return "run"
	case a.confirmer == nil:
		return "refuse, nobody can be asked"
	}
	return "ask first"
}

// mustAsk reports whether calls of a tool need an approval: by their class, or because
// they commit what another tool drafted.
func (a *asker) mustAsk(tool *middleware.Tool) bool {
	class := tool.Safety()
	return class.MustConfirm() || a.Writes && class == annotation.Moderate || a.drafts.Commits(tool)
}

func (a *asker) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if call.Tool == nil || !a.mustAsk(call.Tool) || !a.drafts.Commits(call.Tool) && callstate.Covers(ctx, &call) {
		return a.pass(ctx, &call) // without a tool, the guard refuses it
	}
	call.Arguments = bytes.Clone(call.Arguments) // what is shown is what runs, whatever the caller does to its bytes
	state, began := callstate.Of(ctx), time.Now()
	state.Write(func(r *callstate.Record) { r.Asked = call.Arguments })
	if _, err := callstate.Form(state, &call); err != nil {
		return nil, err
	}
	if _, err := callstate.Extra(&call); err != nil {
		return nil, err
	}
	yes, err := a.agree(ctx, call, began)
	state.Write(func(r *callstate.Record) { r.Waited += time.Since(began) })
	if err != nil {
		what, why := "given up", ""
		if _, pending := errors.AsType[*PendingError](err); pending || isWaiting(err) {
			what = "pending"
		} else if errors.Is(err, ErrDenied) {
			what, why = "denied", err.Error()
		}
		state.Decide("hitl", what, why)
		return nil, err
	}
	state.Write(func(r *callstate.Record) {
		r.Tool, r.Approval = yes.call.Tool, callstate.Approval{ID: yes.id, By: yes.by, Standing: yes.standing != ""}
		if yes.standing != "" {
			r.By, r.Via = yes.by, "remembered approval"
		}
		if yes.edited {
			r.Edited = yes.call.Arguments
		}
	})
	state.Decide("hitl", "allowed", "")
	return a.run(ctx, yes)
}

// pass hands a call on, in the order of its turn, and keeps the draft that it makes.
func (a *asker) pass(ctx context.Context, call *middleware.Call) (*mcp.CallToolResult, error) {
	if err := turn.Pass(ctx, call); err != nil {
		return nil, err
	}
	res, err := a.next.CallTool(ctx, *call)
	if bad := a.drafts.Note(call, res); bad != nil {
		a.Logger.LogAttrs(ctx, slog.LevelWarn, "hitl: a draft cannot be shown, so it cannot be committed",
			slog.String("tool", call.Tool.String()), slog.Any("err", redact.Said{Call: *call, Value: bad}))
	}
	return res, err
}

// reporting calls Options.Waiting again and again until stop, for a call that has waited since then.
func (a *asker) reporting(ctx context.Context, since time.Time) (stop func()) {
	if a.Waiting == nil {
		return func() {}
	}
	return waiting.Every(ctx, reportEvery, func(ctx context.Context) { a.Waiting(ctx, time.Since(since)) })
}

func (a *asker) agree(ctx context.Context, call middleware.Call, began time.Time) (*agreed, error) {
	if a.confirmer == nil {
		return nil, &DeniedError{Tool: call.Tool, Err: errNoConfirmer}
	}
	if ctx.Err() != nil {
		return nil, fault.GivenUp(ctx)
	}
	named, err := a.drafts.Named(&call)
	if err != nil {
		return nil, &DeniedError{Tool: call.Tool, Err: err}
	}
	if id, input, ok := answered(call.Input); ok {
		return a.resume(ctx, query{id: id, call: call, drafts: named, input: input, since: began})
	}
	if yes, found, err := a.stands(ctx, call); found {
		return yes, err
	}
	place, err := a.enter(ctx, &call)
	if err != nil {
		return nil, &DeniedError{Tool: call.Tool, Err: err}
	}
	defer place.Leave()
	for {
		question, mine := a.joins.Join(ctx, &call)
		if mine {
			return a.lead(ctx, question, query{call: call, drafts: named, place: place, since: began})
		}
		turn.Of(ctx).Asking()
		stop := a.reporting(ctx, began)
		select {
		case <-question.Over:
		case <-ctx.Done():
		}
		if stop(); ctx.Err() != nil {
			return nil, fault.GivenUp(ctx)
		}
		if isWaiting(question.No) {
			return nil, question.No
		}
		if denied, ok := errors.AsType[*DeniedError](question.No); ok {
			no := *denied
			a.decided(ctx, &call, outcome{what: "denied with another", by: no.By})
			return nil, &no
		}
	}
}

// enter returns a place for a call: that of the question that is open about it, if there is one.
func (a *asker) enter(ctx context.Context, call *middleware.Call) (*waiting.Place, error) {
	if held, ok := a.held.Peek(waiting.KeyOf(ctx, call)); ok && held.place.Hold() {
		return held.place, nil
	}
	return a.people.Enter(call.Scope)
}

func (a *asker) lead(ctx context.Context, question *waiting.Joined, q query) (*agreed, error) {
	defer a.joins.End(question)
	if yes, found, err := a.stands(ctx, q.call); found {
		return yes, err // given since the last look
	}
	if held, ok := a.held.Take(waiting.KeyOf(ctx, &q.call)); ok {
		if held.once == entries.Once(ctx, &q.call) {
			defer held.place.Leave()
			held.call, held.place, held.since = q.call, q.place, q.since
			q = held
		} else {
			a.expire(context.WithoutCancel(ctx), held)
		}
	}
	yes, found, err := a.left(ctx, q.call)
	if !found {
		yes, err = a.question(ctx, q)
	}
	if denied, ok := errors.AsType[*DeniedError](err); ok && !denied.own || isWaiting(err) {
		question.No = err
	}
	return yes, err
}

func isWaiting(err error) bool {
	_, ok := errors.AsType[*WaitingError](err)
	return ok
}

// reportEvery is how often the client of a call that waits is notified; many clients give a
// call up after a minute of silence, and some after ten seconds.
const reportEvery = 5 * time.Second

// stands approves a call by a remembered approval, if there is one. Each such call is an approval of its own.
func (a *asker) stands(ctx context.Context, call middleware.Call) (yes *agreed, found bool, err error) {
	if a.drafts.Commits(call.Tool) { // their arguments do not hold what they do
		return nil, false, nil
	}
	if extra, err := callstate.Extra(&call); extra != nil || err != nil {
		return nil, false, nil
	}
	if record := callstate.Of(ctx).Record(); record.Raised() { // the approval was given without these sources, or for it to happen once
		return nil, false, nil
	}
	began := time.Now()
	s, found := a.find(ctx, call)
	if !found {
		return nil, false, nil
	}
	yes = &agreed{call: call, shown: call.Tool.Safety(), id: rand.Text(), by: s.By, standing: s.ID, until: began.Add(a.Lifetime)}
	if s.Until.Before(yes.until) {
		yes.until = s.Until
	}
	approved := entries.Question(yes.id, &call, nil, nil, yes.until)
	approved.State, approved.Standing, approved.By = approvals.Approved, s.ID, s.By
	if err := a.Store.Add(context.WithoutCancel(ctx), approved); errors.Is(err, approvals.ErrNoEffect) {
		return nil, false, nil // taken back since it was found
	} else if err != nil {
		return nil, true, a.storeFailed(ctx, &call, err)
	}
	a.decided(ctx, &call, outcome{what: "remembered", by: s.By, took: time.Since(began)})
	return yes, true, nil
}

// question puts q before a person, and again if an edit made the call stricter. The store
// has the question of a second leg already.
func (a *asker) question(ctx context.Context, q query) (*agreed, error) {
	if a.Patience != nil {
		q.patience, q.where = a.Patience(ctx)
	}
	for {
		if err := a.open(ctx, &q); err != nil {
			return nil, err
		}
		yes, stricter, err := a.put(ctx, q)
		if stricter == nil {
			return yes, err
		}
		q.call, q.edited, q.input, q.asked, q.patience, q.deadline = *stricter, true, nil, nil, 0, time.Time{}
	}
}

func (a *asker) open(ctx context.Context, q *query) error {
	if q.asked != nil {
		return nil // it was held
	}
	q.began = time.Now()
	if q.deadline.IsZero() {
		q.deadline = q.began.Add(a.Timeout)
	}
	q.extra, _ = callstate.Extra(&q.call) // CallTool has checked it
	if q.input != nil {
		return nil
	}
	q.id = rand.Text()
	if err := a.Store.Add(context.WithoutCancel(ctx), entries.Question(q.id, &q.call, q.extra, q.drafts, q.deadline)); err != nil {
		return a.storeFailed(ctx, &q.call, err)
	}
	return nil
}

// put asks a question that the store has, and records the outcome: an approval, a
// stricter call to ask about, or an error. A call whose patience is over ends first.
func (a *asker) put(ctx context.Context, q query) (yes *agreed, stricter *middleware.Call, err error) {
	if q.asked == nil {
		q.once = entries.Once(ctx, &q.call)
		q.asked = a.confirm(ctx, q)
	}
	stop := a.reporting(ctx, q.since)
	got, late, err := q.asked.Await(ctx, q.patience)
	stop() // what is still to come is not the person's
	if errors.Is(err, waiting.ErrImpatient) {
		a.park(context.WithoutCancel(ctx), waiting.KeyOf(ctx, &q.call), q)
		q.asked.Park()
		return nil, nil, &WaitingError{Tool: q.call.Tool, Where: q.where, Until: q.deadline}
	}
	defer q.asked.Settled()
	q.asked.Cancel()
	answered := got
	if err != nil {
		answered = answer{err: err}
	}
	yes, stricter, err = a.settle(ctx, q, answered)
	if late {
		a.late(ctx, q, got)
	}
	return yes, stricter, err
}

// resume puts the answers of a second leg before the confirmer. The outcome counts only
// if the store has the question open, so that an answer is good once, at any replica.
func (a *asker) resume(ctx context.Context, q query) (*agreed, error) {
	q.call.Input = nil
	if parked, ok := a.held.Take(q.id); ok {
		q.place, q.call.Input, q.deadline = parked.place, parked.call.Input, parked.deadline
	} else if place, err := a.people.Enter(q.call.Scope); err != nil {
		return nil, &DeniedError{Tool: q.call.Tool, Err: err}
	} else {
		q.place = place
	}
	defer q.place.Leave()
	return a.question(ctx, q)
}

// settle makes of an answer an approval, a stricter call to ask about, or an error, and records it.
func (a *asker) settle(ctx context.Context, q query, got answer) (yes *agreed, stricter *middleware.Call, err error) {
	call, d := &q.call, got.decision
	o := outcome{by: d.By, edited: d.Arguments != nil, took: time.Since(q.began)}
	end := func(to approvals.State, what string, err error) error {
		o.what = what
		a.decided(ctx, call, o)
		if q.input != nil && to == approvals.Void {
			to = approvals.Denied // which only an open question can become: an approval by another leg stays
		}
		_ = a.advance(context.WithoutCancel(ctx), q.id, approvals.Change{To: to, By: d.By}) // a denial stays one
		return err
	}
	failed := func(err error) error {
		return end(approvals.Void, "denied", &DeniedError{Tool: call.Tool, Err: err})
	}
	if got.err == nil {
		callstate.Of(ctx).Write(func(r *callstate.Record) { r.By, r.Via = d.By, d.Via })
	}
	asked, pending := errors.AsType[*PendingError](got.err)
	switch {
	case ctx.Err() != nil:
		return nil, nil, end(approvals.Void, "given up", fault.GivenUp(ctx))
	case pending:
		a.park(context.WithoutCancel(ctx), q.id, q)
		return nil, nil, &PendingError{Tool: call.Tool, Requests: asked.Requests, State: stateMark + q.id + "." + asked.State}
	case middleware.NotSent(got.err):
		return nil, nil, end(approvals.Void, "given up", got.err)
	case got.err != nil:
		return nil, nil, failed(got.err)
	case d.Verdict != Approved:
		a.habits.Decided(call, false, "")
		a.takeBack(ctx, call)
		return nil, nil, end(approvals.Denied, "denied", &DeniedError{Tool: call.Tool, Reason: d.Reason, By: d.By})
	}
	if now, err := callstate.Extra(call); err != nil || !bytes.Equal(now, q.extra) {
		return nil, nil, failed(errors.New("its _meta or input was changed while a person was asked"))
	}
	approved := *call
	change := approvals.Change{To: approvals.Approved, By: d.By, Until: time.Now().Add(a.Lifetime)}
	if o.edited {
		if approved, err = a.edit(ctx, *call, d.Arguments); err != nil {
			err = errors.New("the edited arguments: " + err.Error()) // the model has not written them
			return nil, nil, end(approvals.Void, "denied", &DeniedError{Tool: call.Tool, Err: err, own: true})
		}
		if approved.Tool.Safety() < call.Tool.Safety() {
			_ = end(approvals.Void, "asked again", nil)
			return nil, &approved, nil
		}
		change.Edited, change.Arguments = true, entries.Hash(approved.Arguments)
	}
	if err = a.advance(context.WithoutCancel(ctx), q.id, change); err == nil {
		err = a.remember(ctx, approved, got)
	}
	if err != nil {
		return nil, nil, end(approvals.Void, "denied", a.storeFailed(ctx, call, err))
	}
	a.habits.Decided(&approved, true, d.By)
	o.what = "approved"
	a.decided(ctx, call, o)
	return &agreed{
		call: approved, shown: call.Tool.Safety(), id: q.id, by: d.By, until: change.Until, drafts: q.drafts, edited: o.edited || q.edited,
	}, nil, nil
}

func (a *asker) park(ctx context.Context, key any, q query) {
	q.place.Hold()
	a.held.Hold(key, q, q.deadline, func() { a.expire(ctx, q) })
	a.decided(ctx, &q.call, outcome{what: "pending", took: time.Since(q.began)})
}

// expire ends a question that no call has taken up, as denied, which takes back no approval
// that another replica got.
func (a *asker) expire(ctx context.Context, q query) {
	q.asked.Cancel()
	_ = a.advance(ctx, q.id, approvals.Change{To: approvals.Denied}) // the log has it
	q.asked.Settled()
	q.place.Leave()
}

// run makes the call with one grant, which is recorded as consumed before the call is handed over.
func (a *asker) run(ctx context.Context, yes *agreed) (*mcp.CallToolResult, error) {
	if tool := yes.call.Tool; yes.edited { // the guard gets the class of the edited call
		ctx = callstate.WithAnswer(ctx, &yes.call, callstate.Static(ctx, tool), func(accepted annotation.Annotations) annotation.Annotations {
			return annotation.Raise(accepted, tool.Annotations)
		})
	}
	begin := func(ctx context.Context) error { return a.begin(ctx, yes) }
	ctx, once := callstate.WithGrant(ctx, &yes.call, yes.shown, time.Until(yes.until), begin)
	if yes.edited {
		once.Edit()
	}
	defer func() {
		once.Void()
		a.end(context.WithoutCancel(ctx), yes)
	}()
	if !yes.call.Tool.Safety().MustConfirm() { // the guard will not look for a grant
		if err := begin(ctx); err != nil {
			denied := &DeniedError{Tool: yes.call.Tool, Err: err}
			callstate.Of(ctx).Decide("hitl", "denied", denied.Error())
			return nil, denied
		}
	}
	res, err := a.pass(ctx, &yes.call)
	if middleware.NotSent(err) || middleware.Refused(err) {
		a.drafts.Return(&yes.call, yes.drafts, yes.id)
	}
	return res, err
}

// begin runs before each hand-over of the call.
func (a *asker) begin(ctx context.Context, yes *agreed) error {
	yes.mu.Lock()
	defer yes.mu.Unlock()
	if err := a.drafts.Take(&yes.call, yes.drafts, yes.id); err != nil {
		return err
	}
	if yes.spent {
		return a.remains(ctx, yes)
	}
	err := a.advance(ctx, yes.id, yes.change(approvals.Spent))
	if yes.standing != "" && errors.Is(err, approvals.ErrNoEffect) {
		return errRevoked
	}
	if err != nil {
		return fmt.Errorf("its use is void: %w", err)
	}
	yes.spent = true
	return nil
}

// remains returns an error if the remembered approval of a call was taken back, or has expired, since the last
// attempt.
func (a *asker) remains(ctx context.Context, yes *agreed) error {
	if yes.standing == "" {
		return nil
	}
	standing, err := a.Store.Remembered(ctx, yes.call.Scope, yes.call.Tool.Server, yes.call.Tool.Name())
	if err == nil && !slices.ContainsFunc(standing, func(s approvals.Standing) bool { return s.ID == yes.standing }) {
		err = errRevoked
	}
	return err
}

// end runs when the call has returned; the store takes no use after it.
func (a *asker) end(ctx context.Context, yes *agreed) {
	yes.mu.Lock()
	defer yes.mu.Unlock()
	to := approvals.Void
	if yes.spent {
		to = approvals.Done
	}
	_ = a.advance(ctx, yes.id, yes.change(to)) // the log has it
}

func (yes *agreed) change(to approvals.State) approvals.Change {
	return approvals.Change{To: to, Scope: yes.call.Scope, Standing: yes.standing}
}

type query struct {
	id       string
	call     middleware.Call
	extra    json.RawMessage // that is shown
	drafts   []drafts.Draft
	edited   bool              // an earlier answer made the call what it is
	input    *middleware.Input // of the second leg
	place    *waiting.Place
	since    time.Time // when the call began to wait
	began    time.Time
	deadline time.Time
	patience time.Duration          // of the call; 0 until the deadline
	where    string                 // the question is found when that is over
	asked    *waiting.Asked[answer] // nil before the confirmer is asked
	once     string                 // of the call, and of why it is asked about
}

type answer struct {
	decision Decision
	err      error
	offers   []Offer // that were shown
	free     Pattern // as well
}

type agreed struct {
	call     middleware.Call
	shown    annotation.Safety // the class that the person saw; an edit may have lowered it
	id       string            // of the approval
	by       string
	standing string // the remembered approval that answered, "" for a person
	until    time.Time
	drafts   []drafts.Draft // shown with it
	edited   bool           // by a person

	mu    sync.Mutex // for a middleware that leaves a goroutine behind
	spent bool       // recorded as consumed
}

var errSilent = errors.New("no answer in time")

// confirm puts the question to the confirmer, whose goroutine holds the place too.
func (a *asker) confirm(ctx context.Context, q query) *waiting.Asked[answer] {
	q.place.Hold()
	return waiting.Ask(ctx, waiting.Question[answer]{
		Deadline: q.deadline, Silent: errSilent, Outlives: q.patience > 0, Done: q.place.Leave,
		Put: func(ctx context.Context) answer {
			a.Logger.LogAttrs(ctx, slog.LevelInfo, "hitl: asked",
				slog.String("tool", q.call.Tool.String()), slog.String("class", q.call.Tool.Safety().String()))
			request := a.request(ctx, q)
			decision, err := a.ask(ctx, request)
			return answer{decision: decision, err: err, offers: request.Offers, free: request.Free}
		},
		Lost: answer{err: errors.New("the confirmer ended its goroutine")},
		Panicked: func(ctx context.Context, v any) answer {
			a.panicked(ctx, "hitl: the confirmer panicked", redact.Said{Call: q.call, Value: v})
			return answer{err: errors.New("the confirmer panicked; the log of the host has the stack")}
		},
		Left: func(ctx context.Context, got answer) bool { return a.leave(ctx, q, got) },
		Late: func(ctx context.Context, got answer) { a.late(ctx, q, got) },
	})
}

func (a *asker) request(ctx context.Context, q query) Request {
	r := Request{
		ID: q.id, Tool: q.call.Tool, Arguments: bytes.Clone(q.call.Arguments), CallID: q.call.ID, Scope: q.call.Scope, Input: q.input,
		Extra: bytes.Clone(q.extra),
	}
	for _, d := range q.drafts {
		r.Drafts = append(r.Drafts, Draft(d))
	}
	record := callstate.Of(ctx).Record()
	r.InDoubt = record.InDoubt
	if !q.edited {
		r.Sources = record.Sources
	}
	if !a.drafts.Commits(q.call.Tool) && q.extra == nil && !record.Raised() {
		a.offer(ctx, q.call, &r)
	}
	r.Deadline, _ = ctx.Deadline()
	if a.About != nil {
		r.Why, r.Undo = a.About(ctx, q.call)
	}
	return r
}

// A GroupConfirmer is a [Confirmer] that can put several questions in one dialog. If it
// is given to [New], the calls of one batch (package batch) that need an approval are put
// to it together; one alone still goes to Confirm.
//
// ConfirmGroup returns the decision on each request, by its ID. A request that is missing is
// denied, an ID that was not asked about has no effect, and an error denies all. The context
// ends when no call waits for an answer; each request has its own Deadline.
type GroupConfirmer interface {
	Confirmer
	ConfirmGroup(ctx context.Context, requests []Request) (map[string]Decision, error)
}

// ask puts a question, together with the others of its turn if the confirmer can.
func (a *asker) ask(ctx context.Context, request Request) (Decision, error) {
	ticket := turn.Of(ctx)
	together, ok := a.confirmer.(GroupConfirmer)
	if ticket == nil || !ok || request.Input != nil {
		ticket.Asking()
		return a.confirmer.Confirm(ctx, request)
	}
	return a.groups.Ask(ctx, ticket, request.ID, request, func(ctx context.Context, requests []Request) (map[string]Decision, error) {
		if len(requests) == 1 {
			decision, err := together.Confirm(ctx, requests[0])
			return map[string]Decision{requests[0].ID: decision}, err
		}
		return together.ConfirmGroup(ctx, requests)
	})
}

// edit returns the call with the arguments that the person wrote, classified again by what classifies calls by
// their arguments in this chain. A tool with another name, server or digest, and an error, deny the call.
func (a *asker) edit(ctx context.Context, call middleware.Call, arguments json.RawMessage) (_ middleware.Call, err error) {
	defer func() {
		if v := recover(); v != nil {
			a.panicked(ctx, "hitl: the check of an edit panicked", redact.Said{Call: call, Value: v})
			err = errors.New("their check panicked; the log of the host has the stack")
		}
	}()
	before, _ := a.drafts.IDs(&call)
	call.Arguments = bytes.Clone(arguments)
	if len(bytes.TrimSpace(call.Arguments)) == 0 {
		return call, errors.New("they are empty; {} means none")
	}
	if _, err := callstate.Form(callstate.Of(ctx), &call); err != nil {
		return call, fmt.Errorf("they cannot be sent: %w", err)
	}
	if after, err := a.drafts.IDs(&call); err != nil || !slices.Equal(before, after) {
		return call, errors.New("they name other drafts than were shown")
	}
	if a.Validate != nil {
		if err := a.Validate(ctx, call.Tool, bytes.Clone(call.Arguments)); err != nil {
			return call, fmt.Errorf("they are not valid: %w", err)
		}
	}
	return callstate.JudgeAgain(ctx, call)
}

// Remember is for how long an approval is remembered. The zero value is for one call.
type Remember uint8

// How long an approval is remembered.
const (
	Once    Remember = iota // for this call alone
	Session                 // until Options.SessionLifetime is over or the process ends
	Always                  // until Options.AlwaysLifetime is over or the tool's definition changes
)

// String returns "once", "session" or "always".
func (r Remember) String() string { return [...]string{"once", "session", "always"}[min(r, Always)] }

// A Pattern is which arguments a remembered approval covers: it names every member, with its
// value, a glob that fits it, or as one that may be anything.
type Pattern = approvals.Pattern

// An Offer is something that may be remembered with an approval. It holds for calls of
// this scope, of this tool, while its definition and its class are the ones that were
// shown; each such call still gets an approval of its own, for one execution.
type Offer struct {
	Pattern  Pattern // nil means exactly these arguments, unless Tool is set
	Tool     bool    // any arguments
	Longest  Remember
	Lifetime time.Duration // of Always
}

// String describes the offer, safe to show to a person.
func (o Offer) String() string {
	switch {
	case o.Tool:
		return "any arguments"
	case o.Pattern == nil:
		return "exactly these arguments"
	}
	return o.Pattern.String()
}

// offer puts into a request what may be remembered of a call: nothing if the host allows
// nothing, or if its definition has no digest.
func (a *asker) offer(ctx context.Context, call middleware.Call, r *Request) {
	if a.Remember == Once || call.Tool.Digest == (middleware.Digest{}) {
		return
	}
	r.Offers = []Offer{{Longest: a.Remember, Lifetime: a.AlwaysLifetime}}
	if a.Remember == Always {
		r.Ends = approvals.Ends(a.AlwaysLifetime)
	}
	if a.Patterns != nil {
		for _, p := range a.Patterns(ctx, call) {
			if p.Covers(call.Arguments) {
				r.Offers = append(r.Offers, Offer{Pattern: slices.Clone(p), Longest: a.Remember, Lifetime: a.AlwaysLifetime})
			}
		}
	}
	if a.OfferTool {
		r.Offers = append(r.Offers, Offer{Tool: true, Longest: Session})
	}
	if a.OfferMembers {
		r.Free = approvals.Free(call.Arguments)
		r.Suggestion = a.habits.Suggestion(&call)
	}
}

// remember records an approval that is to stand. What was not offered is not
// remembered, and the approval is for this call alone. An error is the store's.
func (a *asker) remember(ctx context.Context, approved middleware.Call, got answer) error {
	d := got.decision
	if d.Remember == Once || len(got.offers) == 0 {
		return nil
	}
	kept := entries.Standing(&approved, d.By, time.Now().Add(min(cmp.Or(d.Lifetime, a.AlwaysLifetime), a.AlwaysLifetime)))
	if d.Remember == Session {
		kept.Session, kept.Until = a.session, time.Now().Add(a.SessionLifetime)
	}
	err := got.fill(&kept, approved)
	if err == nil && !kept.Covers(approved) {
		err = errNotOffered
	}
	if errors.Is(err, errNotOffered) {
		a.Logger.LogAttrs(ctx, slog.LevelWarn, "hitl: what was to be remembered was not offered, so nothing is",
			slog.String("tool", approved.Tool.String()))
		return nil
	}
	if err != nil {
		return err
	}
	return a.Store.Remember(context.WithoutCancel(ctx), kept)
}

var errNotOffered = errors.New("it was not offered")

func (got answer) fill(kept *approvals.Standing, approved middleware.Call) (err error) {
	d := got.decision
	if d.Lifetime < 0 || d.Offer < 0 || d.Offer >= len(got.offers) || d.Remember > got.offers[d.Offer].Longest {
		return errNotOffered
	}
	switch o := got.offers[d.Offer]; {
	case len(d.Free) > 0:
		if d.Offer != 0 || d.Arguments != nil || len(got.free) == 0 { // the folders that were shown are those of the call
			return errNotOffered
		}
		kept.Pattern = approvals.Freed(approved.Arguments, d.Free)
	case o.Pattern != nil:
		kept.Pattern = o.Pattern
	case o.Tool:
		kept.Arguments = approvals.AnyArguments
	default:
		kept.Arguments, err = approvals.ExactArguments(approved.Arguments)
	}
	return err
}

// find returns a remembered approval that covers the call. It ends those of a definition
// that has changed: they do not come back with the definition.
func (a *asker) find(ctx context.Context, call middleware.Call) (approvals.Standing, bool) {
	if a.Remember == Once {
		return approvals.Standing{}, false
	}
	remembered, err := a.Store.Remembered(ctx, call.Scope, call.Tool.Server, call.Tool.Name())
	if err != nil {
		a.Logger.LogAttrs(ctx, slog.LevelError, "hitl: the store failed, so a person is asked", slog.Any("err", err))
		return approvals.Standing{}, false
	}
	for _, kept := range remembered {
		switch {
		case kept.Definition != call.Tool.Digest.String():
			err := a.Store.Forget(context.WithoutCancel(ctx), kept.Scope, kept.ID)
			a.Logger.LogAttrs(ctx, slog.LevelInfo, "hitl: the definition has changed, so a remembered yes is forgotten",
				slog.String("tool", call.Tool.String()), slog.Any("err", err))
		case kept.Session != "" && kept.Session != a.session, kept.Session == "" && a.Remember < Always, !kept.Covers(call):
		default:
			return kept, true
		}
	}
	return approvals.Standing{}, false
}

// leave records a decision that was made while no call waits, for the identical call to take
// in any process that has the store. It is false if a call has taken the question up, if the
// store fails, and for what the store does not hold: edited arguments, and a decision on drafts.
func (a *asker) leave(ctx context.Context, q query, got answer) (left bool) {
	defer a.survive(ctx, q.call)
	ctx = context.WithoutCancel(ctx)
	key, d, tool := waiting.KeyOf(ctx, &q.call), got.decision, q.call.Tool
	if got.err != nil || d.Arguments != nil || a.drafts.Commits(tool) || tool.Digest == (middleware.Digest{}) {
		return false
	}
	held, ok := a.held.Take(key)
	if !ok {
		return false
	}
	left = true
	defer func() {
		if left { // also if the store panics
			held.asked.Cancel()
			held.place.Leave()
		}
	}()
	kept := entries.Standing(&q.call, d.By, q.deadline)
	kept.ID, kept.Arguments, kept.Once, kept.Denied, kept.Reason = q.id, q.once, true, d.Verdict != Approved, d.Reason
	change, o := approvals.Change{To: approvals.Approved, By: d.By, Until: q.deadline}, outcome{what: "approved", by: d.By, took: time.Since(q.began)}
	if kept.Denied {
		change.To, o.what = approvals.Denied, "denied"
		a.takeBack(ctx, &q.call)
	}
	err := a.Store.Remember(ctx, kept)
	if err == nil && !kept.Denied {
		err = a.remember(ctx, q.call, got)
	}
	if err == nil {
		err = a.advance(ctx, q.id, change)
	}
	if err != nil {
		_ = a.storeFailed(ctx, &q.call, errors.Join(err, a.Store.Forget(ctx, kept.Scope, kept.ID)))
		a.held.Hold(key, held, held.deadline, func() { a.expire(ctx, held) })
		return false
	}
	a.habits.Decided(&q.call, !kept.Denied, d.By)
	a.decided(ctx, &q.call, o)
	return true
}

// left takes the decision on an identical call that was made while none waited.
func (a *asker) left(ctx context.Context, call middleware.Call) (yes *agreed, found bool, err error) {
	if a.Patience == nil {
		return nil, false, nil
	}
	s, found, err := entries.Take(context.WithoutCancel(ctx), a.Store, &call)
	if err != nil {
		return nil, true, a.storeFailed(ctx, &call, err)
	}
	if !found {
		return nil, false, nil
	}
	callstate.Of(ctx).Write(func(r *callstate.Record) { r.By, r.Via = s.By, "earlier, while no call waited" })
	a.decided(ctx, &call, outcome{what: "taken", by: s.By, took: time.Since(s.Since)})
	if s.Denied {
		return nil, true, &DeniedError{Tool: call.Tool, Reason: s.Reason, By: s.By}
	}
	return &agreed{call: call, shown: call.Tool.Safety(), id: s.ID, by: s.By, until: s.Until, spent: true}, true, nil
}

// takeBack ends the approvals of identical calls that no call has taken.
func (a *asker) takeBack(ctx context.Context, call *middleware.Call) {
	if a.Patience == nil {
		return
	}
	if err := entries.TakeBack(context.WithoutCancel(ctx), a.Store, call); err != nil {
		_ = a.storeFailed(ctx, call, err) // they end by themselves
	}
}

// advance records a step, and logs if it has no effect.
func (a *asker) advance(ctx context.Context, id string, change approvals.Change) error {
	err := a.Store.Advance(ctx, id, change)
	if err == nil {
		return nil
	}
	a.Logger.LogAttrs(ctx, slog.LevelError, "hitl: the store took no change",
		slog.String("id", id), slog.String("to", string(change.To)), slog.Any("err", err))
	return storeError{err}
}

func (a *asker) storeFailed(ctx context.Context, call *middleware.Call, err error) error {
	if _, logged := errors.AsType[storeError](err); !logged {
		a.Logger.LogAttrs(ctx, slog.LevelError, "hitl: the store failed", slog.String("tool", call.Tool.String()), slog.Any("err", err))
		err = storeError{err}
	}
	return &DeniedError{Tool: call.Tool, Err: err}
}

func (a *asker) late(ctx context.Context, q query, got answer) {
	defer a.survive(ctx, q.call)
	if got.err != nil {
		return // most confirmers report that they were interrupted
	}
	change := approvals.Change{To: approvals.Denied, By: got.decision.By, Until: q.deadline}
	if got.decision.Verdict == Approved {
		change.To = approvals.Approved
	}
	a.Logger.LogAttrs(ctx, slog.LevelWarn, "hitl: a late answer has no effect", slog.String("tool", q.call.Tool.String()),
		slog.String("outcome", string(change.To)), slog.String("by", change.By))
	_ = a.Store.Advance(context.WithoutCancel(ctx), q.id, change) // it reports that it has no effect
}

type outcome struct {
	what, by string
	edited   bool
	took     time.Duration
}

func (a *asker) decided(ctx context.Context, call *middleware.Call, o outcome) {
	a.Logger.LogAttrs(ctx, slog.LevelInfo, "hitl: decided",
		slog.String("tool", call.Tool.String()), slog.String("class", call.Tool.Safety().String()),
		slog.String("outcome", o.what), slog.String("by", o.by), slog.Bool("edited", o.edited), slog.Duration("took", o.took))
}

func (a *asker) panicked(ctx context.Context, message string, v any) {
	a.Logger.LogAttrs(ctx, slog.LevelError, message, slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
}

// survive keeps a store's panic from ending the process, on the confirmer's goroutine.
func (a *asker) survive(ctx context.Context, call middleware.Call) {
	if v := recover(); v != nil {
		a.panicked(ctx, "hitl: the store panicked", redact.Said{Call: call, Value: v})
	}
}
