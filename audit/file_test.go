package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/internal/longtest"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
)

// record is one that a trail could have written.
func record(kind audit.Kind, n int64) audit.Record {
	r := audit.Record{Time: time.Now(), Kind: kind, Run: "run", N: n, Server: "files", Tool: "touch", Class: "moderate"}
	if kind == audit.End {
		r.Outcome = audit.OK
	}
	return r
}

// file makes a file of so many calls, each with both records, and returns its name.
func file(t testing.TB, calls int64) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	f, err := audit.OpenFile(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range calls {
		for _, kind := range []audit.Kind{audit.Intent, audit.End} {
			if err := f.Write(context.Background(), record(kind, n+1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

func verify(t testing.TB, name string) audit.Report {
	t.Helper()
	report, err := audit.Verify(name)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func write(t testing.TB, name string, raw []byte) {
	t.Helper()
	if err := os.WriteFile(name, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestUnchangedFileIsWhole(t *testing.T) {
	t.Parallel()
	name := file(t, 3)
	first := verify(t, name)
	if first.State != audit.Whole || first.Records != 6 || first.Problem != "" || first.Recovered != 0 || len(first.Open) != 0 || len(first.Hash) != 64 {
		t.Errorf("got %+v", first)
	}
	f, err := audit.OpenFile(name, nil) // opening and closing changes nothing
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if got := verify(t, name); got.Hash != first.Hash || got.State != audit.Whole {
		t.Errorf("got %+v", got)
	}
	if err := f.Write(t.Context(), record(audit.End, 9)); err == nil {
		t.Error("a closed file took a record")
	}
}

// Cut at every byte, with its head the file is damaged, and without it the file is not reported as
// whole.
func TestFileThatWasCutOffIsNeverWhole(t *testing.T) {
	t.Parallel()
	name := file(t, 3)
	raw := read(t, name)
	head := read(t, name+".head")
	every := longtest.Every(t, 7)
	for cut := 0; cut < len(raw); cut += every {
		write(t, name, raw[:cut])
		if got := verify(t, name); got.State != audit.Damaged {
			t.Fatalf("cut at %d of %d: %s", cut, len(raw), got.State)
		}
	}
	if err := os.Remove(name + ".head"); err != nil {
		t.Fatal(err)
	}
	for cut := 0; cut <= len(raw); cut += every {
		write(t, name, raw[:cut])
		got := verify(t, name)
		lines := int64(bytes.Count(raw[:cut], []byte("\n")))
		if got.State != audit.NotAttested || got.Records != lines {
			t.Fatalf("cut at %d of %d: %s, %d records, want %d", cut, len(raw), got.State, got.Records, lines)
		}
		if got.State.String() != "valid prefix, end not attested" {
			t.Fatalf("the words are %q", got.State)
		}
	}
	for cut := range head {
		write(t, name, raw)
		write(t, name+".head", head[:cut])
		if got := verify(t, name); got.State == audit.Whole && bytes.TrimSpace(head[:cut])[len(bytes.TrimSpace(head[:cut]))-1] != '}' {
			t.Fatalf("head cut at %d: %s", cut, got.State)
		}
	}
}

// Every change of a byte, and every line that is taken out, moved or doubled, is seen.
func TestFileThatWasChangedIsDamaged(t *testing.T) {
	t.Parallel()
	name := file(t, 3)
	raw := read(t, name)
	every := longtest.Every(t, 7)
	for i := 0; i < len(raw); i += every {
		changed := bytes.Clone(raw)
		changed[i] ^= 1
		write(t, name, changed)
		if got := verify(t, name); got.State != audit.Damaged {
			t.Fatalf("byte %d of %d changed: %s: %s", i, len(raw), got.State, got.Problem)
		}
		if f, err := audit.OpenFile(name, nil); err == nil {
			t.Fatalf("byte %d of %d changed: it was opened: %v", i, len(raw), f.Close())
		}
	}
	lines := bytes.SplitAfter(raw, []byte("\n"))
	lines = lines[:len(lines)-1]
	for i := range lines {
		for what, others := range map[string][][]byte{
			"taken out": {},
			"doubled":   {lines[i], lines[i]},
			"put after": {lines[i], []byte(`{"seq":99,"prev":"","kind":"end"}` + "\n")},
		} {
			var changed []byte
			for j := range lines {
				if j != i {
					changed = append(changed, lines[j]...)
					continue
				}
				changed = append(changed, bytes.Join(others, nil)...)
			}
			write(t, name, changed)
			if got := verify(t, name); got.State != audit.Damaged {
				t.Fatalf("record %d %s: %s", i+1, what, got.State)
			}
			if f, err := audit.OpenFile(name, nil); err == nil {
				t.Fatalf("record %d %s: it was opened: %v", i+1, what, f.Close())
			}
		}
	}
}

func TestDamageBeyondACrashIsNotOpened(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(name string, raw []byte){
		"the head is gone":       func(name string, _ []byte) { _ = os.Remove(name + ".head") },
		"the head is unreadable": func(name string, _ []byte) { write(t, name+".head", []byte("{")) },
		"the head is another's":  func(name string, _ []byte) { write(t, name+".head", read(t, file(t, 3)+".head")) },
		"the file is another's":  func(name string, _ []byte) { write(t, name, read(t, file(t, 4))) },
		"the end is gone":        func(name string, raw []byte) { write(t, name, raw[:bytes.LastIndexByte(raw[:len(raw)-1], '\n')+1]) },
		"a record was changed":   func(name string, raw []byte) { write(t, name, bytes.Replace(raw, []byte("touch"), []byte("tauch"), 1)) },
		"the last was changed":   func(name string, raw []byte) { write(t, name, append(raw[:len(raw)-3], "x}\n"...)) },
		"the file was emptied":   func(name string, _ []byte) { write(t, name, nil) },
	} {
		name := file(t, 3)
		change(name, read(t, name))
		before := read(t, name)
		f, err := audit.OpenFile(name, nil)
		if err == nil {
			t.Errorf("%s: it was opened: %v", what, f.Close())
			continue
		}
		if !errors.Is(err, audit.ErrDamaged) || !strings.Contains(err.Error(), "start a new file") {
			t.Errorf("%s: %v", what, err)
		}
		if !bytes.Equal(read(t, name), before) {
			t.Errorf("%s: the file was changed", what)
		}
		if got := verify(t, name); got.State == audit.Whole || what == "the end is gone" && !strings.Contains(got.Problem, "5 records are there and there were 6") {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

func TestB273TornLineIsMarkedAndGluedToNothing(t *testing.T) {
	t.Parallel()
	whole := read(t, file(t, 2))
	last := whole[bytes.LastIndexByte(whole[:len(whole)-1], '\n')+1:]
	every := longtest.Every(t, 7)
	for cut := 1; cut < len(last); cut += every {
		name := file(t, 2)
		raw := read(t, name)
		next := bytes.Replace(last, []byte(`"seq":4`), []byte(`"seq":5`), 1)
		write(t, name, append(raw, next[:cut]...)) // as a writer leaves it that is killed in the middle
		if got := verify(t, name); got.State != audit.Interrupted || got.Records != 4 || !strings.Contains(got.Problem, "cut off") {
			t.Fatalf("cut at %d: %+v", cut, got)
		}
		f, err := audit.OpenFile(name, nil)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if err := errors.Join(f.Write(t.Context(), record(audit.End, 3)), f.Close()); err != nil {
			t.Fatal(err)
		}
		got := verify(t, name)
		if got.State != audit.Whole || got.Records != 6 || got.Recovered != 1 {
			t.Fatalf("cut at %d: %+v", cut, got)
		}
		after := read(t, name)
		if !bytes.Contains(after, append(next[:cut], " torn\n"...)) {
			t.Fatalf("cut at %d: what was there is gone: %s", cut, after)
		}
		// The torn text is as protected as a record is.
		after[len(raw)] ^= 1
		write(t, name, after)
		if got := verify(t, name); got.State != audit.Damaged {
			t.Fatalf("cut at %d, and the torn text changed: %s", cut, got.State)
		}
	}
}

func TestOpenIntentsAreListedAndEndAsUnknown(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	f, err := audit.OpenFile(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []audit.Record{record(audit.Intent, 1), record(audit.Intent, 2), record(audit.End, 1), record(audit.Intent, 3), record(audit.Intent, 3)} {
		if err := f.Write(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	_ = f.Close()
	if got := verify(t, name); len(got.Open) != 2 || got.Open[0].N != 2 || got.Open[1].N != 3 {
		t.Errorf("open: %+v", got.Open)
	}
	var log bytes.Buffer
	if f, err = audit.OpenFile(name, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if got := f.Interrupted(); len(got) != 2 || got[0].N != 2 || got[1].N != 3 {
		t.Errorf("interrupted: %+v", got)
	}
	if n := strings.Count(log.String(), "outcome of a call is unknown"); n != 2 || !strings.Contains(log.String(), "files/touch") {
		t.Errorf("the log has %d lines: %s", n, log.String())
	}
	if got := verify(t, name); got.State != audit.Whole || len(got.Open) != 0 || bytes.Count(read(t, name), []byte(`"outcome":"unknown"`)) != 2 {
		t.Errorf("got %+v\n%s", got, read(t, name))
	}
}

// A call in doubt stays so at every start, until a record settles it.
func TestCallsInDoubtOutliveStarts(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	open := func(want ...int64) *audit.File {
		t.Helper()
		f, err := audit.OpenFile(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, r := range f.InDoubt() {
			if got = append(got, r.N); r.Kind != audit.Intent || r.N < 4 && string(r.Arguments) != fmt.Sprintf(`{"n":%d}`, r.N) {
				t.Errorf("in doubt as %+v", r)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("in doubt %v, want %v", got, want)
		}
		return f
	}
	put := func(f *audit.File, kind audit.Kind, n int64, outcome audit.Outcome, arguments, decided string) {
		r := record(kind, n)
		r.Outcome, r.Arguments = outcome, json.RawMessage(arguments)
		if decided != "" {
			r.Decisions = []audit.Decision{{Stage: "doubt", What: decided}}
		}
		if err := f.Write(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	f := open()
	for n, end := range []audit.Outcome{"", audit.Unknown, audit.OK, ""} { // the first and the last have none
		arguments := fmt.Sprintf(`{"n":%d}`, n)
		if put(f, audit.Intent, int64(n), "", arguments, ""); end != "" {
			put(f, audit.End, int64(n), end, "", "")
		}
	}
	second := open(1, 0, 3) // while the first is at work
	_, _ = second.Close(), f.Close()
	f = open(1, 0, 3) // the first of them ends the two
	_ = f.Close()
	f = open(1, 0, 3)
	put(f, audit.End, 10, audit.Refused, `{"n":1}`, "held")
	put(f, audit.End, 11, audit.OK, `{"n":4}`, "settled by a person")
	put(f, audit.Intent, 12, "", `{"n":3}`, "")
	put(f, audit.End, 12, audit.OK, "", "settled by a person")
	_ = f.Close()
	_ = open(1, 0).Close()
}

// Several writers of one file, as two windows of one program are, make one chain. The calls
// of one that is at work are not ended by another that starts.
func TestB275TwoWritersOfOneFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	open := func() *audit.File {
		t.Helper()
		f, err := audit.OpenFile(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	first := open()
	if err := first.Write(t.Context(), record(audit.Intent, 1)); err != nil {
		t.Fatal(err)
	}
	second := open()
	if got := second.Interrupted(); len(got) != 0 {
		t.Errorf("a call that is under way was ended: %+v", got)
	}
	var all sync.WaitGroup
	for i, f := range []*audit.File{first, second, first, second} {
		all.Go(func() {
			for j := range 25 {
				r := record(audit.End, int64(i*100+j+2))
				r.Durable = j%5 == 0
				if err := f.Write(t.Context(), r); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := verify(t, name); got.State != audit.Whole || got.Records != 101 || len(got.Open) != 1 {
		t.Errorf("got %+v", got)
	}
	if err := errors.Join(first.Close(), second.Write(t.Context(), record(audit.End, 999))); err != nil {
		t.Error(err)
	}
	third := open()
	if err := errors.Join(second.Close(), third.Close()); err != nil {
		t.Error(err)
	}
	alone := open()
	if got := alone.Interrupted(); len(got) != 1 || got[0].N != 1 {
		t.Errorf("interrupted: %+v", got)
	}
	_ = alone.Close()
	if got := verify(t, name); got.State != audit.Whole || got.Records != 103 || got.Recovered != 0 {
		t.Errorf("got %+v", got)
	}
}

// The damage of another writer is marked by the next record.
func TestTornLineOfAnotherWriterIsMarked(t *testing.T) {
	t.Parallel()
	name := file(t, 2)
	f, err := audit.OpenFile(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	write(t, name, append(read(t, name), `{"seq":5,"prev":`...))
	if err := errors.Join(f.Write(t.Context(), record(audit.End, 3)), f.Close()); err != nil {
		t.Fatal(err)
	}
	if got := verify(t, name); got.State != audit.Whole || got.Records != 6 || got.Recovered != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestRecordIsNotWrittenToAFileThatIsGone(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(name string) error{
		"removed": os.Remove,
		"replaced": func(name string) error {
			return errors.Join(os.Rename(name, name+".1"), os.WriteFile(name, nil, 0o600))
		},
		"the head, removed": func(name string) error { return os.Remove(name + ".head") },
		"cut off":           func(name string) error { return os.Truncate(name, 10) },
		"changed":           func(name string) error { return os.WriteFile(name, []byte(strings.Repeat("x\n", 1000)), 0o600) },
	} {
		name := file(t, 2)
		f, err := audit.OpenFile(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Write(t.Context(), record(audit.End, 3)), change(name)); err != nil {
			t.Fatal(err)
		}
		err = f.Write(t.Context(), record(audit.End, 4))
		if err == nil || !strings.Contains(err.Error(), "open it again") && !strings.Contains(err.Error(), "start a new file") {
			t.Errorf("%s: got %v", what, err)
		}
		_ = f.Close()
	}
}

func TestB277OneRecordIsOneLine(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	f, err := audit.OpenFile(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	trail := audit.New(f, audit.Options{})
	hostile := "a\nb\r\x00\x1b[31m\u2028\u2029\xff{\"seq\":1}\n" + strings.Repeat("x", 10_000)
	restricted := testtool.New("files", "x", with(annotation.ReadOnly(), annotation.Restricted, annotation.Unset))
	named := *restricted
	definition := *restricted.Definition
	definition.Name = hostile
	named.Definition, named.Server = &definition, hostile
	caller := trail.Record(trail.Intent(testtool.Answering(textResult(hostile), nil)))
	arguments, _ := json.Marshal(map[string]string{"a": hostile})
	if _, err := caller.CallTool(t.Context(), middleware.Call{ID: hostile, Scope: hostile, Tool: &named, Arguments: arguments}); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	raw := read(t, name)
	if bytes.Count(raw, []byte("\n")) != 2 || bytes.ContainsAny(raw[:len(raw)-1], "\r\x00\x1b\u2028\u2029") || len(raw) > 100_000 {
		t.Errorf("got %d lines, %d bytes: %.2000q", bytes.Count(raw, []byte("\n")), len(raw), raw)
	}
	if got := verify(t, name); got.State != audit.Whole || got.Records != 2 {
		t.Errorf("got %+v", got)
	}
}

// Many at once are one chain, and those that wait share the disk's time.
func TestWritersAtTheSameTimeAreOneChain(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	counting := new(faulty)
	f, err := audit.OpenFileThrough(name, nil, func(f *os.File) audit.Disk {
		if strings.HasSuffix(f.Name(), ".head") {
			return f
		}
		counting.File = f
		return counting
	})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 25 {
				r := record(audit.End, int64(i*100+j))
				r.Durable = true
				if err := f.Write(t.Context(), r); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	_ = f.Close()
	if got := verify(t, name); got.State != audit.Whole || got.Records != 200 {
		t.Errorf("got %+v", got)
	}
	t.Logf("200 durable records took %d syncs", counting.syncs)
}

func TestFileTakesOnlyWhatATrailWrites(t *testing.T) {
	t.Parallel()
	f, err := audit.OpenFile(filepath.Join(t.TempDir(), "calls.jsonl"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, kind := range []audit.Kind{"", audit.Recovered} {
		if err := f.Write(t.Context(), audit.Record{Kind: kind}); err == nil {
			t.Errorf("it took a record of kind %q", kind)
		}
	}
}
