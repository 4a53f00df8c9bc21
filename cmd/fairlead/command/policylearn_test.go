package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/learn"
	"github.com/fairlead-go/fairlead/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// hour is an hour of calls of an agent: tool, and one member with its value. An injected text has it call wipe_disk
// again and again.
func hour() (calls [][3]string) {
	for i := range 40 {
		calls = append(calls, [3]string{"list_drafts", "page", fmt.Sprint(i)}, [3]string{"get_order", "id", fmt.Sprint(i)})
		if i%4 == 0 {
			calls = append(calls, [3]string{"create_note", "text", fmt.Sprint(i)}, [3]string{"delete_draft", "path", fmt.Sprintf("drafts/%d.md", i)},
				[3]string{"frobnicate", "n", fmt.Sprint(i)})
		}
		if i%8 == 0 {
			calls = append(calls, [3]string{"delete_order", "id", fmt.Sprint(i)}, [3]string{"send_message", "to", fmt.Sprintf("person-%d", i)})
		}
	}
	for i := range 200 {
		calls = append(calls, [3]string{"wipe_disk", "n", fmt.Sprint(i)})
	}
	return calls
}

// person decides as an owner would: drafts may go, an order sometimes, a message never.
func person(message string) string {
	for _, no := range []string{"send_message", "wipe_disk", "delete_order: dangerous"} {
		if strings.Contains(message, no) && !strings.Contains(message, `"8"`) {
			return "deny"
		}
	}
	if strings.Contains(message, "send_message") {
		return "deny"
	}
	return "allow"
}

// work makes the calls through the proxy, in front of the office in a process of its own, and returns how often the
// person was asked about each tool.
func work(t *testing.T, calls [][3]string, flags ...string) map[string]int {
	t.Helper()
	exe, env := mcptest.Child(t, "office")
	in, toProxy := io.Pipe()
	fromProxy, out := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		args := append([]string{"proxy", "--name", "office"}, append(flags, "--", "env", env, exe)...)
		if code := Run(t.Context(), args, in, out, io.Discard); code != exitOK {
			t.Errorf("%q: exit %d", args, code)
		}
		_ = out.Close()
	}()
	asked := make(map[string]int)
	tool := ""
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked[tool]++
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": person(r.Params.Message)}}, nil
		},
	})
	cs := mcptest.Dial(t, client, &mcp.IOTransport{Reader: fromProxy, Writer: toProxy}, mcptest.Legacy)
	for _, c := range calls {
		tool = c[0]
		if _, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: c[0], Arguments: map[string]any{c[1]: c[2]}}); err != nil &&
			!strings.Contains(err.Error(), "unknown tool") {
			t.Fatal(err)
		}
	}
	_ = toProxy.Close()
	<-ended
	return asked
}

// An hour is observed, a morning decided by a person, a policy learnt from both, tested and switched on.
func TestObserveLearnTestAndSwitchOn(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	observed, decided := filepath.Join(folder, "observed.jsonl"), filepath.Join(folder, "decided.jsonl")
	if asked := work(t, hour(), "--observe", "--audit", observed); len(asked) > 0 {
		t.Errorf("asked while observing: %v", asked)
	}
	code, stdout, stderr := program(t, "", "policy", "learn", observed)
	t.Log(code, stdout, stderr)
	asked := work(t, hour()[:150], "--audit", decided)
	file := filepath.Join(folder, "policy.json")
	code, stdout, stderr = program(t, "", "policy", "learn", folder, "--out", file)
	text, err := os.ReadFile(file)
	t.Log(code, stdout, stderr, string(text), err)
	code, stdout, stderr = program(t, "", "policy", "test", file, "--against", folder)
	t.Log(code, stdout, stderr)
	reviewed := filepath.Join(t.TempDir(), "reviewed.json")
	if err := os.WriteFile(reviewed, learn.Reviewed(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr = program(t, "", "policy", "test", reviewed, "--against", observed)
	t.Log(code, stdout, stderr)
	t.Log(asked, work(t, hour()[:150]), work(t, hour()[:150], "--policy", reviewed))
}
