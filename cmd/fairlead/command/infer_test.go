package command

import (
	"encoding/json"
	"fmt"
	"os"
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
		"a list":         {`["delete_user"]`, "line 2: tool 1: not a JSON object"},
		"an open text":   {`{"name":"delete_user`, "line 2: not a JSON object"},
		"an open list":   {`[{"name":"delete_user"}`, "line 2: not a JSON object"},
		"wrong brackets": {`{"name":"delete_user"]`, "line 2: not a JSON object"},
		"an error":       {`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`, "line 2: want a list of tools, got the error of a server: Method not found"},
		"another answer": {`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}`, `line 2: it is an answer without "tools"`},
		"no list":        {`{"tools":{"name":"a"}}`, `line 2: its "tools" is not a list`},
		"a bad element":  {`{"tools":[7]}`, "line 2: tool 1: not a JSON object"},
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
		"description is a list":  {`{"name":"get_a","description":[1]}`, "description is not a string"},
		"server is a number":     {`{"name":"get_a","server":1}`, "server is not a string"},
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

// explained is the input of the golden file: what a reader has to be able to see.
const explained = `{"name":"get_lamp","description":"Gets a lamp. Older lamps are deleted."}
{"name":"share_file"}
{"name":"xyzzy","description":"Lamp gadget"}
{"name":"list_lamps","description":"Lists lamps."}
{"name":"get_log","description":"Gets the log.","inputSchema":{"type":"object","properties":{"filename":{"type":"string","description":"Where to save it."}}}}
{"name":"tabs","description":"List, open or delete a tab.","inputSchema":{"type":"object","properties":{"action":{"enum":["list","open","delete"]}}}}
{"name":"query","description":"Query the database","inputSchema":{"type":"object","properties":{"sql":{"type":"string"}}}}`

func TestInferExplainsHintsAndConditions(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := program(t, explained, "infer", "--explain")
	if code != exitOK || stderr != "" {
		t.Fatalf("exit %d, stderr %q; want 0 and nothing", code, stderr)
	}
	const path = "testdata/explain.txt"
	if *update {
		if err := os.WriteFile(path, []byte(stdout), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), stdout); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// All forms in which a list of tools is saved give the same answers.
func TestInferTakesTheAnswerOfToolsList(t *testing.T) {
	t.Parallel()
	const a, b = `{"name":"acme_get_page"}`, `{"name":"acme_delete_page","inputSchema":{"type":"object"}}`
	indented := "{\n  \"name\": \"acme_get_page\"\n}\n{\n  \"name\":\n  \"acme_delete_page\"\n}"
	for name, in := range map[string]string{
		"lines":                      a + "\n" + b,
		"one line":                   a + b,
		"objects over lines":         indented,
		"an array":                   "[" + a + ",\n" + b + "]",
		"a list":                     `{"tools":[` + a + `,` + b + `]}`,
		"a list with its server":     `{"serverInfo":{"name":"acme","version":"1"},"protocolVersion":"2025-11-25","tools":[` + a + `,` + b + `]}`,
		"an answer":                  `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + a + `,` + b + `]}}`,
		"an answer over lines":       "{\n\"jsonrpc\": \"2.0\",\n\"id\": 1,\n\"result\": {\"tools\": [\n" + a + ",\n" + b + "\n]}\n}\n",
		"pages":                      `{"result":{"tools":[` + a + `],"nextCursor":"2"}}` + "\n" + `{"result":{"tools":[` + b + `]}}`,
		"pages without a line end":   `{"tools":[` + a + `],"nextCursor":"2"}{"tools":[` + b + `]}`,
		"a stream of events":         "event: message\nid: 1\ndata: " + `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + a + `,` + b + `]}}` + "\n\n",
		"with a byte order mark":     "\ufeff" + a + "\r\n" + b + "\r\n",
		"an empty page among others": a + "\n" + `{"tools":[]}` + "\n" + b,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := program(t, in, "infer")
			if code != exitOK || stderr != "" {
				t.Fatalf("exit %d, stderr %q", code, stderr)
			}
			var got []string
			for _, a := range answers(t, stdout) {
				got = append(got, fmt.Sprint(a["name"], " ", a["safety"]))
			}
			if diff := cmp.Diff([]string{"acme_get_page safe", "acme_delete_page dangerous"}, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// The tools of one list belong together over its pages; those of the next list are another server's.
func TestPagesOfAListBelongTogether(t *testing.T) {
	t.Parallel()
	const a, more = `{"tools":[{"name":"a"}]}`, `{"tools":[{"name":"a"}],"nextCursor":"2"}`
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"two lists":         {a + a, []string{"list 1", "list 2"}},
		"two pages":         {more + a + a, []string{"list 1", "list 1", "list 2"}},
		"answers":           {`{"result":` + more + `}` + "\n" + `{"result":` + a + `}`, []string{"list 1", "list 1"}},
		"single tools":      {`{"name":"a"}` + `{"name":"b"}`, []string{"", ""}},
		"with their server": {`{"serverInfo":{"name":"x"},` + a[1:], []string{"list 1 x"}},
	} {
		pages := newPageReader(strings.NewReader(c.in))
		var got []string
		for {
			p, err := pages.next()
			if err != nil {
				break
			}
			got = append(got, p.server)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// Broken values are not looked for to the end of the input again and again.
func TestInferReadsABrokenInputOnce(t *testing.T) {
	t.Parallel()
	const n = 20_000
	code, stdout, stderr := program(t, strings.Repeat("{\"name\":\n", n)+`{"name":"get_a"}`, "infer")
	if code != exitFindings || len(answers(t, stdout)) != 1 || strings.Count(stderr, "\n") != n+1 {
		t.Errorf("exit %d, %d answers, %d lines on stderr", code, len(answers(t, stdout)), strings.Count(stderr, "\n"))
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
