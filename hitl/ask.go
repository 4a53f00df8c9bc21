package hitl

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/turn"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type asker struct {
	Options

	next      middleware.ToolCaller
	confirmer Confirmer
	session   string // the name under which yeses for the session are kept
	people    *queue // of all that one New returned, since it is the same people
	joins     joins
	groups    groups
	drafts    desk
}

// Describe implements [middleware.Describer].
func (a *asker) Describe() middleware.Description {
	return middleware.Description{
		Kind: "hitl", Next: a.next, Will: a.will,
		Confirms: a.confirmer != nil, ConfirmsWrites: a.confirmer != nil && a.Writes, // a chain that has nobody to ask claims nothing
	}
}

// will returns whether a person is asked.
func (a *asker) will(tool *middleware.Tool) string {
	switch {
	case !a.mustAsk(tool):
		return "run"
	case a.confirmer == nil:
		return "refuse, nobody can be asked"
	}
	return "ask first"
}

// mustAsk reports whether calls of a tool need a yes: by their class, or because
// they commit what another tool drafted.
func (a *asker) mustAsk(tool *middleware.Tool) bool {
	class := tool.Safety()
	return class.MustConfirm() || a.Writes && class == annotation.Moderate || a.drafts.commits(tool) != nil
}

func (a *asker) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if call.Tool == nil || !a.mustAsk(call.Tool) || a.drafts.commits(call.Tool) == nil && callstate.Covers(ctx, &call) {
		if err := turn.Pass(ctx, &call); err != nil {
			return nil, err
		}
		res, err := a.next.CallTool(ctx, call) // no tool: the guard says so
		a.drafts.note(ctx, a.Logger, &call, res)
		return res, err
	}
	call.Arguments = bytes.Clone(call.Arguments) // what is shown is what runs, whoever writes to it meanwhile
	state, began := callstate.Of(ctx), time.Now()
	if _, err := callstate.Form(state, &call); err != nil {
		return nil, err
	}
	yes, err := a.agree(ctx, call)
	state.Wait(time.Since(began))
	switch {
	case errors.Is(err, ErrDenied):
		state.Decide("hitl", "denied", err.Error())
		return nil, err
	case isPending(err):
		state.Decide("hitl", "pending", "")
		return nil, err
	case err != nil:
		state.Decide("hitl", "given up", "")
		return nil, err
	}
	state.Approved(callstate.Approval{ID: yes.id, By: yes.by, Standing: yes.standing})
	state.Classified(yes.call.Tool)
	state.Decide("hitl", "allowed", "")
	return a.run(ctx, yes)
}

// agree returns the call as it was agreed to, by a standing yes or by a person.
func (a *asker) agree(ctx context.Context, call middleware.Call) (*agreed, error) {
	if a.confirmer == nil {
		return nil, &DeniedError{Tool: call.Tool, Err: errors.New("the chain has no confirmer")}
	}
	if ctx.Err() != nil {
		return nil, fault.GivenUp(ctx)
	}
	drafts, err := a.drafts.named(call)
	if err != nil {
		return nil, &DeniedError{Tool: call.Tool, Err: err}
	}
	if id, input, ok := answered(call.Input); ok {
		return a.resume(ctx, query{id: id, call: call, drafts: drafts, input: input})
	}
	if yes, found, err := a.standing(ctx, call); found {
		return yes, err
	}
	place, err := a.people.enter(call.Scope)
	if err != nil {
		return nil, &DeniedError{Tool: call.Tool, Err: err}
	}
	defer place.leave() // unless the question has taken it
	for {
		question, mine := a.joins.join(ctx, &call)
		if mine {
			return a.lead(ctx, question, call, drafts, place)
		}
		turn.Of(ctx).Asking()
		select {
		case <-question.over:
		case <-ctx.Done():
			return nil, fault.GivenUp(ctx)
		}
		if question.no != nil {
			no := *question.no
			a.decided(ctx, &call, outcome{what: "denied with another", by: no.By})
			return nil, &no
		}
		if yes, found, err := a.standing(ctx, call); found {
			return yes, err
		}
	}
}

// lead asks for all that have joined.
func (a *asker) lead(ctx context.Context, question *joined, call middleware.Call, drafts []Draft, place *place) (*agreed, error) {
	defer a.joins.end(question)
	if yes, found, err := a.standing(ctx, call); found {
		return yes, err // given between a look and the turn
	}
	yes, err := a.question(ctx, call, drafts, false, place)
	if denied, ok := errors.AsType[*DeniedError](err); ok && !denied.mine() {
		question.no = denied
	}
	return yes, err
}

