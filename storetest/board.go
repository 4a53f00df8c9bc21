package storetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
)

func notice(id string) approvals.Notice {
	return approvals.Notice{ID: id, Until: time.Now().Add(time.Minute), Question: []byte("may I? " + id)}
}

// waits begins to wait for an answer.
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
		n := race(t, 16, func(i int) bool {
			answer := strings.Repeat("x", i+1)
			err := []approvals.Board{r.a.Board, r.b.Board}[i%2].Answer(t.Context(), "1", []byte(answer))
			if err == nil {
				won <- answer
			} else if !errors.Is(err, approvals.ErrNoEffect) {
				t.Error(err)
			}
			return err == nil
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
		must(t, r.a.Board.TakeDown(t.Context(), "1"))
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
		must(t, r.a.Board.TakeDown(t.Context(), "1"))
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
		must(t, r.a.Board.TakeDown(t.Context(), "none"))
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
