package callstate_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
)

func ExampleBegin() {
	n := callstate.Begin(context.Background())
	ctx := context.Context(n)
	callstate.Of(ctx).Write(func(r *callstate.Record) { r.Tool = &middleware.Tool{Server: "files"} })
	callstate.Of(ctx).Write(func(r *callstate.Record) { r.Approval = callstate.Approval{ID: "q1"} })
	callstate.Of(ctx).Write(attempt)
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

// A passage is one through an audit trail.
type passage struct{ outside callstate.Passage }

func (p *passage) Outside() callstate.Passage { return p.outside }

// Two passages of one call, of two trails, share its record. A call that a host makes again, with the context that it
// was given, has a record of its own, and so has one that an executor makes.
func TestPassagesOfOneCallShareItsRecord(t *testing.T) {
	t.Parallel()
	begin := func(ctx context.Context) *callstate.State {
		s := callstate.Pass(ctx, &passage{callstate.PassageOf(ctx)})
		return &s
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
