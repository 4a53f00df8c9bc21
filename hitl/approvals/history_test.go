package approvals_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
)

// decides asks about a call of a tool, and has it approved or denied.
func decides(t *testing.T, s approvals.Store, id, scope, tool string, to approvals.State) {
	t.Helper()
	until := time.Now().Add(time.Minute)
	if err := s.Add(t.Context(), approvals.Approval{ID: id, State: approvals.Pending, Scope: scope, Server: "files", Tool: tool, Arguments: "of " + id, Until: until}); err != nil {
		t.Fatal(err)
	}
	if err := s.Advance(t.Context(), id, approvals.Change{To: to, By: "ann", Until: until}); err != nil {
		t.Fatal(err)
	}
}

// approved returns the arguments of a row.
func approved(t *testing.T, s approvals.Store, scope, tool string) string {
	t.Helper()
	row, err := s.(approvals.History).Approved(t.Context(), scope, "files", tool)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, a := range row {
		all = append(all, a.Arguments+" by "+a.By)
	}
	return strings.Join(all, ", ")
}

// A history has the last three approvals of a tool since the last denial, by whichever process, and is bounded.
func TestHistory(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "approvals")
	open := func() *approvals.File {
		s, err := approvals.OpenFile(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	a, b := open(), open()
	for i, s := range []approvals.Store{a, b, a, b} {
		decides(t, s, fmt.Sprint(i), "ann", "delete", approvals.Approved)
	}
	decides(t, a, "of bob", "bob", "delete", approvals.Approved)
	decides(t, a, "of another", "ann", "move", approvals.Approved)
	const last = "of 1 by ann, of 2 by ann, of 3 by ann"
	for _, s := range []approvals.Store{a, b, open()} {
		if got := approved(t, s, "ann", "delete"); got != last {
			t.Errorf("got %q, want %q", got, last)
		}
	}
	if err := a.Add(t.Context(), approvals.Approval{ID: "open", State: approvals.Pending, Scope: "ann", Server: "files", Tool: "delete", Until: time.Now().Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	if got := approved(t, b, "ann", "delete"); got != last {
		t.Errorf("with a question open: got %q, want %q", got, last)
	}
	decides(t, b, "no", "ann", "delete", approvals.Denied)
	if got := approved(t, a, "ann", "delete"); got != "" {
		t.Errorf("after a denial: got %q", got)
	}
	if got := approved(t, open(), "bob", "delete"); got != "of of bob by ann" {
		t.Errorf("of another scope: got %q", got)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	s := approvals.NewMemory()
	for i := range 1001 {
		decides(t, s, fmt.Sprint(i), "", fmt.Sprint("tool ", i), approvals.Approved)
	}
	for tool, want := range map[string]string{"tool 0": "", "tool 1": "of 1 by ann", "tool 1000": "of 1000 by ann"} {
		if got := approved(t, s, "", tool); got != want {
			t.Errorf("%s: got %q, want %q", tool, got, want)
		}
	}
}
