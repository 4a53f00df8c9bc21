package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	no, ok := errors.AsType[*approvals.NoEffectError](err)
	if !ok || !errors.Is(err, approvals.ErrNoEffect) || no.Was != was {
		t.Errorf("got %v, want a NoEffectError of an approval that was %q", err, was)
	}
}

func standing(id, tool string) approvals.Standing {
	return approvals.Standing{
		ID: id, Scope: "ann", Server: "bank", Tool: tool, Definition: "d", Class: "dangerous", By: "ann", Until: time.Now().Add(time.Minute),
		Pattern: approvals.Pattern{{Name: "to", Value: json.RawMessage(`"rent"`)}},
	}
}

// answer adds an approval that the remembered approval s has answered.
func answer(ctx context.Context, s Stores, id string) error {
	a := approval(id)
	a.State, a.Standing = approvals.Approved, "s"
	return s.Approvals.Add(ctx, a)
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
		won := race(t, r, 16, func(s Stores, i int) error {
			change := yes()
			if i%3 == 0 {
				change = approvals.Change{To: approvals.Denied}
			}
			return s.Approvals.Advance(t.Context(), "1", change)
		})
		if won != 1 {
			t.Errorf("%d answers won, want 1", won)
		}
	}},
	{name: "an approval is used once", run: func(t *testing.T, r replicas) {
		must(t, r.a.Approvals.Add(t.Context(), approval("1")))
		must(t, r.a.Approvals.Advance(t.Context(), "1", yes()))
		spent := race(t, r, 16, func(s Stores, _ int) error {
			return s.Approvals.Advance(t.Context(), "1", approvals.Change{To: approvals.Spent})
		})
		if spent != 1 {
			t.Errorf("it was spent %d times, want once", spent)
		}
	}},
	{name: "a question whose time is over takes no approval, and an expired approval is not used", run: func(t *testing.T, r replicas) {
		ctx, asked, approved, stands := t.Context(), approval("1"), yes(), standing("1", "pay")
		asked.Until = time.Now().Add(soon)
		approved.Until, stands.Until = asked.Until, asked.Until
		must(t, r.a.Approvals.Add(ctx, asked))
		must(t, r.a.Approvals.Add(ctx, approval("2")))
		must(t, r.a.Approvals.Advance(ctx, "2", approved))
		must(t, r.a.Approvals.Remember(ctx, stands))
		time.Sleep(soon + 40*time.Millisecond) // by every replica's clock
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
			"a second approval of an ID":              r.b.Approvals.Add(ctx, approval("1")),
			"an approval without an ID":               r.b.Approvals.Add(ctx, approval("")),
			"an approval without an end":              r.a.Approvals.Advance(ctx, "1", approvals.Change{To: approvals.Approved}),
			"a remembered approval without arguments": r.a.Approvals.Remember(ctx, without),
			"a remembered approval without an ID":     r.a.Approvals.Remember(ctx, approvals.Standing{Scope: "ann"}),
		} {
			if err == nil {
				t.Errorf("%s got no error", what)
			}
		}
	}},
	{name: "an approval begins as a question, or by a remembered approval", run: func(t *testing.T, r replicas) {
		for _, state := range []approvals.State{approvals.Approved, approvals.Spent, approvals.Done, approvals.Denied, approvals.Void, ""} {
			a := approval("begins as " + string(state))
			if a.State = state; r.a.Approvals.Add(t.Context(), a) == nil {
				t.Errorf("%q got no error", state)
			}
		}
	}},
	{name: "a remembered approval answers, and is counted, until it is taken back", run: func(t *testing.T, r replicas) {
		ctx, spent := t.Context(), approvals.Change{To: approvals.Spent, Scope: "ann", Standing: "s"}
		answered := func(id string) error { return answer(ctx, r.a, id) }
		noEffect(t, answered("0"), approvals.Void)
		must(t, r.b.Approvals.Remember(ctx, standing("s", "pay")))
		must(t, answered("1"))
		must(t, answered("2"))
		must(t, r.b.Approvals.Advance(ctx, "1", spent))
		got, err := r.b.Approvals.List(ctx)
		if must(t, err); len(got) != 1 || got[0].ID != "s" || got[0].Uses != 2 || got[0].Scope != "ann" {
			t.Errorf("got %+v, want one that was used twice", got)
		}
		must(t, r.b.Approvals.Forget(ctx, "ann", "s"))
		noEffect(t, r.a.Approvals.Advance(ctx, "2", spent), approvals.Void)
		noEffect(t, answered("3"), approvals.Void)
		must(t, r.a.Approvals.Advance(ctx, "1", approvals.Change{To: approvals.Done, Scope: "ann", Standing: "s"}))
		if got, err := r.a.Approvals.List(ctx); err != nil || len(got) != 0 {
			t.Errorf("got %+v, %v", got, err)
		}
	}},
	{name: "each of many uses is counted, and none brings back what was taken back", run: func(t *testing.T, r replicas) {
		ctx := t.Context()
		must(t, r.a.Approvals.Remember(ctx, standing("s", "pay")))
		used := race(t, r, 16, func(s Stores, i int) error { return answer(ctx, s, fmt.Sprint("before ", i)) })
		if answer(ctx, r.b, "before 0") == nil {
			t.Error("a second approval of an ID got no error")
		}
		if got, err := r.b.Approvals.List(ctx); err != nil || used != 16 || len(got) != 1 || got[0].Uses != used {
			t.Errorf("got %+v, %v, want one that was used 16 times; %d got no error", got, err, used)
		}
		race(t, r, 16, func(s Stores, i int) error {
			if i == 5 {
				return s.Approvals.Forget(ctx, "ann", "s")
			}
			return answer(ctx, s, fmt.Sprint("during ", i))
		})
		if got, err := r.b.Approvals.Remembered(ctx, "ann", "bank", "pay"); err != nil || len(got) != 0 || answer(ctx, r.a, "after") == nil {
			t.Errorf("it is back: got %+v, %v", got, err)
		}
	}},
	{name: "a decision for one call is taken once, and not after it was taken back", run: func(t *testing.T, r replicas) {
		ctx, spent := t.Context(), approvals.Change{To: approvals.Spent}
		for id, end := range map[string]approvals.State{"taken": approvals.Spent, "forgotten": approvals.Void} {
			once := standing(id, "pay")
			once.Pattern, once.Arguments, once.Once, once.Reason = nil, "of "+id, true, "why"
			must(t, r.a.Approvals.Add(ctx, approval(id)))
			must(t, r.a.Approvals.Advance(ctx, id, yes()))
			must(t, r.a.Approvals.Remember(ctx, once))
			got, err := r.b.Approvals.Remembered(ctx, "ann", "bank", "pay")
			if must(t, err); len(got) != 1 || !got[0].Once || got[0].Arguments != once.Arguments || got[0].Reason != "why" {
				t.Errorf("got %+v", got)
			}
			if end == approvals.Spent {
				must(t, r.b.Approvals.Advance(ctx, id, spent))
			}
			must(t, r.b.Approvals.Forget(ctx, "ann", id))
			noEffect(t, r.a.Approvals.Advance(ctx, id, spent), end)
			if end == approvals.Spent { // which Forget leaves as it is
				must(t, r.a.Approvals.Advance(ctx, id, approvals.Change{To: approvals.Done}))
			}
		}
	}},
	{name: "a call finds the approvals of its arguments, of any and by patterns", run: func(t *testing.T, r replicas) {
		ctx := t.Context()
		for _, arguments := range []string{"", "these", "others", approvals.AnyArguments} {
			one := standing("of "+arguments, "pay")
			if one.Arguments = arguments; arguments != "" {
				one.Pattern = nil
			}
			must(t, r.a.Approvals.Remember(ctx, one))
		}
		for arguments, want := range map[string]string{"these": "of ,of any,of these", "none": "of ,of any", "others": "of ,of any,of others"} {
			found, err := approvals.Find(ctx, r.b.Approvals, "ann", "bank", "pay", arguments)
			must(t, err)
			var ids []string
			for _, its := range found {
				if _, finds := r.b.Approvals.(approvals.Finder); finds || its.Arguments == "" || its.Arguments == approvals.AnyArguments || its.Arguments == arguments {
					ids = append(ids, its.ID)
				}
			}
			if slices.Sort(ids); strings.Join(ids, ",") != want {
				t.Errorf("%s: got %q, want %s", arguments, ids, want)
			}
			for _, place := range [][3]string{{"bob", "bank", "pay"}, {"ann", "mail", "pay"}, {"ann", "bank", "refund"}} {
				if found, err := approvals.Find(ctx, r.b.Approvals, place[0], place[1], place[2], arguments); err != nil || len(found) > 0 {
					t.Errorf("%v: got %v, %v", place, found, err)
				}
			}
		}
		for id, arguments := range map[string]string{"of these": "these", "of any": "these", "of ": "these"} {
			must(t, r.a.Approvals.Forget(ctx, "ann", id))
			found, err := approvals.Find(ctx, r.b.Approvals, "ann", "bank", "pay", arguments)
			if must(t, err); slices.ContainsFunc(found, func(s approvals.Standing) bool { return s.ID == id }) {
				t.Errorf("%s is found after it was taken back", id)
			}
		}
	}},
	{name: "a remembered approval holds in every replica, for its scope and tool", run: func(t *testing.T, r replicas) {
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

func notice(id string) approvals.Notice {
	return approvals.Notice{ID: id, Until: time.Now().Add(time.Minute), Question: []byte("may I? " + id)}
}

func awaits(t *testing.T, b approvals.Board, id string) <-chan string {
	t.Helper()
	got := make(chan string, 1)
	go func() {
		answer, err := b.Wait(t.Context(), id)
		switch {
		case errors.Is(err, approvals.ErrNoEffect):
			got <- "over"
		case err != nil:
			got <- "error: " + err.Error()
		default:
			got <- string(answer)
		}
	}()
	return got
}

func hears(t *testing.T, got <-chan string, want string) {
	t.Helper()
	select {
	case answer := <-got:
		if answer != want {
			t.Errorf("got %q, want %q", answer, want)
		}
	case <-time.After(patience):
		t.Error("whoever waits was not woken")
	}
}

func open(t *testing.T, b approvals.Board) string {
	t.Helper()
	notices, err := b.Open(t.Context())
	must(t, err)
	var ids []string
	for _, n := range notices {
		if string(n.Question) != "may I? "+n.ID {
			t.Errorf("%s asks %q", n.ID, n.Question)
		}
		if left := time.Until(n.Until); left <= 0 || left > 70*time.Second {
			t.Errorf("%s has %v left", n.ID, left)
		}
		ids = append(ids, n.ID)
	}
	return strings.Join(ids, " ")
}

var boardCases = []testCase{
	{name: "an answer at one replica wakes who waits at another", run: func(t *testing.T, r replicas) {
		must(t, r.a.Board.Post(t.Context(), notice("1")))
		got := awaits(t, r.a.Board, "1")
		eventually(t, patience, "it is shown", func() bool { return open(t, r.b.Board) == "1" })
		must(t, r.b.Board.Answer(t.Context(), "1", []byte("yes\x00")))
		hears(t, got, "yes\x00")
		if left := open(t, r.a.Board); left != "" {
			t.Errorf("%s is shown after its answer", left)
		}
	}},
	{name: "the first of many answers wins", run: func(t *testing.T, r replicas) {
		must(t, r.a.Board.Post(t.Context(), notice("1")))
		got := awaits(t, r.a.Board, "1")
		won := make(chan string, 16)
		n := race(t, r, 16, func(s Stores, i int) error {
			answer := strings.Repeat("x", i+1)
			err := s.Board.Answer(t.Context(), "1", []byte(answer))
			if err == nil {
				won <- answer
			}
			return err
		})
		if n != 1 {
			t.Fatalf("%d answers won, want 1", n)
		}
		hears(t, got, <-won)
	}},
	{name: "who waits late learns the answer", run: func(t *testing.T, r replicas) {
		must(t, r.a.Board.Post(t.Context(), notice("1")))
		must(t, r.b.Board.Answer(t.Context(), "1", []byte("no")))
		hears(t, awaits(t, r.a.Board, "1"), "no")
		hears(t, awaits(t, r.b.Board, "1"), "no")
		noEffect(t, r.a.Board.Answer(t.Context(), "1", []byte("yes")), approvals.Done)
		must(t, r.a.Board.Remove(t.Context(), "1"))
		hears(t, awaits(t, r.b.Board, "1"), "no")
	}},
	{name: "a question whose time is over takes no answer", run: func(t *testing.T, r replicas) {
		n := notice("1")
		n.Until = time.Now().Add(soon)
		must(t, r.a.Board.Post(t.Context(), n))
		hears(t, awaits(t, r.a.Board, "1"), "over")
		time.Sleep(20 * time.Millisecond)
		noEffect(t, r.b.Board.Answer(t.Context(), "1", []byte("yes")), approvals.Void)
	}},
	{name: "a question that was taken down takes no answer", run: func(t *testing.T, r replicas) {
		must(t, r.a.Board.Post(t.Context(), notice("1")))
		got := awaits(t, r.b.Board, "1")
		must(t, r.a.Board.Remove(t.Context(), "1"))
		hears(t, got, "over")
		noEffect(t, r.b.Board.Answer(t.Context(), "1", []byte("yes")), approvals.Void)
		if left := open(t, r.b.Board); left != "" {
			t.Errorf("%s is shown", left)
		}
	}},
	{name: "a question that nobody waits for is not shown after some seconds", run: func(t *testing.T, r replicas) {
		must(t, r.a.Board.Post(t.Context(), notice("1")))
		must(t, r.a.Board.Post(t.Context(), notice("2")))
		within, leave := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer leave()
		if _, err := r.a.Board.Wait(within, "1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		_ = awaits(t, r.b.Board, "2")
		eventually(t, 30*time.Second, "the one is not shown, the other is", func() bool { return open(t, r.b.Board) == "2" })
		noEffect(t, r.b.Board.Answer(t.Context(), "1", []byte("yes")), approvals.Void)
		must(t, r.a.Board.Answer(t.Context(), "2", []byte("yes")))
	}},
	{name: "a question that nobody asked takes no answer", run: func(t *testing.T, r replicas) {
		for _, id := range []string{"none", "", "{}", "\x00"} {
			noEffect(t, r.a.Board.Answer(t.Context(), id, []byte("yes")), "")
			hears(t, awaits(t, r.b.Board, id), "over")
		}
		must(t, r.a.Board.Remove(t.Context(), "none"))
	}},
	{name: "questions are shown in their order", run: func(t *testing.T, r replicas) {
		for _, id := range []string{"c", "a", "b"} {
			must(t, r.a.Board.Post(t.Context(), notice(id)))
			time.Sleep(3 * time.Millisecond)
		}
		if got := open(t, r.b.Board); got != "c a b" {
			t.Errorf("got %q", got)
		}
	}},
	{name: "an ID counts once", run: func(t *testing.T, r replicas) {
		must(t, r.a.Board.Post(t.Context(), notice("1")))
		if r.b.Board.Post(t.Context(), notice("1")) == nil || r.b.Board.Post(t.Context(), notice("")) == nil {
			t.Error("got no error")
		}
	}},
}