// question puts the call before a person, once more where an edit made it sterner,
// and writes down what comes of it.
func (a *asker) question(ctx context.Context, call middleware.Call, drafts []Draft, edited bool, place *place) (*agreed, error) {
	for {
		began := time.Now()
		q := query{id: rand.Text(), call: call, drafts: drafts, edited: edited, began: began, deadline: began.Add(a.Timeout)}
		if err := a.Store.Add(context.WithoutCancel(ctx), approval(q.id, &call, drafts, q.deadline)); err != nil {
			return nil, a.storeFailed(ctx, &call, err)
		}
		yes, sterner, err := a.put(ctx, q, place)
		if sterner == nil {
			return yes, err
		}
		call, edited = *sterner, true
		another, err := a.people.enter(call.Scope)
		if err != nil {
			return nil, &DeniedError{Tool: call.Tool, Err: err}
		}
		defer another.leave() // unless the question takes it
		place = another
	}
}

// put puts a question that the store knows, and writes down what comes of it: a yes,
// a sterner call to ask about, or an error.
func (a *asker) put(ctx context.Context, q query, place *place) (yes *agreed, sterner *middleware.Call, err error) {
	over := make(chan struct{})
	defer close(over)
	q.over = over
	answer := a.confirm(ctx, q, place)
	yes, sterner, err = a.settle(ctx, q, answer)
	if answer.late != nil {
		a.late(ctx, q, *answer.late)
	}
	if yes != nil {
		yes.draft, yes.edited = q.drafts, yes.edited || q.edited
	}
	return yes, sterner, err
}

// approval is a question as the store keeps it.
func approval(id string, call *middleware.Call, drafts []Draft, until time.Time) approvals.Approval {
	asked := approvals.Approval{
		ID: id, State: approvals.Pending, Server: call.Tool.Server, Tool: call.Tool.Name(), Definition: call.Tool.Digest.String(),
		Class: call.Tool.Safety().String(), Scope: call.Scope, CallID: call.ID, Arguments: hash(call.Arguments), Until: until,
	}
	for _, d := range drafts {
		asked.Drafts = append(asked.Drafts, approvals.Draft{ID: d.ID, Digest: d.Digest})
	}
	return asked
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// settle makes of an answer a yes, a sterner call to ask about, or an error, and
// writes it down.
func (a *asker) settle(ctx context.Context, q query, got answer) (yes *agreed, sterner *middleware.Call, err error) {
	call, id := &q.call, q.id
	o := outcome{by: got.decision.By, edited: got.decision.Arguments != nil, took: time.Since(q.began)}
	end := func(to approvals.State, what string, err error) (*agreed, *middleware.Call, error) {
		o.what = what
		a.decided(ctx, call, o)
		if q.input != nil && to == approvals.Void {
			to = approvals.Denied // only an open question can become it: a yes that came by another leg stands
		}
		_ = a.advance(context.WithoutCancel(ctx), id, approvals.Change{To: to, By: got.decision.By}) // a no stays one
		return nil, nil, err
	}
	asked, pending := errors.AsType[*PendingError](got.err)
	switch {
	case ctx.Err() != nil:
		return end(approvals.Void, "given up", fault.GivenUp(ctx))
	case pending:
		if err := a.park(ctx, q); err != nil {
			return end(approvals.Void, "denied", &DeniedError{Tool: call.Tool, Err: err})
		}
		return nil, nil, &PendingError{Tool: call.Tool, Requests: asked.Requests, State: stateMark + id + "." + asked.State}
	case middleware.NotSent(got.err):
		return end(approvals.Void, "given up", got.err)
	case got.err != nil:
		return end(approvals.Void, "denied", &DeniedError{Tool: call.Tool, Err: got.err})
	case got.decision.Verdict != Approved:
		return end(approvals.Denied, "denied", &DeniedError{Tool: call.Tool, Reason: got.decision.Reason, By: got.decision.By})
	}
	approved := *call
	if o.edited {
		if approved, err = a.edit(ctx, *call, got.decision.Arguments); err != nil {
			return end(approvals.Void, "denied", &DeniedError{Tool: call.Tool, Err: &editError{err}})
		}
		if approved.Tool.Safety() < call.Tool.Safety() {
			_, _, _ = end(approvals.Void, "asked again", nil)
			return nil, &approved, nil
		}
	}
	until := time.Now().Add(a.Lifetime)
	change := approvals.Change{To: approvals.Approved, By: got.decision.By, Until: until}
	if o.edited {
		change.Edited, change.Arguments = true, hash(approved.Arguments)
	}
	if err := a.advance(context.WithoutCancel(ctx), id, change); err != nil {
		return end(approvals.Void, "denied", a.storeFailed(ctx, call, err))
	}
	if err := a.remember(ctx, approved, got); err != nil {
		return end(approvals.Void, "denied", a.storeFailed(ctx, call, err))
	}
	o.what = "approved"
	a.decided(ctx, call, o)
	return &agreed{call: approved, shown: call.Tool.Safety(), id: id, by: got.decision.By, until: until, edited: o.edited}, nil, nil
}

// advance writes down a step, and logs where it has no effect.
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
