package main

import (
	"bytes"
	"context"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fairlead-go/fairlead/audit"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// ran is a run that has ended.
type ran struct {
	code      int
	out, errs string
}

// play runs the program in a bubble, where no wait takes time, with copies of the
// inbox in a folder of the test's own.
func play(t *testing.T, stdin string, args ...string) (r ran) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) { r = playReal(t, stdin, args...) })
	return r
}

// playReal runs the program outside a bubble.
func playReal(t *testing.T, stdin string, args ...string) ran {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), args, strings.NewReader(stdin), &out, &errs)
	return ran{code, out.String(), errs.String()}
}

// summary returns the figures at the end of the output.
func (r ran) summary(t *testing.T) map[string]int {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	names, values := strings.Fields(lines[max(0, len(lines)-2)]), strings.Fields(lines[len(lines)-1])
	if len(names) != len(values) {
		t.Fatalf("the output does not end with a summary:\n%s%s", r.out, r.errs)
	}
	figures := map[string]int{}
	for i, name := range names {
		n, err := strconv.Atoi(values[i])
		if err != nil {
			t.Fatalf("the output does not end with a summary: %v\n%s%s", err, r.out, r.errs)
		}
		figures[name] = n
	}
	return figures
}

func exists(t *testing.T, parts ...string) bool {
	t.Helper()
	_, err := os.Lstat(filepath.Join(parts...))
	return err == nil
}

// messy returns a copy of the inbox.
func messy(t *testing.T) string {
	t.Helper()
	files, err := fs.Sub(inbox, "inbox")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTranscripts(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
	}{
		"allowed": {[]string{"--yes", "all"}, exitDone},
		"nobody":  {nil, exitDenied},
	} {
		t.Run(name, func(t *testing.T) {
			r := play(t, "", c.args...)
			if r.code != c.code || r.errs != "" {
				t.Errorf("exit %d, want %d: %s", r.code, c.code, r.errs)
			}
			dirs, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "fairlead-inbox-*"))
			if err != nil || len(dirs) != 1 {
				t.Fatalf("there are %d copies of the inbox (%v), want 1", len(dirs), err)
			}
			got, path := strings.ReplaceAll(r.out, dirs[0], "/tmp/fairlead-inbox"), filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(path); err != nil || got != string(want) {
				t.Errorf("%s differs (-update rewrites it; %v); got:\n%s", path, err, got)
			}
		})
	}
}

func TestYesAllTidiesTheFolder(t *testing.T) {
	dir := messy(t)
	r := play(t, "", "--yes", "all", "--dir", dir)
	s := r.summary(t)
	if r.code != exitDone || s["cached"] < 2 || s["calls"] <= s["server"] || s["denied"] != 0 || s["asked"] != 5 || s["allowed"] != 5 {
		t.Errorf("exit %d, %v", r.code, s)
	}
	for _, gone := range []string{"notes (1).txt", "old/harbour-copy.png", "old/Copy of crew-list.md", "budget.csv~", "New Text Document.txt"} {
		if exists(t, dir, gone) || !exists(t, dir, ".trash", gone) {
			t.Errorf("%s is not in the trash", gone)
		}
	}
	for _, there := range []string{"documents/notes.txt", "pictures/harbour.png", "tables/budget.csv", "budget.csv.bak", "old/draft.md.bak", "old/licence copy.txt", "tide-table.dat"} {
		if !exists(t, dir, there) {
			t.Errorf("%s is not there", there)
		}
	}
	r = play(t, "", "--yes", "all", "--dir", dir)
	if s := r.summary(t); r.code != exitDone || s["asked"] != 0 || !strings.Contains(r.out, "ledger has 0 effects") {
		t.Errorf("the second run: exit %d, %v", r.code, s)
	}
}

func TestNobodyToAskMeansNothingDeleted(t *testing.T) {
	dir := messy(t)
	r := play(t, "", "--dir", dir)
	if s := r.summary(t); r.code != exitDenied || s["allowed"] != 0 || s["denied"] != 5 || s["asked"] != 5 {
		t.Errorf("exit %d, %v", r.code, s)
	}
	for _, there := range []string{"notes (1).txt", "old/harbour-copy.png", "budget.csv~", "New Text Document.txt"} {
		if !exists(t, dir, there) || exists(t, dir, ".trash", there) {
			t.Errorf("%s was deleted", there)
		}
	}
}

func TestNothingHappensTwiceOnAFlakyServer(t *testing.T) {
	retried, maybe := 0, 0
	const seeds = 20
	for seed := range seeds {
		dir := messy(t)
		r := play(t, "", "--flaky", "0.3", "--yes", "all", "--seed", strconv.Itoa(seed), "--dir", dir)
		s := r.summary(t)
		if r.code != exitDone || !strings.Contains(r.out, "ledger has 10 effects, each one once") || !strings.Contains(r.out, "Done: 10 changes made, 0 denied, 0 failed, 0 unknown") {
			t.Errorf("seed %d: exit %d, %v: %s", seed, r.code, s, r.errs)
		}
		if exists(t, dir, "notes (1).txt") || !exists(t, dir, "documents/notes.txt") || exists(t, dir, ".trash", "notes (1).txt.2") {
			t.Errorf("seed %d: the folder is not tidy", seed)
		}
		retried += min(s["retries"], 1)
		maybe += s["unknown"]
	}
	if retried < seeds/2 || maybe == 0 {
		t.Errorf("%d of %d runs retried, with %d unknown outcomes: the faults do not show", retried, seeds, maybe)
	}
}

