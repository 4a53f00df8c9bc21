package command

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/programtest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"
)

// pair opens a terminal: what a program sees of it, and its user's side.
func pair(t *testing.T) (program, user *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this system gives no terminals: %v", err)
	}
	t.Cleanup(func() { _ = user.Close() })
	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return program, user
}

// A person reviews a tool at a terminal, and what they decide is in the lock file.
func TestReviewAtATerminal(t *testing.T) {
	t.Parallel()
	tty, user := pair(t)
	exe, key := mcptest.Child(t, "vague")
	path := filepath.Join(t.TempDir(), "a.lock")
	cmd := exec.CommandContext(t.Context(), programtest.Path(t), "review", "--reviewer", "ada", "--lock", path, "--", exe)
	cmd.Env = append(os.Environ(), key)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	screen := bufio.NewReader(user)
	for _, step := range []struct{ question, answer string }{{"[q]uit: ", "m"}, {"Reason: ", "it adds a line"}} {
		for shown := ""; !strings.HasSuffix(shown, step.question); {
			c, err := screen.ReadByte()
			if err != nil {
				t.Fatalf("%v after %s", err, shown)
			}
			shown += string(c)
		}
		if _, err := user.WriteString(step.answer + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), `"reason": "it adds a line"`) {
		t.Errorf("%v\n%s", err, text)
	}
}

// The built program asks at the terminal in which it runs, while it speaks MCP on its
// standard input and output.
func TestProxyAsksAtItsTerminal(t *testing.T) {
	t.Parallel()
	tty, user := pair(t)
	exe, key := mcptest.Child(t, "lying")
	cmd := exec.CommandContext(t.Context(), programtest.Path(t), "proxy", "--approve", "terminal", "--", exe)
	cmd.Env = append(os.Environ(), key)
	cmd.ExtraFiles = []*os.File{tty}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	client := mcptest.Dial(t, nil, &mcp.CommandTransport{Command: cmd}, mcptest.Modern)

	screen := bufio.NewReader(user)
	answer := func(line string) (shown string) {
		for !strings.HasSuffix(shown, "left): ") {
			c, err := screen.ReadByte()
			if err != nil {
				t.Errorf("%v after %s", err, shown)
				return shown
			}
			shown += string(c)
		}
		<-time.After(500 * time.Millisecond) // the program has a clock of its own, and believes nobody who cannot have read it
		if _, err := user.WriteString(line + "\n"); err != nil {
			t.Error(err)
		}
		return shown
	}
	for line, want := range map[string]string{"Yes please": "done", "": "said no", "nope": "said no"} {
		shown := make(chan string, 1)
		go func() { shown <- answer(line) }()
		res, err := client.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "delete_account", Arguments: map[string]any{"id": 7}})
		if err != nil {
			t.Fatal(err)
		}
		if text := <-shown; !strings.Contains(text, "delete_account") || !strings.Contains(text, "id           7") {
			t.Errorf("the terminal shows %s", text)
		}
		if got := res.Content[0].(*mcp.TextContent).Text; res.IsError != (line != "Yes please") || !strings.Contains(got, want) {
			t.Errorf("after %q: %s", line, got)
		}
	}
}
