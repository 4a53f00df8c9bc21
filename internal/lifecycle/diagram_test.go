package lifecycle_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/lifecycle"
)

var update = flag.Bool("update", false, "rewrite the page of the table")

const page = "../../docs/reference/approval-states.md"

// The page has the diagram and the table as the code has them.
func TestPageHasTheTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	want := part(t, part(t, got, "diagram", diagram(lifecycle.Life)), "table", rows(lifecycle.Life))
	if got == want {
		return
	}
	if !*update {
		t.Fatal("the page is not that of the table; run the test with -update")
	}
	if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

// part replaces what a page has between two marks.
func part(t *testing.T, page, name, text string) string {
	t.Helper()
	start, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
	before, rest, ok := strings.Cut(page, start)
	_, after, found := strings.Cut(rest, end)
	if !ok || !found {
		t.Fatalf("the page has no marks for the %s", name)
	}
	return before + start + text + end + after
}

// diagram draws the table, without answers that change nothing.
func diagram(table lifecycle.Table) string {
	var b strings.Builder
	b.WriteString("\n```mermaid\nstateDiagram-v2\n    direction LR\n    [*] --> new\n")
	var edges []string
	events := make(map[string][]string)
	for _, row := range table {
		for _, from := range row.From {
			if row.On == lifecycle.Late {
				continue
			}
			edge := fmt.Sprintf("%s --> %s", from, row.To)
			if events[edge] == nil {
				edges = append(edges, edge)
			}
			events[edge] = append(events[edge], string(row.On))
		}
	}
	for _, edge := range edges {
		fmt.Fprintf(&b, "    %s: %s\n", edge, strings.Join(events[edge], ", "))
	}
	ends := make(map[lifecycle.State]bool)
	for _, row := range table {
		if row.To.Final() && !ends[row.To] {
			ends[row.To] = true
			fmt.Fprintf(&b, "    %s --> [*]\n", row.To)
		}
	}
	b.WriteString("```\n\n")
	return b.String()
}

func rows(table lifecycle.Table) string {
	var b strings.Builder
	b.WriteString("\n| while | event | by | stored before | then | stored after | the model reads | the person reads |\n|---|---|---|---|---|---|---|---|\n")
	for _, row := range table {
		var from []string
		for _, s := range row.From {
			from = append(from, string(s))
		}
		stored := list(row.Before)
		if row.Else != "" {
			stored += fmt.Sprintf(" – or it is %s", row.Else)
			if len(row.Undo) > 0 {
				stored += ", with " + list(row.Undo)
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", strings.Join(from, ", "), row.On, row.By, cmp.Or(stored, "–"), row.To,
			cmp.Or(list(row.After), "–"), reads(row), cmp.Or(string(row.Person), "–"))
	}
	b.WriteString("\n")
	return b.String()
}

func list(writes []lifecycle.Write) string {
	var texts []string
	for _, w := range writes {
		texts = append(texts, string(w))
	}
	return strings.Join(texts, "; ")
}

func reads(row lifecycle.Row) string {
	text := string(row.Model)
	if row.ElseModel != lifecycle.ReadsNothing {
		text = strings.TrimPrefix(text+" – or: "+string(row.ElseModel), " – ")
	}
	return cmp.Or(text, "–")
}
