package command

import (
	"strings"
	"testing"
)

func TestPromptStatesWhatTheChainEnforces(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := program(t, "", "prompt", "--identity", "You keep the books.", lying(t))
	if code != exitOK || !strings.HasPrefix(stdout, "You keep the books.") || !strings.Contains(stdout, "\ndelete_account") {
		t.Errorf("exit %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
	// Two servers may have tools of one name.
	if _, stdout, _ := program(t, "", "prompt", named(lying(t)), named(lying(t))); !strings.Contains(stdout, "\nserver-2__delete_account") {
		t.Errorf("got\n%s", stdout)
	}
	// Nothing is printed where tools would be missing.
	code, stdout, _ = program(t, "", "prompt", lying(t), "http://127.0.0.1:1/mcp")
	if code != exitUnreachable || stdout != "" {
		t.Errorf("exit %d and %q", code, stdout)
	}
}
