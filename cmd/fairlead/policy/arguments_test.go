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
		{"a class in another case", `{"a/b": {"when": {"m": ["x"]}, "class": "Safe"}}`, `arguments.a/b.class: want one of safe, moderate, dangerous, got "Safe"`},
		{"a class that is a number", `{"a/b": {"when": {"m": ["x"]}, "class": 1}}`, "class: want a string"},
		{"a tool twice", `{"a/b": {"when": {"m": ["x"]}, "class": "safe"}, "a/b": {}}`, "arguments.a/b: it is given twice"},
		{"a member twice by an escape", `{"a/b": {"class": "dangerous", "cl\u0061ss": "safe", "when": {"m": ["x"]}}}`, "class: it is given twice"},
		{"an argument twice", `{"a/b": {"class": "safe", "when": {"m": ["x"], "m": ["y"]}}}`, "when.m: it is given twice"},
		{"no class", `{"a/b": {"when": {"m": ["x"]}}}`, `it needs "when", with at least one argument, and "class"`},
		{"no condition", `{"a/b": {"class": "safe"}}`, `it needs "when", with at least one argument, and "class"`},
		{"an empty condition", `{"a/b": {"class": "safe", "when": {}}}`, `it needs "when", with at least one argument, and "class"`},
		{"a condition that is a list", `{"a/b": {"class": "safe", "when": []}}`, "when: want an object"},
		{"a value without a list", `{"a/b": {"class": "safe", "when": {"m": "x"}}}`, "when.m: want a list"},
		{"no values", `{"a/b": {"class": "safe", "when": {"m": []}}}`, "when.m: it needs the name of an argument, and at least one value"},
		{"a number as a value", `{"a/b": {"class": "safe", "when": {"m": ["x", 1]}}}`, "when.m[1]: want a string, true or false"},
		{"null as a value", `{"a/b": {"class": "safe", "when": {"m": [null]}}}`, "when.m[0]: want a string, true or false"},
		{"a list as a value", `{"a/b": {"class": "safe", "when": {"m": [["x"]]}}}`, "when.m[0]: want a string, true or false"},
		{"an argument without a name", `{"a/b": {"class": "safe", "when": {"": ["x"]}}}`, "it needs the name of an argument"},
		{"an empty list of rules", `{"a/b": []}`, "arguments.a/b: it needs a rule"},
		{"a rule that is a text", `{"a/b": "safe"}`, "arguments.a/b: want an object"},
		{"a list in a list", `{"a/b": [[]]}`, "arguments.a/b[0]: want an object"},
		{"a pattern", `{"a/*": {"class": "safe", "when": {"m": ["x"]}}}`, "arguments.a/*: it names no tool"},
		{"no server", `{"b": {"class": "safe", "when": {"m": ["x"]}}}`, "arguments.b: it names no tool"},
		{"a list", `[]`, "arguments: want an object"},
		{"an argument without a probe", `{"a/b": {"argument": "q"}}`, `arguments.a/b: it needs "argument", and "probe" or "file"`},
		{"a probe without an argument", `{"a/b": {"probe": "sql"}}`, `arguments.a/b: it needs "argument", and "probe" or "file"`},
		{"an unknown probe", `{"a/b": {"argument": "q", "probe": "SQL"}}`, `arguments.a/b.probe: want one of cron, cypher`},
		{"a probe with a class", `{"a/b": {"argument": "q", "probe": "sql", "class": "safe"}}`, `it has both "when" with "class", and "argument" with "probe"`},
		{"a probe with a condition", `{"a/b": {"argument": "q", "probe": "sql", "when": {"m": ["x"]}}}`, `write two rules`},
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

