package hitl

// The way of one call through the middleware, from the first method to the last:
//
//	CallTool  ask.go     copies the arguments, and refuses what cannot be sent
//	agree     ask.go     gets the approval: remembered (stands, remember.go), by the second leg of an earlier question
//	                     (resume, pending.go), or by a question. Of identical calls the first one leads; the others
//	                     wait for its answer
//	lead      ask.go     takes up a question that an identical call has left open, or the decision that was made on it
//	                     meanwhile (left, left.go), or else asks
//	question  ask.go     opens the question in the store, and asks again if an edit made the call stricter
//	put       ask.go     hands it to the confirmer (confirm.go), and waits
//	settle    settle.go  makes an event of the answer
//	run       run.go     makes the call with the approval, which is good for one execution
//
// With Options.WaitLimit a call may end before its question does. Then park (waiting.go) holds the question until an
// identical call takes it up, an answer comes that no call waits for (leave, left.go), or its time is over (expire).
//
// On this way things happen to the question: it is asked, answered, left, taken. Each is an event for the table of
// package lifecycle (does, life.go), which has what is stored then, and what the log and the model read.

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/hitl/internal/drafts"
	"github.com/fairlead-go/fairlead/hitl/internal/habits"
	"github.com/fairlead-go/fairlead/hitl/internal/waiting"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/lifecycle"
	"github.com/fairlead-go/fairlead/internal/turn"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An asker is the middleware. It decides whether a call needs an approval, gets one from what is remembered ([memory]) or
// by a question, whose events it has recorded ([recorder]), and makes the call with it.
type asker struct {
	*Options
	*questions
	recorder

	memory    memory
	next      middleware.ToolCaller
	confirmer Confirmer
}

// questions are those of all chains that the value of one [New] is used in, since it is the same people.
type questions struct {
	people *waiting.Queue
	joins  waiting.Joins
	held   waiting.Held[query] // by their IDs, or for identical calls
	groups waiting.Groups[Request, Decision]
	habits habits.Habits
	drafts *drafts.Registry
}

func (a *asker) Describe() middleware.Description {
	return middleware.Description{
		Kind: "hitl", Next: a.next, Plan: a.will,
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
	if call.Tool == nil || !a.anew(ctx, call) && (!a.mustAsk(call.Tool) || !a.drafts.Commits(call.Tool) && callstate.Covers(ctx, &call)) {
		return a.unasked(ctx, call) // without a tool, the guard refuses it
	}
	return a.onceApproved(ctx, call)
}

// onceApproved makes a call that a person has to approve first.
func (a *asker) onceApproved(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
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
		_, pending := errors.AsType[*PendingError](err)
		switch {
		case pending || isWaiting(err):
			what = "pending"
		case errors.Is(err, ErrUnavailable):
			what, why = "unavailable", err.Error()
		case errors.Is(err, ErrDenied):
			what, why = "denied", err.Error()
		}
		state.Decide("hitl", what, why)
		return nil, err
	}
	state.Write(func(r *callstate.Record) {
		r.Tool, r.Approval = yes.call.Tool, callstate.Approval{ID: yes.life.Asked.ID, By: yes.by, Standing: yes.standing()}
		if yes.standing() {
			r.By, r.Via = yes.by, "remembered approval"
		}
		if yes.edited {
			r.Edited = yes.call.Arguments
		}
	})
	yes.given = call.Arguments
	state.Decide("hitl", "allowed", "")
	return a.run(ctx, yes)
}

// anew reports whether a person is asked about a call in any case.
func (a *asker) anew(ctx context.Context, call middleware.Call) bool {
	return a.Anew != nil && a.Anew(ctx, call)
}

// unasked makes a call that needs no approval. How it is taken back is found for it too, unless it only reads.
func (a *asker) unasked(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	res, err := a.pass(ctx, &call)
	if err == nil && call.Tool != nil && call.Tool.Safety() != annotation.Safe {
		a.undo(ctx, call, "", res)
	}
	return res, err
}

// pass hands a call on, in the order of its turn, and keeps the draft that it makes.
func (a *asker) pass(ctx context.Context, call *middleware.Call) (*mcp.CallToolResult, error) {
	if err := turn.Pass(ctx, call); err != nil {
		return nil, err
	}
	res, err := a.next.CallTool(ctx, *call)
	if bad := a.drafts.Note(call, res); bad != nil {
		a.logDraft(ctx, call, bad)
	}
	return res, err
}

func (a *asker) logDraft(ctx context.Context, call *middleware.Call, bad error) {
	a.Logger.LogAttrs(ctx, slog.LevelWarn, "hitl: a draft cannot be shown, so it cannot be committed",
		slog.String("tool", call.Tool.String()), slog.Any("err", redact.Value{Call: *call, Value: bad}))
}

// agree returns the approval of a call, or an error that is the reason why it is not made. A call whose question is
// led by an identical one shares a denial with it, but an approval is for one call: the next one leads then.
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
		return a.resume(ctx, id, query{call: call, drafts: named, input: input, since: began})
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

