package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/internal/lifecycle"
)

// A reply is what a person answers.
type reply uint8

const (
	none reply = iota
	approves
	remembers // approves, and has it remembered
	edits
	stricter
	denies
)

var repliesAre = [...]string{"", "a person approves ", "a person approves and remembers ", "a person approves an edit of ", "a person edits, to a stricter call, ", "a person denies "}

// Limits are how often something may happen in one run.
type limits struct {
	over, crash, fail, giveUp, second, leave, postpone, revoke, repeat int8
	rule, edit, stricter, deny                                         bool // answers that people give
}

// A call is one that a model makes. A call that ends is not made again; an identical one has another place in the list.
type call struct {
	tool, proc int8
	tries      int8 // questions of its own
	status     status
}

type status uint8

const (
	notMade status = iota
	inQuestion
	ended
)

// A question is one as one process has it.
type question struct {
	lifecycle.Question

	proc, tool, call int8 // call is -1 while none waits
	asking           bool // the confirmer has not answered
	held             reply
	on               lifecycle.Event // the last one
	first            bool            // none of its writes is made
	back             string          // the decisions that this denial takes back
	over             bool            // its time
	legs             bool            // it was asked through the caller
	ran, again       bool
	was              approvals.State // in the store, before the last write
}

// A fact is what is true about the approval or the rule with an ID, whatever any process has of it.
type fact struct {
	id                    string
	shown                 bool
	approved, denied      bool // by a person, whose answer counted
	saidNo, saidYes       bool // a person answered so
	kept                  bool // for an identical call
	going                 bool // a later denial, or a person, is about to take it back
	gone                  bool // that has counted
	failed, over, crashed bool // of its writes; its time; its processes
	ran                   int8
}

// A world is all that there is at one moment.
type world struct {
	table lifecycle.Table
	store contract
	calls []call
	qs    []question
	facts []fact
	left  limits
}

func (w *world) clone() *world {
	n := *w
	n.store, n.calls, n.qs, n.facts = w.store.clone(), slices.Clone(w.calls), slices.Clone(w.qs), slices.Clone(w.facts)
	return &n
}

func (w *world) fact(id string) *fact {
	for i := range w.facts {
		if w.facts[i].id == id {
			return &w.facts[i]
		}
	}
	w.facts = append(w.facts, fact{id: id})
	return &w.facts[len(w.facts)-1]
}

// appendKey appends what the world is, the same for every order in which its parts came about.
func (w *world) appendKey(b []byte) []byte {
	for _, c := range w.calls {
		b = append(b, byte(c.status), byte(c.tries))
	}
	l := w.left
	for _, n := range [...]int8{l.over, l.crash, l.fail, l.giveUp, l.second, l.leave, l.postpone, l.revoke, l.repeat} {
		b = append(b, byte(n))
	}
	parts := make([]string, 0, len(w.qs))
	for i := range w.qs {
		q := &w.qs[i]
		part := make([]byte, 0, 96)
		part = append(part, byte(q.proc), byte(q.tool), byte(q.call), byte(q.held))
		part = appendFlags(part, q.asking, q.over, q.legs, q.ran, q.again, q.Reply.Rule != nil)
		part = appendFlags(part, q.Reply.Approves, q.first)
		part = appendText(part, q.Asked.ID, q.Asked.Standing, q.back)
		if !q.Idle() {
			part = appendText(part, string(q.on))
		}
		parts = append(parts, string(q.AppendProgress(part)))
	}
	slices.Sort(parts)
	b = appendText(b, parts...)
	slices.SortFunc(w.facts, func(x, y fact) int { return strings.Compare(x.id, y.id) })
	for _, f := range w.facts {
		b = append(appendText(b, f.id), byte(f.ran))
		b = appendFlags(b, f.shown, f.approved, f.denied, f.saidNo, f.kept, f.going, f.gone)
		b = appendFlags(b, f.saidYes, f.failed, f.over, f.crashed)
	}
	return w.store.appendKey(b)
}