// A probe that is switched on or off by the file judges the calls of the tools that the pattern names.
func TestProbesOfAPolicy(t *testing.T) {
	t.Parallel()
	p := parse(t, `{"arguments": {"db/odd": {"argument": "q", "probe": "sql"}},
		"probes": {"db/raw": {"query": "off"}, "db/*": {"query": "sql"}, "run_*": {"shell": "off"}}}`)
	text := func(argument, language string) annotation.Annotations {
		a := annotation.Destructive()
		a.Conditions = []annotation.Condition{{Argument: "/" + argument, Absent: annotation.Dangerous, Other: annotation.Dangerous, Language: language}}
		return a.Attribute(annotation.Inferred, "")
	}
	options := preflight.Options{Rules: p.Arguments, Language: p.LanguageOf}
	for _, c := range []struct {
		server, tool, argument, language, text string
		want                                   annotation.Safety
	}{
		{"db", "odd", "q", "", "SELECT 1", annotation.Safe},
		{"db", "odd", "q", "", "DROP TABLE t", annotation.Dangerous},
		{"db", "ask", "query", "query", "SELECT 1", annotation.Safe},
		{"db", "ask", "query", "query", "DROP TABLE t", annotation.Dangerous},
		{"db", "raw", "query", "query", "SELECT 1", annotation.Dangerous},
		{"other", "ask", "query", "query", "SELECT 1", annotation.Dangerous},
		{"box", "run_it", "command", "shell", "ls", annotation.Dangerous},
		{"box", "exec", "command", "shell", "ls", annotation.Safe},
	} {
		tool, err := middleware.NewTool(c.server, &mcp.Tool{Name: c.tool}, text(c.argument, c.language))
		if err != nil {
			t.Fatal(err)
		}
		var got annotation.Safety
		caller := preflight.New(options)(middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			got = call.Tool.Safety()
			return &mcp.CallToolResult{}, nil
		}))
		arguments, _ := json.Marshal(map[string]string{c.argument: c.text})
		if _, err := caller.CallTool(t.Context(), middleware.Call{Tool: tool, Arguments: arguments}); err != nil || got != c.want {
			t.Errorf("%s %s: %v, %v, want %v", tool, arguments, got, err, c.want)
		}
	}
	tool, _ := middleware.NewTool("db", &mcp.Tool{Name: "raw"}, annotation.Destructive())
	for _, want := range []string{`texts in query are judged as sql by "db/*"`, `texts in query are not judged, so that each asks by "db/raw"`} {
		if got := p.Explain(tool); !strings.Contains(got, want) {
			t.Errorf("explained as %s, want %s", got, want)
		}
	}
}

func TestFaultsOfProbes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"an unknown probe", "{\"db/*\":\n{\"query\": \"klingon\"}}", `p.json:3: probes.db/*.query: want one of cron, cypher`},
		{"a probe for any server", `{"*": {"query": "sql"}}`, `probes.*.query: a probe may let calls pass; name the server`},
		{"no language", `{"db/*": {"": "sql"}}`, "name a language"},
		{"a text", `{"db/*": "off"}`, "probes.db/*: want an object"},
		{"a bool", `{"db/*": {"sql": false}}`, "probes.db/*.sql: want a string"},
		{"no pattern", `{"db/[": {"sql": "off"}}`, `invalid pattern "db/["`},
		{"twice", `{"db/*": {"sql": "off", "sql": "sql"}}`, "it is given twice"},
	} {
		p, err := policy.Parse("p.json", []byte("{\n\"probes\": "+c.text+"}"))
		if p != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, %v, want %q", c.name, p, err, c.want)
		}
	}
}

// The schema for editors names the languages that there are.
func TestSchemaNamesTheProbes(t *testing.T) {
	t.Parallel()
	for _, language := range preflight.Languages() {
		if !strings.Contains(string(policy.Schema), `"`+language+`"`) {
			t.Errorf("policy.schema.json does not name %s", language)
		}
	}
}

