package callstate_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
)

func ExampleBegin() {
	n := callstate.Begin(context.Background())
	ctx := context.Context(n)
	callstate.Of(ctx).Write(func(r *callstate.Record) { r.Tool = &middleware.Tool{Server: "files"} })
	callstate.Of(ctx).Write(func(r *callstate.Record) { r.Approval = callstate.Approval{ID: "q1"} })
	callstate.Of(ctx).Attempted()
	callstate.Of(ctx).Decide("cache", "miss", "")
	r := n.Record()
	fmt.Println(r.Tool.Server, r.Approval.ID, r.Attempts, r.Decisions)
	// Output: files q1 1 [{cache miss }]
}

func TestRecordIsOfOneCall(t *testing.T) {
	t.Parallel()
	outer := callstate.Begin(context.Background())
	ctx := context.Context(outer)
	n := callstate.Begin(ctx)
	var inner context.Context = n
	callstate.Of(inner).Decide("route", "a", "")
	callstate.Of(callstate.Leave(ctx)).Decide("route", "b", "")
	if got := len(outer.Record().Decisions); got != 0 {
		t.Errorf("the outer call's record has %d facts of others", got)
	}
	if got := len(n.Record().Decisions); got != 1 {
		t.Errorf("the record has %d facts, want 1", got)
	}
}

// Work that goes on for others has the call's state, its values and a deadline of its own, and no cancellation.
func TestDetach(t *testing.T) {
	t.Parallel()
	type name struct{}
	ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), name{}, "value"))
	defer cancel(nil)
	ctx, state := callstate.Ensure(ctx)
	until := time.Now().Add(time.Hour)
	for _, deadline := range []time.Time{{}, until} {
		own, end := callstate.Detach(ctx, deadline)
		cancel(errors.New("gone"))
		if own.Err() != nil || context.Cause(own) != nil || own.Value(name{}) != "value" {
			t.Errorf("%v: %v, %v", deadline, own.Err(), own.Value(name{}))
		}
		if got, ok := own.Deadline(); !got.Equal(deadline) || ok == deadline.IsZero() {
			t.Errorf("the deadline is %v, want %v", got, deadline)
		}
		callstate.Of(own).Attempted()
		end()
		if !errors.Is(own.Err(), context.Canceled) {
			t.Errorf("at its end: %v", own.Err())
		}
	}
	if got := state.Record().Attempts; got != 2 {
		t.Errorf("its record has %d attempts, want 2", got)
	}
	own, end := callstate.Detach(t.Context(), until)
	defer end()
	if callstate.Of(own) != nil {
		t.Error("there is a state without a call")
	}
}

// A passage is one through an audit trail.
type passage struct{ outside callstate.Passage }

func (p *passage) Outside() callstate.Passage { return p.outside }

// Two passages of one call, of two trails, share its record. A call that a host makes again, with the context that it
// was given, has a record of its own, and so has one that an executor makes.
func TestPassagesOfOneCallShareItsRecord(t *testing.T) {
	t.Parallel()
	begin := func(ctx context.Context) *callstate.State {
		p := new(callstate.Point)
		p.Pass(ctx, &passage{callstate.PassageOf(ctx)})
		return &p.State
	}
	given := context.Context(callstate.Begin(context.Background()))
	outer := begin(given)
	inner := begin(outer)
	again := begin(given)
	inside := begin(callstate.Leave(inner))
	for _, s := range []*callstate.State{outer, inner, again, inside} {
		s.Decide("route", "a", "")
	}
	for name, s := range map[string]struct {
		state *callstate.State
		want  int
	}{"outer": {outer, 2}, "inner": {inner, 2}, "again": {again, 1}, "inside": {inside, 1}} {
		if got := len(s.state.Record().Decisions); got != s.want {
			t.Errorf("%s: the record has %d decisions, want %d", name, got, s.want)
		}
	}
	if callstate.PassageOf(inner) == callstate.PassageOf(outer) || callstate.PassageOf(inner).Outside() != callstate.PassageOf(outer) {
		t.Error("the passages are not one inside of the other")
	}
}

// A call that is made again ends its record once more, in a context of its own.
func TestRecordEndsForEachAttempt(t *testing.T) {
	t.Parallel()
	type name struct{}
	var ctx context.Context = callstate.Begin(context.Background())
	first := callstate.Leave(context.WithValue(ctx, name{}, 1))
	second := callstate.Leave(context.WithValue(ctx, name{}, 2))
	if first.Value(name{}) != 1 || second.Value(name{}) != 2 {
		t.Errorf("the attempts have the contexts %v and %v", first.Value(name{}), second.Value(name{}))
	}
	if callstate.Of(first) != nil || callstate.Of(second) != nil {
		t.Error("an attempt has the record of its call")
	}
}

