package command_test

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/command"
)

// told runs the program with nothing on its input.
func told(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = command.Run(t.Context(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Nothing starts where anything is wrong: the server's command here would leave a file.
func TestNothingStarts(t *testing.T) {
	t.Parallel()
	busy, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = busy.Close() })
	headless := file(t, "headless.jsonl", "{}\n")
	old := file(t, "mcp.json", `{"mcpServers": {"old": {"type": "sse", "url": "https://example.com/sse"}}}`)
	bad := file(t, "policy.json", "{\n\"approvel\": 1}")
	before := file(t, "before.json", "{\"rules\": [\n{\"tool\": \"server/delete*\", \"decide\": \"deny\"}]}")
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"no server", nil, 2, "no server is named"},
		{"no replicas", []string{"--replicas", "0"}, 2, "--replicas 0: at least this one is there"},
		{"a policy for the default name of before", []string{"--policy", before}, 2, `before.json:2: there is no server "server"; write "touch", or start with --name server`},
		{"a bad policy", []string{"--policy", bad}, 2, `policy.json:2: approvel: the key is unknown; did you mean "approvals"?`},
		{"no policy", []string{"--policy", bad + "x"}, 2, "the file cannot be read"},
		{"a policy with a bad scope", []string{"--scope", "*"}, 2, `for everything write "*.all"`},
		{"an unknown approver", []string{"--approve", "email"}, 2, `"email" is none of elicit, web, terminal, deny`},
		{"nobody and somebody", []string{"--approve", "deny,web"}, 2, "asks nobody"},
		{"a page on a port in use", []string{"--approve", "web", "--inbox", busy.Addr().String()}, 2, "choose another address"},
		{"a page for everybody", []string{"--approve", "web", "--inbox", "0.0.0.0:0"}, 2, "the page cannot be opened"},
		{"a page on a port in use, if no form can be shown", []string{"--inbox", busy.Addr().String()}, 2, "choose another address"},
		{"a page for everybody, if no form can be shown", []string{"--inbox", "0.0.0.0:9"}, 2, "the page cannot be opened"},
		{"a port in use", []string{"--listen", busy.Addr().String()}, 2, "choose another address"},
		{"a record without its head", []string{"--audit", headless}, 2, "start a new file"},
		{"observing without a record", []string{"--observe"}, 2, "--observe records what would have been done; name the file by --audit FILE"},
		{"observing what is refused", []string{"--observe", "--audit", headless, "--read-only"}, 2, "[observe read-only]"},
		{"no lock", []string{"--lock", bad + "x"}, 2, "fairlead lock accept"},
		{"a lock that is none", []string{"--lock", bad}, 2, "line 2"},
		{"a bad name", []string{"--name", "a/b"}, 2, "cannot be a server's name"},
		{"a server without a name", []string{"--server", "x"}, 2, "of which file?"},
		{"a server of an old transport", []string{"--config", old}, 2, "the proxy speaks streamable HTTP"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mark := filepath.Join(t.TempDir(), "mark")
			args := append([]string{"proxy"}, c.args...)
			if !strings.Contains(c.name, "server") {
				args = append(args, "--", "touch", mark)
			}
			code, _, stderr := told(t, args...)
			if code != c.code || !strings.Contains(stderr, c.says) {
				t.Errorf("got %d %s, want %d and %q", code, stderr, c.code, c.says)
			}
			if _, err := os.Stat(mark); err == nil {
				t.Error("the server was started")
			}
		})
	}
}

func TestServerThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	code, _, stderr := told(t, "proxy", "--", "/no/such/program")
	if code != 3 || !strings.Contains(stderr, `the server "program" cannot be reached`) {
		t.Errorf("got %d %s", code, stderr)
	}
}

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
