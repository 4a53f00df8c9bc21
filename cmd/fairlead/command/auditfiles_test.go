package command

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/programtest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A recorded is the built program with a record, in front of a server over standard input and output.
type recorded struct {
	program string
	file    string // of the record
	process *os.Process
	session *mcp.ClientSession

	mu   sync.Mutex
	text strings.Builder
}

func (r *recorded) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(b)
}

func (r *recorded) log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// recordsIn starts the built program, which records in a file and approves everything.
func recordsIn(t *testing.T, program, file string, args ...string) *recorded {
	t.Helper()
	rules := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(rules, []byte(`{"rules": [{"tool": "office/delete_order", "class": "dangerous", "decide": "allow"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, key := mcptest.Child(t, "office")
	r := &recorded{program: program, file: file}
	args = slices.Concat([]string{"proxy", "-v", "--name", "office", "--policy", rules, "--approve", "deny", "--audit", file}, args, []string{"--", exe})
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), key), r
	r.session = mcptest.Dial(t, mcptest.NewClient(), &mcp.CommandTransport{Command: cmd}, mcptest.Legacy)
	r.process = cmd.Process
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(r.log())
		}
	})
	return r
}

// deletes calls the dangerous tool, and reports whether it was called: it is refused if it cannot be recorded.
func (r *recorded) deletes(t *testing.T, note string) bool {
	t.Helper()
	res, err := r.session.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "delete_order", Arguments: map[string]any{"note": note}})
	return err == nil && !res.IsError
}

// hangUp sends SIGHUP and waits until the files were opened again.
func (r *recorded) hangUp(t *testing.T) {
	t.Helper()
	const line = "the files were opened again"
	before := strings.Count(r.log(), line)
	if err := r.process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(2 * time.Minute); strings.Count(r.log(), line) == before; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("SIGHUP did nothing")
		}
	}
}

// audit runs fairlead audit and returns what it printed.
func (r *recorded) audit(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := runs(t, r.program, "", append([]string{"audit"}, args...)...)
	if code != want {
		t.Errorf("audit %s: exit %d, want %d: %s%s", args[0], code, want, stdout, stderr)
	}
	return stdout, stderr
}

// A file's verdict is what 'fairlead audit verify --json' prints of it.
type verdictOf struct {
	State, Problem string
	Records        int
	Before         struct{ Why, Problem string }
}

func (r *recorded) verdicts(t *testing.T, code int, what string) (all []verdictOf) {
	t.Helper()
	stdout, _ := r.audit(t, code, "verify", "--json", what)
	for d := json.NewDecoder(strings.NewReader(stdout)); d.More(); {
		var v verdictOf
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// The record goes on over files by its size, after a rename and after it was copied and emptied; together they are one
// chain, and what was lost between the copy and the moment when it was emptied is named with its number.
func TestRecordGoesOnOverFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "calls.jsonl")
	r := recordsIn(t, programtest.Path(t), file, "--audit-size", "1")
	calls := 0
	do := func(note string) {
		t.Helper()
		if calls++; !r.deletes(t, note) {
			t.Fatalf("call %d was refused", calls)
		}
	}
	for large := strings.Repeat("x", 4000); strings.Count(r.log(), "the file was rotated") == 0; {
		if do(large); calls > 2000 {
			t.Fatal("the file was not rotated by its size")
		}
	}
	do("in the second file")
	if err := os.Rename(file, filepath.Join(dir, "calls.jsonl.1")); err != nil {
		t.Fatal(err)
	}
	r.hangUp(t)
	do("in the third file")
	whole := r.verdicts(t, exitOK, dir)
	for _, v := range whole {
		if v.State != "whole" || v.Problem != "" {
			t.Errorf("got %+v", v)
		}
	}
	if len(whole) != 3 || whole[1].Before.Why != "rotated" || whole[2].Before.Why != "renamed" {
		t.Errorf("got %+v", whole)
	}
	if ends, _ := r.audit(t, exitOK, "show", "--outcome", "ok", dir); strings.Count(ends, "\n") != calls {
		t.Errorf("%d calls have %d ends", calls, strings.Count(ends, "\n"))
	}

	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file+".2", text, 0o600); err != nil {
		t.Fatal(err)
	}
	do("between the copy and the end")
	if err := os.Truncate(file, 0); err != nil {
		t.Fatal(err)
	}
	if r.deletes(t, "before anybody asked to go on") {
		t.Error("a call was made that is in no record")
	}
	r.hangUp(t)
	do("in the fourth file")
	lost := r.verdicts(t, exitFindings, dir)
	if len(lost) != 4 || lost[3].Before.Why != "truncated" || !strings.Contains(lost[3].Problem, "2 records are missing between calls.jsonl.2 and this file") {
		t.Errorf("got %+v", lost)
	}
}

// A record without its head, or without its end, is refused at the start and by verify; repair names the loss, which
// verify then shows for ever; the program starts again and goes on.
func TestRecordIsRepairedByTheProgram(t *testing.T) {
	t.Parallel()
	program := programtest.Path(t)
	for name, c := range map[string]struct {
		damage func(file string, text []byte) error
		found  string // by verify, before
		named  string // by repair, and by verify afterwards
	}{
		"no head":       {func(file string, _ []byte) error { return os.Remove(file + ".head") }, "valid prefix, end not attested", "head"},
		"a record torn": {func(file string, text []byte) error { return os.WriteFile(file, text[:len(text)-40], 0o600) }, "damaged", "end is missing"},
		"no file":       {func(file string, _ []byte) error { return os.Remove(file) }, "damaged", "0 records are there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "calls.jsonl")
			first := recordsIn(t, program, file)
			if !first.deletes(t, "one") || !first.deletes(t, "two") {
				t.Fatal("a call was refused")
			}
			_ = first.session.Close()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.damage(file, text); err != nil {
				t.Fatal(err)
			}
			if code, _, stderr := runs(t, program, "office", "proxy", "--audit", file, "--", "SERVER"); code == exitOK || !strings.Contains(stderr, "audit") {
				t.Errorf("it started: exit %d, %s", code, stderr)
			}
			if got := first.verdicts(t, exitFindings, file); got[0].State != c.found {
				t.Errorf("before: got %+v", got)
			}
			stdout, _ := first.audit(t, exitOK, "repair", file)
			if !strings.Contains(stdout, c.named) || !strings.Contains(stdout, "What is missing stays missing") {
				t.Errorf("repair prints %s", stdout)
			}
			again := recordsIn(t, program, file)
			if !again.deletes(t, "three") {
				t.Error("a call was refused after the repair")
			}
			got := again.verdicts(t, exitOK, file)
			if len(got) != 1 || got[0].State != "whole" || got[0].Before.Why != "repaired" || !strings.Contains(got[0].Before.Problem, c.named) {
				t.Errorf("after: got %+v", got)
			}
			if _, stderr := again.audit(t, exitUsage, "repair", file); !strings.Contains(stderr, "nothing to repair") {
				t.Errorf("a second repair: %s", stderr)
			}
		})
	}
}

// The page about outages has a record that is refused while the proxy runs repaired, and SIGHUP sent: calls go on
// without a restart.
func TestRecordIsRepairedWhileTheProxyRuns(t *testing.T) {
	t.Parallel()
	program := programtest.Path(t)
	for name, damage := range map[string]func(file string, text []byte) error{
		"cut off": func(file string, text []byte) error { return os.WriteFile(file, text[:len(text)-40], 0o600) },
		"replaced": func(file string, text []byte) error {
			return os.WriteFile(file+".edited", []byte(strings.Replace(string(text), "delete_order", "create_order", 1)), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "calls.jsonl")
			r := recordsIn(t, program, file)
			if !r.deletes(t, "one") {
				t.Fatal("a call was refused")
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := damage(file, text); err != nil {
				t.Fatal(err)
			}
			if name == "replaced" {
				if err := os.Rename(file+".edited", file); err != nil {
					t.Fatal(err)
				}
			}
			if r.deletes(t, "two") {
				t.Error("a call was made that is in no record")
			}
			r.hangUp(t)
			if !strings.Contains(r.log(), "fairlead audit repair") || r.deletes(t, "three") {
				t.Error("the file was not refused")
			}
			r.audit(t, exitFindings, "verify", file)
			r.audit(t, exitOK, "repair", file)
			r.hangUp(t)
			if !r.deletes(t, "four") {
				t.Error("calls are refused after the repair and SIGHUP")
			}
			got := r.verdicts(t, exitOK, file)
			if len(got) != 1 || got[0].Before.Why != "repaired" || got[0].Before.Problem == "" {
				t.Errorf("after: got %+v", got)
			}
		})
	}
}
