package command

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
)

func TestLockIsShownAcceptedAndKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "fairlead.lock")
	before := named(lying(t))
	code, stdout, stderr := program(t, "", "lock", "diff", "--lock", path, before)
	if code != exitFindings || !strings.Contains(stdout, "server/delete_account: new, nobody has accepted it (dangerous)") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("diff wrote the file")
	}
	for _, answer := range []string{"", "n\n", "yes please\n", "\n"} {
		code, _, stderr := program(t, answer, "lock", "accept", "--lock", path, before)
		if _, err := os.Stat(path); code != exitFindings || err == nil || !strings.Contains(stderr, "nothing was accepted") {
			t.Errorf("%q: exit %d, stderr %q", answer, code, stderr)
		}
	}
	if code, stdout, stderr := program(t, "y\n", "lock", "accept", "--lock", path, before); code != exitOK || !strings.Contains(stdout, "delete_account") || !strings.Contains(stderr, "Accept 3 changes") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if code, stdout, stderr := program(t, "", "lock", "diff", "--lock", path, before); code != exitOK || stdout != "" {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if code, _, stderr := program(t, "", "lock", "accept", "--lock", path, before); code != exitOK || !strings.Contains(stderr, "Nothing has changed") {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}

	_, after := mcptest.ConnectHTTP(t, honest(), nil, mcptest.Modern)
	code, stdout, _ = program(t, "", "lock", "diff", "--lock", path, named(after.URL))
	for _, want := range []string{"server/get_account: changed since it was accepted (description)", `+ "Gets an account."`, "server/delete_account: was accepted, and its server no longer lists it"} {
		if code != exitFindings || !strings.Contains(stdout, want) {
			t.Errorf("exit %d, and it does not say %q:\n%s", code, want, stdout)
		}
	}
	r := inspectJSON(t, exitFindings, "--lock", path, named(after.URL))
	rules := map[string]string{}
	for _, f := range r.Findings {
		rules[f.Tool] = f.Level + " " + f.Rule
	}
	if rules["get_account"] != "error not-accepted" || rules["delete_account"] != "warning gone" || len(r.Tools) != 1 {
		t.Errorf("got %v and %d tools; what changed is shown all the same", rules, len(r.Tools))
	}
}

// Servers that are not named stay in the file as they are.
func TestLockOfOtherServersStays(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "fairlead.lock")
	url := lying(t)
	for _, id := range []string{"first", "second"} {
		if code, _, stderr := program(t, "", "lock", "accept", "--yes", "--lock", path, "--name", id, url); code != exitOK {
			t.Fatalf("exit %d: %s", code, stderr)
		}
	}
	for _, id := range []string{"first", "second"} {
		if code, stdout, _ := program(t, "", "lock", "diff", "--lock", path, "--name", id, url); code != exitOK {
			t.Errorf("%s: exit %d: %s", id, code, stdout)
		}
	}
}

// A lock that cannot be read is not overwritten.
func TestLockThatCannotBeReadStays(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "fairlead.lock")
	if err := os.WriteFile(path, []byte(`{"version":1,"tools":{},"more":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"diff", "accept"} {
		code, _, stderr := program(t, "y\n", "lock", command, "--lock", path, lying(t))
		if code != exitUsage || !strings.Contains(stderr, `"more": is an unknown key`) || !strings.Contains(stderr, path) {
			t.Errorf("%s: exit %d, stderr %q", command, code, stderr)
		}
	}
}

// A read that fails behind a yes may have cut it short: "y… no, wait".
func TestHalfAnAnswerIsNone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"y\n": true, "y": true, "": false, "n\n": false} {
		if got := agreed(strings.NewReader(text), io.Discard, "?", nil); got != want {
			t.Errorf("%q: got %t", text, got)
		}
	}
	if agreed(io.MultiReader(strings.NewReader("y"), iotest.ErrReader(errors.New("gone"))), io.Discard, "?", nil) {
		t.Error("half an answer was a yes")
	}
}

// The question is below a line for each tool; all that differs is shown on request.
func TestLockAcceptShowsDetailsOnRequest(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "fairlead.lock")
	url := lying(t)
	for _, c := range []struct {
		answers           string
		flags             []string
		details, question int
	}{
		{"n\n", nil, 0, 1}, {"d\nn\n", nil, 3, 2}, {"d", nil, 3, 2}, {"n\n", []string{"--details"}, 3, 1}, {"D\ny\n", nil, 3, 2},
	} {
		code, stdout, stderr := program(t, c.answers, append(append([]string{"lock", "accept", "--lock", path}, c.flags...), named(url))...)
		lines := strings.Count(stdout, ": new, nobody has accepted it (") - c.details
		if lines != 3 && len(c.flags) == 0 || strings.Count(stdout, "\n  inputSchema\n") != c.details || strings.Count(stderr, "[d]etails") != c.question {
			t.Errorf("%q %v: exit %d, stderr %q, stdout\n%s", c.answers, c.flags, code, stderr, stdout)
		}
		if accepted := strings.HasSuffix(c.answers, "y\n"); (code == exitOK) != accepted {
			t.Errorf("%q: exit %d", c.answers, code)
		}
	}
	if _, stdout, _ := program(t, "y\n", "lock", "accept", "--lock", filepath.Join(t.TempDir(), "a.lock"), named(url)); strings.Count(stdout, "\n") != 3 {
		t.Errorf("three tools take\n%s", stdout)
	}
}
