package proxy_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// After SIGTERM a call that the server has is answered, one that waits for a person was
// not made, and no other is taken.
func TestTerminatedProxyAnswersWhatTheServerHas(t *testing.T) {
	t.Parallel()
	program := build(t)
	for _, c := range []struct {
		name, drain string
		goesOn      bool
		want        string
	}{
		{"in time", "1m", true, "it is gone"},
		{"too late", "1ms", false, "may or may not have happened"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ledger, rules := t.TempDir()+"/ledger", t.TempDir()+"/policy.json"
			if err := os.WriteFile(rules, []byte(`{"rules": [{"tool": "server/delete_slowly", "decide": "allow"}]}`), 0o600); err != nil {
				t.Fatal(err)
			}
			exe, key := mcptest.Child(t, "things")
			cmd := exec.CommandContext(t.Context(), program, "proxy", "--name", "server", "--policy", rules, "--approve", "web", "--reach", "none", "--drain", c.drain, "--", exe)
			cmd.Env = append(os.Environ(), key, ledgerKey+"="+ledger)
			k := start(t, cmd)
			k.greet()
			call := func(tool string) int { return k.call(tool, map[string]any{"id": tool}) }
			slow := call("delete_slowly")
			until(t, "the server to begin", func() bool { return len(ledgerOf(t, ledger)) > 0 })
			asked := call("delete_thing")
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if c.goesOn {
				if got := k.answer(asked); !strings.Contains(got, "not") || strings.Contains(got, "may have") {
					t.Errorf("the call that waited for a person: %s", got)
				}
				if got := k.answer(call("list_things")); !strings.Contains(got, "it is stopping") {
					t.Errorf("a new call: %s", got)
				}
				if err := os.WriteFile(ledger+goOn, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := k.answer(slow); !strings.Contains(got, c.want) {
				t.Errorf("the call that the server had: %s, want %q", got, c.want)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("the program ended with %v", err)
			}
			for _, line := range ledgerOf(t, ledger) {
				if strings.Contains(line, `"delete_thing"`) || strings.Contains(line, `"list_things"`) {
					t.Errorf("the server did %s", line)
				}
			}
		})
	}
}

func TestStoppedProxyAnswersOverHTTP(t *testing.T) {
	t.Parallel()
	for _, version := range mcptest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			ledger := t.TempDir() + "/ledger"
			p, err := proxy.New(proxy.Options{
				Servers: []proxy.Server{child(t, "things", ledgerKey+"="+ledger)}, Drain: time.Minute, Stderr: newLines(t),
				Policy: decided(t, `{"rules": [{"tool": "things/delete_slowly", "decide": "allow"}]}`),
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			url, ended := make(chan string, 1), make(chan error, 1)
			go func() { ended <- p.ListenAndServe(ctx, "127.0.0.1:0", func(u string) { url <- u }) }()
			cs := mcptest.Dial(t, nil, &mcp.StreamableClientTransport{Endpoint: mcptest.Wait(t, "the proxy to listen", url)}, version)
			answer := make(chan string, 1)
			go func() {
				res, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "delete_slowly"})
				if err != nil {
					answer <- err.Error()
					return
				}
				answer <- res.Content[0].(*mcp.TextContent).Text
			}()
			until(t, "the server to begin", func() bool { return len(ledgerOf(t, ledger)) > 0 })
			stop()
			if err := os.WriteFile(ledger+goOn, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := mcptest.Wait(t, "the answer", answer); got != "it is gone" {
				t.Errorf("got %q", got)
			}
			if err := mcptest.Wait(t, "the proxy to end", ended); err != nil {
				t.Error(err)
			}
		})
	}
}
