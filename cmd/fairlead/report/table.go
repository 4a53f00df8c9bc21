package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/fairlead-go/fairlead/cmd/fairlead/tty"
	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// Table writes the report for a terminal, or for a pipe, with a line for each tool and nothing cut.
func (r *Report) Table(out io.Writer, s tty.Style) error {
	w := bufio.NewWriter(out)
	rows := r.rows()
	var widths [6]int
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], tty.Wide(cell))
		}
	}
	total := 0
	for _, n := range widths {
		total += n + gap
	}
	switch {
	case len(r.Tools) == 0:
		fmt.Fprintln(w, "There are no tools.")
	case s.Live && total-gap > s.Width:
		r.narrow(w, s)
	default:
		for i, row := range rows {
			fmt.Fprintln(w, line(row, widths, s, i == 0))
		}
	}
	r.findings(w, s)
	return w.Flush()
}

const (
	gap     = 2
	classAt = 3 // the column
)

// rows are the cells of the table, its head first.
func (r *Report) rows() [][6]string {
	several := len(r.Servers) > 1
	rows := [][6]string{{"TOOL", "DECLARED", "INFERRED", "CLASS", "THE CHAIN WILL", "BECAUSE"}}
	for _, t := range r.Tools {
		rows = append(rows, [6]string{
			t.shown(several), hints(t.Declared), hints(t.Inferred), class(t), will(t), safetext.Line(because(t)),
		})
	}
	return rows
}

// shown is the tool's name, with that of its server where there are several.
func (t Tool) shown(several bool) string {
	if several {
		return safetext.Line(t.Server + "/" + t.Name)
	}
	return safetext.Line(t.Name)
}

func line(row [6]string, widths [6]int, s tty.Style, head bool) string {
	var b strings.Builder
	for i, cell := range row {
		padded := cell
		if i < len(row)-1 {
			padded = tty.Pad(cell, widths[i]+gap)
		}
		switch {
		case head:
			padded = s.Paint(tty.Dim, padded)
		case i == classAt:
			padded = s.Paint(classPaint(cell), padded)
		}
		b.WriteString(padded)
	}
	return strings.TrimRight(b.String(), " ")
}

// narrow gives every tool some lines, for a terminal that the table does not fit in.
func (r *Report) narrow(w io.Writer, s tty.Style) {
	several := len(r.Servers) > 1
	for _, t := range r.Tools {
		fmt.Fprintf(w, "%s %s\n", s.Paint(classPaint(class(t)), tty.Pad("● "+class(t), tty.Wide("● safe, volatile"))),
			s.Paint(tty.Bold, tty.Fit(t.shown(several), max(s.Width-18, 20))))
		for _, text := range []string{
			will(t),
			"declared: " + hints(t.Declared) + " · inferred: " + hints(t.Inferred),
			safetext.Line(because(t)),
		} {
			for _, part := range safetext.Wrap(text, s.Width-4) {
				fmt.Fprintln(w, "    "+s.Paint(tty.Dim, part))
			}
		}
	}
}

func classPaint(cell string) tty.Paint {
	class, _, _ := strings.Cut(cell, ",")
	return cmp.Or(map[string]tty.Paint{"safe": tty.Green, "moderate": tty.Yellow, "dangerous": tty.Red}[class], tty.Purple)
}

// maxSubjects is how many tools are named of which the same is said.
const maxSubjects = 8

// findings writes the findings. One that is the same for many tools is written once.
func (r *Report) findings(w io.Writer, s tty.Style) {
	groups, known := r.grouped()
	if len(r.Tools) > 0 {
		fmt.Fprintf(w, "\n%s: %s\n", plural(len(r.Tools), "tool"), r.classes())
	}
	if len(groups) > 0 {
		fmt.Fprintln(w, "\nFINDINGS")
	}
	for _, g := range groups {
		about := safetext.Line(g.Subjects[0])
		if n := len(g.Subjects); n > 1 {
			names := make([]string, 0, maxSubjects)
			for _, subject := range g.Subjects[:min(n, maxSubjects)] {
				names = append(names, safetext.Line(subject))
			}
			if about = fmt.Sprintf("%d tools (%s", n, strings.Join(names, ", ")); n > maxSubjects {
				about += ", …"
			}
			about += ")"
		}
		paint := cmp.Or(map[Level]tty.Paint{Error: tty.Red, Warning: tty.Yellow}[g.Level], tty.Dim)
		head := "  " + s.Paint(paint, tty.Pad(g.Level.String(), len("warning"))) + "  "
		text := fmt.Sprintf("%s: %s [%s]", about, safetext.Line(g.Text), g.Rule)
		next := "next: " + ruleOf(g.Rule).next
		lines := []string{text, next}
		if s.Live {
			lines = append(safetext.Wrap(text, s.Width-11), safetext.Wrap(next, s.Width-11)...)
		}
		for i, part := range lines {
			if i > 0 {
				head = strings.Repeat(" ", 11)
			}
			fmt.Fprintln(w, head+part)
		}
	}
	if known > 0 {
		fmt.Fprintf(w, "\n%s of the baseline not shown\n", plural(known, "known finding"))
	}
}
