package storetest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
)

func approval(id string) approvals.Approval {
	return approvals.Approval{ID: id, State: approvals.Pending, Server: "bank", Tool: "pay", Scope: "ann", Class: "dangerous", Until: time.Now().Add(time.Minute)}
}

func yes() approvals.Change {
	return approvals.Change{To: approvals.Approved, By: "ann", Until: time.Now().Add(time.Minute)}
}

func noEffect(t *testing.T, err error, was approvals.State) {
	t.Helper()
	var no *approvals.NoEffectError
	if !errors.As(err, &no) || !errors.Is(err, approvals.ErrNoEffect) {
		t.Errorf("got %v, want a NoEffectError", err)
		return
	}
	if no.Was != was {
		t.Errorf("it was %q, want %q", no.Was, was)
	}
}

func standing(id, tool string) approvals.Standing {
	return approvals.Standing{
		ID: id, Scope: "ann", Server: "bank", Tool: tool, Definition: "d", Class: "dangerous", By: "ann", Until: time.Now().Add(time.Minute),
		Pattern: approvals.Pattern{{Name: "to", Value: json.RawMessage(`"rent"`)}},
	}
}

var approvalCases = []testCase{
	{name: "steps go one way, at any replica", run: func(t *testing.T, r replicas) {
		ctx := t.Context()
		must(t, r.a.Approvals.Add(ctx, approval("1")))
		noEffect(t, r.b.Approvals.Advance(ctx, "1", approvals.Change{To: approvals.Spent}), approvals.Pending)
		must(t, r.b.Approvals.Advance(ctx, "1", yes()))
		noEffect(t, r.a.Approvals.Advance(ctx, "1", approvals.Change{To: approvals.Denied}), approvals.Approved)
		must(t, r.a.Approvals.Advance(ctx, "1", approvals.Change{To: approvals.Spent}))
		noEffect(t, r.b.Approvals.Advance(ctx, "1", approvals.Change{To: approvals.Spent}), approvals.Spent)
		noEffect(t, r.b.Approvals.Advance(ctx, "1", yes()), approvals.Spent)
		must(t, r.b.Approvals.Advance(ctx, "1", approvals.Change{To: approvals.Done}))
		noEffect(t, r.a.Approvals.Advance(ctx, "1", approvals.Change{To: approvals.Void}), approvals.Done)
	}},
	{name: "the first of many answers wins", run: func(t *testing.T, r replicas) {
		must(t, r.a.Approvals.Add(t.Context(), approval("1")))
		won := race(t, 16, func(i int) bool {
			change := yes()
			if i%3 == 0 {
				change = approvals.Change{To: approvals.Denied}
			}
			err := []approvals.Store{r.a.Approvals, r.b.Approvals}[i%2].Advance(t.Context(), "1", change)
			if err != nil && !errors.Is(err, approvals.ErrNoEffect) {
				t.Error(err)
			}
			return err == nil
		})
		if won != 1 {
			t.Errorf("%d answers won, want 1", won)
		}
	}},
	{name: "a yes is spent once", run: func(t *testing.T, r replicas) {
		must(t, r.a.Approvals.Add(t.Context(), approval("1")))
		must(t, r.a.Approvals.Advance(t.Context(), "1", yes()))
		spent := race(t, 16, func(i int) bool {
			return []approvals.Store{r.a.Approvals, r.b.Approvals}[i%2].Advance(t.Context(), "1", approvals.Change{To: approvals.Spent}) == nil
		})
		if spent != 1 {
			t.Errorf("it was spent %d times, want once", spent)
		}
	}},
	{name: "a question whose time is over takes no yes, and a yes whose time is over is not spent", run: func(t *testing.T, r replicas) {
		ctx, asked, approved, stands := t.Context(), approval("1"), yes(), standing("1", "pay")
		asked.Until = time.Now().Add(soon)
		approved.Until, stands.Until = asked.Until, asked.Until
		must(t, r.a.Approvals.Add(ctx, asked))
		must(t, r.a.Approvals.Add(ctx, approval("2")))
		must(t, r.a.Approvals.Advance(ctx, "2", approved))
		must(t, r.a.Approvals.Remember(ctx, stands))
		passes()
		noEffect(t, r.b.Approvals.Advance(ctx, "1", yes()), approvals.Pending)
		must(t, r.b.Approvals.Advance(ctx, "1", approvals.Change{To: approvals.Void}))
		noEffect(t, r.b.Approvals.Advance(ctx, "2", approvals.Change{To: approvals.Spent}), approvals.Approved)
		if got, err := r.b.Approvals.Remembered(ctx, "ann", "", ""); err != nil || len(got) != 0 {
			t.Errorf("standing: got %+v, %v", got, err)
		}
	}},
	{name: "an approval that nobody knows takes nothing", run: func(t *testing.T, r replicas) {
		for _, id := range []string{"none", "", "{}", "\x00", strings.Repeat("x", 50_000)} {
			noEffect(t, r.a.Approvals.Advance(t.Context(), id, yes()), "")
		}
	}},
	{name: "what makes no sense is an error", run: func(t *testing.T, r replicas) {
		ctx, without := t.Context(), standing("1", "pay")
		without.Pattern = nil
		must(t, r.a.Approvals.Add(ctx, approval("1")))
		for what, err := range map[string]error{
			"a second approval of an ID":       r.b.Approvals.Add(ctx, approval("1")),
			"an approval without an ID":        r.b.Approvals.Add(ctx, approval("")),
			"a yes without an end":             r.a.Approvals.Advance(ctx, "1", approvals.Change{To: approvals.Approved}),
			"a standing yes without arguments": r.a.Approvals.Remember(ctx, without),
			"a standing yes without an ID":     r.a.Approvals.Remember(ctx, approvals.Standing{Scope: "ann"}),
		} {
			if err == nil {
				t.Errorf("%s got no error", what)
			}
		}
	}},
	{name: "an approval begins as a question, or by a yes that stands", run: func(t *testing.T, r replicas) {
		for _, state := range []approvals.State{approvals.Approved, approvals.Spent, approvals.Done, approvals.Denied, approvals.Void, ""} {
			a := approval("begins as " + string(state))
			if a.State = state; r.a.Approvals.Add(t.Context(), a) == nil {
				t.Errorf("%q got no error", state)
			}
		}
		a := approval("standing")
		a.State, a.Standing = approvals.Approved, "s"
		must(t, r.a.Approvals.Add(t.Context(), a))
		must(t, r.b.Approvals.Advance(t.Context(), "standing", approvals.Change{To: approvals.Spent}))
	}},
	{name: "a yes that stands is known to all, for its scope and tool", run: func(t *testing.T, r replicas) {
		ctx := t.Context()
		must(t, r.a.Approvals.Remember(ctx, standing("1", "pay")))
		must(t, r.a.Approvals.Remember(ctx, standing("2", "refund")))
		for _, c := range []struct {
			scope, server, tool string
			want                int
		}{{"ann", "bank", "pay", 1}, {"ann", "", "", 2}, {"ann", "bank", "close", 0}, {"ann", "mail", "pay", 0}, {"bob", "bank", "pay", 0}, {"", "", "", 0}} {
			got, err := r.b.Approvals.Remembered(ctx, c.scope, c.server, c.tool)
			if must(t, err); len(got) != c.want {
				t.Errorf("%+v: got %d", c, len(got))
			}
		}
		got, err := r.b.Approvals.Remembered(ctx, "ann", "bank", "pay")
		if must(t, err); got[0].By != "ann" || !got[0].Pattern.Covers(json.RawMessage(`{"to":"rent"}`)) {
			t.Errorf("got %+v", got[0])
		}
		must(t, r.b.Approvals.Forget(ctx, "bob", "1")) // somebody else's
		must(t, r.b.Approvals.Forget(ctx, "ann", "2"))
		must(t, r.b.Approvals.Forget(ctx, "ann", "none"))
		if got, _ := r.a.Approvals.Remembered(ctx, "ann", "", ""); len(got) != 1 || got[0].ID != "1" {
			t.Errorf("after Forget: got %+v", got)
		}
	}},
}
