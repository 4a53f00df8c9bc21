package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRecordIsWrittenShownAndVerified(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	url := lying(t)
	for _, call := range [][]string{
		{"y\n", "delete_account", `{"id":7,"password":"hunter2hunter2"}`},
		{"n\n", "send_message", `{}`},
		{"", "get_account", `{}`},
	} {
		_, _, stderr := program(t, call[0], "call", call[1], "--arguments", call[2], "--audit", path, url)
		if strings.Contains(stderr, "records are not in") {
			t.Fatal(stderr)
		}
	}
	code, stdout, stderr := program(t, "", "audit", "verify", path)
	if code != exitOK || !strings.Contains(stdout, "state      whole") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	for name, c := range map[string]struct {
		args  []string
		lines int
		has   string
	}{
		"all":           {nil, 4, ""},
		"by tool":       {[]string{"--tool", "delete_account"}, 2, "delete_account"},
		"by outcome":    {[]string{"--outcome", "denied"}, 1, "send_message"},
		"by class":      {[]string{"--class", "safe"}, 1, "get_account"},
		"by server":     {[]string{"--server", "other"}, 0, ""},
		"since":         {[]string{"--since", "1h"}, 4, ""},
		"two filters":   {[]string{"--class", "dangerous", "--outcome", "ok"}, 1, "delete_account"},
		"without ends":  {[]string{"--open"}, 0, ""},
		"as they stand": {[]string{"--json", "--tool", "delete_account", "--outcome", "ok"}, 1, `"outcome":"ok"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := program(t, "", append([]string{"audit", "show", path}, c.args...)...)
			if n := strings.Count(stdout, "\n"); code != exitOK || n != c.lines || strings.Count(stdout, c.has) < min(1, c.lines) {
				t.Errorf("exit %d, %d lines, want %d with %q:\n%s%s", code, n, c.lines, c.has, stdout, stderr)
			}
			if strings.Contains(stdout, "hunter2") {
				t.Error("a secret is shown")
			}
		})
	}
}

func TestRecordThatWasChangedIsBroken(t *testing.T) {
	t.Parallel()
	write := func(t *testing.T) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "calls.jsonl")
		if code, _, stderr := program(t, "y\n", "call", "delete_account", "--audit", path, lying(t)); code != exitOK {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		return path
	}
	edit := func(t *testing.T, path string, change func(string) string) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(change(string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, path string)
		code   int
		want   string
	}{
		"changed": {func(t *testing.T, path string) {
			edit(t, path, func(s string) string { return strings.Replace(s, `"ok"`, `"denied"`, 1) })
		}, exitFindings, "damaged"},
		"an end cut off": {func(t *testing.T, path string) {
			edit(t, path, func(s string) string { return s[:strings.Index(s, "\n")+1] })
		}, exitFindings, "damaged"},
		"the head is gone": {func(t *testing.T, path string) {
			others, err := filepath.Glob(path + "?*")
			if err != nil || len(others) != 1 {
				t.Fatalf("%q, %v", others, err)
			}
			if err := os.Remove(others[0]); err != nil {
				t.Fatal(err)
			}
		}, exitFindings, "not attested"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := write(t)
			c.change(t, path)
			for _, command := range []string{"verify", "show"} {
				code, stdout, stderr := program(t, "", "audit", command, path)
				if code != c.code || !strings.Contains(stderr, c.want) {
					t.Errorf("%s: exit %d, stdout %q, stderr %q; want %d and %q", command, code, stdout, stderr, c.code, c.want)
				}
			}
		})
	}
}

// What was about to be done and has no end is named, by verify and by show.
func TestCallsWithoutAnEndAreNamed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	url := lying(t)
	for range 2 {
		if code, _, stderr := program(t, "y\n", "call", "delete_account", "--audit", path, named(url)); code != exitOK {
			t.Fatalf("exit %d: %s", code, stderr)
		}
	}
	// As a writer leaves it that is killed after the second intent: the head that it
	// wrote then says so. Without one nobody knows whether the end is there.
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	cut := filepath.Join(t.TempDir(), "cut.jsonl")
	if err := os.WriteFile(cut, []byte(strings.Join(lines[:3], "")), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, _ := program(t, "", "audit", "verify", cut)
	if code != exitFindings || !strings.Contains(stdout, "It is unknown whether these happened: 1") {
		t.Errorf("exit %d: %s", code, stdout)
	}
	_, stdout, _ = program(t, "", "audit", "show", "--open", cut)
	if strings.Count(stdout, "\n") != 1 || !strings.Contains(stdout, "intent    server/delete_account") {
		t.Errorf("got %s", stdout)
	}
	_, stdout, _ = program(t, "", "audit", "verify", "--json", cut)
	var r struct {
		State string
		Open  []struct{ Tool string }
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || len(r.Open) != 1 || r.Open[0].Tool != "delete_account" {
		t.Errorf("%v in %s", err, stdout)
	}
}

// A folder in place of the record's file is a mistake whose next step is named, and nothing is written beside it.
func TestRecordInAFolderHasANextStep(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"proxy", "--", "true"}, {"call", "delete_account", "--arguments", `{"id":7}`, lying(t)}} {
		parent := t.TempDir()
		folder := filepath.Join(parent, "calls")
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		all := slices.Concat(args[:1], []string{"--audit", folder}, args[1:])
		code, _, said := program(t, "y\n", all...)
		left, err := os.ReadDir(parent)
		if code == exitOK || err != nil || len(left) != 1 || !strings.Contains(said, "it is a folder; name a file in it, such as "+filepath.Join(folder, "calls.jsonl")) {
			t.Errorf("%q: got %d, %s; beside it are %v", all, code, said, left)
		}
	}
}
