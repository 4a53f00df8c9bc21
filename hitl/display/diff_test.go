package display_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fairlead-go/fairlead/hitl/display"
)

func ExampleCompare() {
	for _, line := range display.Compare([]string{"a", "b", "c"}, []string{"a", "B", "c", "d"}) {
		fmt.Println(line.Mark + line.Text)
	}
	// Output:
	//  a
	// -b
	// +B
	//  c
	// +d
}

// Both texts can be read from their comparison, and a line that could stay does.
func TestCompareHoldsBothTexts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func(most int) (lines []string) {
		for range random.IntN(most) {
			lines = append(lines, string(rune('a'+random.IntN(4))))
		}
		return lines
	}
	check := func(before, after []string) (kept int) {
		t.Helper()
		var first, second []string
		for _, line := range display.Compare(before, after) {
			if line.Mark != "+" {
				first = append(first, line.Text)
			}
			if line.Mark != "-" {
				second = append(second, line.Text)
			}
			if line.Mark == " " {
				kept++
			}
		}
		if !slices.Equal(first, before) || !slices.Equal(second, after) {
			t.Fatalf("the comparison of %q and %q holds %q and %q", before, after, first, second)
		}
		return kept
	}
	for range 3000 {
		before, after := text(9), text(9)
		if kept, want := check(before, after), longest(before, after); kept != want {
			t.Fatalf("%q and %q: %d lines stay, want %d", before, after, kept, want)
		}
	}
	many := func(word string) (lines []string) {
		for i := range 1100 {
			lines = append(lines, fmt.Sprint(word, i%7))
		}
		return lines
	}
	if kept := check(append([]string{"same"}, many("a")...), append([]string{"same"}, many("b")...)); kept != 1 {
		t.Errorf("%d lines stay of texts that are too long to compare, want the one that both begin with", kept)
	}
}

// longest is the length of the longest common subsequence, by trying all.
func longest(a, b []string) int {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	if a[0] == b[0] {
		return 1 + longest(a[1:], b[1:])
	}
	return max(longest(a[1:], b), longest(a, b[1:]))
}
