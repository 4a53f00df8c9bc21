package connect

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/hitl/display"
	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// Diff returns the lines that differ, without recognizable secrets, each after "-" or "+" and a block after its line. A
// command line that many hooks have is there once, with the short name that it has in their lines.
func (f *File) Diff() string {
	if !f.Changed() {
		return ""
	}
	var b strings.Builder
	r := new(redact.Redactor)
	compared := display.Compare(lines(f.before), lines(f.after))
	short := shortened(compared)
	for _, s := range short {
		fmt.Fprintf(&b, "@@ %s is %s\n", s.name, clean(r, "", s.command))
	}
	at, inBlock := 0, false // the line of the file before the change, and whether the last line was one that changes
	for _, line := range compared {
		if line.Mark == " " {
			at, inBlock = at+1, false
			continue
		}
		if !inBlock {
			fmt.Fprintf(&b, "@@ line %d\n", at+1)
			inBlock = true
		}
		b.WriteString(f.shown(r, line, short) + "\n")
		if line.Mark == "-" {
			at++
		}
	}
	return b.String()
}

// A short is a name that a diff has for a part of its lines.
type short struct{ name, command string }

// quotedText matches a string of JSON.
var quotedText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// shortened returns names for the command lines of hooks that the changed lines have more than once, as they are written
// there. Nothing is shortened if a line has such a name already.
func shortened(compared []display.Line) (all []short) {
	const name = "<hook"
	seen := make(map[string]int)
	for _, line := range compared {
		if line.Mark == " " {
			continue
		}
		if strings.Contains(line.Text, name) {
			return nil
		}
		for _, text := range quotedText.FindAllString(line.Text, -1) {
			command := strings.TrimSuffix(strings.TrimPrefix(text[1:len(text)-1], inPowerShell), orBlock)
			if !ourHook.MatchString(strings.ReplaceAll(command, `\"`, `"`)) {
				continue
			}
			if seen[command]++; seen[command] == 2 {
				all = append(all, short{name + ">", command})
			}
		}
	}
	// One that is a part of another comes after it.
	slices.SortStableFunc(all, func(a, b short) int { return cmp.Compare(len(b.command), len(a.command)) })
	if len(all) > 1 {
		for i := range all {
			all[i].name = fmt.Sprintf("%s %d>", name, i+1)
		}
	}
	return all
}

// shown returns one line of a comparison, without recognizable secrets.
func (f *File) shown(r *redact.Redactor, line display.Line, names []short) string {
	text := line.Text
	for _, secret := range f.secrets {
		text = strings.ReplaceAll(text, quote(secret), `"[redacted]"`)
	}
	for _, s := range names {
		text = strings.ReplaceAll(text, s.command, s.name)
	}
	text = strings.TrimRight(text, "\r\n")
	rest := strings.TrimLeft(text, " \t")
	return line.Mark + text[:len(text)-len(rest)] + clean(r, line.Mark, rest)
}

// clean returns a text without recognizable secrets and control characters. With the mark of its line it is not read as
// JSON, whose members would come in another order.
func clean(r *redact.Redactor, mark, text string) string {
	return safetext.Cut(safetext.Line(strings.TrimPrefix(r.Text(mark+text), mark)), maxLine)
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