func appendText(b []byte, texts ...string) []byte {
	for _, t := range texts {
		b = append(append(b, t...), 0)
	}
	return b
}

func appendFlags(b []byte, flags ...bool) []byte {
	sum := byte(1)
	for _, f := range flags {
		sum <<= 1
		if f {
			sum++
		}
	}
	return append(b, sum)
}

var toolNames = [...]string{"pay", "close"}

// approval returns what is stored of a question.
func approval(id string, tool int8) approvals.Approval {
	return approvals.Approval{ID: id, Scope: "ann", Server: "bank", Tool: toolNames[tool], Definition: "d", Class: "dangerous", Until: until}
}

var until = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// begin has an event happen. It is false if the table does not have it.
func (w *world) begin(i int, by lifecycle.Actor, on lifecycle.Event) (bool, error) {
	q := &w.qs[i]
	if err := q.Begin(w.table, by, on); err != nil {
		return false, nil //nolint:nilerr // that is the answer
	}
	if rule := q.Asked.Standing; on == lifecycle.Use && rule != "" && w.fact(rule).gone {
		w.fact(q.Asked.ID).gone = true
	}
	q.on, q.first = on, true
	if row := w.table.Find(q.State(), on); len(row.Before) > 0 {
		return true, nil
	}
	return true, w.count(i, ok)
}

// takesBack notes what a denial that is being recorded may take back: decisions on identical calls that are kept by now.
func (w *world) takesBack(q *question) {
	if !q.first || q.on != lifecycle.Deny && q.on != lifecycle.DenyLeft {
		return
	}
	for i := range w.facts {
		if d := w.store.rule(w.facts[i].id); d != nil && d.Once && d.Tool == q.Asked.Tool && d.ID != q.Asked.ID {
			w.facts[i].going = true
			if !strings.Contains(q.back, w.facts[i].id+" ") {
				q.back += w.facts[i].id + " "
			}
		}
	}
}

// next makes the next write of a transition, or ends one that has none left.
func (w *world) next(i int, how outcome) error {
	if how != ok {
		w.left.fail--
		w.fact(w.qs[i].Asked.ID).failed = true
	}
	w.takesBack(&w.qs[i])
	w.qs[i].first = false
	return w.count(i, how)
}

// count goes on with a transition, and draws the consequences when it is over.
func (w *world) count(i int, how outcome) error {
	w.qs[i].was = w.store.state(w.qs[i].Asked.ID)
	result, over := w.qs[i].Next(context.Background(), faulty{&w.store, how})
	if !over {
		return nil
	}
	return w.finished(i, result)
}

func (w *world) remove(i int) { w.qs = slices.Delete(w.qs, i, i+1) }

// end ends the call of a question, which reads the result of its last event.
func (w *world) end(i int, r lifecycle.Result) error {
	q := &w.qs[i]
	f := w.fact(q.Asked.ID)
	wrong := ""
	switch reading := r.Model(); reading {
	case lifecycle.ReadsDenied:
		if !f.saidNo {
			wrong = "the user said no, and they did not"
		}
	case lifecycle.ReadsNotApproved:
		if !q.State().Final() || q.ran {
			wrong = "no question is open, and it is " + string(q.State())
		}
	case lifecycle.ReadsRevoked:
		if !f.gone && !f.over && !f.failed && !w.fact(q.Asked.Standing).gone && !w.fact(q.Asked.Standing).over {
			wrong = "the approval was taken back, and it was not"
		}
	case lifecycle.ReadsWaiting, lifecycle.ReadsPending:
		if q.State() != lifecycle.Waiting {
			wrong = "it waits, and it is " + string(q.State())
		}
	case lifecycle.ReadsResult:
		if !q.ran && !q.again {
			wrong = "a result, and it was not made"
		}
	case lifecycle.ReadsNothing, lifecycle.ReadsGivenUp:
	}
	if q.call >= 0 {
		w.calls[q.call].status = ended
		q.call = -1
	}
	if wrong != "" {
		return errors.New("untrue: the model reads: " + wrong)
	}
	return nil
}

