package preflight_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
)

const ruleFile = `{
  "github/issue_write": {"when": {"method": ["get", "list"]}, "class": "safe"},
  "files/act": [
    {"when": {"dry_run": [true]}, "class": "safe"},
    {"class": "moderate", "when": {"mode": ["add"], "deep": [false]}},
    {"when": {"mode": ["mirror"]}, "class": "dangerous"}
  ]
}
`

func TestRulesFromAFile(t *testing.T) {
	t.Parallel()
	rules, err := preflight.ParseRules([]byte(ruleFile))
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(rules)); !slices.Equal(got, []string{"files/act", "github/issue_write"}) {
		t.Errorf("rules for %v", got)
	}
	j := preflight.New(preflight.Options{Rules: rules})
	for arguments, want := range map[string]annotation.Safety{
		`{"dry_run":true}`:                 safe,
		`{"dry_run":false}`:                dangerous,
		`{"mode":"add","deep":false}`:      moderate,
		`{"mode":"add"}`:                   dangerous,
		`{"mode":"mirror"}`:                dangerous,
		`{"mode":"mirror","dry_run":true}`: dangerous,
	} {
		call := middleware.Call{Tool: act(t, annotation.Destructive(), true), Arguments: json.RawMessage(arguments)}
		judged(t.Context(), j, call).check(t, arguments, want)
	}
	if rules, err := preflight.ParseRules([]byte(` {} `)); err != nil || len(rules) != 0 {
		t.Errorf("no rules: %v %v", rules, err)
	}
}

