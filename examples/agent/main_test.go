package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/agent"
	"github.com/fairlead-go/fairlead/internal/agent/inbox"
)

// TestTheProgramBringsItsInbox runs the program as a newcomer would, from a
// folder that has nothing of it.
func TestTheProgramBringsItsInbox(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Chdir(t.TempDir())
	var out, errs bytes.Buffer
	p := &agent.Program{
		Args: []string{"--yes", "all"}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		Getenv: func(string) string { return "" }, Inbox: inbox.FS(),
	}
	if code := p.Run(t.Context()); code != 0 || !strings.HasPrefix(out.String(), "planner: rules, no model") ||
		!strings.Contains(out.String(), "14 effects, each one once") {
		t.Errorf("exit %d\n%s%s", code, out.String(), errs.String())
	}
}
