package hook_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/hook"
	"github.com/google/go-cmp/cmp"
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

// Events that no agent has written whole, or that another one has, never allow a call.
func TestEventsThatAreNotWhole(t *testing.T) {
	t.Parallel()
	g := guard(t, hook.Options{})
	never := func(t *testing.T, client, text string) {
		t.Helper()
		if got, why := decided(t, g, client, text); got != "error" || why == "" {
			t.Errorf("%s: got %q (%s) for %.200s", client, got, why, text)
		}
	}
	files, err := filepath.Glob(filepath.Join("testdata", "events", "*.json"))
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		whole := strings.TrimSpace(string(text))
		client := filepath.Base(file)
		client = client[:strings.LastIndex(client, "-")]
		t.Run("B350 cut anywhere, "+filepath.Base(file), func(t *testing.T) {
			for at := range whole {
				never(t, client, whole[:at])
			}
		})
		t.Run("B351 with more behind it, "+filepath.Base(file), func(t *testing.T) {
			never(t, client, whole+whole)
			never(t, client, whole+"}")
		})
		for _, other := range hook.Clients() {
			shared := []string{"claude-code", "codex", "vscode"} // have the same events
			if other == client || slices.Contains(shared, other) && slices.Contains(shared, client) || client == "copilot" || client == "vscode" && other == "cursor" {
				continue
			}
			t.Run("B352 of another agent, "+filepath.Base(file)+" as "+other, func(t *testing.T) { never(t, other, whole) })
		}
	}
	for _, client := range hook.Clients() {
		t.Run("B353 unknown, "+client, func(t *testing.T) {
			never(t, client, `{"session_id":"s","cwd":"/srv/project","hook_event_name":"BeforeEverything","tool_name":"Bash","tool_input":{"command":"ls"}}`)
		})
	}
}

// A result may be of any length and come at any time, and what follows is judged as ever.
func TestResultsThatNobodyExpects(t *testing.T) {
	t.Parallel()
	var tr trail
	g := guard(t, hook.Options{Audit: &tr})
	long := strings.Repeat("0123456789abcdef", 10<<20/16)
	first := event("Bash", `{"command":"cat log"}`, withID("1"))
	t.Run("B354 10 MB", func(t *testing.T) {
		if got, why := decided(t, g, "claude-code", first); got != "allow" {
			t.Fatalf("got %s (%s)", got, why)
		}
		send(t, g, used(first, long))
	})
	t.Run("B355 after the end", func(t *testing.T) {
		send(t, g, `{"session_id":"s","hook_event_name":"SessionEnd"}`)
		send(t, g, used(first, "again"))
		send(t, g, `{"session_id":"s","hook_event_name":"SessionEnd"}`)
		send(t, g, `{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"rm a"}`)
		if got, why := decided(t, g, "claude-code", event("Bash", `{"command":"rm a"}`, withID("2"))); got != "ask" {
			t.Errorf("a write: got %s (%s)", got, why)
		}
	})
	t.Run("B356 twice, and of a call that nobody began", func(t *testing.T) {
		read := event("Bash", `{"command":"ls"}`, withID("3"))
		if got, why := decided(t, g, "claude-code", read); got != "allow" {
			t.Fatalf("got %s (%s)", got, why)
		}
		for range 2 {
			send(t, g, used(read, "a"))
		}
		send(t, g, used(event("Bash", `{"command":"rm a"}`, withID("4")), "done"))
	})
	g.Close()
	want := []string{"1 safe ok", "3 safe ok", "2 dangerous unknown"}
	if diff := cmp.Diff(want, tr.ends()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A clock that jumps ahead, as after the sleep of a laptop, approves nothing.
func TestClockThatJumps(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		jump time.Duration
		want string
	}{
		"B357 a night in the dialog":       {12 * time.Hour, "1 dangerous ok the user of Claude Code"},
		"B358 longer than a dialog stands": {30 * 24 * time.Hour, "1 dangerous unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var tr trail
				g := guard(t, hook.Options{Audit: &tr})
				e := event("Bash", `{"command":"rm a"}`, withID("1"))
				if got, why := decided(t, g, "claude-code", e); got != "ask" {
					t.Fatalf("got %s (%s)", got, why)
				}
				time.Sleep(tt.jump)
				send(t, g, used(e, "done"))
				g.Close()
				if got := tr.ends(); !slices.Equal(got, []string{tt.want}) {
					t.Errorf("recorded %q, want %q", got, tt.want)
				}
				if got, why := decided(t, g, "claude-code", event("Bash", `{"command":"rm a"}`, withID("2"))); got != "ask" {
					t.Errorf("the same again: got %s (%s)", got, why)
				}
				g.Close()
			})
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
