package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fairlead-go/fairlead/internal/agent"
	"github.com/fairlead-go/fairlead/internal/agent/inbox"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// ran is a run that has ended.
type ran struct {
	code     int
	out, err string
	program  *agent.Program
}

// program returns a program that works on copies of the inbox in a folder of the
// test's own, in an environment of its own.
func program(t *testing.T, stdin string, env map[string]string, args ...string) func(context.Context) ran {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	var out, errs bytes.Buffer
	p := &agent.Program{
		Args: args, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs,
		Getenv: func(name string) string { return env[name] },
		Inbox:  inbox.FS(),
	}
	return func(ctx context.Context) ran {
		code := p.Run(ctx)
		return ran{code, out.String(), errs.String(), p}
	}
}

// play runs the program in a bubble, where no wait takes time.
func play(t *testing.T, stdin string, args ...string) (r ran) {
	t.Helper()
	run := program(t, stdin, nil, args...)
	synctest.Test(t, func(t *testing.T) { r = run(t.Context()) })
	return r
}

// events reads the lines of --json.
func (r ran) events(t *testing.T) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(r.out) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("the line %q is no event: %v", line, err)
		}
		all = append(all, e)
	}
	if len(all) == 0 || all[len(all)-1]["event"] != "summary" {
		t.Fatalf("the last event is no summary:\n%s%s", r.out, r.err)
	}
	return all
}

// summary returns the figures of --json.
func (r ran) summary(t *testing.T) map[string]int {
	t.Helper()
	all := r.events(t)
	figures := map[string]int{}
	for name, v := range all[len(all)-1] {
		if n, ok := v.(float64); ok {
			figures[name] = int(n)
		}
	}
	return figures
}

// folder returns the folder that the run worked on.
func (r ran) folder(t *testing.T) string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "fairlead-inbox-*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("there are %d copies of the inbox (%v), want 1", len(dirs), err)
	}
	return dirs[0]
}

func exists(t *testing.T, parts ...string) bool {
	t.Helper()
	_, err := os.Lstat(filepath.Join(parts...))
	return err == nil
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := read(t, path); got != want {
		t.Errorf("%s differs (-update rewrites it); got:\n%s", path, got)
	}
}

func TestDefaultRunIsAsInTheGoldenTranscript(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		code int
	}{
		{"allowed", []string{"--yes", "all"}, 0},
		{"nobody", nil, 3},
		{"flaky", []string{"--yes", "all", "--flaky", "0.3", "--seed", "3"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := play(t, "", c.args...)
			if r.code != c.code {
				t.Errorf("the exit code is %d, want %d\n%s", r.code, c.code, r.err)
			}
			if c.name == "flaky" { // its waits are random
				return
			}
			golden(t, c.name+".golden", strings.ReplaceAll(r.out, r.folder(t), "/tmp/fairlead-inbox"))
		})
	}
}

func TestYesAllTidiesTheFolder(t *testing.T) {
	r := play(t, "", "--yes", "all", "--json")
	s := r.summary(t)
	if r.code != 0 || s["cache_hits"] < 2 || s["calls"] <= s["server_calls"] || s["denied"] != 0 || s["asked"] < 2 || s["asked"] != s["allowed"] {
		t.Errorf("exit %d, %v", r.code, s)
	}
	dir := r.folder(t)
	for _, gone := range []string{"notes (1).txt", "old/harbour-copy.png", "old/Copy of crew-list.md", "budget.csv~", "New Text Document.txt"} {
		if exists(t, dir, gone) || !exists(t, dir, ".trash", gone) {
			t.Errorf("%s is not in the trash", gone)
		}
	}
	for _, there := range []string{"documents/notes.txt", "documents/crew-list.md", "pictures/harbour.png", "tables/budget.csv"} {
		if !exists(t, dir, there) {
			t.Errorf("%s is not there", there)
		}
	}
	for _, left := range []string{"budget.csv.bak", "old/draft.md.bak", "old/licence copy.txt", "tide-table.dat"} {
		if !exists(t, dir, left) {
			t.Errorf("%s was not left alone", left)
		}
	}
	report(t, dir, "REPORT.md")
}

