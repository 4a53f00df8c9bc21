package command

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// An auditor keeps and signs where the record is, by a key that the machine does not have. Later the record is replaced as
// a whole, with a head that fits it.
func TestCheckpointIsSignedAndCompared(t *testing.T) {
	t.Parallel()
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("SKIPPED, NOT TESTED: there is no ssh-keygen, with which the page on the record signs checkpoints")
	}
	folder, url := t.TempDir(), lying(t)
	in := func(name string) string { return filepath.Join(folder, name) }
	recordsTwo := func(path string) {
		for range 2 {
			if code, _, stderr := program(t, "y\n", "call", "delete_account", "--arguments", `{"id":7}`, "--audit", path, url); code != exitOK {
				t.Fatal(stderr)
			}
		}
	}
	ssh := func(stdin []byte, args ...string) {
		t.Helper()
		cmd := exec.Command(keygen, args...)
		cmd.Stdin = bytes.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen %v: %v: %s", args, err, out)
		}
	}
	recordsTwo(in("calls.jsonl"))
	code, line, stderr := program(t, "", "audit", "checkpoint", in("calls.jsonl"))
	if code != exitOK || strings.Count(line, "\n") != 1 || !strings.Contains(line, `"records":4`) {
		t.Fatalf("exit %d: %q, %s", code, line, stderr)
	}
	ssh(nil, "-q", "-t", "ed25519", "-N", "", "-f", in("key"))
	public, err := os.ReadFile(in("key.pub"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"friday.jsonl": line, "auditors": "ann@example.com " + string(public)} {
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ssh(nil, "-Y", "sign", "-q", "-n", "fairlead", "-f", in("key"), in("friday.jsonl"))
	ssh([]byte(line), "-Y", "verify", "-n", "fairlead", "-f", in("auditors"), "-I", "ann@example.com", "-s", in("friday.jsonl.sig"))

	recordsTwo(in("calls.jsonl"))
	if code, stdout, stderr := program(t, "", "audit", "verify", "--checkpoint", in("friday.jsonl"), in("calls.jsonl")); code != exitOK || !strings.Contains(stdout, "state      whole") {
		t.Errorf("a record that went on: exit %d: %s%s", code, stdout, stderr)
	}
	for _, name := range []string{"calls.jsonl", "calls.jsonl.head"} {
		if err := os.Remove(in(name)); err != nil {
			t.Fatal(err)
		}
	}
	recordsTwo(in("calls.jsonl"))
	if code, stdout, _ := program(t, "", "audit", "verify", in("calls.jsonl")); code != exitOK || !strings.Contains(stdout, "state      whole") {
		t.Errorf("a record that was replaced, without the checkpoint: exit %d: %s", code, stdout)
	}
	code, _, stderr = program(t, "", "audit", "verify", "--checkpoint", in("friday.jsonl"), in("calls.jsonl"))
	if code != exitFindings || !strings.Contains(stderr, "no file has the first record of calls.jsonl") {
		t.Errorf("a record that was replaced: exit %d: %s", code, stderr)
	}
}

func TestB431FileWithoutCheckpointsIsRefused(t *testing.T) {
	t.Parallel()
	record := filepath.Join(t.TempDir(), "calls.jsonl")
	if code, _, stderr := program(t, "y\n", "call", "delete_account", "--arguments", `{"id":7}`, "--audit", record, lying(t)); code != exitOK {
		t.Fatal(stderr)
	}
	for text, want := range map[string]string{
		"":                   "has no checkpoint",
		"whole\n":            "checkpoint 1",
		`{"records":2}`:      "want first and hash",
		`{"head":"x"}`:       "unknown field",
		`[{"records":2}]`:    "checkpoint 1",
		`{"records":"many"}`: "checkpoint 1",
	} {
		kept := filepath.Join(t.TempDir(), "friday.jsonl")
		if err := os.WriteFile(kept, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, stdout, stderr := program(t, "", "audit", "verify", "--checkpoint", kept, record); code == exitOK || !strings.Contains(stderr, want) {
			t.Errorf("%q: exit %d, want %q: %s%s", text, code, want, stdout, stderr)
		}
	}
}
