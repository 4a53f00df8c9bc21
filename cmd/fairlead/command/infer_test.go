package command

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// answers decodes the output of infer.
func answers(t *testing.T, stdout string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(stdout) {
		var answer map[string]any
		if err := json.Unmarshal([]byte(line), &answer); err != nil {
			t.Fatalf("an answer is no JSON: %v\n%s", err, line)
		}
		all = append(all, answer)
	}
	return all
}

func TestInferAnswersEachLineInOrder(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := program(t, `{"name":"delete_user","description":"Delete a user."}
{"name":"list_users"}

{"name":"create_note","annotations":{"readOnlyHint":true}}
{"name":"xyzzy"}
{"name":"search_docs","description":"Search the documentation."}
{"name":"get_secret"}`, "infer")
	if code != exitOK || stderr != "" {
		t.Fatalf("exit %d, stderr %q; want 0 and nothing", code, stderr)
	}
	var got []string
	for _, a := range answers(t, stdout) {
		for _, key := range []string{"annotations", "safety", "freshness", "evidence", "findings"} {
			if a[key] == nil {
				t.Errorf("%v: %s is missing", a["name"], key)
			}
		}
		got = append(got, fmt.Sprint(a["name"], " ", a["safety"], " ", a["freshness"], " ", a["secret"] == true))
	}
	want := []string{
		"delete_user dangerous volatile false", "list_users safe shared false", "create_note moderate volatile false", "xyzzy unknown volatile false",
		"search_docs safe stable false", "get_secret safe volatile true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestInferReportsABadLineAndAnswersTheOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ line, want string }{
		"no JSON":        {`{"name":`, "line 2: not a JSON object"},
		"a list":         {`["delete_user"]`, "line 2: not a JSON object"},
		"null":           {`null`, "line 2: not a JSON object"},
		"no name":        {`{"description":"x"}`, `line 2: no "name"`},
		"null name":      {`{"name":null}`, `line 2: no "name"`},
		"name no string": {`{"name":7}`, `line 2: no "name"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := program(t, "{\"name\":\"get_a\"}\n"+c.line+"\n{\"name\":\"get_b\"}\n", "infer")
			if code != exitFindings {
				t.Errorf("exit %d, want %d", code, exitFindings)
			}
			if !strings.Contains(stderr, c.want) {
				t.Errorf("stderr %q does not say %q", stderr, c.want)
			}
			if got := len(answers(t, stdout)); got != 2 {
				t.Errorf("%d answers, want 2", got)
			}
		})
	}
}

func TestInferAnswersWhatBreaksMCPsRulesWithAFinding(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ line, finding string }{
		"empty name":             {`{"name":""}`, "the name breaks MCP's rule"},
		"B007 look-alike name":   {`{"name":"` + "\u0440" + `ead_file"}`, "the name breaks MCP's rule"},
		"B045 null schema":       {`{"name":"get_a","inputSchema":null}`, "inputSchema is null"},
		"schema is a list":       {`{"name":"get_a","inputSchema":[]}`, "inputSchema is []"},
		"description is a list":  {`{"name":"get_a","description":[1]}`, "description is no string"},
		"server is a number":     {`{"name":"get_a","server":1}`, "server is no string"},
		"output schema a string": {`{"name":"get_a","outputSchema":"x"}`, "outputSchema is"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := program(t, c.line, "infer")
			got := answers(t, stdout)
			if code != exitOK || len(got) != 1 {
				t.Fatalf("exit %d, %d answers, stderr %q; want 0 and one", code, len(got), stderr)
			}
			if text := fmt.Sprint(got[0]["findings"]); !strings.Contains(text, c.finding) {
				t.Errorf("findings %s do not say %q", text, c.finding)
			}
		})
	}
	t.Run("B031 null description", func(t *testing.T) {
		t.Parallel()
		_, stdout, _ := program(t, `{"name":"zzz","description":null}`, "infer")
		if got := answers(t, stdout); fmt.Sprint(got[0]["findings"]) != "[]" || got[0]["safety"] != "unknown" {
			t.Errorf("got %v, want no finding and unknown", got[0])
		}
	})
}

func TestInferExplainsEachHintOnALine(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := program(t, `{"name":"get_lamp","description":"Gets a lamp. Older lamps are deleted."}
{"name":"share_file"}
{"name":"xyzzy","description":"Lamp gadget"}`, "infer", "--explain")
	if code != exitOK || stderr != "" {
		t.Fatalf("exit %d, stderr %q; want 0 and nothing", code, stderr)
	}
	want := `get_lamp: dangerous
  readOnlyHint         no     inferred: "delete" in the description (rule: what is done to something)
  destructiveHint      yes    inferred: "delete" in the description (rule: what is done to something)
  complexity           simple inferred: at most 100 characters of description
share_file: dangerous
  readOnlyHint         no     inferred: "share" leads the name (rule: the name, though weak)
  destructiveHint      no     inferred: "share" leads the name (rule: the name, though weak)
  requiresConfirmation yes    inferred: "share" leads the name and gives access away (rule: the name, though weak)
  complexity           simple inferred: at most 100 characters of description
xyzzy: unknown
  readOnlyHint         unset  inferred: the words are not understood (rule: nothing is understood)
  complexity           simple inferred: at most 100 characters of description
`
	if diff := cmp.Diff(want, stdout); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestInferLooksAtTheToolsOfAServerTogether(t *testing.T) {
	t.Parallel()
	// A word that leads every name of a server is a prefix, not a verb.
	var in strings.Builder
	for _, verb := range []string{"get_page", "list_pages", "read_page", "search_pages", "count_pages"} {
		fmt.Fprintf(&in, "{\"server\":\"acme\",\"name\":\"acme_%s\"}\n", verb)
	}
	_, stdout, _ := program(t, in.String(), "infer")
	for _, a := range answers(t, stdout) {
		if a["safety"] != "safe" {
			t.Errorf("%v is %v, want safe", a["name"], a["safety"])
		}
	}
}
