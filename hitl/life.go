package hitl

// How a question of this package goes through the table of package lifecycle.

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/internal/waiting"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/lifecycle"
	"github.com/fairlead-go/fairlead/middleware"
)

// A life is a question with its state. Its call, its confirmer and its timer may cause events at once; one of them gets
// its transition, and the others find that the table has none for them any more.
type life struct {
	lifecycle.Question

	asked *waiting.Asked[answer] // nil before the confirmer is asked
	mu    sync.Mutex
}

// A recorder has events happen to questions, and records in the store and the log what came of them.
type recorder struct {
	journal

	store Store
}

// begins returns the life of a new question, and notes in it what a person is asked about.
func (a *asker) begins(ctx context.Context, id string, q *query) *life {
	l := &life{Question: lifecycle.Question{Asked: entry(id, &q.call, q.deadline)}}
	q.extra, _ = callstate.Extra(&q.call) // CallTool has checked it
	q.once = once(ctx, &q.call)
	if q.extra != nil {
		l.Asked.Extra = hash(q.extra)
	}
	for _, d := range q.drafts {
		l.Asked.Drafts = append(l.Asked.Drafts, approvals.Draft{ID: d.ID, Digest: d.Digest})
	}
	if a.WaitLimit != nil && q.call.Tool.Digest != (middleware.Digest{}) {
		l.Once = q.once
	}
	return l
}

// does has an event happen to a question and logs what came of it. The error is that of an event that the table does
// not have, now or by this actor.
func (r recorder) does(ctx context.Context, q query, by lifecycle.Actor, on lifecycle.Event, reply lifecycle.Reply) (lifecycle.Result, error) {
	ctx = context.WithoutCancel(ctx) // what has happened is recorded, whether or not the caller waits
	q.life.mu.Lock()
	defer q.life.mu.Unlock()
	before := q.life.Reply
	if reply != (lifecycle.Reply{}) {
		q.life.Reply = reply
	}
	got, err := q.life.Do(ctx, r.store, lifecycle.Life, by, on)
	if err != nil {
		q.life.Reply = before
		return got, err
	}
	r.noteChanges(ctx, q, on, got)
	if what := got.Log(); what != "" {
		reply := q.life.Reply
		r.decided(ctx, &q.call, outcome{what: what, by: reply.By, edited: q.editing, took: time.Since(q.began)})
	}
	return got, nil
}

// noteChanges logs what the store did not take of an event.
func (r recorder) noteChanges(ctx context.Context, q query, on lifecycle.Event, got lifecycle.Result) {
	failed := slices.Clone(got.Failed)
	if got.Err != nil {
		failed = append(failed, got.Err)
	}
	failed = slices.DeleteFunc(failed, func(err error) bool { return expected(on, err) })
	for _, err := range failed {
		r.notStored(ctx, q, on, err)
	}
	if len(failed) == 0 && len(got.Row.Before)+len(got.Row.After) > 0 {
		r.stored(ctx)
	}
}

// expected reports whether an event finds out by the store that it comes too late.
func expected(on lifecycle.Event, err error) bool {
	return errors.Is(err, approvals.ErrNoEffect) && (on == lifecycle.Take || on == lifecycle.Answer || on == lifecycle.Late)
}

// reads returns the error that the model reads after an event, nil if the call goes on. Why is the reason for an event
// that ends the call without an answer.
func reads(q query, got lifecycle.Result, err, why error) error {
	if err != nil {
		return &DeniedError{Tool: q.call.Tool, Err: storeError{err}}
	}
	if got.Err != nil {
		why = storeError{got.Err}
	}
	switch reply := q.life.Reply; got.Model() {
	case lifecycle.ReadsDenied:
		return &DeniedError{Tool: q.call.Tool, Reason: reply.Reason, By: reply.By}
	case lifecycle.ReadsNotApproved:
		return &DeniedError{Tool: q.call.Tool, Err: why}
	case lifecycle.ReadsRevoked:
		return &DeniedError{Tool: q.call.Tool, Err: errRevoked}
	case lifecycle.ReadsWaiting:
		return &WaitingError{Tool: q.call.Tool, Where: q.where, Until: q.deadline}
	case lifecycle.ReadsPending, lifecycle.ReadsGivenUp:
		return why
	case lifecycle.ReadsNothing, lifecycle.ReadsResult:
	}
	return nil
}

// hash returns the SHA-256 of b in hexadecimal.
func hash(b []byte) string { return middleware.Digest(sha256.Sum256(b)).String() }

// entry returns what the store gets of a question about a call.
func entry(id string, call *middleware.Call, until time.Time) approvals.Approval {
	return approvals.Approval{
		ID: id, Server: call.Tool.Server, Tool: call.Tool.Name(), Definition: call.Tool.Digest.String(),
		Class: call.Tool.Safety().String(), Scope: call.Scope, CallID: call.ID, Arguments: hash(call.Arguments), Until: until,
	}
}

// once returns a digest of a call and of why a person is asked about it, without what only
// time changes. The call has arguments and extras that can be sent.
func once(ctx context.Context, call *middleware.Call) string {
	state := callstate.Of(ctx)
	form, _ := callstate.Form(state, call)
	extra, _ := callstate.Extra(call)
	record := state.Record()
	text := fmt.Appendf(nil, "once %q %q %q %q %q %q %q %d\n", call.Scope, call.Tool.Server, call.Tool.Name(), call.Tool.Digest, form, extra,
		call.Tool.Explain(), record.InDoubt.UnixNano())
	for _, s := range record.Sources {
		text = fmt.Appendf(text, "%q %q %q %t %q\n", s.Argument, s.From, s.Tool, s.Trusted, s.Rule)
	}
	return hash(text)
}
