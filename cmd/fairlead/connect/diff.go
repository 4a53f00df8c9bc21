package connect

import (
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/hitl/display"
	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// Diff returns the lines that differ, without recognizable secrets, each after "-" or "+" and a block after its line.
func (f *File) Diff() string {
	if !f.Changed() {
		return ""
	}
	var b strings.Builder
	r := new(redact.Redactor)
	at, inBlock := 0, false // the line of the file before the change, and whether the last line was one that changes
	for _, line := range display.Compare(lines(f.before), lines(f.after)) {
		if line.Mark == " " {
			at, inBlock = at+1, false
			continue
		}
		if !inBlock {
			fmt.Fprintf(&b, "@@ line %d\n", at+1)
			inBlock = true
		}
		b.WriteString(f.shown(r, line) + "\n")
		if line.Mark == "-" {
			at++
		}
	}
	return b.String()
}

// shown returns one line of a comparison, without recognizable secrets.
func (f *File) shown(r *redact.Redactor, line display.Line) string {
	text := line.Text
	for _, secret := range f.secrets {
		text = strings.ReplaceAll(text, quote(secret), `"[redacted]"`)
	}
	text = strings.TrimRight(text, "\r\n")
	rest := strings.TrimLeft(text, " \t")
	// With its sign it is not read as JSON, whose members would come in another order.
	clean := strings.TrimPrefix(r.Text(line.Mark+rest), line.Mark)
	return line.Mark + text[:len(text)-len(rest)] + safetext.Cut(safetext.Line(clean), maxLine)
}

// maxLine is how much of a line is shown.
const maxLine = 4000 // a file of one line shows what is added

// lines returns the lines of a text, with their ends.
func lines(text []byte) []string {
	all := strings.SplitAfter(string(text), "\n")
	if all[len(all)-1] == "" {
		return all[:len(all)-1]
	}
	return all
}
