package proxy_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/programtest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
)

// Clients of other authors drive the built program, over both transports.

// started runs the program with --listen before the server of things, and returns its
// URL; without listen it returns the command line.
func started(t *testing.T, program string, listen bool, ledger string, flags ...string) []string {
	t.Helper()
	exe, key := mcptest.Child(t, "things")
	server := []string{"--", "env", key, ledgerKey + "=" + ledger, exe}
	if !listen {
		return slices.Concat([]string{program, "proxy"}, flags, server)
	}
	cmd := exec.CommandContext(t.Context(), program, slices.Concat([]string{"proxy", "--listen", "127.0.0.1:0"}, flags, server)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), "serving MCP at "); ok {
			go func() {
				for lines.Scan() { // so that it never waits for us
				}
			}()
			return []string{url}
		}
	}
	t.Fatal("the program says no address")
	return nil
}

func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	npx(t)
	program, dir := programtest.Path(t), t.TempDir()
	script, err := os.ReadFile(filepath.Join("testdata", "client.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/client.mjs", script, 0o600); err != nil {
		t.Fatal(err)
	}
	install := exec.CommandContext(t.Context(), "npm", "install", "--no-audit", "--no-fund", "--prefix", dir, "@modelcontextprotocol/sdk@1.32.2")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	hurry := dir + "/policy.json"
	if err := os.WriteFile(hurry, []byte(`{"approvals": {"timeout": "1s"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		answer, says string
		deletes      bool
	}{
		{"allow", "it is gone", true},
		{"deny", "The user said no", false},
		{"silence", "it was not approved", false},
	} {
		for _, listen := range []bool{false, true} {
			t.Run(c.answer+map[bool]string{false: " over stdio", true: " over HTTP"}[listen], func(t *testing.T) {
				t.Parallel()
				ledger := t.TempDir() + "/ledger"
				flags := []string{"--approve", "elicit"}
				if c.answer == "silence" {
					flags = append(flags, "--policy", hurry)
				}
				cmd := exec.CommandContext(t.Context(), "node", append([]string{"client.mjs", c.answer}, started(t, program, listen, ledger, flags...)...)...)
				cmd.Dir = dir
				out, err := cmd.Output()
				var got struct {
					Tools         []string
					Read, Deleted string
					IsError       bool
					Asked         int
				}
				if err != nil || json.Unmarshal(out, &got) != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				if !slices.Equal(got.Tools, thingNames) || got.Read != "a, b" || got.Asked != 1 || got.IsError == c.deletes || !strings.Contains(got.Deleted, c.says) {
					t.Errorf("got %+v", got)
				}
				if did := ledgerOf(t, ledger); slices.Contains(did, `delete {"id":"a"}`) != c.deletes {
					t.Errorf("the server did %v", did)
				}
			})
		}
	}
}

func TestInspector(t *testing.T) {
	t.Parallel()
	npx(t)
	program := programtest.Path(t)
	yes := t.TempDir() + "/policy.json"
	if err := os.WriteFile(yes, []byte(`{"rules": [{"tool": "server/delete_thing", "decide": "allow", "class": "dangerous"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, listen := range []bool{false, true} {
		t.Run(map[bool]string{false: "over stdio", true: "over HTTP"}[listen], func(t *testing.T) {
			for _, c := range []struct {
				name      string
				flags     []string
				arguments []string
				says      string
			}{
				{"a listing", nil, []string{"--method", "tools/list"}, `"name": "delete_thing"`},
				{"a safe call", nil, []string{"--method", "tools/call", "--tool-name", "list_things"}, "a, b"},
				{"a dangerous call that is denied", []string{"--approve", "deny"}, []string{"--method", "tools/call", "--tool-name", "delete_thing"}, "it was not approved"},
				{"one that is approved", []string{"--policy", yes}, []string{"--method", "tools/call", "--tool-name", "delete_thing"}, "it is gone"},
			} {
				t.Run(c.name, func(t *testing.T) {
					target := started(t, program, listen, t.TempDir()+"/ledger", c.flags...)
					if listen {
						target = append(target, "--transport", "http")
					} else { // the inspector keeps two hyphens for itself
						script := t.TempDir() + "/proxy.sh"
						if err := os.WriteFile(script, []byte("exec '"+strings.Join(target, "' '")+"'\n"), 0o600); err != nil {
							t.Fatal(err)
						}
						target = []string{"sh", script}
					}
					cmd := exec.CommandContext(t.Context(), "npx", slices.Concat([]string{"-y", "@modelcontextprotocol/inspector@2.12.0", "--cli"}, target, c.arguments)...)
					cmd.WaitDelay = time.Second
					out, err := cmd.CombinedOutput()
					if !strings.Contains(string(out), c.says) {
						t.Errorf("%v\n%s", err, out)
					}
				})
			}
		})
	}
}