// finished draws the consequences of a transition.
func (w *world) finished(i int, r lifecycle.Result) error {
	q := &w.qs[i]
	id := q.Asked.ID
	f := w.fact(id)
	if err := w.personReads(q, r); err != nil {
		return err
	}
	switch r.Row.On {
	case lifecycle.Ask:
		if r.Err != nil {
			err := w.end(i, r)
			w.remove(i)
			return err
		}
		if shown, err := w.begin(i, lifecycle.Caller, lifecycle.Show); !shown || err != nil {
			return err
		}
		w.qs[i].asking, w.fact(id).shown = true, true
	case lifecycle.Show, lifecycle.Return:
	case lifecycle.Approve, lifecycle.Edit:
		if r.Err != nil {
			return w.end(i, r)
		}
		f.approved = f.saidYes
		if q.Reply.Rule != nil {
			*w.fact(q.Reply.Rule.ID) = fact{id: q.Reply.Rule.ID, shown: true, approved: true}
		}
	case lifecycle.ApproveLeft, lifecycle.DenyLeft:
		if r.Err != nil {
			return nil // it still waits, with the answer in hand
		}
		f.kept, f.approved, f.denied = true, r.Row.On == lifecycle.ApproveLeft, r.Row.On == lifecycle.DenyLeft
		if f.denied {
			w.deniedOthers(r, q)
		}
		if rule := w.qs[i].Reply.Rule; rule != nil && f.approved {
			*w.fact(rule.ID) = fact{id: rule.ID, shown: true, approved: true}
		}
		w.remove(i)
	case lifecycle.Deny:
		f.denied = !q.legs || w.store.state(id) == approvals.Denied // of several legs the first answer wins
		w.deniedOthers(r, q)
		return w.end(i, r)
	case lifecycle.AskAgain:
		w.calls[q.call].status, q.call = notMade, -1
	case lifecycle.Silence, lifecycle.Fail, lifecycle.GiveUp, lifecycle.Leave, lifecycle.Postpone:
		return w.end(i, r)
	case lifecycle.Take:
		if errors.Is(r.Err, approvals.ErrNoEffect) {
			w.calls[q.call].status = notMade // another call has taken it
			w.remove(i)
			return nil
		}
		if r.Err != nil || q.State() == lifecycle.Denied {
			f.kept = f.kept && r.Err != nil
			err := w.end(i, r)
			w.remove(i)
			return err
		}
	case lifecycle.Answer:
		if errors.Is(r.Err, approvals.ErrNoEffect) {
			w.calls[q.call].status = notMade // it was taken back
			w.remove(i)
			return nil
		}
		if r.Err != nil {
			err := w.end(i, r)
			w.remove(i)
			return err
		}
	case lifecycle.Use, lifecycle.Repeat:
		if r.Err != nil && q.State().Final() {
			return w.end(i, r)
		}
		q.again = q.again || r.Row.On == lifecycle.Repeat
		if r.Err != nil {
			q.ran = true // it is not handed over again
		}
	case lifecycle.End:
		err := w.end(i, r)
		w.remove(i)
		return err
	case lifecycle.Supersede, lifecycle.Expire:
		if !q.asking {
			w.remove(i)
		}
	case lifecycle.Revoke:
		f.gone = f.gone || r.Err == nil && w.store.state(id) != approvals.Spent && w.store.state(id) != approvals.Done
		w.remove(i)
	case lifecycle.Late:
		w.remove(i)
	}
	return nil
}

