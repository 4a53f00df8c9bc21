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

// Two cores that wrote to one cache line would wait for each other, and get less done
// than one.
func TestSessionsShareNoCacheLine(t *testing.T) {
	t.Parallel()
	of := map[uintptr]int{}
	for i, lines := range budget.SessionLines() {
		for line := lines[0]; line <= lines[1]; line++ {
			if other, taken := of[line]; taken {
				t.Fatalf("sessions %d and %d share a line", other, i)
			}
			of[line] = i
		}
	}
}