func TestTheLedgerShowsAnEffectThatHappenedTwice(t *testing.T) {
	var out bytes.Buffer
	f := &folder{dir: "/x", ledger: map[string]int{"delete_file {}": 2}}
	if (options{out: &out}).showLedger(f) || !strings.Contains(out.String(), `✗ happened more than once: ["delete_file {}"]`) {
		t.Errorf("got %s", out.String())
	}
}

func TestAFilesNameIsShownSafely(t *testing.T) {
	dir := messy(t)
	if err := os.WriteFile(filepath.Join(dir, "a\x1b[2J.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := play(t, "", "--yes", "all", "--dir", dir)
	if r.code != exitDone || !strings.Contains(r.out, `✓ delete_file  a\x1b[2J.txt`) || strings.Contains(r.out, "\x1b") {
		t.Errorf("exit %d, %q", r.code, r.out)
	}
}

func TestUsageErrors(t *testing.T) {
	for _, args := range [][]string{
		{"--nonsense"}, {"--yes", "maybe"}, {"--flaky", "2"}, {"--flaky", "NaN"}, {"--dir", ""}, {"--audit", ""}, {"a goal"},
	} {
		r := playReal(t, "", args...)
		if r.code != exitUsage || r.out != "" || strings.Count(r.errs, "\n") != 1 || !strings.HasPrefix(r.errs, "agent: ") {
			t.Errorf("%q: exit %d, %q, %q", args, r.code, r.out, r.errs)
		}
	}
	if r := playReal(t, "", "--help"); r.code != exitDone || !strings.Contains(r.out, "exit codes") || r.errs != "" {
		t.Errorf("--help: exit %d, %q", r.code, r.errs)
	}
}

func TestBadFolders(t *testing.T) {
	for _, dir := range []string{filepath.Join(t.TempDir(), "none"), filepath.Join(messy(t), "notes.txt")} {
		r := playReal(t, "", "--dir", dir)
		if r.code != exitError || strings.Count(r.errs, "\n") != 1 || !strings.Contains(r.errs, dir) || !strings.Contains(r.errs, "choose one") {
			t.Errorf("exit %d, %q", r.code, r.errs)
		}
	}
}

func TestEveryCallIsRecorded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	r := play(t, "", "--yes", "all", "--audit", name)
	report, err := audit.Verify(name)
	if r.code != exitDone || !strings.Contains(r.out, "record:  "+name) || err != nil || report.State != audit.Whole || len(report.Open) != 0 {
		t.Fatalf("exit %d, %+v, %v, %s%s", r.code, report, err, r.out, r.errs)
	}
	raw, err := os.ReadFile(name)
	if err != nil || strings.Count(string(raw), `"kind":"end"`) != 19 || strings.Count(string(raw), `"kind":"intent"`) < 5 {
		t.Errorf("not every call has its records (%v):\n%s", err, raw)
	}
	r = play(t, "", "--audit", name) // it goes on where it was
	if more, err := audit.Verify(name); r.code != exitDenied || err != nil || more.State != audit.Whole || more.Records <= report.Records {
		t.Errorf("exit %d, %+v, %v, %s", r.code, more, err, r.errs)
	}
	name = filepath.Join(name, "no", "calls.jsonl")
	if r = play(t, "", "--audit", name); r.code != exitError || !strings.Contains(r.errs, "--audit "+name) || strings.Count(r.errs, "\n") != 1 {
		t.Errorf("exit %d, %q", r.code, r.errs)
	}
}

func TestPromptIsPrintedAndNothingIsCalled(t *testing.T) {
	r := play(t, "", "--prompt")
	if r.code != exitDone || !strings.HasPrefix(r.out, "You are an agent") || !strings.Contains(r.out, "files__delete_file") || strings.Contains(r.out, "calls server") {
		t.Errorf("exit %d:\n%s", r.code, r.out)
	}
}

// A tripwire cancels once a word is written to it.
type tripwire struct {
	bytes.Buffer

	word   string
	cancel func()
}

func (w *tripwire) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(w.word)) {
		w.cancel()
	}
	return w.Buffer.Write(p)
}

func TestAnInterruptEndsTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir := messy(t)
	out, errs := tripwire{word: "✓ delete_file", cancel: cancel}, bytes.Buffer{}
	code := run(ctx, []string{"--dir", dir, "--yes", "all"}, strings.NewReader(""), &out, &errs)
	if code != exitError || !strings.Contains(errs.String(), "interrupted") || strings.Count(out.String(), "delete_file ") != 2 || !exists(t, dir, "notes.txt") {
		t.Errorf("exit %d, %q\n%s", code, errs.String(), out.String())
	}
}
