package languages_test

import (
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/languages"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	const (
		reads = annotation.Safe
		asks  = annotation.Dangerous
	)
	for _, tt := range []struct {
		language, text string
		want           annotation.Safety
	}{
		{"sql", "SELECT 1", reads},
		{"sql", "select name from customers where id = 7 order by name", reads},
		{"sql", "COMMIT; DROP TABLE customers;", asks},
		{"sql", "SELECT 1; DROP TABLE customers", asks},
		{"sql", "INSERT INTO t VALUES (1)", asks},
		{"sql", "SELECT pg_terminate_backend(1)", asks},
		{"sql", "SELECT * INTO copy FROM t", asks},
		{"sql", "", asks},
		{"sql", "REBUILD everything", asks},

		{"shell", "git status", reads},
		{"shell", "git push --force", asks},
		{"shell", "curl https://example.com/", asks},

		{"shell", "grep -c 'a;b' x", asks},
		{"posix-shell", "grep -c 'a;b' x", reads},
		{"posix-shell", "for f in *.go; do wc -l \"$f\"; done", reads},
		{"posix-shell", "rm x", asks},
		{"powershell", "git status", reads},
		{"powershell", "grep -c 'a;b' x", asks},
		{"powershell", "for f in *.go; do wc -l \"$f\"; done", asks},
		{"powershell", "Remove-Item x", asks},
		{"powershell", "ac notes.txt more", asks}, // Add-Content

		{"http", "GET https://example.com/", reads},
		{"http", "https://example.com/", reads},
		{"http", "PUT https://example.com/", asks},
		{"http", "GET http://10.0.0.1/", asks},
		{"http-local", "GET http://10.0.0.1/", reads},
		{"http-local", "DELETE http://10.0.0.1/", asks},
		{"mongodb", `[{"$match":{}}]`, reads},
		{"mongodb", `[{"$out":"x"}]`, asks},
		{"mongodb", `{"name":{"$regex":"^a"}}`, reads},
		{"mongodb", `{"$where":"sleep(1000)"}`, asks},
		{"mongodb", `{"$expr":{"$function":{"body":"function(){}","args":[],"lang":"js"}}}`, asks},
		{"mongodb", `{"a":{"$function":{}}}`, asks},
		{"promql", "up", reads},
		{"promql", "drop table x", asks},
		{"graphql", "{ a }", reads},
		{"graphql", "mutation { a }", asks},
		{"cypher", "MATCH (n) RETURN n", reads},
		{"cypher", "MATCH (n) DELETE n", asks},
		{"jq", ".a", reads},
		{"jq", "env", asks},
		{"regex", "^a.*", reads},
		{"regex", "a\x00", asks},
		{"glob", "**/*.go", reads},
		{"cron", "* * * * *", asks},
		{"template", "{{ x }}", asks},
		{"verb", "delete", asks},
		{"verb", "merge", asks},
		{"verb", "squash-merge", annotation.Moderate}, // which may be a thing, behind another word
		{"verb", "update", annotation.Moderate},
		{"verb", "the update", annotation.Unknown},
		{"verb", "list", annotation.Unknown},
		{"verb", "email", annotation.Unknown},
		{"verb", "", annotation.Unknown},
		{"javascript", "1", annotation.Unknown},
		{"SQL", "SELECT 1", annotation.Unknown},
		{"", "SELECT 1", annotation.Unknown},
	} {
		got, why := languages.Judge(tt.language, tt.text)
		if got != tt.want || (got != annotation.Unknown) != (why != "") {
			t.Errorf("%s %q: %v (%s), want %v", tt.language, tt.text, got, why, tt.want)
		}
	}
}
