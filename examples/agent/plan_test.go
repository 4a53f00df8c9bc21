package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReplCallsToolsByHand(t *testing.T) {
	r := play(t, strings.Join([]string{
		":why delete_file", ":why nope", "", `read_file {"path": "notes (1).txt"}`, `read_file {"path": "notes (1).txt"}`,
		`delete_file {"path": "notes.txt"}`, "nothing {}", "read_file notes.txt", `hash_files {"paths": ["notes.txt"]}`, "list_files", ":quit", "list_files",
	}, "\n"), "--repl", "--json")
	if got, want := strings.Join(r.outcomes(t), " "), "ok ok denied refused ok ok"; r.code != exitDenied || got != want {
		t.Errorf("exit %d, %s; want %s", r.code, got, want)
	}
	for _, want := range []string{"will: ask first", "fix the mooring line", `no tool \"nothing\"`, `no tool \"nope\"`, `\"sha256\"`, "tide-table.dat"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("the events do not have %q:\n%s", want, r.out)
		}
	}
}

func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestScriptGoesOnAfterABadCall(t *testing.T) {
	path := script(t, `[
		{"tool": "no_such_tool", "arguments": {}},
		{"tool": "list_files", "arguments": [1]},
		{"tool": "read_file", "arguments": {"path": "notes.txt", "path": "budget.csv"}},
		{"tool": "read_file", "arguments": {"path": "../../etc/passwd"}},
		{"tool": "read_file", "arguments": {"path": 7}},
		{"tool": "read_file", "arguments": {"path": "notes.txt"}},
		{"tool": "files/read_file", "arguments": {"path": "notes.txt"}}
	]`)
	r := play(t, "", "--script", path, "--json")
	if got, want := strings.Join(r.outcomes(t), " "), "refused refused tool_error tool_error ok ok"; r.code != exitError || got != want {
		t.Errorf("exit %d, %s; want %s", r.code, got, want)
	}
	if s := r.summary(t); s["calls"] != 6 || s["cache_hits"] != 1 {
		t.Errorf("the figures are %v", s)
	}
	r = play(t, "", "--script", path)
	for line := range strings.Lines(r.out) {
		if n := len([]rune(line)); n > 100 {
			t.Errorf("a line has %d characters: %s", n, line)
		}
	}
	if !strings.Contains(r.out, "no_such_tool") || !strings.Contains(r.out, "path escapes") {
		t.Errorf("the transcript does not show what is wrong:\n%s", r.out)
	}
}

func TestBadScripts(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "cut off": `[{"tool": "list_files"}`, "not a list": `{"tool": 1}`,
		"an unknown member": `[{"tool": "list_files", "args": {}}]`, "more behind it": `[] []`,
	} {
		t.Run(name, func(t *testing.T) {
			path := script(t, text)
			r := play(t, "", "--script", path)
			if r.code != exitError || strings.Count(r.errs, "\n") != 1 || !strings.Contains(r.errs, path+" is not a list of calls") {
				t.Errorf("exit %d, %q", r.code, r.errs)
			}
		})
	}
}

func TestAnotherServerIsExplored(t *testing.T) {
	r := playReal(t, "", "--server", child(t, "good"))
	if r.code != exitDone || !strings.Contains(r.out, "2 tools to call. The other 1 ") || !strings.Contains(r.out, `✓ get_echo     echo\x1b[2J `) {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.errs)
	}
	if strings.Contains(r.out, "\x1b") {
		t.Errorf("the server's control characters reach the terminal:\n%q", r.out)
	}
}