// A file with anything wrong is refused whole, with the line and the member.
func TestAFileWithAFaultIsRefusedWhole(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, file, line, member, text string }{
		{"an unknown member", "{\n\"a/b\": {\"when\": {\"m\": [\"x\"]},\n\"klass\": \"safe\"}}", "line 3", `"klass"`, "no member of a rule"},
		{"a class that is none", "{\"a/b\": {\"when\": {\"m\": [\"x\"]},\n\"class\": \"harmless\"}}", "line 2", `"class"`, "dangerous, moderate, safe"},
		{"a class in another case", `{"a/b": {"when": {"m": ["x"]}, "class": "Safe"}}`, "line 1", `"class"`, "dangerous, moderate, safe"},
		{"a class that is a number", `{"a/b": {"when": {"m": ["x"]}, "class": 1}}`, "line 1", `"class"`, "dangerous, moderate, safe"},
		{"a class that is an object", `{"a/b": {"when": {"m": ["x"]}, "class": {}}}`, "line 1", `"class"`, "dangerous, moderate, safe"},
		{"a tool twice", "{\"a/b\": {\"when\": {\"m\": [\"x\"]}, \"class\": \"safe\"},\n\n\"a/b\": {}}", "line 3", `"a/b"`, "twice"},
		{"a member twice", `{"a/b": {"class": "safe", "class": "dangerous", "when": {"m": ["x"]}}}`, "line 1", `"class"`, "twice"},
		{"an argument twice", `{"a/b": {"class": "safe", "when": {"m": ["x"], "m": ["y"]}}}`, "line 1", `"m"`, "twice"},
		{"a member twice by an escape", `{"a/b": {"class": "dangerous", "cl\u0061ss": "safe", "when": {"m": ["x"]}}}`, "line 1", `"class"`, "twice"},
		{"no class", "{\"a/b\":\n{\"when\": {\"m\": [\"x\"]}}}", "line 2", `"a/b"`, "class is missing"},
		{"no condition", `{"a/b": {"class": "safe"}}`, "line 1", `"a/b"`, "when must name"},
		{"an empty condition", `{"a/b": {"class": "safe", "when": {}}}`, "line 1", `"a/b"`, "when must name"},
		{"a condition that is a list", `{"a/b": {"class": "safe", "when": []}}`, "line 1", `"when"`, "must be an object"},
		{"a value that is no list", `{"a/b": {"class": "safe", "when": {"m": "x"}}}`, "line 1", `"m"`, "list of values"},
		{"no values", `{"a/b": {"class": "safe", "when": {"m": []}}}`, "line 1", `"m"`, "no values"},
		{"a number as a value", `{"a/b": {"class": "safe", "when": {"m": [1]}}}`, "line 1", `"m"`, "neither a text nor a bool"},
		{"null as a value", `{"a/b": {"class": "safe", "when": {"m": [null]}}}`, "line 1", `"m"`, "neither a text nor a bool"},
		{"a list as a value", `{"a/b": {"class": "safe", "when": {"m": [["x"]]}}}`, "line 1", `"m"`, "neither a text nor a bool"},
		{"an argument without a name", `{"a/b": {"class": "safe", "when": {"": ["x"]}}}`, "line 1", `""`, "name of an argument"},
		{"an empty list of rules", `{"a/b": []}`, "line 1", `"a/b"`, "no rule"},
		{"a rule that is a text", `{"a/b": "safe"}`, "line 1", `"a/b"`, "must be an object"},
		{"a rule that is null", `{"a/b": null}`, "line 1", `"a/b"`, "must be an object"},
		{"a list in a list", `{"a/b": [[]]}`, "line 1", `"a/b"`, "must be an object"},
		{"a pattern", `{"a/*": {"class": "safe", "when": {"m": ["x"]}}}`, "line 1", `"a/*"`, "no such tool"},
		{"no server", `{"b": {"class": "safe", "when": {"m": ["x"]}}}`, "line 1", `"b"`, "server/tool"},
		{"a list", `[]`, "line 1", "", "must be an object"},
		{"null", `null`, "line 1", "", "must be an object"},
		{"more after it", "{}\n{}", "line 2", "", "more after"},
		{"empty", "", "line 1", "", "not valid JSON"},
		{"cut off", `{"a/b": {"class"`, "line 1", "", "not valid JSON"},
		{"a comma too many", `{"a/b": {"class": "safe", "when": {"m": ["x"]},}}`, "line 1", "", "not valid JSON"},
		{"a comment", "{ // why\n}", "line 1", "", "not valid JSON"},
		{"no UTF-8", "{\"a/\xff\": {}}", "", "", "UTF-8"},
	} {
		rules, err := preflight.ParseRules([]byte(tt.file))
		if err == nil || rules != nil {
			t.Errorf("%s: %v %v", tt.name, rules, err)
			continue
		}
		if text := err.Error(); !strings.HasPrefix(text, "preflight: ") || !strings.Contains(text, tt.line) ||
			!strings.Contains(text, tt.member) || !strings.Contains(text, tt.text) {
			t.Errorf("%s: %q, want %s, %s and %q", tt.name, text, tt.line, tt.member, tt.text)
		}
	}
}

func FuzzParseRules(f *testing.F) {
	f.Add([]byte(ruleFile), `{"mode":"add","deep":false}`)
	f.Add([]byte(`{"files/act":{"when":{"m":["x",true]},"class":"safe"}}`), `{"m":"x"}`)
	f.Add([]byte(`{"files/act":[{"when":{"m":[]},"class":"safe"}]}`), `{}`)
	f.Add([]byte("{\"a/b\":\n{\"class\":\"safe\",\"class\":\"safe\"}}"), ``)
	f.Fuzz(func(t *testing.T, file []byte, arguments string) {
		rules, err := preflight.ParseRules(file)
		if err != nil {
			if rules != nil || !strings.HasPrefix(err.Error(), "preflight: ") {
				t.Errorf("%v %v", rules, err)
			}
			return
		}
		if !json.Valid(file) {
			t.Errorf("%q is no JSON and was read", file)
		}
		j := preflight.New(preflight.Options{Rules: rules}) // what is read is a rule, or New panics
		call := middleware.Call{Tool: act(t, annotation.Destructive(), true), Arguments: json.RawMessage(arguments)}
		if tool, err := classify(t.Context(), j, call); err == nil && tool.Safety() == safe && !strings.Contains(string(file), "safe") && !strings.Contains(string(file), `\u`) {
			t.Errorf("%q made %s safe", file, arguments)
		}
	})
}
