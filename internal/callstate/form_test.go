package callstate_test

import (
	"context"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
)

// A form that was handed out stays what it is when the arguments change.
func TestFormFollowsTheArguments(t *testing.T) {
	t.Parallel()
	state := callstate.Begin(context.Background())
	call := callOf(`{"b":1, "a":2}`)
	first, err := callstate.Form(state, &call)
	if err != nil {
		t.Fatal(err)
	}
	edited := callOf(`{"b":3, "a":4}`)
	second, err := callstate.Form(state, &edited)
	if err != nil || string(second) != `{"a":4,"b":3}` || string(first) != `{"a":2,"b":1}` {
		t.Errorf("got %s and %s, %v", first, second, err)
	}
	bad := callOf(`{"a":1,"a":2}`)
	if _, err := callstate.Form(state, &bad); !middleware.NotSent(err) || !middleware.Permanent(err) || !strings.Contains(middleware.ForModel(err), "each member once") {
		t.Errorf("got %v", err)
	}
}

// The sum is the same however the arguments are written, with a record and without, and follows a change of them,
// also one of their bytes.
func TestSumFollowsTheArguments(t *testing.T) {
	t.Parallel()
	sum := func(ctx context.Context, call middleware.Call) callstate.Sum {
		t.Helper()
		sum, err := callstate.SumOf(ctx, &call)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	background := context.Background()
	want, other := sum(background, callOf(`{"a":2,"b":1}`)), sum(background, callOf(`{"a":2,"b":7}`))
	if want == other {
		t.Fatal("the sums of two calls are the same")
	}
	for name, outer := range map[string]context.Context{"record": callstate.Begin(background), "no record": background} {
		call := callOf(`{"b":1, "a":2}`)
		ctx, got, err := callstate.WithSum(outer, &call)
		if err != nil || got != want || sum(ctx, call) != want {
			t.Errorf("%s: got %x, %v, want %x", name, got, err, want)
		}
		if got := sum(ctx, callOf(`{"b":7, "a":2}`)); got != other {
			t.Errorf("%s: other arguments have the sum of those before", name)
		}
		call.Arguments[5] = '7'
		if got := sum(ctx, call); got != other {
			t.Errorf("%s: arguments that were written to have the sum of those before", name)
		}
		bad := callOf(`{"a":1,"a":2}`)
		if same, _, err := callstate.WithSum(outer, &bad); same != outer || !middleware.NotSent(err) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}
