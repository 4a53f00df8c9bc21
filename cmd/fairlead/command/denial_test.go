package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/command"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A noise is a text that several goroutines write.
type noise struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *noise) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(b)
}

func (n *noise) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

// proxied runs the proxy with the arguments, and returns a client's session with it and what it logs.
func proxied(t *testing.T, args ...string) (*mcp.ClientSession, *noise) {
	t.Helper()
	in, toProxy := io.Pipe()
	fromProxy, out := io.Pipe()
	ended, log := make(chan int, 1), new(noise)
	go func() {
		ended <- command.Run(context.Background(), append([]string{"proxy", "--reach", "none"}, args...), in, out, log)
		_ = out.Close()
	}()
	t.Cleanup(func() {
		_ = toProxy.Close()
		<-ended
	})
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil)
	return mcptest.Dial(t, client, &mcp.IOTransport{Reader: fromProxy, Writer: toProxy}, mcptest.Legacy), log
}

// configured is a client's configuration with servers of these names, all of them the same program.
func configured(t *testing.T, child string, names ...string) string {
	t.Helper()
	exe, env := mcptest.Child(t, child)
	key, value, _ := strings.Cut(env, "=")
	servers := make(map[string]any)
	for _, name := range names {
		servers[name] = map[string]any{"command": exe, "env": map[string]string{key: value}}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	return file(t, "mcp.json", string(text))
}

// A rule that denies either has an effect, or the file is refused, or a warning names it.
func TestDenialHasAnEffectOrAWarning(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		"github/delete_account": "denied", "github__delete_account": "denied", "mcp__github__delete_account": "denied", "mcp__github__*": "denied",
		"github:delete_account": "denied", "github.delete_account": "denied", "GitHub/delete_account": "denied", "mcp__guard__github__delete_account": "denied",
		"delete_account ": "no name begins or ends with a blank", "git hub/delete_account": "no server can be called",
		"github":               `rules[0].tool: \"github\" names no tool that is listed, so this has no effect; for all tools of that server, write \"github/*\"`,
		"github/delete_acount": `did you mean \"github/delete_account\"?`, "gtihub/*": `did you mean \"github\"?`,
	} {
		t.Run(written, func(t *testing.T) {
			t.Parallel()
			text, err := json.Marshal(map[string]any{"rules": []any{map[string]any{"tool": written, "decide": "deny"}}})
			if err != nil {
				t.Fatal(err)
			}
			policy := file(t, "p.json", string(text))
			code, _, stderr := told(t, "policy", "check", policy)
			if code != 0 {
				if !strings.Contains(stderr, want) || !strings.Contains(stderr, "p.json:1: rules[0].tool") {
					t.Errorf("got %s, want %s", stderr, want)
				}
				return
			}
			session, log := proxied(t, "--approve", "deny", "--policy", policy, "--config", configured(t, "lying", "github", "files"))
			list, err := session.ListTools(mcptest.Context(t), nil)
			if err != nil {
				t.Fatal(err)
			}
			has := func(name string) bool {
				return slices.ContainsFunc(list.Tools, func(t *mcp.Tool) bool { return t.Name == name })
			}
			switch {
			case want == "denied" && (has("github__delete_account") || strings.Contains(log.String(), "has no effect")):
				t.Errorf("it is listed: %t, and the log has %s", has("github__delete_account"), log)
			case want != "denied" && strings.Count(log.String(), want) != 1:
				t.Errorf("the log has %s, want %s", log, want)
			case !has("files__delete_account"):
				t.Error("the tool of another server is denied")
			}
		})
	}
}

// A server that cannot be started takes none of the others with it, and the log names what is wrong.
func TestOtherServersWorkWithoutOne(t *testing.T) {
	t.Parallel()
	exe, env := mcptest.Child(t, "lying")
	key, value, _ := strings.Cut(env, "=")
	ok := map[string]any{"command": exe, "env": map[string]string{key: value}}
	for name, c := range map[string]struct {
		bad  map[string]any
		want string
	}{
		"no program":                 {map[string]any{"command": "no-such-program"}, `no-such-program`},
		"a path without a file":      {map[string]any{"command": "/no/such/program"}, `/no/such/program`},
		"no folder":                  {map[string]any{"command": exe, "cwd": "/no/such/folder"}, `/no/such/folder`},
		"a folder that is a file":    {map[string]any{"command": exe, "cwd": exe}, `is a file`},
		"not to be executed":         {map[string]any{"command": file(t, "text.txt", "x")}, `text.txt`},
		"ends at once":               {map[string]any{"command": "false"}, `bad`},
		"no address":                 {map[string]any{"url": "http://127.0.0.1:9/mcp"}, `bad`},
		"a variable that is not set": {map[string]any{"command": exe, "env": map[string]string{"A": "${FAIRLEAD_NOT_SET}"}}, `FAIRLEAD_NOT_SET`},
		"neither command nor URL":    {map[string]any{"args": []string{"x"}}, `neither \"command\" nor \"url\"`},
		"an old transport":           {map[string]any{"type": "sse", "url": "http://127.0.0.1:9/sse"}, `streamable HTTP`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"ok": ok, "bad": c.bad}})
			if err != nil {
				t.Fatal(err)
			}
			session, log := proxied(t, "--config", file(t, "mcp.json", string(text)))
			list, err := session.ListTools(mcptest.Context(t), nil)
			if err != nil {
				t.Fatalf("%v\n%s", err, log)
			}
			if !slices.ContainsFunc(list.Tools, func(t *mcp.Tool) bool { return t.Name == "ok__delete_account" }) {
				t.Errorf("listed are %v", list.Tools)
			}
			if got := log.String(); !strings.Contains(got, c.want) || !strings.Contains(got, "bad") {
				t.Errorf("the log has %s, want %s", got, c.want)
			}
		})
	}
}

// A tool that is switched off in its client's file is neither listed nor called.
func TestToolThatItsClientSwitchedOff(t *testing.T) {
	t.Parallel()
	exe, env := mcptest.Child(t, "lying")
	key, value, _ := strings.Cut(env, "=")
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"crm": map[string]any{
		"command": exe, "env": map[string]string{key: value}, "excludeTools": []string{"delete_account"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	session, _ := proxied(t, "--policy", file(t, "p.json", `{"rules": [{"tool": "crm/delete_account", "decide": "allow"}]}`), "--config", file(t, "settings.json", string(text)))
	list, err := session.ListTools(mcptest.Context(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(list.Tools, func(t *mcp.Tool) bool { return t.Name == "delete_account" }) || len(list.Tools) == 0 {
		t.Errorf("listed are %v", list.Tools)
	}
	res, err := session.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "delete_account", Arguments: map[string]any{"id": 7}})
	if err == nil && !res.IsError {
		t.Errorf("it was called: %v", res)
	}
}
