package lifecycle_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/internal/lifecycle"
)

// A store fails at one write, before it is made or, with after, when it is made.
type store struct {
	approvals.Store

	at    string
	after bool
	panic bool
	steps []string
}

var errDown = errors.New("the store is down")

func (s *store) step(name string, do func() error) error {
	s.steps = append(s.steps, name)
	if s.at != name {
		return do()
	}
	if s.panic {
		panic(name)
	}
	if s.after {
		_ = do()
	}
	return errDown
}

func (s *store) Add(ctx context.Context, a approvals.Approval) error {
	return s.step("add", func() error { return s.Store.Add(ctx, a) })
}

func (s *store) Advance(ctx context.Context, id string, c approvals.Change) error {
	return s.step(string(c.To), func() error { return s.Store.Advance(ctx, id, c) })
}

func (s *store) Remember(ctx context.Context, r approvals.Standing) error {
	return s.step("remember", func() error { return s.Store.Remember(ctx, r) })
}

func (s *store) Forget(ctx context.Context, scope, id string) error {
	return s.step("forget", func() error { return s.Store.Forget(ctx, scope, id) })
}

func question() lifecycle.Question {
	return lifecycle.Question{
		Asked: approvals.Approval{ID: "q", Scope: "ann", Server: "bank", Tool: "pay", Definition: "d", Class: "dangerous", Until: time.Now().Add(time.Hour)},
		Once:  "once", Reply: lifecycle.Reply{By: "Ann", Approves: true, Until: time.Now().Add(time.Hour)},
	}
}

// does goes through events, each by the actor of its row, and returns the last result.
func does(t *testing.T, q *lifecycle.Question, s approvals.Store, events ...lifecycle.Event) (r lifecycle.Result) {
	t.Helper()
	for _, on := range events {
		row := lifecycle.Life.Find(q.State(), on)
		if row == nil {
			t.Fatalf("no row for %q while it is %s", on, q.State())
		}
		var err error
		if r, err = q.Do(t.Context(), s, lifecycle.Life, row.By, on); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

const (
	ask, show, approve, leave, take = lifecycle.Ask, lifecycle.Show, lifecycle.Approve, lifecycle.Leave, lifecycle.Take
	back, use, end                  = lifecycle.Return, lifecycle.Use, lifecycle.End
)

func TestWritesAreInTheOrderOfTheTable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		events []lifecycle.Event
		want   lifecycle.State
		writes string
	}{
		{[]lifecycle.Event{ask, show, approve, use, end}, lifecycle.Done, "add approved spent done"},
		{[]lifecycle.Event{ask, show, approve, end}, lifecycle.Void, "add approved void"},
		{[]lifecycle.Event{ask, show, lifecycle.Deny}, lifecycle.Denied, "add denied"},
		{[]lifecycle.Event{ask, show, leave, lifecycle.ApproveLeft, take, end}, lifecycle.Done, "add remember approved spent forget done"},
		{[]lifecycle.Event{ask, show, leave, lifecycle.Expire, lifecycle.Late}, lifecycle.Expired, "add denied approved"},
		{[]lifecycle.Event{ask, show, leave, back, lifecycle.Silence}, lifecycle.Expired, "add denied"},
	} {
		q, s := question(), &store{Store: approvals.NewMemory()}
		does(t, &q, s, tt.events...)
		if got := strings.Join(s.steps, " "); q.State() != tt.want || got != tt.writes {
			t.Errorf("%v: %s by %q, want %s by %q", tt.events, q.State(), got, tt.want, tt.writes)
		}
	}
}

func TestEventThatTheTableDoesNotHave(t *testing.T) {
	t.Parallel()
	q, s := question(), &store{Store: approvals.NewMemory()}
	for _, tt := range []struct {
		by lifecycle.Actor
		on lifecycle.Event
	}{{lifecycle.Person, approve}, {lifecycle.Guard, use}, {lifecycle.Clock, ask}, {lifecycle.Caller, take}} {
		if _, err := q.Do(t.Context(), s, lifecycle.Life, tt.by, tt.on); !errors.Is(err, lifecycle.ErrNoRow) {
			t.Errorf("%s, %s: got %v", tt.by, tt.on, err)
		}
	}
	if err := q.Begin(lifecycle.Life, lifecycle.Caller, ask); err != nil {
		t.Error(err)
	}
	if err := q.Begin(lifecycle.Life, lifecycle.Caller, ask); !errors.Is(err, lifecycle.ErrNoRow) {
		t.Errorf("in the middle of a transition: got %v", err)
	}
	if len(s.steps) > 0 {
		t.Errorf("wrote %v", s.steps)
	}
}

