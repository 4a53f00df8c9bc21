//go:build unix

package command

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/programtest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A tenant is a person with a coding agent: its own tools and the server "giro" go through the hook, and the servers
// "mail", "notes" and "bank" through the proxy, which the agent knows as "work".
type tenant struct {
	*hooked

	folder     string // where the agent works
	work, giro *mcp.ClientSession
	yes        bool
	calls      int
	saw        []string // the questions, as they were shown
}

func newTenant(t *testing.T, program, store string) *tenant {
	t.Helper()
	write := func(name string, content any) string {
		text, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	policy := func(trusted string) string {
		return write(filepath.Join(t.TempDir(), "policy.json"), map[string]any{"flow": map[string]any{"trusted": []string{trusted}}})
	}
	a := &tenant{hooked: newHooked(t, program, "--idle", "1h", "--store", store, "--proxied", "work", "--policy", policy("claude-code/Read")), yes: true}
	if a.folder = filepath.Join(a.home, "project"); os.Mkdir(a.folder, 0o700) != nil {
		t.Fatal("no folder")
	}
	a.stays()
	child := func(name string) map[string]any {
		exe, env := mcptest.Child(t, name)
		key, value, _ := strings.Cut(env, "=")
		return map[string]any{"command": exe, "env": map[string]string{key: value}}
	}
	bank, _ := mcptest.HTTPTransport(t, payees(), mcptest.Legacy)
	servers := write(filepath.Join(t.TempDir(), "servers.json"), map[string]any{"mcpServers": map[string]any{
		"mail": child("mailbox"), "notes": child("notebook"), "bank": map[string]any{"type": "http", "url": bank.Endpoint},
	}})
	proxy := []string{"proxy", "--config", servers, "--store", store, "--policy", policy("notes/*"), "--approve", "elicit"}
	write(filepath.Join(a.home, ".claude.json"), map[string]any{"mcpServers": map[string]any{
		"work": map[string]any{"command": program, "args": proxy}, "giro": child("payees"),
	}})
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			a.saw = append(a.saw, r.Params.Message)
			if !a.yes {
				return &mcp.ElicitResult{Action: "decline"}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow"}}, nil
		},
	})
	command := exec.CommandContext(context.Background(), program, proxy...)
	command.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+a.home, "HOME="+a.home)
	a.work = mcptest.Dial(t, client, &mcp.CommandTransport{Command: command}, mcptest.Legacy)
	a.giro = mcptest.Dial(t, nil, mcptest.ChildTransport(t, "payees"), mcptest.Legacy)
	return a
}

// stays starts the process that keeps the sessions of the hook, so that a slow machine does not end it, until the test ends.
func (a *tenant) stays() {
	a.t.Helper()
	c := exec.CommandContext(context.Background(), a.program, append(slices.Clone(a.flags), "--serve")...)
	c.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+a.home, "HOME="+a.home)
	out, err := c.StdoutPipe()
	if err != nil {
		a.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		a.t.Fatalf("%q, %v", line, err)
	}
}

// report has the hook answer an event of the session.
func (a *tenant) report(event string, members map[string]any) []byte {
	a.t.Helper()
	all := map[string]any{"session_id": "s", "cwd": a.folder, "permission_mode": "acceptEdits", "hook_event_name": event}
	maps.Copy(all, members)
	text, err := json.Marshal(all)
	if err != nil {
		a.t.Fatal(err)
	}
	code, out, errs := a.event(string(text))
	if code != 0 {
		a.t.Fatalf("%s: exit %d, %s", event, code, errs)
	}
	return []byte(out)
}

// uses has the agent use a tool as it does with hooks, and returns its result, "" if it was not used. Whatever a person is
// asked is in saw.
func (a *tenant) uses(tool string, input map[string]any) string {
	a.t.Helper()
	a.calls++
	members := map[string]any{"tool_name": tool, "tool_input": input, "tool_use_id": fmt.Sprint(a.calls)}
	var answer struct {
		Out struct {
			Decision string `json:"permissionDecision"`
			Reason   string `json:"permissionDecisionReason"`
		} `json:"hookSpecificOutput"`
	}
	if out := a.report("PreToolUse", members); len(out) > 0 {
		if err := json.Unmarshal(out, &answer); err != nil {
			a.t.Fatalf("%s: %v", out, err)
		}
	}
	switch answer.Out.Decision {
	case "deny":
		a.t.Fatalf("%s %v: %s", tool, input, answer.Out.Reason)
	case "ask":
		a.saw = append(a.saw, answer.Out.Reason)
		if !a.yes {
			return ""
		}
	}
	text := a.executes(tool, input)
	members["tool_response"] = text
	a.report("PostToolUse", members)
	return text
}

