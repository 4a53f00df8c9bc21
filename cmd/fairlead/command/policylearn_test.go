package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/learn"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
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

// owner decides about a call: drafts may go and unknown work may be done, one order may go, and nothing else.
func owner(tool, value string) string {
	if tool == "delete_draft" || tool == "frobnicate" || tool == "delete_order" && value == "8" {
		return "allow"
	}
	return "deny"
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
	var now [3]string
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked[now[0]]++
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": owner(now[0], now[2])}}, nil
		},
	})
	cs := mcptest.Dial(t, client, &mcp.IOTransport{Reader: fromProxy, Writer: toProxy}, mcptest.Legacy)
	for _, c := range calls {
		now = c
		if _, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: c[0], Arguments: map[string]any{c[1]: c[2]}}); err != nil &&
			!strings.Contains(err.Error(), "unknown tool") {
			t.Fatal(err)
		}
	}
	_ = toProxy.Close()
	<-ended
	return asked
}

// An hour of calls is observed, the same hour is decided by a person, a policy is learnt from both, reviewed, tested
// and switched on: the questions that stay are those that the test foretold.
func TestObserveLearnTestAndSwitchOn(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	observed, decided, file := filepath.Join(folder, "observed.jsonl"), filepath.Join(folder, "decided.jsonl"), filepath.Join(folder, "policy.json")
	if asked := work(t, hour(), "--observe", "--audit", observed); len(asked) > 0 {
		t.Errorf("asked while observing: %v", asked)
	}
	if code, stdout, stderr := program(t, "", "policy", "learn", observed); code != exitOK || strings.Contains(stdout, `{"tool"`) {
		t.Errorf("learnt from calls that no person decided: exit %d: %s%s", code, stdout, stderr)
	}
	asked := work(t, hour(), "--audit", decided)
	if code, _, stderr := program(t, "", "policy", "learn", folder, "--out", file); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if code, _, stderr := program(t, "", "policy", "learn", folder, "--out", file); code != exitUsage || !strings.Contains(stderr, "it exists already") {
		t.Errorf("over a file: exit %d: %s", code, stderr)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("learnt:\n%s", text)
	for _, want := range []string{
		`    // {"tool": "office/delete_draft", "class": "dangerous", "members": {"path": {"like": "drafts/*"}}, "until": `,
		"office/delete_order (dangerous): 10 calls on ", "people approved 1 and denied 4; that is not enough for a proposal.",
		`    // {"tool": "office/frobnicate", "decide": "allow"},`,
		"\n" + `    {"tool": "office/send_message", "decide": "deny", `,
		"\n" + `    {"tool": "office/wipe_disk", "decide": "deny", `,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in it", want)
		}
	}
	misspelled := filepath.Join(t.TempDir(), "misspelled.json")
	if err := os.WriteFile(misspelled, []byte("{\"rules\": [\n{\"tool\": \"office/wipe_*\", \"decide\": \"deny\"},\n{\"tool\": \"office/wipe_disc\", \"decide\": \"deny\"}], \"approvals\": {\"approved\": [\n"+
		"{\"tool\": \"office/delete_draft\", \"class\": \"moderate\", \"members\": {\"path\": {\"any\": true}}, \"until\": \"2999-01-01\"}]}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := program(t, "", "policy", "check", misspelled, "--against", decided); code != exitOK ||
		!strings.Contains(stderr, `misspelled.json:3: rules[1].tool: "office/wipe_disc" names no tool that is listed, so this has no effect; did you mean "office/wipe_disk"?`) ||
		!strings.Contains(stderr, `misspelled.json:4: approvals.approved[0]: it approves no call of office/delete_draft that is dangerous, since it covers moderate calls alone; write "class": "dangerous"`) ||
		strings.Contains(stderr, "wipe_*") {
		t.Errorf("a name that no call has: exit %d: %s", code, stderr)
	}
	if code, stdout, stderr := program(t, "", "policy", "test", file, "--against", decided); code != exitOK || !strings.Contains(stdout, "200 asked → refused (call ") {
		t.Errorf("as it was learnt: exit %d: %s%s", code, stdout, stderr)
	}
	reviewed := filepath.Join(t.TempDir(), "reviewed.json")
	if err := os.WriteFile(reviewed, learn.Reviewed(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, foretold, stderr := program(t, "", "policy", "test", reviewed, "--against", observed)
	if code != exitFindings || !strings.Contains(stderr, "20 calls that were asked about or refused would be allowed, and 205 that ran would be refused") {
		t.Errorf("reviewed: exit %d: %s%s", code, foretold, stderr)
	}
	t.Logf("tested:\n%s%s", foretold, stderr)
	after := work(t, hour(), "--policy", reviewed)
	table := "QUESTIONS     before  foretold  switched on"
	for _, tool := range []string{"create_note", "delete_draft", "delete_order", "frobnicate", "get_order", "list_drafts", "send_message", "wipe_disk"} {
		m := regexp.MustCompile(`office/` + tool + ` +\d+ +(\d+)(?: → (\d+))?`).FindStringSubmatch(foretold)
		if m == nil || m[1] != fmt.Sprint(asked[tool]) || cmp.Or(m[2], m[1]) != fmt.Sprint(after[tool]) {
			t.Errorf("%s: the test foretold %q; asked %d times before and %d times after", tool, m, asked[tool], after[tool])
			continue
		}
		table += fmt.Sprintf("\n%-13s %6d %9s %12d", tool, asked[tool], cmp.Or(m[2], m[1]), after[tool])
	}
	t.Log(table)
}

func TestPolicyTestHasItsExitCodes(t *testing.T) {
	t.Parallel()
	good, record := filepath.Join(t.TempDir(), "good.json"), trail(t)
	bad := filepath.Join(t.TempDir(), "bad.json")
	for name, text := range map[string]string{good: "{}", bad: `{"rulez": 1}`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cut := trail(t)
	if err := os.Remove(cut + ".head"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"nothing changes":                  {[]string{"test", good, "--against", record}, exitOK, "files/delete_file  1      1      0        0"},
		"a bad policy":                     {[]string{"test", bad, "--against", record}, exitUsage, "rulez: the key is unknown"},
		"a record that is cut":             {[]string{"test", good, "--against", cut}, exitUsage, "not attested"},
		"no record":                        {[]string{"test", good}, exitUsage, `"against" not set`},
		"no policy":                        {[]string{"test", "--against", record}, exitUsage, "FILE is missing"},
		"an empty folder":                  {[]string{"test", good, "--against", t.TempDir()}, exitUsage, "holds no .jsonl file"},
		"learnt from a record that is cut": {[]string{"learn", record, cut}, exitUsage, "not attested"},
		"learnt from nothing":              {[]string{"learn"}, exitUsage, "RECORD is missing"},
		"what is missing":                  {[]string{"learn", record}, exitOK, "note: 1 calls have no arguments"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if code, stdout, stderr := program(t, "", append([]string{"policy"}, c.args...)...); code != c.code || !strings.Contains(stdout+stderr, c.want) {
				t.Errorf("exit %d: %s%s; want %d and %q", code, stdout, stderr, c.code, c.want)
			}
		})
	}
}
