package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/programtest"
)

func TestMain(m *testing.M) { os.Exit(programtest.Tests{M: m}.Run()) }

// installed are both commands in one folder, with a home of their own.
type installed struct {
	t            *testing.T
	folder, home string
}

func install(t *testing.T) installed {
	t.Helper()
	i := installed{t, t.TempDir(), t.TempDir()}
	for _, name := range []string{"fairlead", "fairlead-hook"} {
		if err := os.Link(filepath.Join(filepath.Dir(programtest.Path(t)), name), filepath.Join(i.folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	return i
}

// event has a command answer an event, a shell command of a coding agent, in the home folder.
func (i installed) event(command, shell string, args ...string) (stdout string, code int, stderr string) {
	i.t.Helper()
	return i.eventIn(i.home, command, shell, args...)
}

func (i installed) eventIn(folder, command, shell string, args ...string) (stdout string, code int, stderr string) {
	i.t.Helper()
	c := exec.CommandContext(i.t.Context(), filepath.Join(i.folder, command), args...)
	c.Dir = folder
	c.Env = []string{"HOME=" + i.home, "XDG_RUNTIME_DIR=" + i.home, "PATH=" + os.Getenv("PATH")}
	c.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":"s","cwd":%q,"hook_event_name":"PreToolUse","tool_use_id":"1","tool_name":"Bash","tool_input":{"command":%q}}`, i.home, shell))
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || !exit.Exited() {
			i.t.Fatal(err)
		}
	}
	return out.String(), c.ProcessState.ExitCode(), errs.String()
}

// flags are those of a hook whose process ends soon after the test.
func flags(more ...string) []string {
	return append([]string{"--client", "claude-code", "--reach", "none", "--idle", "20s"}, more...)
}

// It answers as fairlead hook does.
func TestAnswersAsTheProgramDoes(t *testing.T) {
	t.Parallel()
	i := install(t)
	for _, shell := range []string{"ls", "rm -rf build"} {
		light, code, said := i.event("fairlead-hook", shell, flags()...)
		want, wantCode, _ := i.event("fairlead", shell, append([]string{"hook"}, flags()...)...)
		if light != want || code != wantCode || light == "" {
			t.Errorf("%s: got %s, exit code %d, %s; want %s, exit code %d", shell, light, code, said, want, wantCode)
		}
	}
}

// Once its process runs, the program is not started any more: it can be one that does nothing, if it is as old. A program
// that was replaced is asked anew, and one that fails blocks.
func TestAsksTheProcess(t *testing.T) {
	t.Parallel()
	i := install(t)
	if out, code, said := i.event("fairlead-hook", "ls", flags()...); code != 0 || !strings.Contains(out, `"allow"`) {
		t.Fatalf("got %s, exit code %d, %s", out, code, said)
	}
	program := filepath.Join(i.folder, "fairlead")
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	syscall.ForkLock.RLock() // a child with the open file would keep it from being run
	err = os.WriteFile(program, []byte("#!/bin/sh\nexit 7\n"), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(program, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	for _, client := range []string{"claude-code", "codex"} { // agents with the same flags share the process
		args := flags()
		args[1] = client
		if out, code, said := i.event("fairlead-hook", "ls", args...); code != 0 {
			t.Errorf("%s, with the process: got %s, exit code %d, %s", client, out, code, said)
		}
	}
	for name, args := range map[string][]string{"other flags": flags("--patience", "40s"), "what is no event": flags("--explain")} {
		if _, code, _ := i.event("fairlead-hook", "ls", args...); code != 7 {
			t.Errorf("%s: got exit code %d, want that of the program, 7", name, code)
		}
	}
	later := info.ModTime().Add(1)
	if err := os.Chtimes(program, later, later); err != nil {
		t.Fatal(err)
	}
	if _, code, _ := i.event("fairlead-hook", "ls", flags()...); code != 7 {
		t.Errorf("another program: got exit code %d, want 7", code)
	}
}

// A file that is named from the working folder is another one in another folder.
func TestFoldersHaveProcessesOfTheirOwn(t *testing.T) {
	t.Parallel()
	i := install(t)
	for folder, policy := range map[string]string{"deny": `{"rules": [{"tool": "*/*", "decide": "deny"}]}`, "allow": `{}`} {
		dir := filepath.Join(i.home, folder)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "policy.json"), []byte(policy), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, code, said := i.eventIn(dir, "fairlead-hook", "ls", flags("--policy=policy.json")...); code != 0 || !strings.Contains(out, `"`+folder+`"`) {
			t.Errorf("%s: got %s, exit code %d, %s", folder, out, code, said)
		}
	}
}

// What goes wrong blocks the call.
func TestFailureBlocks(t *testing.T) {
	t.Parallel()
	i := install(t)
	if _, code, said := i.event("fairlead-hook", "ls", "--client", "nobody"); code != 2 || !strings.Contains(said, `there is no client "nobody"`) {
		t.Errorf("an unknown client: got exit code %d, %s; want 2", code, said)
	}
	if _, code, said := i.event("fairlead-hook", "ls", flags("--policy", "/nowhere/policy.json")...); code == 0 || said == "" {
		t.Errorf("a policy that is not there: got exit code %d, %s", code, said)
	}
	if err := os.Remove(filepath.Join(i.folder, "fairlead")); err != nil {
		t.Fatal(err)
	}
	if out, code, said := i.event("fairlead-hook", "ls", flags()...); code != 2 || out != "" || !strings.Contains(said, "install both") {
		t.Errorf("without the program: got %s, exit code %d, %s; want 2", out, code, said)
	}
}

// An event that is longer than a pipe has room for arrives whole at the program.
func TestLongEvent(t *testing.T) {
	t.Parallel()
	i := install(t)
	if out, code, said := i.event("fairlead-hook", "ls "+strings.Repeat("x", 1<<20), flags()...); code != 0 || out == "" {
		t.Errorf("got %.200s, exit code %d, %s", out, code, said)
	}
	c := exec.CommandContext(t.Context(), filepath.Join(i.folder, "fairlead-hook"), flags()...)
	c.Env = []string{"HOME=" + i.home, "XDG_RUNTIME_DIR=" + i.home}
	c.Stdin, c.Stdout = strings.NewReader("{"), io.Discard
	if err := c.Run(); c.ProcessState.ExitCode() != 2 {
		t.Errorf("half an event: %v, want exit code 2", err)
	}
}
