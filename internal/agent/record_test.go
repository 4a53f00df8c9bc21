package agent_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/audit"
)

// With --audit every call has one end in the file, and the screen names the file.
func TestEveryCallIsWrittenDown(t *testing.T) {
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	r := play(t, "", "--yes", "all", "--audit", name)
	if r.code != 0 || !strings.Contains(r.out, "record:  "+name) {
		t.Errorf("exit %d, %s%s", r.code, r.out, r.err)
	}
	report, err := audit.Verify(name)
	if err != nil || report.State != audit.Whole || len(report.Open) != 0 {
		t.Fatalf("got %+v, %v", report, err)
	}
	raw := read(t, name)
	if ends := strings.Count(raw, `"kind":"end"`); ends != 24 {
		t.Errorf("%d calls have an end, want 24", ends)
	}
	if intents := strings.Count(raw, `"kind":"intent"`); intents < 6 {
		t.Errorf("%d intents, want one for each dangerous call at least", intents)
	}
	r = play(t, "", "--audit", name) // it goes on where it was
	if more, err := audit.Verify(name); r.code != 3 || err != nil || more.State != audit.Whole || more.Records <= report.Records {
		t.Errorf("exit %d, %+v, %v, %s", r.code, more, err, r.err)
	}
	if !strings.Contains(read(t, name), `"outcome":"denied"`) {
		t.Error("a denied call has no end")
	}
}

func TestARecordThatCannotBeOpenedEndsTheRun(t *testing.T) {
	name := filepath.Join(t.TempDir(), "no", "such", "folder", "calls.jsonl")
	r := play(t, "", "--yes", "all", "--audit", name)
	if r.code != 1 || !strings.Contains(r.err, "--audit "+name) || strings.Count(r.err, "\n") != 1 || len(r.program.Folder.Ledger()) != 0 {
		t.Errorf("exit %d, %q", r.code, r.err)
	}
}
