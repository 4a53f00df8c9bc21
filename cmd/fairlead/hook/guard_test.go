package hook_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/hook"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
)

// event writes an event of Claude Code before a tool.
func event(tool, input string, more ...string) string {
	return fmt.Sprintf(`{"session_id":"s","cwd":"/srv/project","hook_event_name":"PreToolUse","tool_name":%q,"tool_input":%s%s}`, tool, input, strings.Join(more, ""))
}

// geminiEvent writes an event of Gemini CLI before a tool.
func geminiEvent(tool, input string) string {
	return fmt.Sprintf(`{"session_id":"s","cwd":"/srv/project","hook_event_name":"BeforeTool","tool_name":%q,"tool_input":%s}`, tool, input)
}

// decided returns the verdict about an event, "" for none, with the reason.
func decided(t *testing.T, g *hook.Guard, client, text string) (verdict, reason string) {
	t.Helper()
	out, err := g.Handle(t.Context(), client, []byte(text))
	if err != nil {
		return "error", err.Error()
	}
	if len(out) == 0 {
		return "", ""
	}
	var answer struct {
		Out struct {
			Decision string `json:"permissionDecision"`
			Reason   string `json:"permissionDecisionReason"`
		} `json:"hookSpecificOutput"`
		Decision   string `json:"decision"`
		Reason     string `json:"reason"`
		Permission string `json:"permission"`
		Message    string `json:"user_message"`
		Copilot    string `json:"permissionDecision"`
		CopilotWhy string `json:"permissionDecisionReason"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return answer.Out.Decision + answer.Decision + answer.Permission + answer.Copilot, answer.Out.Reason + answer.Reason + answer.Message + answer.CopilotWhy
}

func guard(t *testing.T, o hook.Options) *hook.Guard {
	t.Helper()
	g, err := hook.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ client, event, want string }{
		"a read of the shell":         {"claude-code", event("Bash", `{"command":"git log --oneline | head -3"}`), "allow"},
		"a deletion":                  {"claude-code", event("Bash", `{"command":"rm -rf build"}`), "ask"},
		"a secret":                    {"claude-code", event("Bash", `{"command":"cat ~/.ssh/id_rsa"}`), "ask"},
		"a file":                      {"claude-code", event("Read", `{"file_path":"/srv/project/main.go"}`), "allow"},
		"a file of secrets":           {"claude-code", event("Read", `{"file_path":"/root/.aws/credentials"}`), "ask"},
		"an edit":                     {"claude-code", event("Edit", `{"file_path":"/srv/project/main.go","old_string":"a","new_string":"b"}`), "ask"},
		"an edit that is accepted":    {"claude-code", event("Edit", `{"file_path":"main.go","old_string":"a","new_string":"b"}`, `,"permission_mode":"acceptEdits"`), ""},
		"an edit elsewhere":           {"claude-code", event("Edit", `{"file_path":"/etc/hosts","old_string":"a","new_string":"b"}`, `,"permission_mode":"acceptEdits"`), "ask"},
		"an edit above":               {"claude-code", event("Write", `{"file_path":"../x","content":"b"}`, `,"permission_mode":"acceptEdits"`), "ask"},
		"an edit of what acts later":  {"claude-code", event("Write", `{"file_path":".git/hooks/pre-commit","content":"b"}`, `,"permission_mode":"acceptEdits"`), "ask"},
		"a page":                      {"claude-code", event("WebFetch", `{"url":"https://go.dev/doc","prompt":"x"}`), "allow"},
		"a page of this machine":      {"claude-code", event("WebFetch", `{"url":"http://169.254.169.254/latest/meta-data","prompt":"x"}`), "ask"},
		"a page of Gemini":            {"gemini", geminiEvent("web_fetch", `{"prompt":"Sum up https://go.dev/doc."}`), "allow"},
		"two pages of Gemini":         {"gemini", geminiEvent("web_fetch", `{"prompt":"Compare https://go.dev/doc with http://169.254.169.254/latest/meta-data"}`), "deny"},
		"no page of Gemini":           {"gemini", geminiEvent("web_fetch", `{"prompt":"Sum up ftp://go.dev/doc and https://go.dev/doc"}`), "deny"},
		"notes":                       {"claude-code", event("TodoWrite", `{"todos":[]}`), "allow"},
		"an unknown tool":             {"claude-code", event("GetEverything", `{}`), "ask"},
		"a tool of MCP that reads":    {"claude-code", event("mcp__files__list_directory", `{"path":"."}`), "allow"},
		"a tool of MCP that deletes":  {"claude-code", event("mcp__files__delete_file", `{"path":"a"}`), "ask"},
		"Codex, a read":               {"codex", event("Bash", `{"command":"ls"}`), ""},
		"Codex, a deletion":           {"codex", event("Bash", `{"command":"rm -rf build"}`), "deny"},
		"Codex, a patch":              {"codex", event("apply_patch", `{"command":"*** Begin Patch\n*** Update File: main.go\n@@\n-a\n+b\n*** End Patch"}`), ""},
		"Codex, a patch elsewhere":    {"codex", event("apply_patch", `{"command":"*** Begin Patch\n*** Update File: main.go\n@@\n-a\n+b\n*** Add File: ../x\n+b\n*** End Patch"}`), "deny"},
		"Codex, a patch that deletes": {"codex", event("apply_patch", `{"command":"*** Begin Patch\n*** Delete File: main.go\n*** End Patch"}`), "deny"},
		"Codex, a patch of its rules": {"codex", event("apply_patch", `{"command":"*** Begin Patch\n*** Update File: .codex/config.toml\n@@\n-a\n+b\n*** End Patch"}`), "deny"},
		"Codex, no patch":             {"codex", event("apply_patch", `{"command":"ls"}`), "deny"},
		"Gemini, a read":              {"gemini", strings.Replace(event("run_shell_command", `{"command":"ls"}`), "PreToolUse", "BeforeTool", 1), "allow"},
		"Gemini, a deletion":          {"gemini", strings.Replace(event("run_shell_command", `{"command":"rm -rf build"}`), "PreToolUse", "BeforeTool", 1), "deny"},
		"Gemini, an edit":             {"gemini", strings.Replace(event("write_file", `{"file_path":"a.go","content":""}`), "PreToolUse", "BeforeTool", 1), ""},
		"Cursor, a read":              {"cursor", `{"conversation_id":"c","hook_event_name":"beforeShellExecution","command":"ls","cwd":"/srv/project"}`, "allow"},
		"Cursor, a deletion":          {"cursor", `{"conversation_id":"c","hook_event_name":"beforeShellExecution","command":"rm -rf /","cwd":"/srv/project"}`, "ask"},
		"Copilot, a read":             {"copilot", `{"timestamp":1,"cwd":"/srv/project","toolName":"bash","toolArgs":"{\"command\":\"ls\"}"}`, "allow"},
		"Copilot, a deletion":         {"copilot", `{"timestamp":1,"cwd":"/srv/project","toolName":"bash","toolArgs":"{\"command\":\"rm -rf dist\"}"}`, "ask"},
		"another client's event":      {"gemini", event("Bash", `{"command":"ls"}`), "error"},
		"a member twice":              {"claude-code", event("Bash", `{"command":"ls","command":"rm -rf /"}`), "error"},
		"no tool":                     {"claude-code", `{"hook_event_name":"PreToolUse","tool_input":{}}`, "error"},
		"nothing":                     {"claude-code", ``, "error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, why := decided(t, guard(t, hook.Options{}), tt.client, tt.event); got != tt.want {
				t.Errorf("got %q (%s), want %q", got, why, tt.want)
			}
		})
	}
}

// The model reads the name that its agent has given the tool, and a reason of a person as it was written.
func TestDenialHasTheNameOfTheAgent(t *testing.T) {
	t.Parallel()
	p, err := policy.Parse("policy.json", []byte(`{"rules": [{"tool": "files/*", "decide": "deny", "reason": "files__get_page is mcp__files__get_page here"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	g := guard(t, hook.Options{Policy: func() (*policy.Policy, error) { return p, nil }})
	for _, tt := range []struct{ client, event, want string }{
		{"claude-code", event("mcp__files__get_page", `{}`), "mcp__files__get_page was not called: files__get_page is mcp__files__get_page here"},
		{
			"gemini", `{"session_id":"s","cwd":"/srv/project","hook_event_name":"BeforeTool","tool_name":"mcp_files_get_page","tool_input":{},"mcp_context":{"server_name":"files","tool_name":"get_page"}}`,
			"mcp_files_get_page was not called: files__get_page is mcp__files__get_page here",
		},
	} {
		if got, why := decided(t, g, tt.client, tt.event); got != "deny" || !strings.Contains(why, tt.want) {
			t.Errorf("%s: got %s (%s), want %q", tt.client, got, why, tt.want)
		}
	}
}

// A policy that has got a mistake denies each call with that reason, and counts again once it is corrected.
func TestPolicyWithAMistakeDenies(t *testing.T) {
	t.Parallel()
	var fault error
	p := new(policy.Policy)
	g := guard(t, hook.Options{Policy: func() (*policy.Policy, error) {
		if fault != nil {
			return nil, fault
		}
		return p, nil
	}})
	for _, step := range []struct {
		fault error
		want  string
	}{{nil, "allow"}, {errors.New("policy: p.json:3: want a list"), "deny"}, {nil, "allow"}} {
		fault = step.fault
		got, why := decided(t, g, "claude-code", event("Read", `{"file_path":"/srv/project/a.go"}`))
		if got != step.want || (fault != nil && (!strings.Contains(why, fault.Error()) || !strings.HasPrefix(why, "Read was not called: "))) {
			t.Errorf("with the fault %v: got %s (%s), want %s", fault, got, why, step.want)
		}
	}
	fault = errors.New("policy: p.json:3: want a list")
	if _, err := hook.New(hook.Options{Policy: func() (*policy.Policy, error) { return nil, fault }}); !errors.Is(err, fault) {
		t.Errorf("a guard that begins with the mistake: %v", err)
	}
}