type ticket struct{}

func (ticket) Asking() {}
func (ticket) Done()   {}

// A fact that is given to a call holds further in, for exactly this call. Nothing further out sees it, and neither does a second
// call with the context that was there before. A call that the executor makes inside has what covers the same call, and
// of the rest nothing.
func TestFieldsHoldInward(t *testing.T) {
	t.Parallel()
	judge := func(context.Context, middleware.Call) (*middleware.Tool, error) { return nil, nil }
	for name, field := range map[string]struct {
		give   func(context.Context, *middleware.Call) context.Context
		has    func(context.Context, *middleware.Call) bool
		covers bool // a call of the executor's that is the same call
		others bool // and any other
	}{
		"class": {
			func(ctx context.Context, c *middleware.Call) context.Context { return callstate.WithClass(ctx, c.Tool) },
			func(ctx context.Context, c *middleware.Call) bool {
				_, ok := callstate.Classified(ctx, c.Tool)
				return ok
			},
			true, false,
		},
		"answer": {
			func(ctx context.Context, c *middleware.Call) context.Context {
				return callstate.WithAnswer(ctx, c, c.Tool, func(a annotation.Annotations) annotation.Annotations { return a })
			},
			func(ctx context.Context, c *middleware.Call) bool { _, ok := callstate.Answered(ctx, c); return ok },
			true, false,
		},
		"grant": {
			func(ctx context.Context, c *middleware.Call) context.Context {
				ctx, _ = callstate.WithGrant(ctx, c, annotation.Dangerous, time.Hour, nil)
				return ctx
			},
			callstate.Covers, true, false,
		},
		"mark":  {callstate.WithMark, callstate.Marked, true, false},
		"judge": {func(ctx context.Context, _ *middleware.Call) context.Context { return callstate.WithJudge(ctx, judge) }, func(ctx context.Context, _ *middleware.Call) bool { return callstate.JudgeOf(ctx) != nil }, false, false},
		"ticket": {func(ctx context.Context, _ *middleware.Call) context.Context {
			return callstate.WithTicket(ctx, ticket{})
		}, func(ctx context.Context, _ *middleware.Call) bool { return callstate.TicketOf(ctx) != nil }, false, false},
		"admitted": {func(ctx context.Context, _ *middleware.Call) context.Context {
			return callstate.WithAdmitted(ctx, callstate.Admitted{Server: "a"})
		}, func(ctx context.Context, _ *middleware.Call) bool { return callstate.AdmittedTo(ctx).Server == "a" }, false, false},
		"limit": {
			func(ctx context.Context, _ *middleware.Call) context.Context {
				return callstate.WithLimit(ctx, func(*middleware.Tool) bool { return false })
			},
			func(ctx context.Context, c *middleware.Call) bool { return !callstate.Sees(ctx, c.Tool) },
			false, false,
		},
		"passage": { // audit's, which names its trail
			func(ctx context.Context, _ *middleware.Call) context.Context {
				p := new(callstate.Point)
				p.Pass(ctx, &passage{})
				return &p.State
			},
			func(ctx context.Context, _ *middleware.Call) bool { return callstate.PassageOf(ctx) != nil },
			true, true,
		},
	} {
		its, other := callOf(`{"path":"a"}`), callOf(`{"path":"b"}`)
		its.Tool.Annotations, other.Tool.Annotations = annotation.Destructive(), annotation.Destructive()
		given := new(callstate.Chain).Enter(context.Background(), &its)
		inner := field.give(given, &its)
		inside := callstate.Leave(inner)
		for where, c := range map[string]struct {
			ctx  context.Context
			call *middleware.Call
			want bool
		}{
			"further in":                      {inner, &its, true},
			"further out":                     {given, &its, false},
			"a second chain on that context":  {new(callstate.Chain).Enter(given, &other), &other, false},
			"a batch on that context":         {new(callstate.Chain).Enter(callstate.WithTicket(given, ticket{}), &other), &other, name == "ticket"},
			"a batch of the executor":         {new(callstate.Chain).Enter(callstate.WithTicket(inside, ticket{}), &other), &other, field.others || name == "ticket"},
			"another call of the executor":    {callstate.Begin(inside), &other, field.others},
			"the same call from the executor": {callstate.Begin(inside), &its, field.covers},
		} {
			if got := field.has(c.ctx, c.call); got != c.want {
				t.Errorf("%s, %s: found %t, want %t", name, where, got, c.want)
			}
		}
	}
}
