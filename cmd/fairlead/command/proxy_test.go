package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/command"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
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
		{"an unknown approver", []string{"--approve", "email"}, 2, `want one of elicit, web, terminal, deny, got "email"`},
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
		{"a broken lock", []string{"--lock", bad}, 2, "line 2"},
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

func TestReachIsChecked(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{
		"--reach=pigeon": "want desktop, browser or none, got pigeon", "--webhook=http://hooks.example": "has to begin with https://",
	} {
		var errs strings.Builder
		if code := command.Run(t.Context(), []string{"proxy", flag, "--", "true"}, strings.NewReader(""), io.Discard, &errs); code != 2 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: exit %d, %s", flag, code, &errs)
		}
	}
}

// Without a store the page has the approvals of the process, and the dialog offers nothing for
// always, since the process would take it along.
func TestNothingIsForAlwaysWithoutAStore(t *testing.T) {
	t.Parallel()
	exe, env := mcptest.Child(t, "lying")
	key, value, _ := strings.Cut(env, "=")
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"crm": map[string]any{"command": exe, "env": map[string]string{key: value}}}})
	if err != nil {
		t.Fatal(err)
	}
	in, toProxy := io.Pipe()
	fromProxy, out := io.Pipe()
	var errs strings.Builder
	ended := make(chan int, 1)
	go func() {
		ended <- command.Run(context.Background(), []string{
			"proxy", "--policy", file(t, "policy.json", `{"approvals": {"remember": "always"}}`), "--approve", "elicit", "--config", file(t, "mcp.json", string(config)),
		}, in, out, &errs)
		_ = out.Close()
	}()
	var asked []any
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			schema, _ := req.Params.RequestedSchema.(map[string]any)
			words, _ := schema["properties"].(map[string]any)["remember"].(map[string]any)["enum"].([]any)
			asked = append(asked, words...)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow", "remember": "arguments-session"}}, nil
		},
	})
	session := mcptest.Dial(t, client, &mcp.IOTransport{Reader: fromProxy, Writer: toProxy}, mcptest.Legacy)
	for range 2 {
		if res, err := session.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "delete_account", Arguments: map[string]any{"id": 7}}); err != nil || res.IsError {
			t.Errorf("got %+v, %v", res, err)
		}
	}
	_ = toProxy.Close()
	<-ended
	if got := fmt.Sprint(asked); got != "[once arguments-session tool-session]" || !strings.Contains(errs.String(), "without --store nothing is remembered for always") {
		t.Errorf("offered %s; the log has\n%s", got, &errs)
	}
}
