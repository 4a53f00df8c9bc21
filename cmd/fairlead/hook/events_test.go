package hook_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/hook"
)

func TestEventsOfTheDocumentation(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]struct{ verdict, why string }{
		"claude-code-pre":      {"ask", "below the folder where the agent works"},
		"claude-code-post":     {},
		"claude-code-prompt":   {},
		"claude-code-subagent": {"ask", "sub-agent agent-7 of Claude Code"},
		"codex-permission":     {},
		"gemini-before":        {"deny", "has no question for hooks"},
		"cursor-shell":         {"allow", ""},
		"cursor-mcp":           {"ask", ""},
		"cursor-read":          {"ask", ".env"},
		"copilot-pre":          {"ask", `the command \"rm\"`},
		"copilot-post":         {},
		"copilot-prompt":       {},
		"vscode-pre":           {"ask", "no path that could be read"},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("testdata", "events", file+".json"))
			if err != nil {
				t.Fatal(err)
			}
			client := file[:strings.LastIndex(file, "-")]
			got, why := decided(t, guard(t, hook.Options{}), client, string(text))
			if got != want.verdict || !strings.Contains(why, want.why) {
				t.Errorf("got %q (%s), want %q (%s)", got, why, want.verdict, want.why)
			}
		})
	}
}

func TestBadEvents(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10<<20)
	for name, tt := range map[string]struct{ event, want string }{
		"a long command":            {event("Bash", `{"command":"echo `+long+`"}`), "deny"},
		"not UTF-8":                 {event("Bash", "{\"command\":\"ls \xff\"}"), "deny"},
		"a path as session":         {strings.Replace(event("Bash", `{"command":"ls"}`), `"session_id":"s"`, `"session_id":"../../etc"`, 1), "allow"},
		"no session":                {strings.Replace(event("Bash", `{"command":"ls"}`), `"session_id":"s",`, "", 1), "allow"},
		"no folder":                 {strings.Replace(event("Edit", `{"file_path":"a"}`), `"cwd":"/srv/project",`, "", 1), "ask"},
		"arguments that are a list": {event("Bash", `["ls"]`), "error"},
		"no arguments":              {event("Bash", `null`), "ask"},
		"a command that is a list":  {event("shell", `{"command":["bash","-lc","rm a"]}`), "ask"},
		"our own member":            {event("Edit", `{"file_path":"/etc/x","agent_cwd":"/"}`), "error"},
		"text for a tool's name":    {strings.Replace(event("Bash", `{"command":"ls"}`), `"Bash"`, `"Ba\u0000sh\n"`, 1), "error"},
		"a name in two cases":       {strings.Replace(event("Bash", `{"command":"ls"}`), `"tool_input"`, `"Tool_Input":{"command":"rm a"},"tool_input"`, 1), "error"},
		"nested too deep":           {event("Bash", strings.Repeat(`{"command":`, 300)+"1"+strings.Repeat("}", 300)), "error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, why := decided(t, guard(t, hook.Options{}), "claude-code", tt.event); got != tt.want {
				t.Errorf("got %q (%.300s), want %q", got, why, tt.want)
			}
		})
	}
}

// The labelled command lines through the whole hook: no write may be allowed.
func TestSharedCommandLines(t *testing.T) {
	t.Parallel()
	f, err := os.Open(filepath.Join("..", "..", "..", "..", "shared", "eval", "shell", "cases.jsonl"))
	if err != nil {
		t.Skip("SKIPPED: the labelled command lines are not here:", err)
	}
	defer f.Close()
	g := guard(t, hook.Options{})
	var reads, found, writes int
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c struct {
			Command string
			Read    bool
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		input, err := json.Marshal(map[string]string{"command": c.Command})
		if err != nil {
			t.Fatal(err)
		}
		got, _ := decided(t, g, "claude-code", event("Bash", string(input)))
		g.Close() // nothing reports a result
		switch {
		case !c.Read:
			if writes++; got == "allow" {
				t.Errorf("the write %q is allowed", c.Command)
			}
		case got == "allow":
			found++
			fallthrough
		default:
			reads++
		}
	}
	t.Logf("%d of %d reads are allowed, 0 of %d writes", found, reads, writes)
	if found*100 < reads*90 {
		t.Errorf("%d of %d reads are allowed, want 90 of 100", found, reads)
	}
}
