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

// Compare returns the lines of two texts in one order, each with a mark: [Line.Mark] is " " for one that is in both of
// them, "-" in the first alone, "+" in the second alone. Nothing is folded: the first text is all that is not added, and
// the second all that is not removed. Between the lines that both begin and end with, the longest common subsequence
// stays; where that would take more than a million pairs of lines, none does.
func Compare(before, after []string) []Line {
	start := 0
	for start < len(before) && start < len(after) && before[start] == after[start] {
		start++
	}
	end := 0
	for end < min(len(before), len(after))-start && before[len(before)-1-end] == after[len(after)-1-end] {
		end++
	}
	all := marked(nil, kept, before[:start])
	all = changed(all, before[start:len(before)-end], after[start:len(after)-end])
	return marked(all, kept, before[len(before)-end:])
}

func marked(all []Line, mark byte, lines []string) []Line {
	for _, line := range lines {
		all = append(all, Line{Mark: string(mark), Text: line})
	}
	return all
}

// changed appends the lines of two texts by their longest common subsequence.
func changed(all []Line, a, b []string) []Line {
	if len(a) == 0 || len(b) == 0 || len(a)*len(b) > maxTable {
		return marked(marked(all, removed, a), added, b)
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
			all = marked(all, kept, a[i:i+1])
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			all = marked(all, removed, a[i:i+1])
			i++
		default:
			all = marked(all, added, b[j:j+1])
			j++
		}
	}
	return marked(marked(all, removed, a[i:]), added, b[j:])
}

// compare returns the lines of a comparison, and the mark of each. A missing newline at the end makes no difference.
func compare(before, after string) (text string, marks []byte) {
	var all []string
	for _, line := range Compare(linesOf(before), linesOf(after)) {
		all, marks = append(all, line.Text), append(marks, line.Mark[0])
	}
	return strings.Join(all, "\n"), marks
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
