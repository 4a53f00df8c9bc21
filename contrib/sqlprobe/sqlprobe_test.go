package sqlprobe_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/contrib/sqlprobe"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/fairlead-go/fairlead/preflight/probe"
)

const (
	read  = annotation.Safe
	add   = annotation.Moderate
	risky = annotation.Dangerous
)

type row struct {
	text string
	want annotation.Safety
	why  string // a part of the explanation
}

func check(t *testing.T, grammar preflight.Probe, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(fmt.Sprintf("%.60s", r.text), func(t *testing.T) {
			t.Parallel()
			got := grammar(r.text)
			if got.Annotations.Safety() != r.want || !strings.Contains(got.Why, r.why) {
				t.Errorf("%s: %v (%s), want %v (…%s…)", r.text, got.Annotations.Safety(), got.Why, r.want, r.why)
			}
			if got.Why == "" || strings.Contains(got.Why, "\n") {
				t.Errorf("the reason is not one line: %q", got.Why)
			}
			if v := probe.SQL(r.text); r.want != read && !reads(r.text) && v.Annotations.Safety() == annotation.Safe {
				t.Errorf("%s: the reader of any dialect takes it for a read: %s", r.text, v.Why)
			}
		})
	}
}

// reads reports whether a text is a read, which the grammars ask about for another reason: what they cannot judge, or not
// at this length.
func reads(text string) bool {
	return text == "SELECT 1 --2" || text == "SELECT 1 /* plain */" || strings.HasPrefix(text, "SELECT 1+1+1+")
}

// Each of these nests as deep as the bound on words and signs lets it: the parsers must bear it.
func TestNestingWithinTheBoundBreaksNoParser(t *testing.T) {
	t.Parallel()
	for _, nest := range []string{
		"(%s)", "not %s", "- %s", "1+%s", "%s+1", "%s or not 1", "(select %s)", "case when %s then 1 end", "a in (%s)", "f(%s)", "array[%s]",
		"a[%s]", "coalesce(%s,1)", "%s::int", "(%s).a", "%s is null", "cast(%s as int)", "row(%s)", "%s at time zone y", "exists(select %s)",
		"(with a as (select %s) select 1)", "%s union select 1", "lower(%s", "(((%s",
	} {
		text, deeper := "1", "1"
		for len(deeper) < 4000 && sqlprobe.Unfit("select "+deeper) == "" {
			text, deeper = deeper, strings.Replace(nest, "%s", deeper, 1)
		}
		sqlprobe.PostgreSQL("select " + text)
		sqlprobe.MySQL("select " + text)
	}
	if got := sqlprobe.PostgreSQL("select 1"); got.Annotations.Safety() != read {
		t.Errorf("after that a plain read is %v: %s", got.Annotations.Safety(), got.Why)
	}
}

// warm compiles the parser before the first input, which the fuzzer gives ten seconds.
func warm() { sqlprobe.PostgreSQL("SELECT 1") }

func FuzzProbes(f *testing.F) {
	warm()
	for _, text := range []string{"SELECT 1", "SELECT a FROM t WHERE b = 'c'", "WITH a AS (SELECT 1) SELECT * FROM a", "SELECT lower(a) -- x", "SHOW x", "SELECT $$x$$", "SELECT \"a\", `b`", "INSERT INTO t VALUES (1)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, reads := range map[string]preflight.Probe{"PostgreSQL": sqlprobe.PostgreSQL, "MySQL": sqlprobe.MySQL} {
			got := reads(text)
			if got.Why == "" || strings.Contains(got.Why, "\n") {
				t.Errorf("%s: the reason is not one line: %q", name, got.Why)
			}
			if got.Annotations.Safety() != read {
				continue
			}
			for _, worse := range []string{"; DROP TABLE x; " + text, text + "\n; DROP TABLE x", "DELETE FROM x; " + text} {
				if v := reads(worse); v.Annotations.Safety() != risky {
					t.Errorf("%s: %q is %v", name, worse, v.Annotations.Safety())
				}
			}
		}
	})
}

// A read for the reader without a grammar is a read for a parser with the grammar too.
func FuzzPlainReaderAgrees(f *testing.F) {
	warm()
	for _, text := range []string{
		"SELECT a FROM t", "SELECT count(*) FROM t WHERE a = 'x''y' ORDER BY 1", "WITH a AS (SELECT 1) SELECT * FROM a;",
		"SELECT a, b FROM t JOIN u ON t.a = u.b WHERE c IN (1, 2)", "SELECT a::text FROM t", "SELECT \"a\" FROM t GROUP BY b HAVING max(c) > 1",
		"SELECT--0", // a comment, or 0 to MySQL
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if probe.SQL(text).Annotations.Safety() != read {
			return
		}
		for name, reads := range map[string]preflight.Probe{"PostgreSQL": sqlprobe.PostgreSQL, "MySQL": sqlprobe.MySQL} {
			got := reads(text)
			if got.Annotations.Safety() == read || strings.Contains(got.Why, "does not parse") || strings.Contains(got.Why, "are more than") || strings.Contains(got.Why, "two dashes") {
				continue
			}
			// A name that only this dialect lacks does not concern the grammar.
			if !strings.Contains(got.Why, "the function ") {
				t.Errorf("%q is a read for the plain reader, and for %s: %s", text, name, got.Why)
			}
		}
	})
}
