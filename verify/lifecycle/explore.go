package main

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/internal/lifecycle"
)

// An action is something that may happen next.
type action struct {
	what, of string
	do       func(w *world) error
}

func (a action) String() string { return a.what + a.of }

// actions returns all that may happen next.
func (w *world) actions() (all []action) {
	add := func(what, of string, do func(w *world) error) { all = append(all, action{what, of, do}) }
	for c := range w.calls {
		if w.calls[c].status == notMade && !w.earlier(c) {
			w.makes(int8(c), add)
		}
	}
	for i := range w.qs {
		q := &w.qs[i]
		if !q.Idle() {
			id := q.Asked.ID
			add("the store answers ", id, func(w *world) error { return w.next(i, ok) })
			if w.left.fail > 0 {
				add("the store fails for ", id, func(w *world) error { return w.next(i, fails) })
				add("the store is not heard by ", id, func(w *world) error { return w.next(i, unheard) })
			}
			continue
		}
		w.happens(i, add)
	}
	w.around(add)
	return all
}

var (
	callNames = [...]string{"call 0", "call 1", "call 2", "call 3"}
	procNames = [...]string{"0", "1", "2"}
)

// earlier reports whether an identical call of the same process comes first: their order makes no difference.
func (w *world) earlier(c int) bool {
	for i := range c {
		if o, its := w.calls[i], w.calls[c]; o.status == notMade && o.tool == its.tool && o.proc == its.proc {
			return true
		}
	}
	return false
}

// makes adds what a call may do that is made: package hitl does the first of these that there is, and the explorer
// tries each.
func (w *world) makes(c int8, add func(what, of string, do func(*world) error)) {
	its := w.calls[c]
	name := callNames[c]
	add(name, " asks", func(w *world) error {
		w.calls[c].status = inQuestion
		w.calls[c].tries++
		id := fmt.Sprintf("%d.%d", c, w.calls[c].tries)
		w.qs = append(w.qs, question{proc: its.proc, tool: its.tool, call: c, Question: lifecycle.Question{Asked: approval(id, its.tool), Once: toolNames[its.tool]}})
		_, err := w.begin(len(w.qs)-1, lifecycle.Caller, lifecycle.Ask)
		return err
	})
	for _, s := range w.store.standing {
		if s.Tool != toolNames[its.tool] {
			continue
		}
		if !s.Once {
			add(name+" has ", s.ID, func(w *world) error {
				w.calls[c].status = inQuestion
				w.calls[c].tries++
				a := approval(fmt.Sprintf("%d.%d", c, w.calls[c].tries), its.tool)
				a.Standing = s.ID
				w.qs = append(w.qs, question{proc: its.proc, tool: its.tool, call: c, Question: lifecycle.Question{Asked: a}})
				_, err := w.begin(len(w.qs)-1, lifecycle.Caller, lifecycle.Answer)
				return err
			})
			continue
		}
		if st := w.store.state(s.ID); !s.Denied && st != approvals.Approved {
			continue // the step to spent is refused: the call looks on
		}
		add(name+" takes ", s.ID, func(w *world) error {
			w.calls[c].status = inQuestion
			w.qs = append(w.qs, question{proc: its.proc, tool: its.tool, call: c, Question: lifecycle.Load(s)})
			_, err := w.begin(len(w.qs)-1, lifecycle.Caller, lifecycle.Take)
			return err
		})
	}
	for i := range w.qs {
		q := &w.qs[i]
		if q.State() != lifecycle.Waiting || !q.Idle() || q.tool != its.tool || q.proc != its.proc && !q.legs {
			continue
		}
		add(name+" takes up ", q.Asked.ID, func(w *world) error {
			w.calls[c].status = inQuestion
			if q := w.qs[i]; q.proc != its.proc { // the second leg at another replica
				w.qs = append(w.qs, question{proc: its.proc, tool: its.tool, call: c, legs: true, asking: true, Question: lifecycle.Open(q.Asked, q.Once)})
				_, err := w.begin(len(w.qs)-1, lifecycle.Caller, lifecycle.Return)
				return err
			}
			w.qs[i].call, w.qs[i].asking = c, w.qs[i].asking || w.qs[i].legs
			_, err := w.begin(i, lifecycle.Caller, lifecycle.Return)
			return err
		})
	}
}