// The folders of the file decide what a command line, a path and a rule by a path may do.
func TestPathsOfAPolicy(t *testing.T) {
	t.Parallel()
	p := parse(t, `{
		"arguments": {"fs/write_file": {"argument": "path", "file": "write"}},
		"paths": {"box/*": {"folder": "/srv"}, "box/run": {"folder": "/srv/app", "home": "/home/me", "read": ["~/notes"], "write": ["scratch"]},
			"fs/*": {"folder": "/srv/app", "read": ["."], "write": ["/tmp/out"]}}}`)
	shell := annotation.Destructive()
	shell.Conditions = []annotation.Condition{{Argument: "/command", Absent: annotation.Dangerous, Other: annotation.Dangerous, Language: "posix-shell"}}
	for _, c := range []struct {
		server, tool string
		known        annotation.Annotations
		arguments    string
		want         annotation.Safety
	}{
		{"box", "run", shell, `{"command":"cat ~/notes/x main.go"}`, annotation.Safe},
		{"box", "run", shell, `{"command":"cat /etc/passwd"}`, annotation.Dangerous},
		{"box", "run", shell, `{"command":"date > scratch/now"}`, annotation.Moderate},
		{"box", "other", shell, `{"command":"cat /etc/passwd"}`, annotation.Safe},
		{"box", "other", shell, `{"command":"cat .env"}`, annotation.Dangerous},
		{"else", "run", shell, `{"command":"cat /etc/passwd"}`, annotation.Safe},
		{"fs", "read_file", annotation.ReadOnly(), `{"path":"main.go"}`, annotation.Safe},
		{"fs", "read_file", annotation.ReadOnly(), `{"path":"/etc/passwd"}`, annotation.Dangerous},
		{"fs", "write_file", annotation.Destructive(), `{"path":"/tmp/out/x"}`, annotation.Moderate},
		{"fs", "write_file", annotation.Destructive(), `{"path":"/srv/app/x"}`, annotation.Dangerous},
	} {
		tool, err := middleware.NewTool(c.server, &mcp.Tool{Name: c.tool}, c.known.Attribute(annotation.Inferred, ""))
		if err != nil {
			t.Fatal(err)
		}
		var got annotation.Safety
		caller := preflight.New(preflight.Options{Rules: p.Arguments, Paths: p.PathsOf})(middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			got = call.Tool.Safety()
			return &mcp.CallToolResult{}, nil
		}))
		if _, err := caller.CallTool(t.Context(), middleware.Call{Tool: tool, Arguments: json.RawMessage(c.arguments)}); err != nil || got != c.want {
			t.Errorf("%s %s: %v, %v, want %v", tool, c.arguments, got, err, c.want)
		}
	}
	tool, _ := middleware.NewTool("box", &mcp.Tool{Name: "run"}, annotation.Destructive())
	if got, want := p.Explain(tool), `files are judged by the paths of "box/run"`; !strings.Contains(got, want) {
		t.Errorf("explained as %s, want %s", got, want)
	}
}

func TestFaultsOfPaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"no folder", `"paths": {"box/*": {}}`, `paths.box/*: the folder "" is not an absolute path`},
		{"a relative folder", `"paths": {"box/*": {"folder": "app"}}`, `the folder "app" is not an absolute path`},
		{"a root below no home", `"paths": {"box/*": {"folder": "/app", "read": ["~/x"]}}`, `the root "~/x" is neither`},
		{"any server", `"paths": {"*": {"folder": "/app"}}`, "paths may let calls pass; name the server"},
		{"an unknown key", `"paths": {"box/*": {"folder": "/app", "wirte": ["x"]}}`, `did you mean "write"?`},
		{"a rule without paths", `"arguments": {"fs/write_file": {"argument": "path", "file": "write"}}`, `no pattern of "paths" matches fs/write_file`},
		{"a rule of another kind", `"arguments": {"fs/write_file": {"argument": "path", "file": "delete"}}`, `want one of read, write, got "delete"`},
		{"a rule with both", `"arguments": {"fs/x": {"argument": "path", "file": "read", "probe": "sql"}}`, `it has both "probe" and "file"`},
	} {
		p, err := policy.Parse("p.json", []byte("{"+c.text+"}"))
		if p != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, %v, want %q", c.name, p, err, c.want)
		}
	}
}
