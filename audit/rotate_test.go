package audit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/audit"
)

func begin(n int64) audit.Record {
	return audit.Record{Time: time.Now(), Kind: audit.Intent, Run: "r", N: n, Server: "files", Tool: "delete", Call: "c", Class: "dangerous", Arguments: []byte(`{"n":1}`), Durable: true}
}

func ended(n int64, outcome audit.Outcome) audit.Record {
	return audit.Record{Time: time.Now(), Kind: audit.End, Run: "r", N: n, Server: "files", Tool: "delete", Class: "dangerous", Outcome: outcome, Durable: true}
}

func put(t *testing.T, f *audit.File, records ...audit.Record) {
	t.Helper()
	for _, r := range records {
		if err := f.Write(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

func openRecord(t *testing.T, name string) *audit.File {
	t.Helper()
	f, err := audit.OpenFile(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func inTheEnd(t *testing.T, f *audit.File, err error) *audit.File {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// states verifies files together, and returns their states and problems, the oldest first.
func states(t *testing.T, names ...string) (all []string, reports []audit.Report) {
	t.Helper()
	reports, err := audit.VerifyAll(names...)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		all = append(all, filepath.Base(r.File)+" is "+r.State.String()+": "+r.Problem)
	}
	return all, reports
}

func wantStates(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// A call that is under way when the file is rotated has its end in the next file, and what is in doubt stays so.
func TestRotate(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	f := openRecord(t, name)
	put(t, f, begin(1), ended(1, audit.OK), begin(2), ended(2, audit.Unknown), begin(3))
	next, err := f.Rotate("calls-1.jsonl", nil)
	next = inTheEnd(t, next, err)
	put(t, next, ended(3, audit.OK), begin(4), ended(4, audit.OK))
	old := filepath.Join(filepath.Dir(name), "calls-1.jsonl")
	got, reports := states(t, name, old)
	wantStates(t, got, "calls-1.jsonl is whole: ", "calls.jsonl is whole: ")
	for _, r := range reports {
		if len(r.Open) > 0 {
			t.Errorf("%s: %d calls are open", r.File, len(r.Open))
		}
	}
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	if in := openRecord(t, name).InDoubt(); len(in) != 1 || in[0].N != 2 {
		t.Errorf("in doubt after a start are %v, want the second call", in)
	}
	if _, err := audit.OpenFile(old, nil); err != nil {
		t.Errorf("the old file cannot be opened: %v", err)
	}
}

// A file is renamed by another program, with its head or without it.
func TestContinueAfterARename(t *testing.T) {
	t.Parallel()
	for _, with := range []string{"with its head", "without its head", "and made anew"} {
		t.Run(with, func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(t.TempDir(), "calls.jsonl")
			f := openRecord(t, name)
			put(t, f, begin(1), ended(1, audit.OK), begin(2))
			rename(t, name, name+".1")
			switch with {
			case "with its head":
				rename(t, name+".head", name+".1.head")
			case "and made anew":
				if err := os.WriteFile(name, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := f.Write(t.Context(), ended(2, audit.OK)); err == nil {
				t.Error("a record was written before anybody asked to go on")
			}
			next, err := f.Continue(nil)
			next = inTheEnd(t, next, err)
			put(t, next, ended(2, audit.OK))
			got, _ := states(t, name+".1", name)
			wantStates(t, got, "calls.jsonl.1 is whole: ", "calls.jsonl is whole: ")
		})
	}
}

// What was written between the copy and the moment when the file was emptied is missing, and is reported with its number.
func TestContinueAfterCopyTruncate(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	f := openRecord(t, name)
	put(t, f, begin(1), ended(1, audit.OK))
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	put(t, f, begin(2), ended(2, audit.OK), begin(3))
	if err := os.WriteFile(name+".1", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Write(t.Context(), ended(3, audit.OK)); err == nil {
		t.Error("a record was written before anybody asked to go on")
	}
	next, err := f.Continue(nil)
	next = inTheEnd(t, next, err)
	put(t, next, ended(3, audit.OK))
	got, _ := states(t, name, name+".1")
	wantStates(t, got, "calls.jsonl.1 is whole: ", "calls.jsonl is damaged: 3 records are missing between calls.jsonl.1 and this file (truncated)")
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	openRecord(t, name)
}

// A file that was cut off, or removed with what others hold, is not gone on from without a word.
func TestContinueAfterDamage(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	f := openRecord(t, name)
	put(t, f, begin(1), ended(1, audit.OK))
	if err := os.Truncate(name, 10); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Continue(nil); err == nil || !strings.Contains(err.Error(), "changed or is incomplete") {
		t.Errorf("got %v", err)
	}
}

// Another process that has the file open follows, and no record is lost.
func TestFollow(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	one, other := openRecord(t, name), openRecord(t, name)
	put(t, one, begin(1))
	put(t, other, begin(2))
	next, err := one.Rotate("calls-1.jsonl", nil)
	next = inTheEnd(t, next, err)
	if err := other.Write(t.Context(), ended(2, audit.OK)); err == nil {
		t.Fatal("a record went to a file that is not there any more")
	}
	followed, err := other.Follow(nil)
	followed = inTheEnd(t, followed, err)
	put(t, followed, ended(2, audit.OK))
	put(t, next, ended(1, audit.OK))
	got, reports := states(t, name, filepath.Join(filepath.Dir(name), "calls-1.jsonl"))
	wantStates(t, got, "calls-1.jsonl is whole: ", "calls.jsonl is whole: ")
	if open := reports[1].Open; len(open) > 0 {
		t.Errorf("open are %v", open)
	}
}

// A file that somebody else has put in the place of the record is not followed.
func TestFollowAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name, another := filepath.Join(dir, "calls.jsonl"), filepath.Join(dir, "other.jsonl")
	f, o := openRecord(t, name), openRecord(t, another)
	put(t, f, begin(1))
	put(t, o, begin(7))
	next, err := o.Rotate("other-1.jsonl", nil)
	inTheEnd(t, next, err)
	rename(t, another, name)
	rename(t, another+".head", name+".head")
	if _, err := f.Follow(nil); err == nil {
		t.Error("it was followed")
	}
}

// A process that ends between two steps of a rotation leaves what the next start can go on with.
func TestRotationThatWasInterrupted(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"before the new file has its name", "before the new head"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(t.TempDir(), "calls.jsonl")
			f := openRecord(t, name)
			put(t, f, begin(1), ended(1, audit.OK))
			head, err := os.ReadFile(name + ".head")
			if err != nil {
				t.Fatal(err)
			}
			next, err := f.Rotate("calls-1.jsonl", nil)
			next = inTheEnd(t, next, err)
			if err := next.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name+".head", head, 0o600); err != nil {
				t.Fatal(err)
			}
			if at == "before the new file has its name" {
				rename(t, name, name+".next")
			}
			put(t, openRecord(t, name), begin(2), ended(2, audit.OK))
			got, _ := states(t, name, filepath.Join(filepath.Dir(name), "calls-1.jsonl"))
			wantStates(t, got, "calls-1.jsonl is whole: ", "calls.jsonl is whole: ")
		})
	}
}

// Repair keeps the old file as it was, and the new one has what was wrong.
func TestRepair(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	f := openRecord(t, name)
	put(t, f, begin(1), ended(1, audit.OK), begin(2), ended(2, audit.Unknown))
	if _, _, err := audit.Repair(name, time.Now()); err == nil || !strings.Contains(err.Error(), "nothing to repair") {
		t.Errorf("a whole file: got %v", err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), `"tool":"delete"`, `"tool":"listen"`, 1)
	if err := os.WriteFile(name, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := audit.Repair(name, time.Now()); err == nil || !strings.Contains(err.Error(), "another process has") {
		t.Errorf("a file that is open: got %v", err)
	}
	if err := f.Close(); err != nil {
		t.Logf("closing: %v", err)
	}
	aside, before, err := audit.Repair(name, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(aside); err != nil || string(got) != changed {
		t.Errorf("the old file was not kept as it was: %v", err)
	}
	if before.Records != 4 || before.Problem == "" {
		t.Errorf("got %+v", before)
	}
	put(t, openRecord(t, name), begin(3), ended(3, audit.OK))
	got, _ := states(t, name)
	if len(got) != 1 || !strings.Contains(got[0], "whole: it goes on after 4 records of an earlier file, which is not among these") {
		t.Errorf("got %q", got)
	}
	got, _ = states(t, name, aside)
	if len(got) != 2 || !strings.Contains(got[0], "is damaged") || !strings.Contains(got[1], "damaged: ") {
		t.Errorf("together: got %q", got)
	}
}

// A file that is refused while it is open can be repaired if its writer cannot go on either, which then goes on in the new
// file. A writer that goes on, since only what came before was changed, is not disturbed.
func TestRepairWhileAnotherHasTheFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	f := openRecord(t, name)
	put(t, f, begin(1), ended(1, audit.OK))
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.WriteAt([]byte("X"), 20); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	if _, err := f.Continue(nil); err == nil {
		t.Fatal("a file that was changed was opened")
	}
	put(t, f, begin(2), ended(2, audit.OK))
	if _, _, err := audit.Repair(name, time.Now()); err == nil || !strings.Contains(err.Error(), "another process has") {
		t.Errorf("a file whose writer goes on: got %v", err)
	}
	if err := os.WriteFile(name, text[:len(text)-10], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := audit.Repair(name, time.Now()); err == nil || !strings.Contains(err.Error(), "another process has") {
		t.Errorf("before the writer was asked to go on: got %v", err)
	}
	if _, err := f.Continue(nil); err == nil {
		t.Fatal("a file that was cut off was opened")
	}
	_, before, err := audit.Repair(name, time.Now())
	if err != nil || before.Records != 4 {
		t.Fatalf("got %+v, %v", before, err)
	}
	next, err := f.Continue(nil)
	put(t, inTheEnd(t, next, err), begin(3), ended(3, audit.OK))
	got, _ := states(t, name)
	if len(got) != 1 || !strings.Contains(got[0], "whole: it goes on after 4 records") {
		t.Errorf("got %q", got)
	}
}