// lead gets the approval for a call and lets the identical calls that wait for its question go on.
func (a *asker) lead(ctx context.Context, question *waiting.Joined, q query) (*agreed, error) {
	defer a.joins.End(question)
	if yes, found, err := a.stands(ctx, q.call); found {
		return yes, err // given since the last look
	}
	if a.anew(ctx, q.call) { // no answer to an earlier question is for it
		return a.question(ctx, q)
	}
	if held, ok := a.takeUp(ctx, &q.call); ok {
		defer held.place.Leave()
		held.call, held.place, held.since = q.call, q.place, q.since
		q = held
	}
	yes, found, err := a.left(ctx, q)
	if !found {
		yes, err = a.question(ctx, q)
	}
	if denied, ok := errors.AsType[*DeniedError](err); ok && !denied.own || isWaiting(err) {
		question.No = err
	}
	return yes, err
}

// takeUp returns the question that an identical call has left open, if a person is asked for the same reasons.
func (a *asker) takeUp(ctx context.Context, call *middleware.Call) (held query, ok bool) {
	key := waiting.KeyOf(ctx, call)
	if held, ok = a.held.Peek(key); !ok {
		return held, false
	}
	on := lifecycle.Return
	if held.once != once(ctx, call) {
		on = lifecycle.Supersede
	}
	if _, err := a.does(ctx, held, lifecycle.Caller, on, lifecycle.Reply{}); err != nil {
		return held, false // it has ended meanwhile
	}
	a.held.Take(key)
	if on == lifecycle.Supersede {
		held.end()
		return held, false
	}
	return held, true
}

// question puts q before a person, and again if an edit made the call stricter. The store
// has the question of a second leg already.
func (a *asker) question(ctx context.Context, q query) (*agreed, error) {
	if a.WaitLimit != nil {
		q.patience, q.where = a.WaitLimit(ctx)
	}
	for {
		if err := a.open(ctx, &q); err != nil {
			return nil, err
		}
		yes, stricter, err := a.put(ctx, q)
		if stricter == nil {
			return yes, err
		}
		q.call, q.edited, q.input, q.life, q.patience, q.deadline = *stricter, true, nil, nil, 0, time.Time{}
	}
}

// open gives a question its time limit and its ID, and records it in the store. One that was taken up is open already.
func (a *asker) open(ctx context.Context, q *query) error {
	if q.life != nil && q.life.asked != nil {
		return nil
	}
	q.began = time.Now()
	if q.deadline.IsZero() {
		q.deadline = q.began.Add(a.Timeout)
	}
	if q.life != nil {
		return nil // by its first leg
	}
	q.life = a.begins(ctx, rand.Text(), q)
	asked, err := a.does(ctx, *q, lifecycle.Caller, lifecycle.Ask, lifecycle.Reply{})
	if err == nil && asked.Err == nil {
		asked, err = a.does(ctx, *q, lifecycle.Caller, lifecycle.Show, lifecycle.Reply{})
	}
	return reads(*q, asked, err, nil)
}

// put asks a question that the store has, and records the outcome: an approval, a
// stricter call to ask about, or an error. A call whose patience is over ends first.
func (a *asker) put(ctx context.Context, q query) (yes *agreed, stricter *middleware.Call, err error) {
	if q.life.asked == nil {
		q.life.asked = a.confirm(ctx, q)
	}
	stop := a.reporting(ctx, q.since)
	got, late, err := q.life.asked.Await(ctx, q.patience)
	stop() // what is still to come is not the person's
	if errors.Is(err, waiting.ErrImpatient) {
		left, err := a.does(ctx, q, lifecycle.Caller, lifecycle.Leave, lifecycle.Reply{})
		if err == nil {
			a.park(context.WithoutCancel(ctx), waiting.KeyOf(ctx, &q.call), q)
			q.life.asked.Park()
		}
		return nil, nil, reads(q, left, err, nil)
	}
	defer q.life.asked.Settled()
	q.life.asked.Cancel()
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

// A query is one question about a call, from when it is opened until its outcome is recorded.
type query struct {
	life     *life
	call     middleware.Call
	extra    json.RawMessage // that is shown
	drafts   []drafts.Draft
	edited   bool              // an earlier answer made the call what it is
	editing  bool              // this answer has edited arguments
	input    *middleware.Input // of the second leg
	place    *waiting.Place
	since    time.Time // when the call began to wait
	began    time.Time
	deadline time.Time
	patience time.Duration // of the call; 0 until the deadline
	where    string        // the question is found when that is over
	once     string        // of the call, and of why it is asked about
}

// An answer is what the confirmer returned, and what it was offered to remember.
type answer struct {
	decision Decision
	err      error
	offers   []Offer // that were shown
	free     Pattern // as well

	previewed bool // a preview was shown
}
