package probes_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/probes"
)

// fuzzed feeds a probe with whatever comes: it never panics, has a short reason on one line, and no text that it calls a
// read is still one when what is appended makes it a write.
func fuzzed(f *testing.F, files []string, probe func(string) probes.Verdict, appended ...string) {
	f.Helper()
	for _, file := range files {
		for _, c := range texts(f, file) {
			f.Add(c.text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		v := probe(text)
		if v.Why == "" || len(v.Why) > 500 || strings.ContainsFunc(v.Why, func(r rune) bool { return r < ' ' || r == '\u2028' }) {
			t.Errorf("the reason is not a short line: %q", v.Why)
		}
		if v.Annotations.Safety() != annotation.Safe {
			return
		}
		for _, more := range appended {
			if probe(text+more).Annotations.Safety() == annotation.Safe {
				t.Errorf("%q is a read, and so is %q", text, text+more)
			}
		}
	})
}

func FuzzSQL(f *testing.F) {
	fuzzed(f, []string{"sql/postgresql.txt", "sql/mysql.txt", "sql/sqlite.txt", "sql/duckdb.txt", "sql/tsql.txt", "sql/oracle.txt", "sql/bigquery.txt"},
		probes.SQL, "\n; DROP TABLE x", "\nDROP TABLE x", "\n INTO x")
}

func FuzzMongoDB(f *testing.F) {
	fuzzed(f, []string{"mongodb.txt"}, probes.MongoDB, `[{"$out":"x"}]`)
}

func FuzzPromQL(f *testing.F) { fuzzed(f, []string{"promql.txt"}, probes.PromQL, "\n; drop table x") }

func FuzzGraphQL(f *testing.F) {
	fuzzed(f, []string{"graphql.txt"}, probes.GraphQL, "\nmutation { a }")
}

func FuzzCypher(f *testing.F) { fuzzed(f, []string{"cypher.txt"}, probes.Cypher, "\nDETACH DELETE n") }

func FuzzJQ(f *testing.F) { fuzzed(f, []string{"jq.txt"}, probes.JQ, "\n| env") }

func FuzzRequest(f *testing.F) { fuzzed(f, []string{"http.txt"}, probes.Request) }

func FuzzMatches(f *testing.F) {
	fuzzed(f, nil, func(text string) probes.Verdict {
		for _, probe := range []func(string) probes.Verdict{probes.Cron, probes.Template, probes.Regex} {
			if v := probe(text); v.Why == "" {
				return v // which fuzzed reports
			}
		}
		return probes.Glob(text)
	})
}

// A text of the greatest length is read in bounded time, whatever it is made of.
func TestLongTextsAreBounded(t *testing.T) {
	t.Parallel()
	for name, probe := range map[string]func(string) probes.Verdict{
		"sql": probes.SQL, "mongodb": probes.MongoDB, "promql": probes.PromQL, "graphql": probes.GraphQL, "cypher": probes.Cypher, "jq": probes.JQ,
		"http": probes.Request,
	} {
		for _, part := range []string{"(", "[", "{", "a ", "a(", "'", `"`, "--", "/*", "$a$", "#\n", `\`, "a,", "SELECT(", "a.", `{"a":`, "`", "[a]"} {
			text := strings.Repeat(part, 16<<10/len(part))
			for _, text := range []string{text, "SELECT " + text[:len(text)-len("SELECT ")], "MATCH (n) RETURN " + text[:len(text)-20]} {
				begun := time.Now()
				probe(text)
				if took := time.Since(begun); took > 5*time.Second { // of milliseconds, on a machine that may be busy
					t.Errorf("%s: %.20q… took %v", name, text, took)
				}
			}
			if v := probe(text + "xxxx" + strings.Repeat(" ", 16)); v.Annotations.Safety() == annotation.Safe {
				t.Errorf("%s: a text of more than 16 KB is a read", name)
			}
		}
	}
}

func BenchmarkTexts(b *testing.B) {
	for name, one := range map[string]struct {
		probe func(string) probes.Verdict
		text  string
	}{
		"mongodb": {probes.MongoDB, `[{"$match":{"status":"A"}},{"$group":{"_id":"$cust","total":{"$sum":"$amount"}}},{"$sort":{"total":-1}},{"$limit":5}]`},
		"promql":  {probes.PromQL, "histogram_quantile(0.95, sum by (le) (rate(request_duration_seconds_bucket[10m])))"},
		"graphql": {probes.GraphQL, "query Q($id: ID!) { user(id: $id) { ...F } } fragment F on User { name email }"},
		"cypher":  {probes.Cypher, "MATCH (p:Person {name: 'Tom'})-[:ACTED_IN]->(m:Movie) RETURN m.title, m.released ORDER BY m.released DESC"},
		"jq":      {probes.JQ, ".items[] | select(.price > 10) | {name, price}"},
		"url":     {probes.Request, "https://api.github.com/repos/golang/go/issues?state=open"},
		"http":    {probes.Request, `{"text":"https://example.com/users","method":"GET","headers":{"Accept":"application/json"}}`},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				one.probe(one.text)
			}
		})
	}
}
