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
