package probes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/probes"
)

// A labelled text is one of a file in testdata.
type labelled struct {
	text string
	read bool
	line int
}

// texts returns the texts of a file: one a line, after "r" for a read or "w" for all else.
func texts(tb testing.TB, file string) (all []labelled) {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		tb.Fatal(err)
	}
	line := 0
	for text := range strings.Lines(string(raw)) {
		line++
		switch label, text, ok := strings.Cut(strings.TrimSuffix(text, "\n"), " "); {
		case label == "#":
		case !ok || label != "r" && label != "w":
			tb.Fatalf("%s:%d: it begins with neither r nor w", file, line)
		default:
			all = append(all, labelled{strings.NewReplacer(`\\`, `\`, `\n`, "\n").Replace(text), label == "r", line})
		}
	}
	return all
}

// judged compares a probe with the labels of a file. It reports how many reads it found, and each write that it takes for
// a read as an error.
func judged(t *testing.T, file string, probe func(string) probes.Verdict) (found, reads int) {
	t.Helper()
	for _, c := range texts(t, file) {
		v := probe(c.text)
		read := v.Annotations.Safety() == annotation.Safe
		if v.Why == "" {
			t.Errorf("%s:%d: no reason", file, c.line)
		}
		switch {
		case c.read && !read:
			reads++
			t.Logf("%s:%d: not found: %s: %s", file, c.line, c.text, v.Why)
		case c.read:
			reads++
			found++
		case read:
			t.Errorf("%s:%d: a write passes as a read: %s: %s", file, c.line, c.text, v.Why)
		}
	}
	return found, reads
}

// Texts from the manuals of seven dialects, half of them reads.
func TestSQLOfDialects(t *testing.T) {
	t.Parallel()
	all, of := 0, 0
	for _, dialect := range []string{"postgresql", "mysql", "sqlite", "duckdb", "tsql", "oracle", "bigquery"} {
		found, reads := judged(t, "sql/"+dialect+".txt", probes.SQL)
		t.Logf("%s: %d of %d reads found", dialect, found, reads)
		all, of = all+found, of+reads
	}
	t.Logf("all: %d of %d reads found", all, of)
	if all < 346 || of < 352 {
		t.Errorf("%d of %d reads are found, want 346 of 352, as docs/reference/preflight.md states", all, of)
	}
}

// Texts of the other languages.
func TestTextsOfLanguages(t *testing.T) {
	t.Parallel()
	for file, probe := range map[string]func(string) probes.Verdict{
		"mongodb": probes.MongoDB, "promql": probes.PromQL, "graphql": probes.GraphQL, "cypher": probes.Cypher, "jq": probes.JQ, "http": probes.Request,
	} {
		found, reads := judged(t, file+".txt", probe)
		t.Logf("%s: %d of %d reads found", file, found, reads)
		if found < reads {
			t.Errorf("%s: %d of %d reads are not found", file, reads-found, reads)
		}
	}
}

func BenchmarkSQL(b *testing.B) {
	for name, text := range map[string]string{
		"short": "SELECT id, name FROM users WHERE active = 1 ORDER BY name LIMIT 10",
		"typical": "SELECT o.id, c.name, SUM(i.price * i.qty) AS total -- of each order\nFROM orders o\nJOIN customers c ON c.id = o.customer_id\n" +
			"LEFT JOIN items i ON i.order_id = o.id\nWHERE o.created_at >= '2024-01-01' AND c.country IN ('DE', 'FR')\nGROUP BY o.id, c.name\nHAVING SUM(i.price) > 100\nORDER BY total DESC\nLIMIT 50",
		"longest": "SELECT " + strings.Repeat("a + b, ", 2300) + "1 FROM t",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				probes.SQL(text)
			}
		})
	}
}
