package display

import (
	"slices"
	"strings"
)

// maxTable bounds the work on one comparison, in pairs of lines. Texts that differ in more are shown one after the other.
const maxTable = 1 << 20

// The marks of the lines of a comparison.
const (
	kept    = ' '
	removed = '-'
	added   = '+'
)

// compare returns the lines of two texts in one order, each with a mark: whether it is in both of them, in the first or
// in the second. Nothing is folded: the first text is all that is not added, and the second all that is not removed. A
// missing newline at the end makes no difference.
func compare(before, after string) (text string, marks []byte) {
	a, b := linesOf(before), linesOf(after)
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	var all []string
	put := func(mark byte, lines ...string) {
		for _, line := range lines {
			all, marks = append(all, line), append(marks, mark)
		}
	}
	put(kept, a[:start]...)
	changed(a[start:len(a)-end], b[start:len(b)-end], put)
	put(kept, a[len(a)-end:]...)
	return strings.Join(all, "\n"), marks
}

// changed puts the lines of two texts by their longest common subsequence.
func changed(a, b []string, put func(mark byte, lines ...string)) {
	if len(a) == 0 || len(b) == 0 || len(a)*len(b) > maxTable {
		put(removed, a...)
		put(added, b...)
		return
	}
	common := make([][]int32, len(a)+1) // of what begins at a line of each
	for i := range common {
		common[i] = make([]int32, len(b)+1)
	}
	for i := range slices.Backward(a) {
		for j := range slices.Backward(b) {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			put(kept, a[i])
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			put(removed, a[i])
			i++
		default:
			put(added, b[j])
			j++
		}
	}
	put(removed, a[i:]...)
	put(added, b[j:]...)
}

// linesOf returns the lines of a text; an empty one has none.
func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// holds reports whether all lines of a text are those of a comparison that do not have a mark, in their order.
func holds(compared string, marks []byte, without byte, text string) bool {
	var its []string
	for i, line := range strings.Split(compared, "\n") {
		if i < len(marks) && marks[i] != without {
			its = append(its, line)
		}
	}
	return strings.Join(its, "\n") == strings.TrimSuffix(text, "\n")
}
