package proxy_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/programtest"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A call whose answer is lost on a real socket is executed once, or twice with a person who
// saw that it may have happened. A policy that allows it does not answer for them.
func TestLostAnswerIsNotRepeatedUnseen(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"create_order", "send_payment"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachVersion(t, func(t *testing.T, version string) {
				var executed atomic.Int64
				var lose atomic.Bool // the next answer
				server := mcptest.New()
				mcptest.Add(server, mcptest.Tool(name, ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
					executed.Add(1)
					return mcptest.Text("done"), nil
				})
				handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
					&mcp.StreamableHTTPOptions{Stateless: version >= mcptest.Modern})
				h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPost && lose.Swap(false) {
						executed.Add(1)
						conn, _, err := w.(http.Hijacker).Hijack()
						if err != nil {
							panic(err)
						}
						_ = conn.Close()
						return
					}
					handler.ServeHTTP(w, r)
				}))
				t.Cleanup(h.Close)
				var last atomic.Value
				person := hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
					last.Store(r.Caution())
					return hitl.Decision{Verdict: hitl.Approved}, nil
				})
				f := connect(t, version, proxy.Options{
					Servers: []proxy.Server{{Name: "shop", URL: h.URL}}, Confirm: person,
					Policy: decided(t, `{"rules": [{"tool": "shop/`+name+`", "decide": "allow", "class": "dangerous"}]}`),
				}, nil)
				if _, err := f.ListTools(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
				lose.Store(true)
				for i, want := range []string{name + " may or may not have happened", name + " was not called: an earlier call with the same effect", "done"} {
					res := f.call(t, name, map[string]any{"amount": 5})
					if got := text(t, res); !strings.HasPrefix(got, want) {
						t.Errorf("call %d: got %q, want %q", i, got, want)
					}
				}
				if said, _ := last.Load().(string); executed.Load() != 2 || !strings.HasPrefix(said, "the same call, ") {
					t.Errorf("executed %d times, and the person saw %q", executed.Load(), said)
				}
			})
		})
	}
}

// The proxy is killed between the intent and the end of a call that its policy allows: the
// proxy that comes after it holds the same call, which is not approved.
func TestKilledCallIsInDoubtAfterTheRestart(t *testing.T) {
	t.Parallel()
	program, dir := programtest.Path(t), t.TempDir()
	ledger, rules := dir+"/ledger", dir+"/policy.json"
	if err := os.WriteFile(rules, []byte(`{"rules": [{"tool": "server/delete_slowly", "decide": "allow", "class": "dangerous"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, key := mcptest.Child(t, "things")
	begin := func() (*exec.Cmd, *talk) {
		cmd := exec.CommandContext(t.Context(), program, "proxy", "--name", "server", "--policy", rules, "--approve", "deny", "--audit", dir+"/calls.jsonl", "--", exe)
		cmd.Env = append(os.Environ(), key, ledgerKey+"="+ledger)
		k := start(t, cmd)
		k.greet()
		return cmd, k
	}
	first, k := begin()
	k.call("delete_slowly", map[string]any{"id": 7})
	until(t, "the server to begin", func() bool { return len(ledgerOf(t, ledger)) > 0 })
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = k.in.Close(), first.Wait()
	for range 2 { // the doubt outlives a start in which nothing settles it
		cmd, k := begin()
		for _, want := range []string{"delete_slowly was not called: an earlier call with the same effect", "it was not approved"} {
			if got := k.listen(step{name: "the call"}, k.call("delete_slowly", map[string]any{"id": 7})); !strings.Contains(got, want) {
				t.Errorf("got %s, want %q", got, want)
			}
		}
		_, _ = k.in.Close(), cmd.Wait()
	}
	acted := 0
	for _, line := range ledgerOf(t, ledger) {
		if strings.HasPrefix(line, "delete ") {
			acted++
		}
	}
	if acted != 1 {
		t.Errorf("the server acted %d times", acted)
	}
}