// report checks that every statement of a report is true.
func report(t *testing.T, dir, name string) {
	t.Helper()
	section := ""
	lines := 0
	for line := range strings.Lines(read(t, dir, name)) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
			continue
		}
		item, ok := strings.CutPrefix(line, "- ")
		if !ok {
			continue
		}
		lines++
		what, _, _ := strings.Cut(item, ": ")
		switch {
		case strings.HasPrefix(what, "deleted "):
			if exists(t, dir, strings.TrimPrefix(what, "deleted ")) {
				t.Errorf("%q is not true", item)
			}
		case strings.HasPrefix(what, "moved "):
			from, to, _ := strings.Cut(strings.TrimPrefix(what, "moved "), " to ")
			if exists(t, dir, from) || !exists(t, dir, to) {
				t.Errorf("%q is not true", item)
			}
		case strings.HasPrefix(what, "delete "): // denied
			if !exists(t, dir, strings.TrimPrefix(what, "delete ")) {
				t.Errorf("%q: it was denied and is gone", item)
			}
		case strings.HasPrefix(what, "`"):
			if !exists(t, dir, strings.Trim(what, "`")) {
				t.Errorf("%q is named under %q and is not there", item, section)
			}
		}
	}
	if lines < 10 {
		t.Errorf("%s has only %d lines", name, lines)
	}
}

func TestNobodyToAskMeansNothingDeleted(t *testing.T) {
	r := play(t, "", "--json")
	s := r.summary(t)
	if r.code != 3 || s["allowed"] != 0 || s["denied"] < 2 || s["asked"] != s["denied"] {
		t.Errorf("exit %d, %v", r.code, s)
	}
	dir := r.folder(t)
	for _, there := range []string{"notes (1).txt", "old/harbour-copy.png", "budget.csv~", "New Text Document.txt"} {
		if !exists(t, dir, there) {
			t.Errorf("%s is gone", there)
		}
	}
	if exists(t, dir, ".trash") {
		t.Error("there is a .trash")
	}
	if got := read(t, dir, "REPORT.md"); !strings.Contains(got, "last winter") {
		t.Errorf("the old report was overwritten:\n%s", got)
	}
	report(t, dir, "REPORT-2.md")
	for _, e := range r.events(t) {
		if e["event"] == "call" && e["answer"] != nil && e["state"] != "denied" {
			t.Errorf("a call that was asked about came out as %v", e["state"])
		}
	}
}

func TestYesSafeCoversOnlyWhatTheTrashUndoes(t *testing.T) {
	r := play(t, "", "--yes", "safe", "--json")
	if s := r.summary(t); r.code != 0 || s["allowed"] != s["asked"] || s["asked"] < 2 {
		t.Errorf("exit %d, %v", r.code, s)
	}
	dir := t.TempDir()
	copyInbox(t, dir)
	r = play(t, "", "--yes", "safe", "--dir", dir, "--purge", "--json")
	if s := r.summary(t); r.code != 3 || s["allowed"] != 0 || !exists(t, dir, "notes (1).txt") {
		t.Errorf("with --purge: exit %d, %v", r.code, s)
	}
}

func TestPurgeKeepsNothing(t *testing.T) {
	dir := t.TempDir()
	copyInbox(t, dir)
	r := play(t, "", "--yes", "all", "--dir", dir, "--purge", "--json")
	if r.code != 0 || exists(t, dir, ".trash") || exists(t, dir, "notes (1).txt") || !exists(t, dir, "documents/notes.txt") {
		t.Errorf("exit %d\n%s", r.code, r.out)
	}
	report(t, dir, "REPORT.md")
}

func TestASecondRunHasNothingLeftToTidy(t *testing.T) {
	dir := t.TempDir()
	copyInbox(t, dir)
	play(t, "", "--yes", "all", "--dir", dir)
	r := play(t, "", "--yes", "all", "--dir", dir, "--json")
	for _, e := range r.events(t) {
		if e["event"] == "call" && (e["tool"] == "delete_file" || e["tool"] == "move_file") {
			t.Errorf("it still does %v %v", e["tool"], e["arguments"])
		}
	}
}

func copyInbox(t *testing.T, dir string) {
	t.Helper()
	if err := os.CopyFS(dir, inbox.FS()); err != nil {
		t.Fatal(err)
	}
}
