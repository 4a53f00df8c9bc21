package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Several servers, out of a client's file and beside it; one that does not answer
// harms none.
func TestSeveralServers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mcp.json")
	text := `{"mcpServers": {"first": {"url": "` + lying(t) + `"}, "second": {"url": "` + lying(t) + `"}, "gone": {"command": "no-such-command-anywhere"}}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := inspectJSON(t, exitUnreachable, "--config", path, named(lying(t)))
	count := map[string]int{}
	for _, tool := range r.Tools {
		count[tool.Server]++
	}
	if diff := cmp.Diff(map[string]int{"first": 3, "second": 3, "server": 3}, count); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if !slices.ContainsFunc(r.Findings, func(f finding) bool {
		return f.Rule == "unreachable" && f.Server == "gone"
	}) {
		t.Errorf("the server that does not answer is not a finding: %+v", r.Findings)
	}
	r = inspectJSON(t, exitFindings, "--config", path, "--server", "second")
	if len(r.Servers) != 1 || r.Servers[0].ID != "second" || len(r.Tools) != 3 {
		t.Errorf("got %+v, want the second alone", r.Servers)
	}
	other := filepath.Join(t.TempDir(), "other.json")
	if err := os.WriteFile(other, []byte(`{"mcpServers": {"third": {"url": "`+lying(t)+`"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	r = inspectJSON(t, exitFindings, "--config", path, "--config", other, "--server", "third", "--server", "second", "--server", "third")
	if len(r.Servers) != 2 || r.Servers[0].ID != "third" || r.Servers[1].ID != "second" {
		t.Errorf("got %+v, want the one of each file", r.Servers)
	}
	for _, args := range [][]string{{"--name", "mine", lying(t)}, {"--server", "mine=" + lying(t)}} {
		r = inspectJSON(t, exitFindings, args...)
		if len(r.Servers) != 1 || r.Servers[0].ID != "mine" {
			t.Errorf("%q: got %+v, want the name that was given", args, r.Servers)
		}
	}
	r = inspectJSON(t, exitFindings, "--config", path, "--server", "second", "--server", "third="+lying(t), "--server", "fourth="+lying(t))
	if len(r.Tools) != 9 {
		t.Errorf("got %+v, want three servers", r.Servers)
	}
}

func TestUnreachableServerIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no such command":     {[]string{"--", "no-such-command-anywhere"}, "no-such-command-anywhere"},
		"a command that ends": {[]string{"--", "sh", "-c", "echo out of luck >&2; exit 3"}, "out of luck"},
		"rubbish on stdout":   {[]string{"--", "sh", "-c", "echo hello"}, `"sh -c echo hello"`},
		"refused":             {[]string{"http://127.0.0.1:1/mcp"}, "http://127.0.0.1:1/mcp"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := program(t, "", append([]string{"inspect"}, c.args...)...)
			if code != exitUnreachable || stdout != "" || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit %d, stdout %q, stderr %q; want %d and one line that names %q", code, stdout, stderr, exitUnreachable, c.want)
			}
		})
	}
}

// What a client's file says of a server's process holds here too.
func TestServerRunsAsItsClientRunsIt(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "mcp.json")
	text, err := json.Marshal(map[string]any{"servers": map[string]any{"a": map[string]any{
		"command": "sh", "args": []string{"-c", `[ "$(pwd)" = "$WANT" ] && exec "$EXE"`}, "cwd": dir,
		"env": map[string]string{"WANT": dir, "EXE": exe, "FAIRLEAD_TEST_CHILD": "honest"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := inspectJSON(t, exitOK, "--config", path); len(r.Tools) != 1 || r.Tools[0].Tool != "get_account" {
		t.Errorf("got %+v", r)
	}
}

func TestServerThatSendsNothingIsGivenUp(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := program(t, "", "inspect", "--timeout", "50ms", "--", "sleep", "60")
	if code != exitUnreachable || stdout != "" || !strings.Contains(stderr, "no answer within 50ms (--timeout)") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// A server's error is text, on the terminal too.
func TestHostileErrorIsText(t *testing.T) {
	t.Parallel()
	const script = `i=0; while read line; do i=$((i+1)); printf '{"jsonrpc":"2.0","id":%d,"error":{"code":-32000,"message":"\\u001b[31mred\\u202e"}}\n' $i; done`
	code, stdout, stderr := program(t, "", "inspect", "--", "sh", "-c", script)
	if code != exitUnreachable || stdout != "" || !strings.Contains(stderr, `\x1b[31mred\u202e`) || strings.ContainsAny(stderr, "\x1b\u202e") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}
