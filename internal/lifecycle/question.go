// Package lifecycle owns the life of a question to a person: from when a call needs an approval until what came of it
// is recorded.
//
// [Life] is the table of its transitions. A [Question] goes through it, one write of the store after the other. Package
// hitl decides when an event happens, and an explorer (verify/lifecycle) tries every order of events, writes, failures
// and crashes.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
)

// A Question is one question and its state. It is a value: a copy has a life of its own, as the explorer needs it. It is
// not safe for concurrent use.
type Question struct {
	// Asked is what the store gets when it is asked or answered by a remembered approval. Until is its end.
	Asked approvals.Approval
	// Once is a digest of the call and of why a person is asked, "" for a call that cannot be told from others.
	Once string
	// Reply is the person's answer, set before the event.
	Reply Reply

	state  State
	closed bool // as far as is known, the store takes no more answers to it
	doing  transition
}

// A Reply is what is stored of a person's answer.
type Reply struct {
	By, Reason string
	Approves   bool
	Until      time.Time           // when the approval expires
	Arguments  string              // the hash of edited arguments, "" if they were not edited
	Rule       *approvals.Standing // that is to be remembered
}

// A transition is how far a row has been carried out.
type transition struct {
	row   *Row
	phase phase
	made  bool // a write of the row was made
	left  []write
	err   error // of Before
	also  []error
}

type phase uint8

const (
	before phase = iota
	undo
	after
)

// A write is a Write; Drop has the decision that it drops.
type write struct {
	what Write
	id   string
}

// Open returns the question that a second leg claims to answer. The store has the last word on whether there is one.
func Open(asked approvals.Approval, once string) Question {
	return Question{Asked: asked, Once: once, state: Waiting}
}

// Load returns the question whose decision was kept for an identical call.
func Load(s approvals.Standing) Question {
	q := Question{
		Asked: approvals.Approval{ID: s.ID, Scope: s.Scope, Server: s.Server, Tool: s.Tool, Definition: s.Definition, Class: s.Class, Until: s.Until},
		Once:  s.Arguments, Reply: Reply{By: s.By, Reason: s.Reason, Approves: !s.Denied, Until: s.Until}, state: Kept, closed: true,
	}
	if s.Denied {
		q.state = Refused
	}
	return q
}

// State returns how far the question has come.
func (q *Question) State() State {
	if q.state == "" {
		return New
	}
	return q.state
}

// ErrNoRow is in the tree of the error for an event that the table does not have, in this state or by this actor.
var ErrNoRow = errors.New("lifecycle: the table has no such transition")

// A Result is what came of an event.
type Result struct {
	Row    *Row
	Err    error   // of a write that had to be stored before
	Failed []error // of the other writes
}

// Model returns what the model reads. If the store has failed, its call was not approved.
func (r Result) Model() Reading {
	switch {
	case r.Err == nil:
		return r.Row.Model
	case r.Row.ElseModel != ReadsNothing && !errors.Is(r.Err, approvals.ErrNoEffect):
		return ReadsNotApproved
	}
	return r.Row.ElseModel
}

// Log returns the outcome for the log, "" for no line.
func (r Result) Log() string {
	if r.Err != nil {
		return r.Row.ElseLog
	}
	return r.Row.Log
}

// Do makes the transition of an event, or returns an error that is [ErrNoRow] and changes nothing. An error of a
// write is in the Result.
func (q *Question) Do(ctx context.Context, store approvals.Store, t Table, by Actor, on Event) (Result, error) {
	if err := q.Begin(t, by, on); err != nil {
		return Result{}, err
	}
	defer func() {
		if q.doing.row != nil { // the store panicked
			q.state, q.doing = Void, transition{}
		}
	}()
	for {
		if r, over := q.Next(ctx, store); over {
			return r, nil
		}
	}
}

// Begin begins the transition of an event. [Question.Next] carries it out.
func (q *Question) Begin(t Table, by Actor, on Event) error {
	row := t.Find(q.State(), on)
	switch {
	case q.doing.row != nil:
		return fmt.Errorf("%w: %s is in the middle of %q", ErrNoRow, q.Asked.ID, q.doing.row.On)
	case row == nil || row.By != by:
		return fmt.Errorf("%w: %s cannot %q while it is %s", ErrNoRow, by, on, q.State())
	}
	q.doing = transition{row: row, left: writes(row.Before)}
	return nil
}

func writes(list []Write) (all []write) {
	for _, w := range list {
		all = append(all, write{what: w})
	}
	return all
}

// Next makes the next write of the transition. When none is left, it returns what came of it.
func (q *Question) Next(ctx context.Context, store approvals.Store) (r Result, over bool) {
	d := &q.doing
	if len(d.left) > 0 {
		w := d.left[0]
		d.left = d.left[1:]
		if err := q.write(ctx, store, w); err != nil {
			q.failed(fmt.Errorf("%s: %w", w.what, err))
		} else {
			d.made = true
		}
	}
	if len(d.left) == 0 && d.phase == before {
		q.state, d.phase, d.left = d.row.To, after, writes(d.row.After)
	}
	if len(d.left) > 0 {
		return Result{}, false
	}
	r = Result{Row: d.row, Err: d.err, Failed: d.also}
	*d = transition{}
	return r, true
}

func (q *Question) failed(err error) {
	if q.doing.phase != before {
		q.doing.also = append(slices.Clip(q.doing.also), err)
		return
	}
	q.fail(err)
}

