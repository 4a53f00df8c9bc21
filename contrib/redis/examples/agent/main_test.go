package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/contrib/redis/internal/opener"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/internal/agent"
	"github.com/fairlead-go/fairlead/internal/agent/inbox"
)

// play runs the agent once.
func play(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	p := &agent.Program{
		Args: args, Stdin: strings.NewReader(""), Stdout: &o, Stderr: &e, Getenv: func(string) string { return "" },
		Inbox: inbox.FS(), Stores: opener.Open,
	}
	code = p.Run(t.Context())
	return code, o.String(), e.String()
}

// Two agents on one folder know what each other has read, and a second that comes
// after the first finds nothing that the first has changed.
func TestTwoAgentsOnOneFolder(t *testing.T) {
	t.Parallel()
	var wrong string
	for range 5 { // a Redis whose answer is late costs a refusal or a second read
		if wrong = twoAgents(t); wrong == "" {
			return
		}
	}
	t.Error(wrong)
}

// twoAgents plays two, one after the other, and says what is wrong.
func twoAgents(t *testing.T) string {
	t.Helper()
	e, dir := redistest.New(t), t.TempDir()
	if err := os.CopyFS(dir, inbox.FS()); err != nil {
		t.Fatal(err)
	}
	code, out, errs := play(t, "--store", e.URL(), "--dir", dir, "--yes", "all", "--rate", "6000")
	if code != 0 || !strings.Contains(out, "each one once") || !strings.Contains(errs, "stand in Redis as they are") {
		return fmt.Sprintf("exit %d\n%s%s", code, out, errs)
	}
	if _, err := os.Stat(filepath.Join(dir, "documents", "notes.txt")); err != nil {
		return err.Error()
	}
	code, out, errs = play(t, "--store", e.URL(), "--dir", dir, "--yes", "all")
	if code != 0 || !strings.Contains(out, "memory ·") || strings.Contains(out, "delete_file    notes") {
		return fmt.Sprintf("the second: exit %d\n%s%s", code, out, errs)
	}
	return ""
}

func TestBadStoreIsOneClearLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ url, want string }{
		"nobody there": {"redis://:secret@127.0.0.1:1/0", "connection refused"},
		"no URL":       {"localhost:6379", "redis://"},
		"empty":        {"", "--store is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var code int
			var errs string
			for range 10 { // a connection that takes its time is another error
				if code, _, errs = play(t, "--store", c.url); strings.Contains(errs, c.want) {
					break
				}
			}
			if code == 0 || !strings.Contains(errs, c.want) || strings.Contains(errs, "secret") {
				t.Errorf("exit %d: %s", code, errs)
			}
		})
	}
}