// happens adds what may happen to a question.
func (w *world) happens(i int, add func(what, of string, do func(*world) error)) {
	q := &w.qs[i]
	id, s := q.Asked.ID, q.State()
	event := func(by lifecycle.Actor, on lifecycle.Event, limit func(*limits) *int8) {
		if limit != nil && *limit(&w.left) == 0 {
			return
		}
		add(id+": ", string(on), func(w *world) error {
			if limit != nil {
				*limit(&w.left)--
			}
			if on == lifecycle.Postpone {
				w.qs[i].asking, w.qs[i].legs = false, true
			}
			_, err := w.begin(i, by, on)
			return err
		})
	}
	switch s {
	case lifecycle.Shown, lifecycle.Returned:
		if q.asking || q.held != none {
			w.answers(i, add)
		}
		if q.over {
			event(lifecycle.Clock, lifecycle.Silence, nil)
		}
		event(lifecycle.Caller, lifecycle.GiveUp, func(l *limits) *int8 { return &l.giveUp })
		event(lifecycle.Caller, lifecycle.Leave, func(l *limits) *int8 { return &l.leave })
		if q.asking {
			event(lifecycle.Confirmer, lifecycle.Fail, func(l *limits) *int8 { return &l.giveUp })
			event(lifecycle.Confirmer, lifecycle.Postpone, func(l *limits) *int8 { return &l.postpone })
			event(lifecycle.Clock, lifecycle.Approve, func(l *limits) *int8 { return &l.second }) // nobody has answered
		}
	case lifecycle.Waiting:
		if q.asking {
			w.answers(i, add)
		}
		if q.over {
			event(lifecycle.Clock, lifecycle.Expire, nil)
		}
	case lifecycle.Approved, lifecycle.Edited, lifecycle.Remembered:
		event(lifecycle.Guard, lifecycle.Use, nil)
		event(lifecycle.Caller, lifecycle.End, func(l *limits) *int8 { return &l.giveUp })
	case lifecycle.Taken:
		if !q.ran {
			add(id, " is executed", func(w *world) error { return w.run(i) })
			return
		}
		event(lifecycle.Caller, lifecycle.End, nil)
		if w.left.repeat > 0 {
			add(id, " was not sent, and is handed over again", func(w *world) error {
				w.left.repeat--
				w.qs[i].ran = false
				w.fact(id).ran--
				_, err := w.begin(i, lifecycle.Guard, lifecycle.Repeat)
				return err
			})
		}
	}
	if w.left.second > 0 && !q.asking && s != lifecycle.Waiting || s.Final() && q.asking {
		w.answersAgain(i, add)
	}
}

// answers adds what a person may answer. An answer that cannot be kept waits for a call.
func (w *world) answers(i int, add func(what, of string, do func(*world) error)) {
	q := &w.qs[i]
	waiting := q.State() == lifecycle.Waiting
	for r := approves; r <= denies; r++ {
		switch {
		case q.held != none && r != q.held, q.held == none && !q.asking,
			r == remembers && !w.left.rule, r == edits && !w.left.edit, r == stricter && (!w.left.stricter || strings.HasSuffix(q.Asked.ID, ".2")), r == denies && !w.left.deny:
			continue
		}
		add(repliesAre[r], q.Asked.ID, func(w *world) error {
			q := &w.qs[i]
			q.asking, q.held = false, none
			f := w.fact(q.Asked.ID)
			f.saidNo, f.saidYes = f.saidNo || r == denies, f.saidYes || r != denies && r != stricter
			if waiting && (r == edits || r == stricter) {
				q.held = r
				return nil
			}
			on := w.replies(q, r)
			if waiting {
				q.held = r // in case the store fails
				on = map[lifecycle.Event]lifecycle.Event{lifecycle.Approve: lifecycle.ApproveLeft, lifecycle.Deny: lifecycle.DenyLeft}[on]
			}
			happened, err := w.begin(i, lifecycle.Person, on)
			if !happened {
				return fmt.Errorf("lost: a person answers an open question that is %s, and nothing comes of it", q.State())
			}
			return err
		})
	}
}

// replies sets the answer of a person, and returns its event.
func (w *world) replies(q *question, r reply) lifecycle.Event {
	q.Reply = lifecycle.Reply{By: "ann", Approves: r != denies, Until: until}
	switch r {
	case denies:
		return lifecycle.Deny
	case edits:
		q.Reply.Arguments = "edited"
		return lifecycle.Edit
	case stricter:
		return lifecycle.AskAgain
	case remembers:
		q.Reply.Rule = &approvals.Standing{
			ID: "rule of " + q.Asked.ID, Scope: "ann", Server: "bank", Tool: toolNames[q.tool], Definition: "d", Class: "dangerous",
			Arguments: approvals.AnyArguments, Until: until,
		}
		*w.fact(q.Reply.Rule.ID) = fact{id: q.Reply.Rule.ID, shown: true, saidYes: true, failed: true} // until it counts
	}
	return lifecycle.Approve
}