func (q *Question) fail(err error) {
	d := &q.doing
	q.state, d.err, d.phase, d.left = d.row.Else, err, undo, writes(d.row.Undo)
	if !d.made && errors.Is(err, approvals.ErrNoEffect) {
		d.left = nil // the store has refused the first write, so there is nothing of ours in it
	}
}

// AppendProgress appends the state of the question, and how far a transition has come, to b: two questions with the
// same fields and the same progress go on in the same way.
func (q *Question) AppendProgress(b []byte) []byte {
	b = append(append(b, q.State()...), 0)
	b = strconv.AppendBool(b, q.closed)
	if d := q.doing; d.row != nil {
		b = append(append(b, d.row.On...), 0, byte(d.phase))
		b = strconv.AppendBool(strconv.AppendBool(b, d.made), d.err != nil)
		for _, w := range d.left {
			b = append(append(append(b, w.what...), 0), w.id...)
		}
	}
	return b
}

// Idle reports whether no transition is in progress.
func (q *Question) Idle() bool { return q.doing.row == nil }

// write makes one write.
func (q *Question) write(ctx context.Context, store approvals.Store, w write) error {
	a, r := q.Asked, q.Reply
	switch w.what {
	case AddQuestion:
		a.State = approvals.Pending
		return store.Add(ctx, a)
	case AddAnswered:
		a.State = approvals.Approved
		return store.Add(ctx, a)
	case StoreApproved:
		return q.advance(ctx, store, approvals.Change{To: approvals.Approved, By: r.By, Until: r.Until, Edited: r.Arguments != "", Arguments: r.Arguments})
	case StoreDenied:
		return q.advance(ctx, store, approvals.Change{To: approvals.Denied, By: r.By})
	case StoreVoid:
		return q.advance(ctx, store, approvals.Change{To: approvals.Void, By: r.By})
	case StoreSpent:
		return q.advance(ctx, store, approvals.Change{To: approvals.Spent})
	case StoreDone:
		return q.advance(ctx, store, approvals.Change{To: approvals.Done})
	case StoreLate:
		return q.late(ctx, store)
	case RememberRule:
		if r.Rule == nil {
			return nil
		}
		return store.Remember(ctx, *r.Rule)
	case DropRule:
		if r.Rule == nil {
			return nil
		}
		return store.Forget(ctx, r.Rule.Scope, r.Rule.ID)
	case Keep:
		return store.Remember(ctx, q.Decision())
	case Drop:
		id := w.id
		if id == "" {
			id = a.ID
		}
		return store.Forget(ctx, a.Scope, id)
	case DropOthers:
		return q.dropOthers(ctx, store)
	case CheckRule:
		return q.checkRule(ctx, store)
	}
	return fmt.Errorf("lifecycle: %q is not a write", w.what)
}

func (q *Question) advance(ctx context.Context, store approvals.Store, c approvals.Change) error {
	c.Scope, c.Standing = q.Asked.Scope, q.Asked.Standing
	err := store.Advance(ctx, q.Asked.ID, c)
	if err == nil || errors.Is(err, approvals.ErrNoEffect) && c.To != approvals.Approved {
		q.closed = true
	}
	return err
}

// late has an answer recorded that has no effect. A question that the store may still have open is closed first.
func (q *Question) late(ctx context.Context, store approvals.Store) error {
	if !q.closed {
		if err := q.advance(ctx, store, approvals.Change{To: approvals.Denied}); err != nil && !q.closed {
			return err
		}
	}
	c := approvals.Change{To: approvals.Denied, By: q.Reply.By, Until: q.Asked.Until}
	if q.Reply.Approves {
		c.To = approvals.Approved
	}
	return store.Advance(ctx, q.Asked.ID, c)
}

// Decision returns what is kept for an identical call.
func (q *Question) Decision() approvals.Standing {
	a, r := q.Asked, q.Reply
	return approvals.Standing{
		ID: a.ID, Scope: a.Scope, Server: a.Server, Tool: a.Tool, Definition: a.Definition, Class: a.Class,
		Arguments: q.Once, By: r.By, Since: time.Now(), Until: a.Until, Once: true, Denied: !r.Approves, Reason: r.Reason,
	}
}

// Decisions returns the decisions that were kept for calls like that of the question and that no call has taken.
func (q *Question) Decisions(ctx context.Context, store approvals.Store) ([]approvals.Standing, error) {
	if q.Once == "" {
		return nil, nil
	}
	all, err := approvals.Find(ctx, store, q.Asked.Scope, q.Asked.Server, q.Asked.Tool, q.Once)
	return slices.DeleteFunc(all, func(s approvals.Standing) bool { return !s.Once || s.Arguments != q.Once }), err
}

// dropOthers lets the decisions on identical calls be dropped, one after the other, before what follows.
func (q *Question) dropOthers(ctx context.Context, store approvals.Store) error {
	all, err := q.Decisions(ctx, store)
	var drops []write
	for _, s := range all {
		if s.ID != q.Asked.ID {
			drops = append(drops, write{Drop, s.ID})
		}
	}
	q.doing.left = append(drops, q.doing.left...)
	return err
}

// checkRule returns an error if the remembered approval that answered is not there any more.
func (q *Question) checkRule(ctx context.Context, store approvals.Store) error {
	if q.Asked.Standing == "" {
		return nil
	}
	all, err := store.Remembered(ctx, q.Asked.Scope, q.Asked.Server, q.Asked.Tool)
	if err == nil && !slices.ContainsFunc(all, func(s approvals.Standing) bool { return s.ID == q.Asked.Standing }) {
		err = &approvals.NoEffectError{ID: q.Asked.Standing, Was: approvals.Void, To: approvals.Spent}
	}
	return err
}
