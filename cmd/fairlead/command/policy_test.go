package command_test

import (
	"strings"
	"testing"
)

func TestPolicyCheck(t *testing.T) {
	t.Parallel()
	good := file(t, "p.json", "{\"rules\": [\n{\"tool\": \"a/*\", \"decide\": \"deny\"},\n{\"tool\": \"a/b\", \"decide\": \"allow\"}]}")
	if code, stdout, stderr := told(t, "policy", "check", good); code != 0 || !strings.Contains(stdout, "is in order: 2 rules") || !strings.Contains(stderr, "p.json:3: unreachable rule") {
		t.Errorf("got %d %s %s", code, stdout, stderr)
	}
	if code, _, stderr := told(t, "policy", "check", file(t, "p.json", "")); code != 1 || !strings.Contains(stderr, "it says nothing") {
		t.Errorf("got %d %s", code, stderr)
	}
	if code, _, _ := told(t, "policy", "check"); code != 2 {
		t.Errorf("got %d", code)
	}
	if code, stdout, _ := told(t, "policy", "schema"); code != 0 || !strings.Contains(stdout, `"additionalProperties": false`) {
		t.Errorf("got %d %s", code, stdout)
	}
}

func TestPolicyExplain(t *testing.T) {
	t.Parallel()
	p := file(t, "p.json", `{"rules": [
{"tool": "files/delete_*", "decide": "deny", "reason": "ask an owner"},
{"tool": "files/*", "decide": "allow"},
{"tool": "files/move_file", "decide": "allow"},
{"tool": "list_*", "decide": "ask"}]}`)
	for tool, want := range map[string][]string{
		"files/delete_file": {"files/delete_file: dangerous", `p.json:2: deny "files/delete_*" decides (ask an owner)`, `p.json:3: allow "files/*" does not speak of dangerous tools`, "will: refuse"},
		"files/list_files":  {`p.json:3: allow "files/*" gives way to line 5`, "so: a person is asked"},
		"files/frob":        {`p.json:3: allow "files/*" decides`, "so: called, and nobody is asked", "will: run, by the policy"},
		"other/delete_x":    {"so: no rule decides, and its class does: dangerous", "will: ask first"},
	} {
		code, stdout, stderr := told(t, "policy", "explain", p, "--tool", tool)
		for _, want := range want {
			if code != 0 || !strings.Contains(stdout, want) {
				t.Errorf("%s: got %d %s%s, want %q", tool, code, stdout, stderr, want)
			}
		}
	}
	probed := file(t, "probed.json", `{"arguments": {"db/run": {"argument": "q", "probe": "sql"}}}`)
	for arguments, want := range map[string][]string{
		`{"q":"SELECT 1"}`:     {"db/run: safe", "q: one SELECT", "so: no rule decides, and its class does: safe", "will: run"},
		`{"q":"DROP TABLE t"}`: {"db/run: dangerous", `"q: \"DROP\" does not begin a SELECT" among the arguments`, "will: ask first"},
	} {
		code, stdout, stderr := told(t, "policy", "explain", probed, "--tool", "db/run", "--arguments", arguments)
		for _, want := range want {
			if code != 0 || !strings.Contains(stdout, want) {
				t.Errorf("%s: got %d %s%s, want %q", arguments, code, stdout, stderr, want)
			}
		}
	}
	if code, _, stderr := told(t, "policy", "explain", probed, "--tool", "db/run", "--arguments", "{"); code == 0 || !strings.Contains(stderr, "arguments") {
		t.Errorf("got %d %s", code, stderr)
	}
	if code, _, stderr := told(t, "policy", "explain", p, "--tool", "files/*"); code != 2 || !strings.Contains(stderr, "is not SERVER/TOOL") {
		t.Errorf("got %d %s", code, stderr)
	}
	for _, words := range [][]string{{"touch", "x"}, {"http://h", "http://i"}, {"http://h", "--", "touch", "x"}} {
		if code, _, stderr := told(t, append([]string{"policy", "explain", p, "--tool", "x/y"}, words...)...); code != 2 {
			t.Errorf("%q: got %d %s, want no program that nobody put behind two hyphens, and one server", words, code, stderr)
		}
	}
	if code, _, _ := told(t, "policy", "explain", p, "--tool", "x/y", "--", "/no/such/program"); code != 3 {
		t.Errorf("got %d", code)
	}
}
