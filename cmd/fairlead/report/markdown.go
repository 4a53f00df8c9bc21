package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// Markdown writes the report for a comment, a wiki or a summary. Text of a server is in code, so
// that no Markdown, mention or link in it counts.
func (r *Report) Markdown(out io.Writer) error {
	w := bufio.NewWriter(out)
	several := len(r.Servers) > 1
	fmt.Fprintln(w, "# What these tools can do")
	fmt.Fprintln(w)
	for _, s := range r.Servers {
		fmt.Fprintf(w, "- %s: %s", code(s.ID), code(s.Target))
		if s.Error != "" {
			fmt.Fprint(w, " (did not answer)")
		}
		fmt.Fprintln(w)
	}
	if len(r.Tools) > 0 {
		fmt.Fprintf(w, "\n%s: %s\n\n", plural(len(r.Tools), "tool"), r.classes())
		fmt.Fprintln(w, "| tool | declared | inferred | class | the chain will | because |\n|---|---|---|---|---|---|")
	}
	for _, t := range r.Tools {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s |\n", cell(t.shown(several)), hints(t.Declared), hints(t.Inferred), class(t), will(t), cell(because(t)))
	}
	groups, known := r.grouped()
	if len(groups) > 0 {
		fmt.Fprintln(w, "\n## Findings")
		fmt.Fprintln(w)
	}
	for _, g := range groups {
		fmt.Fprintf(w, "- **%s** %s (`%s`)", g.Level, code(g.Text), g.Rule)
		for i, subject := range g.Subjects {
			if i == maxSubjects {
				fmt.Fprintf(w, " and %d more", len(g.Subjects)-i)
				break
			}
			fmt.Fprint(w, " "+code(subject))
		}
		fmt.Fprintf(w, ". Next: %s.\n", ruleOf(g.Rule).next)
	}
	if known > 0 {
		fmt.Fprintf(w, "\n%s of the baseline not shown.\n", plural(known, "known finding"))
	}
	return w.Flush()
}

// code writes any text as code within a line.
func code(s string) string {
	s = safetext.Line(s)
	longest, run := 0, 0
	for _, r := range s {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	if s == "" || strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || strings.HasPrefix(s, " ") && strings.HasSuffix(s, " ") {
		s = " " + s + " "
	}
	return fence + s + fence
}

// cell is code within a table, where a bar would end the cell.
func cell(s string) string { return strings.ReplaceAll(code(s), "|", `\|`) }
