package audit_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/audit"
)

// completed makes a whole record of so many calls, with its head, in which one call may be of another tool.
func completed(t *testing.T, folder string, calls, other int64) string {
	t.Helper()
	name := filepath.Join(folder, "calls.jsonl")
	f := openRecord(t, name)
	for n := range calls {
		for _, r := range []audit.Record{begin(n + 1), ended(n+1, audit.OK)} {
			r.Time = time.Date(2026, 11, 27, 12, 0, int(n), 0, time.UTC)
			if n+1 == other {
				r.Tool = "read"
			}
			put(t, f, r)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

func checkpoint(t *testing.T, name string) audit.Checkpoint {
	t.Helper()
	report := verify(t, name)
	point, err := report.Checkpoint(time.Date(2026, 11, 27, 13, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	return point
}

// A program that can write the file and its head can make another whole record of them. A checkpoint shows that, and nothing
// of what may happen to a record.
func TestCheckpointShowsWhatWasReplaced(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		now    func(t *testing.T, folder string) []string // the files as they are at the end
		states []string
		err    string
	}{
		"nothing happened": {func(_ *testing.T, folder string) []string { return []string{filepath.Join(folder, "calls.jsonl")} },
			[]string{"calls.jsonl is whole: "}, ""},
		"it went on": {func(t *testing.T, folder string) []string {
			name := filepath.Join(folder, "calls.jsonl")
			put(t, openRecord(t, name), begin(9), ended(9, audit.OK))
			return []string{name}
		}, []string{"calls.jsonl is whole: "}, ""},
		"it was rotated": {func(t *testing.T, folder string) []string {
			name := filepath.Join(folder, "calls.jsonl")
			f, err := openRecord(t, name).Rotate("calls.1.jsonl", nil)
			put(t, inTheEnd(t, f, err), begin(9), ended(9, audit.OK))
			return []string{filepath.Join(folder, "calls.1.jsonl"), name}
		}, []string{"calls.1.jsonl is whole: ", "calls.jsonl is whole: "}, ""},
		"a call was made another one": {func(t *testing.T, _ string) []string { return []string{completed(t, t.TempDir(), 5, 2)} },
			[]string{"calls.jsonl is damaged: record 6, or one before it, is not the one of the checkpoint of 2026-11-27T13:00:00Z"}, ""},
		"the end was taken away": {func(t *testing.T, _ string) []string { return []string{completed(t, t.TempDir(), 2, 0)} },
			[]string{"calls.jsonl is damaged: 4 records are there and there were 6 at the checkpoint of 2026-11-27T13:00:00Z"}, ""},
		"all was made anew": {func(t *testing.T, _ string) []string { return []string{completed(t, t.TempDir(), 3, 1)} },
			[]string{"calls.jsonl is whole: "}, "no file has the first record of calls.jsonl, of which there is a checkpoint of 2026-11-27T13:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			kept := []audit.Checkpoint{checkpoint(t, completed(t, folder, 3, 0))}
			reports, err := audit.VerifySince(kept, c.now(t, folder)...)
			var got []string
			for _, r := range reports {
				got = append(got, filepath.Base(r.File)+" is "+r.State.String()+": "+r.Problem)
			}
			wantStates(t, got, c.states...)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("the error is %v, want %q", err, c.err)
			}
		})
	}
}

func TestCheckpointHidesNoDamage(t *testing.T) {
	t.Parallel()
	name := completed(t, t.TempDir(), 3, 0)
	raw := read(t, name)
	write(t, name, raw[:len(raw)-10])
	if report := verify(t, name); report.State != audit.Damaged {
		t.Fatalf("got %+v", report)
	} else if point, err := report.Checkpoint(time.Now()); err == nil {
		t.Errorf("a damaged record has the checkpoint %+v", point)
	}
	write(t, name, raw)
	if err := os.Remove(name + ".head"); err != nil {
		t.Fatal(err)
	}
	if report := verify(t, name); report.State != audit.NotAttested {
		t.Fatalf("got %+v", report)
	} else if point, err := report.Checkpoint(time.Now()); err == nil {
		t.Errorf("a record that may have lost its end has the checkpoint %+v", point)
	}
	empty := filepath.Join(t.TempDir(), "calls.jsonl")
	openRecord(t, empty)
	if report := verify(t, empty); report.Records != 0 {
		t.Fatalf("got %+v", report)
	} else if point, err := report.Checkpoint(time.Now()); err == nil {
		t.Errorf("an empty record has the checkpoint %+v", point)
	}
}

func TestB430CheckpointWithoutAPlaceIsRefused(t *testing.T) {
	t.Parallel()
	name := completed(t, t.TempDir(), 3, 0)
	for _, change := range []func(*audit.Checkpoint){
		func(c *audit.Checkpoint) { c.Records = 0 },
		func(c *audit.Checkpoint) { c.Records = -6 },
		func(c *audit.Checkpoint) { c.First = "" },
		func(c *audit.Checkpoint) { c.Hash = "" },
	} {
		point := checkpoint(t, name)
		change(&point)
		if reports, err := audit.VerifySince([]audit.Checkpoint{point}, name); err == nil {
			t.Errorf("%+v is compared: %+v", point, reports)
		}
	}
}

func ExampleVerifySince() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "calls.jsonl")
	write := func(tools ...string) {
		f, err := audit.OpenFile(name, nil)
		if err != nil {
			panic(err)
		}
		defer f.Close()
		for n, tool := range tools {
			r := audit.Record{Time: time.Date(2026, 11, 27, 12, 0, n, 0, time.UTC), Kind: audit.End, N: int64(n + 1), Server: "files", Tool: tool, Outcome: audit.OK}
			if err := f.Write(context.Background(), r); err != nil {
				panic(err)
			}
		}
	}
	write("list", "delete", "list")
	report, err := audit.Verify(name)
	if err != nil {
		panic(err)
	}
	kept, err := report.Checkpoint(time.Date(2026, 11, 27, 13, 0, 0, 0, time.UTC)) // to be signed, or kept elsewhere
	if err != nil {
		panic(err)
	}

	// The file and its head are replaced by a record without the deletion.
	_, _ = os.Remove(name), os.Remove(name+".head")
	write("list", "list", "list")
	reports, err := audit.VerifySince([]audit.Checkpoint{kept}, name)
	if err != nil {
		panic(err)
	}
	fmt.Println(reports[0].State)
	fmt.Println(reports[0].Problem)
	// Output:
	// damaged
	// record 3, or one before it, is not the one of the checkpoint of 2026-11-27T13:00:00Z
}
