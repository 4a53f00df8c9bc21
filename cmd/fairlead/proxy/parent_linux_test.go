package proxy_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/programtest"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"golang.org/x/sys/unix"
)

// stateOf is the state of a process, such as "S" or "Z", "" for one that is not there.
func stateOf(pid string) string {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return ""
	}
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))[0]
}

// A server that ignores the end of its input ends with a proxy that was killed.
func TestServerEndsWithAKilledProxy(t *testing.T) {
	t.Parallel()
	program, dir := programtest.Path(t), t.TempDir()
	cmd := exec.CommandContext(t.Context(), program, "proxy", "--", "sh", "-c", `trap "" TERM HUP; echo $$ > "$0/pid.new"; mv "$0/pid.new" "$0/pid"; while :; do read -r line || sleep 1; done`, dir)
	start(t, cmd)
	exists(t, filepath.Join(dir, "pid"))
	text, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid := strings.TrimSpace(string(text))
	if state := stateOf(pid); state == "" || state == "Z" {
		t.Fatalf("the server is in state %q", state)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	until(t, "the server to end", func() bool { state := stateOf(pid); return state == "" || state == "Z" })
}

// reapKey makes the test binary a process that gets the children of others, as process 1 does.
const reapKey = "FAIRLEAD_TEST_REAPS"

// reaps leaves an orphan and one process that somebody waits for late, and reports what became of both.
func reaps() {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	go proxy.ReapOrphans(ctx)
	orphan, err := exec.CommandContext(ctx, "sh", "-c", "sleep 0.1 > /dev/null 2>&1 & echo $!").Output()
	if err != nil {
		fmt.Println(err)
		return
	}
	for stateOf(strings.TrimSpace(string(orphan))) != "" && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println(ctx.Err() == nil)
}

func TestOrphansAreReaped(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), reapKey+"=1")
	if out, err := cmd.Output(); err != nil || string(out) != "true\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

// SIGHUP opens the record again, which was renamed or emptied, reads the policy again, and ends nothing.
func TestHangUpReopensTheRecord(t *testing.T) {
	t.Parallel()
	program, dir := programtest.Path(t), t.TempDir()
	record, rules := dir+"/calls.jsonl", dir+"/policy.json"
	decide := func(what string) {
		if what == "allow" {
			what += `", "class": "dangerous`
		}
		if err := os.WriteFile(rules, []byte(`{"rules": [{"tool": "server/delete_thing", "decide": "`+what+`"}]}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	decide("allow")
	s := child(t, "things")
	cmd := exec.CommandContext(t.Context(), program, "proxy", "-v", "--name", "server", "--policy", rules, "--approve", "deny", "--audit", record, "--", s.Command[0])
	cmd.Env = append(os.Environ(), s.Env...)
	log := newLines(t)
	cmd.Stderr = log
	k := start(t, cmd)
	k.greet()
	if got := outcomeOf(k.answer(k.call("delete_thing", map[string]any{"id": 1}))); got != "ok" {
		t.Fatalf("got %q", got)
	}
	if err := os.Rename(record, dir+"/calls-1.jsonl"); err != nil { // its head stays, as with logrotate
		t.Fatal(err)
	}
	hangUp := func(n int) {
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		until(t, "the files", func() bool { return strings.Count(log.String(), "the files were opened again") == n })
	}
	hangUp(1)
	if got := outcomeOf(k.answer(k.call("delete_thing", map[string]any{"id": 2}))); got != "ok" {
		t.Errorf("after SIGHUP: %q", got)
	}
	if got := lastOf(t, record); got != "ok" {
		t.Errorf("the new record ends with %q", got)
	}
	if err := os.Truncate(record, 0); err != nil {
		t.Fatal(err)
	}
	hangUp(2)
	if got := outcomeOf(k.answer(k.call("delete_thing", map[string]any{"id": 4}))); got != "ok" {
		t.Errorf("after the record was emptied, and SIGHUP: %q", got)
	}
	decide("deny")
	hangUp(3)
	if got := k.answer(k.call("delete_thing", map[string]any{"id": 3})); !strings.Contains(got, "the policy denies it") {
		t.Errorf("after a change of the policy: %s", got)
	}
	_ = k.in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// The record goes on in a new file when it is too old, and the files are one chain.
func TestRecordIsRotatedByItsAge(t *testing.T) {
	t.Parallel()
	program, dir := programtest.Path(t), t.TempDir()
	s := child(t, "things")
	cmd := exec.CommandContext(t.Context(), program, "proxy", "--audit", dir+"/calls.jsonl", "--audit-age", "1ns", "--", s.Command[0])
	cmd.Env = append(os.Environ(), s.Env...)
	k := start(t, cmd)
	k.greet()
	for range 3 {
		k.answer(k.call("list_things", map[string]any{}))
	}
	until(t, "the files", func() bool {
		names, err := filepath.Glob(dir + "/*.jsonl")
		return err == nil && len(names) >= 3
	})
	_ = k.in.Close()
	_ = cmd.Wait() // its end is not what this is about
	names, err := filepath.Glob(dir + "/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	reports, err := audit.VerifyAll(names...)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range reports {
		if r.State != audit.Whole || r.Problem != "" || (r.Before == nil) != (i == 0) {
			t.Errorf("%s is %s: %s", r.File, r.State, r.Problem)
		}
	}
}