// A store that fails between two writes, before or after it has made one.
func TestStoreThatFailsBetweenTwoWrites(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, at string
		events   []lifecycle.Event
		want     lifecycle.State
		reads    lifecycle.Reading
		takes    int // identical calls that take the decision afterwards
	}{
		{"the question", "add", []lifecycle.Event{ask}, lifecycle.Void, lifecycle.ReadsNotApproved, 0},
		{"the approval", "approved", []lifecycle.Event{ask, show, approve}, lifecycle.Void, lifecycle.ReadsNotApproved, 0},
		{"what is to be remembered", "remember", []lifecycle.Event{ask, show, approve}, lifecycle.Void, lifecycle.ReadsNotApproved, 0},
		{"the use", "spent", []lifecycle.Event{ask, show, approve, use}, lifecycle.Void, lifecycle.ReadsNotApproved, 0},
		{"the end", "done", []lifecycle.Event{ask, show, approve, use, end}, lifecycle.Done, lifecycle.ReadsResult, 0},
		{"a decision for another call", "remember", []lifecycle.Event{ask, show, leave, lifecycle.ApproveLeft}, lifecycle.Waiting, lifecycle.ReadsNothing, 0},
		{"the approval for another call", "approved", []lifecycle.Event{ask, show, leave, lifecycle.ApproveLeft}, lifecycle.Waiting, lifecycle.ReadsNothing, 0},
		{"the use of a decision", "spent", []lifecycle.Event{ask, show, leave, lifecycle.ApproveLeft, take}, lifecycle.Void, lifecycle.ReadsNotApproved, -1},
		{"the end of a decision", "forget", []lifecycle.Event{ask, show, leave, lifecycle.ApproveLeft, take}, lifecycle.Taken, lifecycle.ReadsNothing, 0},
	} {
		for _, after := range []bool{false, true} {
			q, s := question(), &store{Store: approvals.NewMemory(), at: tt.at, after: after}
			if rule := q.Decision(); tt.name == "what is to be remembered" {
				rule.ID, rule.Once, rule.Arguments = "rule", false, approvals.AnyArguments
				q.Reply.Rule = &rule
			}
			r := does(t, &q, s, tt.events...)
			if q.State() != tt.want || r.Model() != tt.reads {
				t.Errorf("%s, %t: %s, and the model reads %q", tt.name, after, q.State(), r.Model())
			}
			s.at = ""
			if rules, _ := s.List(t.Context()); tt.want == lifecycle.Void && len(rules) > 0 && tt.takes == 0 {
				t.Errorf("%s, %t: the store remembers %v", tt.name, after, rules)
			}
			all, err := q.Decisions(t.Context(), s)
			takes := 0
			for _, d := range all {
				other := lifecycle.Load(d)
				if does(t, &other, s, take).Err == nil {
					takes++
				}
			}
			if err != nil || tt.takes >= 0 && takes != tt.takes || takes > 1 {
				t.Errorf("%s, %t: %d calls take the decision, %v", tt.name, after, takes, err)
			}
		}
	}
}

func TestStoreThatPanics(t *testing.T) {
	t.Parallel()
	q, s := question(), &store{Store: approvals.NewMemory(), at: "approved", panic: true}
	func() {
		defer func() { _ = recover() }()
		does(t, &q, s, ask, show, approve)
	}()
	if q.State() != lifecycle.Void {
		t.Errorf("it is %s", q.State())
	}
}

// The store took no end of the question, and a late answer finds it open: it changes nothing.
func TestLateAnswerToAQuestionThatTheStoreHasOpen(t *testing.T) {
	t.Parallel()
	q, s := question(), &store{Store: approvals.NewMemory(), at: "void"}
	does(t, &q, s, ask, show, lifecycle.GiveUp)
	if r := does(t, &q, s, lifecycle.Late); len(r.Failed) != 1 || !errors.Is(r.Failed[0], approvals.ErrNoEffect) {
		t.Errorf("got %v, want no effect", r.Failed)
	}
}
