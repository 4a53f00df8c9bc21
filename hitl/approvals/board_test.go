package approvals_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
)

// A question that is over is known by its ID for a while, and what it asked is not
// kept: it may be megabytes of arguments.
func TestBoardKeepsNoQuestionThatIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := approvals.NewBoard()
		post := func(id string) {
			t.Helper()
			if err := b.Post(t.Context(), approvals.Notice{ID: id, Until: time.Now().Add(time.Minute), Question: make([]byte, 1000)}); err != nil {
				t.Fatal(err)
			}
		}
		post("answered")
		post("taken down")
		post("late")
		if err := b.Answer(t.Context(), "answered", []byte("yes")); err != nil {
			t.Fatal(err)
		}
		if err := b.Remove(t.Context(), "taken down"); err != nil {
			t.Fatal(err)
		}
		if got := approvals.HeldBy(b); got != 1000 {
			t.Errorf("got %d bytes, want those of the open question", got)
		}
		time.Sleep(2 * time.Minute)
		post("new")
		if got := approvals.HeldBy(b); got != 1000 {
			t.Errorf("got %d bytes, want those of the new question", got)
		}
		if answer, err := b.Wait(t.Context(), "answered"); err != nil || string(answer) != "yes" {
			t.Errorf("got %q and %v", answer, err)
		}
	})
}
