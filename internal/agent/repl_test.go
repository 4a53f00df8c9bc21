package agent_test

import (
	"strings"
	"testing"
)

func TestReplCallsToolsByHand(t *testing.T) {
	r := play(t, strings.Join([]string{
		":help", ":tools", ":why delete_file", ":prompt", "", "read_file path='notes (1).txt'", `read_file {"path": "notes (1).txt"}`,
		"delete_file path=notes.txt", "nothing x=1", "read_file notes.txt", "hash_files paths=notes.txt", `hash_files paths='["notes.txt"]'`, "list_files",
	}, "\n"), "--repl")
	if r.code != 3 {
		t.Errorf("exit %d, %s", r.code, r.err)
	}
	for _, want := range []string{
		"list_files [path=]", "will: ask first", "Safety rules", "fix the mooring line", "memory", "nobody is here to ask",
		`there is no tool "nothing"`, `"notes.txt" has no =`, `paths wants`, `"sha256"`, "17 entries",
	} {
		if !strings.Contains(r.out, want) {
			t.Errorf("the transcript does not say %q:\n%s", want, r.out)
		}
	}
}

func TestPromptIsPrintedAndNothingIsCalled(t *testing.T) {
	r := play(t, "", "--prompt")
	if r.code != 0 || !strings.HasPrefix(r.out, "You are an agent") || !strings.Contains(r.out, "files__delete_file") || len(r.program.Folder.Ledger()) != 0 {
		t.Errorf("exit %d:\n%s", r.code, r.out)
	}
}