func (a *tenant) executes(tool string, input map[string]any) string {
	a.t.Helper()
	path, _ := input["file_path"].(string)
	switch tool {
	case "Write":
		if err := os.WriteFile(path, []byte(input["content"].(string)), 0o600); err != nil {
			a.t.Fatal(err)
		}
		return "written"
	case "Read":
		text, err := os.ReadFile(path)
		if err != nil {
			a.t.Fatal(err)
		}
		return string(text)
	}
	session, name := a.giro, strings.TrimPrefix(tool, "mcp__giro__")
	if rest, ok := strings.CutPrefix(tool, "mcp__work__"); ok {
		session, name = a.work, rest
	}
	res, err := session.CallTool(mcptest.Context(a.t), &mcp.CallToolParams{Name: name, Arguments: input})
	if err != nil {
		a.t.Fatal(err)
	}
	return res.Content[0].(*mcp.TextContent).Text
}

// asks has the agent use a tool, and checks that a person is asked, or is not, and that the question has these texts.
func (a *tenant) asks(tool string, input map[string]any, want ...string) string {
	a.t.Helper()
	before := len(a.saw)
	text := a.uses(tool, input)
	switch asked := a.saw[before:]; {
	case len(want) == 0 && len(asked) > 0, len(want) > 0 && len(asked) != 1:
		a.t.Errorf("%s %v: asked %q, want %q", tool, input, asked, want)
	case len(want) > 0:
		for _, part := range want {
			if !strings.Contains(asked[0], part) {
				a.t.Errorf("%s %v: the question has no %q:\n%s", tool, input, part, asked[0])
			}
		}
	}
	return text
}

// An account from a stranger's mail stays the stranger's after it went through a file that the agent wrote and read, and
// through a note of a server that is trusted. The person sees the mail, at the hook and at the proxy; approves one account
// once at each; and takes that back.
func TestLaunderedAccountIsTheStrangers(t *testing.T) {
	t.Parallel()
	store := filepath.Join(t.TempDir(), "store")
	program := programtest.Path(t)
	a := newTenant(t, program, store)
	a.report("UserPromptSubmit", map[string]any{"prompt": "Create contacts for Acme Lettings and the plumber, and pay them. The accounts are in the mail and in my notes."})
	to := func(account string) map[string]any {
		return map[string]any{"name": "Acme Lettings", "iban": account}
	}
	const note = "Acme Lettings: account " + strangers + ", deposit " + deposit
	path := filepath.Join(a.folder, "lettings.txt")
	a.asks("mcp__work__mail__read_mail", map[string]any{"id": 7})
	a.asks("Write", map[string]any{"file_path": path, "content": note})
	a.asks("mcp__work__notes__create_note", map[string]any{"title": "Lettings", "text": note})
	for _, text := range []string{a.asks("Read", map[string]any{"file_path": path}), a.asks("mcp__work__notes__get_note", map[string]any{"title": "Lettings"})} {
		if text != note {
			t.Fatalf("got %q", text)
		}
	}
	a.asks("mcp__work__notes__get_note", map[string]any{"title": "Plumber"})
	a.asks("mcp__work__bank__create_contact", to(plumbers)) // the trusted server had it before

	const covers = "(your approval covers it as an account in this session)"
	for server, mail := range map[string]string{"mcp__work__bank__": "mail/read_mail", "mcp__giro__": "work/mail__read_mail"} {
		origin := func(account string) string {
			return `Not from you: iban "` + account + `" comes from a text that ` + mail + " returned"
		}
		a.asks(server+"create_contact", to(strangers), origin(strangers), covers, "From: mallory@lettings.example … ")
		a.asks(server+"create_contact", to(strangers))
		a.asks(server+"send_payment", to(strangers), origin(strangers), "(you approved it in this session)")
		a.yes = false
		a.asks(server+"create_contact", to(deposit), origin(deposit), covers)
		a.yes = true
		a.report("Stop", nil)
	}
	t.Logf("the person saw\n%s", strings.Join(a.saw, "\n---\n"))

	_, listed, _ := runs(t, program, "", "approvals", "list", "--store", store)
	lines := strings.Split(strings.TrimSpace(listed), "\n")
	if len(lines) != 2 {
		t.Fatalf("listed\n%s", listed)
	}
	for _, line := range lines {
		if !strings.Contains(line, `the source of "`+strangers+`" as account, which came from `) {
			t.Errorf("listed %s", line)
		}
		number, _, _ := strings.Cut(line, " ")
		if code, out, errs := runs(t, program, "", "approvals", "revoke", "--store", store, number); code != 0 {
			t.Errorf("got %d %s%s", code, out, errs)
		}
	}
	for _, server := range []string{"mcp__work__bank__", "mcp__giro__"} {
		a.asks(server+"create_contact", to(strangers), strangers, covers)
	}
}
