package policy_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A rule over arguments that is not understood allows nothing.
func TestFaultsOfRulesOverArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"an unknown member", "{\"a/b\": {\"when\": {\"m\": [\"x\"]},\n\"klass\": \"safe\"}}", `p.json:3: arguments.a/b.klass: the key is unknown`},
		{"a class in another case", `{"a/b": {"when": {"m": ["x"]}, "class": "Safe"}}`, `arguments.a/b.class: "Safe" is none of safe, moderate, dangerous`},
		{"a class that is a number", `{"a/b": {"when": {"m": ["x"]}, "class": 1}}`, "class: it has to be a text"},
		{"a tool twice", `{"a/b": {"when": {"m": ["x"]}, "class": "safe"}, "a/b": {}}`, "arguments.a/b: it is given twice"},
		{"a member twice by an escape", `{"a/b": {"class": "dangerous", "cl\u0061ss": "safe", "when": {"m": ["x"]}}}`, "class: it is given twice"},
		{"an argument twice", `{"a/b": {"class": "safe", "when": {"m": ["x"], "m": ["y"]}}}`, "when.m: it is given twice"},
		{"no class", `{"a/b": {"when": {"m": ["x"]}}}`, `it needs "when", with at least one argument, and "class"`},
		{"no condition", `{"a/b": {"class": "safe"}}`, `it needs "when", with at least one argument, and "class"`},
		{"an empty condition", `{"a/b": {"class": "safe", "when": {}}}`, `it needs "when", with at least one argument, and "class"`},
		{"a condition that is a list", `{"a/b": {"class": "safe", "when": []}}`, "when: it has to be an object"},
		{"a value that is no list", `{"a/b": {"class": "safe", "when": {"m": "x"}}}`, "when.m: it has to be a list"},
		{"no values", `{"a/b": {"class": "safe", "when": {"m": []}}}`, "when.m: it needs the name of an argument, and at least one value"},
		{"a number as a value", `{"a/b": {"class": "safe", "when": {"m": ["x", 1]}}}`, "when.m[1]: it has to be a text, true or false"},
		{"null as a value", `{"a/b": {"class": "safe", "when": {"m": [null]}}}`, "when.m[0]: it has to be a text, true or false"},
		{"a list as a value", `{"a/b": {"class": "safe", "when": {"m": [["x"]]}}}`, "when.m[0]: it has to be a text, true or false"},
		{"an argument without a name", `{"a/b": {"class": "safe", "when": {"": ["x"]}}}`, "it needs the name of an argument"},
		{"an empty list of rules", `{"a/b": []}`, "arguments.a/b: it needs a rule"},
		{"a rule that is a text", `{"a/b": "safe"}`, "arguments.a/b: it has to be an object"},
		{"a list in a list", `{"a/b": [[]]}`, "arguments.a/b[0]: it has to be an object"},
		{"a pattern", `{"a/*": {"class": "safe", "when": {"m": ["x"]}}}`, "arguments.a/*: it names no tool"},
		{"no server", `{"b": {"class": "safe", "when": {"m": ["x"]}}}`, "arguments.b: it names no tool"},
		{"a list", `[]`, "arguments: it has to be an object"},
	} {
		p, err := policy.Parse("p.json", []byte("{\n\"arguments\": "+c.text+"}"))
		if p != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, %v, want %q", c.name, p, err, c.want)
		}
	}
}

func TestRulesOverArguments(t *testing.T) {
	t.Parallel()
	p := parse(t, `{"arguments": {
		"github/issue_write": {"when": {"method": ["get", "list"]}, "class": "safe"},
		"files/act": [
			{"when": {"dry_run": [true]}, "class": "safe"},
			{"class": "moderate", "when": {"mode": ["add"], "deep": [false]}},
			{"when": {"mode": ["mirror"]}, "class": "dangerous"},
		]}}`)
	if len(p.Arguments) != 2 {
		t.Errorf("rules for %d tools, want 2", len(p.Arguments))
	}
	tool, err := middleware.NewTool("files", &mcp.Tool{Name: "act"}, annotation.Destructive())
	if err != nil {
		t.Fatal(err)
	}
	var got annotation.Safety
	caller := preflight.New(preflight.Options{Rules: p.Arguments})(middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		got = call.Tool.Safety()
		return &mcp.CallToolResult{}, nil
	}))
	for arguments, want := range map[string]annotation.Safety{
		`{"dry_run":true}`:                 annotation.Safe,
		`{"dry_run":false}`:                annotation.Dangerous,
		`{"mode":"add","deep":false}`:      annotation.Moderate,
		`{"mode":"add"}`:                   annotation.Dangerous,
		`{"mode":"mirror"}`:                annotation.Dangerous,
		`{"mode":"mirror","dry_run":true}`: annotation.Dangerous,
	} {
		if _, err := caller.CallTool(t.Context(), middleware.Call{Tool: tool, Arguments: json.RawMessage(arguments)}); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", arguments, got, err, want)
		}
	}
}
