package main

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/agent"
)

// TestTheProgramBringsItsInbox runs the program as a newcomer would, from a
// folder that has nothing of it.
func TestTheProgramBringsItsInbox(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Chdir(t.TempDir())
	inbox, err := fs.Sub(files, "testdata/inbox")
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	p := &agent.Program{
		Args: []string{"--yes", "all"}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		Getenv: func(string) string { return "" }, Inbox: inbox,
	}
	if code := p.Run(t.Context()); code != 0 || !strings.HasPrefix(out.String(), "planner: rules, no model") ||
		!strings.Contains(out.String(), "14 effects, each one once") {
		t.Errorf("exit %d\n%s%s", code, out.String(), errs.String())
	}
}
