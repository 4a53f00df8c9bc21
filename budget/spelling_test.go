package budget_test

import (
	"testing"

	"github.com/fairlead-go/fairlead/budget"
)

// Two calls whose places are the same would else be read again each time, by turns.
func TestCallsThatMeetGetOn(t *testing.T) {
	t.Parallel()
	const first, second, third = 2, 2 + 1<<20, 3 + 1<<21 // of one pair
	got := budget.Spellings(first, second)
	if !got(first) || !got(second) {
		t.Error("one of two calls that meet was forgotten")
	}
	got = budget.Spellings(first, second, third)
	if got(first) || !got(second) || !got(third) {
		t.Error("it was not the oldest of three that was forgotten")
	}
}