// deniedOthers notes what a denial that counts has taken back.
func (w *world) deniedOthers(r lifecycle.Result, q *question) {
	for i := range w.facts {
		f := &w.facts[i]
		going := strings.Contains(q.back, f.id+" ")
		if going && len(r.Failed) == 0 && !f.denied && f.ran == 0 && w.store.state(f.id) == approvals.Void {
			f.gone = true
		}
		if d := w.store.rule(f.id); going && len(r.Failed) == 0 && d != nil && d.Once && f.ran == 0 {
			f.gone = true // it had to be taken back, and is there
		}
	}
}

// personReads checks what a person reads of an event.
func (w *world) personReads(q *question, r lifecycle.Result) error {
	if r.Err != nil {
		return nil
	}
	f, state := w.fact(q.Asked.ID), w.store.state(q.Asked.ID)
	switch r.Row.Person {
	case lifecycle.SeesApproved:
		if !f.shown {
			return errors.New("approved without having been shown")
		}
		if state != approvals.Approved && !f.over && !f.going && !f.gone && !f.failed && state != approvals.Spent && state != approvals.Done {
			return fmt.Errorf("lost: an approval counts, and the store has %q", state)
		}
	case lifecycle.SeesDenied:
		if state == approvals.Approved && !f.failed && !q.legs {
			return errors.New("untrue: a denial counts, and the store has an approval")
		}
		if state == approvals.Pending && !f.failed {
			return errors.New("lost: a denial counts, and the store has the question open")
		}
	case lifecycle.SeesNoEffect:
		if state != q.was && (q.was != approvals.Pending || state != approvals.Denied) {
			return fmt.Errorf("untrue: a late answer has no effect, and made %q of %q", state, q.was)
		}
	case lifecycle.SeesNothing, lifecycle.SeesRequest, lifecycle.SeesOver, lifecycle.SeesRevoked:
	}
	return nil
}

// run executes the call of a question that may be made.
func (w *world) run(i int) error {
	q := &w.qs[i]
	f := w.fact(q.Asked.ID)
	q.ran = true
	f.ran++
	by := f
	if q.Asked.Standing != "" {
		by = w.fact(q.Asked.Standing)
	}
	switch state := w.store.state(q.Asked.ID); {
	case f.ran > 1:
		return errors.New("used twice")
	case f.denied:
		return errors.New("executed after a denial")
	case f.gone:
		return errors.New("executed after it was taken back")
	case !by.shown || !by.approved && !(by.failed && by.saidYes):
		return errors.New("executed without an approval that its person was shown")
	case state != approvals.Spent && !(state == approvals.Void && f.crashed):
		return fmt.Errorf("untrue: executed, and the store has %q", state)
	}
	return nil
}

// check returns what is wrong with the world as it is.
func (w *world) check() error {
	for _, f := range w.facts {
		state := w.store.state(f.id)
		d := w.store.rule(f.id)
		switch there := d != nil && d.Once && !d.Denied && state == approvals.Approved; {
		case f.ran > 0 && state != approvals.Spent && state != approvals.Done && !f.crashed:
			return fmt.Errorf("untrue: %s was executed, and the store has %q", f.id, state)
		case f.denied && !f.failed && (state == approvals.Approved || state == approvals.Spent || state == approvals.Done):
			return fmt.Errorf("a denial is not final: the store has %q", state)
		case f.kept && f.approved && !there && state != approvals.Spent && state != approvals.Done && !f.going && !f.gone && !f.over && !f.failed && !f.crashed:
			return fmt.Errorf("lost: what was decided for an identical call is %q", state)
		}
	}
	for i := range w.qs {
		q := &w.qs[i]
		f := w.fact(q.Asked.ID)
		held := q.State() == lifecycle.Approved || q.State() == lifecycle.Edited
		if state := w.store.state(q.Asked.ID); held && q.Idle() && f.approved && !f.over && !f.failed && !f.crashed && state != approvals.Approved {
			return fmt.Errorf("lost: an approval that its call holds is %q in the store", state)
		}
	}
	return nil
}
