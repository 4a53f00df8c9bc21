package connect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// Diff returns the lines that differ, without recognizable secrets, each after "-" or "+" and a block after its line.
func (f *File) Diff() string {
	if !f.Changed() {
		return ""
	}
	before, after := lines(f.before), lines(f.after)
	var b strings.Builder
	r := new(redact.Redactor)
	inBlock := false
	show := func(sign string, at int, line string) {
		if !inBlock {
			fmt.Fprintf(&b, "@@ line %d\n", at+1)
			inBlock = true
		}
		for _, secret := range f.secrets {
			line = strings.ReplaceAll(line, quote(secret), `"[redacted]"`)
		}
		line = strings.TrimRight(line, "\r\n")
		rest := strings.TrimLeft(line, " \t")
		// With its sign it is not read as JSON, whose members would come in another order.
		shown := strings.TrimPrefix(r.Text(sign+rest), sign)
		fmt.Fprintf(&b, "%s%s%s\n", sign, line[:len(line)-len(rest)], safetext.Cut(safetext.Line(shown), maxLine))
	}
	first := 0
	for first < min(len(before), len(after)) && before[first] == after[first] {
		first++
	}
	last := 0
	for last < min(len(before), len(after))-first && before[len(before)-1-last] == after[len(after)-1-last] {
		last++
	}
	was, is := before[first:len(before)-last], after[first:len(after)-last]
	common := longest(was, is)
	i, k := 0, 0
	for i < len(was) || k < len(is) {
		switch {
		case i < len(was) && k < len(is) && common[i][k] > 0 && was[i] == is[k]:
			i, k, inBlock = i+1, k+1, false
		case i < len(was) && (k == len(is) || common[i+1][k] >= common[i][k+1]):
			show("-", first+i, was[i])
			i++
		default:
			show("+", first+i, is[k])
			k++
		}
	}
	return b.String()
}

// maxLine is how much of a line is shown.
const maxLine = 400

// lines returns the lines of a text, with their ends.
func lines(text []byte) []string {
	all := strings.SplitAfter(string(text), "\n")
	if all[len(all)-1] == "" {
		return all[:len(all)-1]
	}
	return all
}

// longest returns for each pair of places how many lines the rests from there have in common, in order. Texts that are too
// long to be compared have none.
func longest(a, b []string) [][]int {
	const most = 16 << 20
	table := make([][]int, len(a)+1)
	if len(a)*len(b) > most {
		none := make([]int, len(b)+1)
		for i := range table {
			table[i] = none
		}
		return table
	}
	for i := range table {
		table[i] = make([]int, len(b)+1)
	}
	for i := range slices.Backward(a) {
		for k := len(b) - 1; k >= 0; k-- {
			if a[i] == b[k] {
				table[i][k] = 1 + table[i+1][k+1]
			} else {
				table[i][k] = max(table[i+1][k], table[i][k+1])
			}
		}
	}
	return table
}