// answersAgain adds an answer of the other person, or the same confirmer's second one, or one that comes too late.
func (w *world) answersAgain(i int, add func(what, of string, do func(*world) error)) {
	add("another answer to ", w.qs[i].Asked.ID, func(w *world) error {
		q := &w.qs[i]
		if !q.asking {
			w.left.second--
		}
		q.asking = false
		if q.State().Final() {
			q.Reply = lifecycle.Reply{By: "bob", Approves: true, Until: until}
			if late, err := w.begin(i, lifecycle.Person, lifecycle.Late); late {
				return err
			}
		}
		before := q.Reply
		q.Reply = lifecycle.Reply{By: "bob", Approves: true, Until: until}
		happened, err := w.begin(i, lifecycle.Person, lifecycle.Approve)
		if !happened {
			w.qs[i].Reply = before
		}
		return err
	})
}

// around adds what happens to the store, to time and to processes.
func (w *world) around(add func(what, of string, do func(*world) error)) {
	if w.left.over > 0 {
		for _, a := range w.store.asked {
			if a.late || !a.state.Open() || a.state == approvals.Spent {
				continue
			}
			add("the time is over of ", a.id, func(w *world) error {
				w.left.over--
				w.fact(a.id).over = true
				w.store.over(a.id)
				for i := range w.qs {
					w.qs[i].over = w.qs[i].over || w.qs[i].Asked.ID == a.id
				}
				return nil
			})
		}
	}
	for i := range w.qs { // that of the question, where another replica has got an approval, which lasts longer
		q := &w.qs[i]
		if w.left.over > 0 && q.legs && !q.over && q.State() == lifecycle.Waiting && w.store.state(q.Asked.ID) != approvals.Pending {
			add("the time is over of the question ", q.Asked.ID, func(w *world) error {
				w.left.over--
				w.qs[i].over = true
				return nil
			})
		}
	}
	if w.left.revoke > 0 {
		for _, s := range w.store.standing {
			add("a person takes back ", s.ID, func(w *world) error {
				w.left.revoke--
				w.fact(s.ID).going = true
				if !s.Once {
					w.fact(s.ID).gone = true
					return w.store.Forget(context.Background(), s.Scope, s.ID)
				}
				w.qs = append(w.qs, question{proc: -1, call: -1, Question: lifecycle.Load(s)})
				_, err := w.begin(len(w.qs)-1, lifecycle.Person, lifecycle.Revoke)
				return err
			})
		}
	}
	if w.left.crash == 0 {
		return
	}
	var procs []int8
	for _, q := range w.qs {
		if q.proc >= 0 && !slices.Contains(procs, q.proc) {
			procs = append(procs, q.proc)
		}
	}
	slices.Sort(procs)
	for _, p := range procs {
		add("the end of process ", procNames[p], func(w *world) error { w.crash(p); return nil })
	}
	add("all processes end, and the file is opened", "", func(w *world) error {
		w.crash(procs...)
		for i := range w.facts {
			w.facts[i].crashed = true
		}
		w.store.restart()
		return nil
	})
}

// crash ends processes with all that they had in memory.
func (w *world) crash(procs ...int8) {
	w.left.crash--
	dead := func(q question) bool { return slices.Contains(procs, q.proc) }
	for _, q := range w.qs {
		if dead(q) && q.call >= 0 {
			w.calls[q.call].status = ended
		}
	}
	w.qs = slices.DeleteFunc(w.qs, dead)
}

// A finding is a way to a world in which something is wrong.
type finding struct {
	err error
	way []action
}

func (f *finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v, after:", f.err)
	for _, a := range f.way {
		fmt.Fprintf(&b, "\n  %s", a)
	}
	return b.String()
}

// An explorer goes through all worlds that can be reached.
type explorer struct {
	seen  map[uint64]struct{}
	seed  maphash.Seed
	way   []action
	key   []byte
	steps int
	ends  int // worlds in which nothing more can happen
	most  int // worlds, 0 for all
}

// explore goes through all worlds that can be reached from one, and returns the first way to what is wrong.
func explore(start *world, most int) (*explorer, *finding) {
	e := &explorer{seen: make(map[uint64]struct{}), seed: maphash.MakeSeed(), most: most}
	return e, e.from(start)
}

func (e *explorer) from(w *world) *finding {
	e.key = w.appendKey(e.key[:0])
	sum := maphash.Bytes(e.seed, e.key)
	if _, known := e.seen[sum]; known || e.most > 0 && len(e.seen) >= e.most {
		return nil
	}
	e.seen[sum] = struct{}{}
	all := w.actions()
	if len(all) == 0 {
		e.ends++
	}
	for _, a := range all {
		e.steps++
		e.way = append(e.way, a)
		next := w.clone()
		err := a.do(next)
		if err == nil {
			err = next.check()
		}
		if err != nil {
			return &finding{err, slices.Clone(e.way)}
		}
		if found := e.from(next); found != nil {
			return found
		}
		e.way = e.way[:len(e.way)-1]
	}
	return nil
}
