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

// Two readers of one call share its record; a call inside it has its own.
func TestReadersOfOneCallShareItsRecord(t *testing.T) {
	t.Parallel()
	ctx, telemetry := new(callstate.Root).Join(context.Background(), "telemetry")
	ctx, record := new(callstate.Root).Join(ctx, "record")
	if telemetry != record {
		t.Error("the second reader has a record of its own")
	}
	if _, inner := new(callstate.Root).Join(ctx, "record"); inner == record {
		t.Error("a call inside has the record of the one around it")
	}
	if _, after := new(callstate.Root).Join(callstate.Leave(ctx), "other"); after == record {
		t.Error("the record of a call that has ended is found")
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
