//go:build unix

package command

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// State that this program cannot use blocks a call, and the reason names it.
func hookOfAnotherVersion(t *testing.T, program string) {
	t.Helper()
	folder := t.TempDir()
	name, err := serversName([]proxy.Server{{Name: "agents"}})
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		name = filepath.Join(folder, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	write(approvalsFile(name), `{"at":"2026-01-01T00:00:00Z","op":"delegated","id":"1"}`+"\n")
	file := write("file", "")
	for name, tt := range map[string]struct {
		flags []string
		want  string
	}{
		"B363 a store of a later version":  {[]string{"--store", folder}, "was it written by a later version"},
		"B367 a policy of a later version": {[]string{"--policy", write("policy.json", `{"version": 2}`)}, "version"},
		"B366 a home that is not a folder": {[]string{"--store", filepath.Join(file, ".fairlead"), "--audit", filepath.Join(file, ".fairlead", "calls.jsonl")}, "a part of the path is not a folder"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHooked(t, program, tt.flags...)
			if got, why := h.verdict("s", "Bash", `{"command":"ls"}`, "1"); got != strconv.Itoa(exitBlocks) || !strings.Contains(why, tt.want) {
				t.Errorf("got %s (%s), want %d and %q", got, why, exitBlocks, tt.want)
			}
		})
	}
}

// A mistake in the policy denies calls from the next look at the file on, and ends with its correction.
func hookOfAPolicyWithAMistake(t *testing.T, program string) {
	t.Helper()
	policy := filepath.Join(t.TempDir(), "policy.json")
	write := func(text string) {
		if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"version": 1}`)
	h := newHooked(t, program, "--policy", policy) // calls that are let through keep its process, until the session ends
	for _, step := range []struct{ text, want, reason string }{
		{`{"version": 1}`, "allow", ""}, {`{"version": 1, "rules": 7}`, "deny", "rules"}, {`{"version": 1, "rules": []}`, "allow", ""},
	} {
		write(step.text)
		var got, why string
		for deadline := time.Now().Add(time.Minute); got != step.want && time.Now().Before(deadline); { // the file is looked at once a second
			got, why = h.verdict("s", "Bash", `{"command":"ls"}`, rand.Text())
		}
		if got != step.want || !strings.Contains(why, step.reason) {
			t.Errorf("%s: got %s (%s), want %s", step.text, got, why, step.want)
		}
	}
	if code, _, errs := h.event(`{"session_id":"s","hook_event_name":"SessionEnd"}`); code != 0 {
		t.Errorf("the end of the session: %d %s", code, errs)
	}
}

// An edit of the agent ends what the user's proxies have cached, and so does a write through another proxy.
func hookEndsWhatIsCached(t *testing.T, program string) {
	t.Helper()
	store := t.TempDir()
	policy := filepath.Join(store, "policy.json")
	if err := os.WriteFile(policy, []byte(`{"cache": {"notes/get_note": "5m"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHooked(t, program, "--store", store)
	client := func() *mcp.ClientSession {
		exe, env := mcptest.Child(t, "pad")
		cmd := exec.CommandContext(t.Context(), program, "proxy", "--name", "notes", "--policy", policy, "--store", store, "--approve", "deny", "--", exe)
		cmd.Env = append(os.Environ(), env)
		return mcptest.Dial(t, mcptest.NewClient(), &mcp.CommandTransport{Command: cmd}, mcptest.Legacy)
	}
	one, other := client(), client()
	call := func(c *mcp.ClientSession, tool string) string {
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{}})
		if err != nil {
			t.Fatal(err)
		}
		return res.Content[0].(*mcp.TextContent).Text
	}
	made := func(tool, input string) func() {
		return func() {
			e := fmt.Sprintf(`{"session_id":"s","cwd":"/srv/app","hook_event_name":"PreToolUse","tool_name":%q,"tool_input":%s,"tool_use_id":"1"}`, tool, input)
			h.event(e)
			h.event(strings.Replace(e, "PreToolUse", "PostToolUse", 1))
		}
	}
	for i, step := range []struct {
		do   func()
		name string
		want string
	}{
		{func() {}, "the first read", "read 1"},
		{func() {}, "the same read", "read 1"},
		{made("Read", `{"file_path":"/srv/app/a.go"}`), "after a read of the agent", "read 1"},
		{made("Edit", `{"file_path":"/srv/app/a.go","old_string":"a","new_string":"b"}`), "after an edit of the agent", "read 2"},
		{func() {}, "the same read", "read 2"},
		{made("Bash", `{"command":"git commit -m x"}`), "after a command", "read 3"},
		{func() { call(other, "get_note") }, "after a read through another proxy", "read 3"},
		{func() { call(other, "create_note") }, "after a write through another proxy", "read 4"},
		{func() { call(one, "create_note") }, "after a write of its own", "read 5"},
		{func() {}, "the same read", "read 5"},
	} {
		step.do()
		if got := call(one, "get_note"); got != step.want {
			t.Errorf("%d, %s: got %q, want %q", i, step.name, got, step.want)
		}
	}
	h.event(`{"session_id":"s","hook_event_name":"SessionEnd"}`)
}

// Eight agents at once share one record: each call is decided once, and has one intent at most and one end. The number of
// decisions of all is in FAIRLEAD_HOOK_DECISIONS.
func hookOfEightAgents(t *testing.T, program string) {
	t.Helper()
	const agents = 8
	all, err := strconv.Atoi(cmp.Or(os.Getenv("FAIRLEAD_HOOK_DECISIONS"), "48"))
	if err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(t.TempDir(), "calls.jsonl")
	h := newHooked(t, program, "--audit", record)
	began := time.Now()
	var running sync.WaitGroup
	for agent := range agents {
		running.Go(func() {
			session := fmt.Sprint("agent ", agent)
			for i := range all / agents {
				input, want := `{"command":"ls"}`, "allow"
				if i%4 == 3 {
					input, want = `{"command":"rm a"}`, "ask"
				}
				id := fmt.Sprint(agent, ".", i)
				if got, why := h.verdict(session, "Bash", input, id); got != want {
					t.Errorf("%s: got %s (%s), want %s", id, got, why, want)
				}
				if code, _, errs := h.event(fmt.Sprintf(`{"session_id":%q,"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":%s,"tool_use_id":%q,"tool_response":"x"}`, session, input, id)); code != 0 {
					t.Errorf("%s: %s", id, errs)
				}
			}
		})
	}
	running.Wait()
	t.Logf("%d decisions and as many reports in %v", all, time.Since(began).Round(time.Millisecond))
	h.wait()
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	ends, intents := make(map[string]int), make(map[string]int)
	for line := range strings.Lines(string(text)) {
		var r struct{ Kind, Call, Outcome string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Kind == "intent" {
			intents[r.Call]++
		}
		if r.Kind == "end" {
			ends[r.Call]++
			if r.Outcome != "ok" {
				t.Errorf("%s ended with %s", r.Call, r.Outcome)
			}
		}
	}
	if len(ends) != all/agents*agents {
		t.Errorf("%d calls are recorded, want %d", len(ends), all/agents*agents)
	}
	for id, n := range ends {
		if n != 1 || intents[id] > 1 {
			t.Errorf("%s has %d ends and %d intents", id, n, intents[id])
		}
	}
}
