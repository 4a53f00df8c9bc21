package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/internal/longtest"
)

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
		if !strings.Contains(err.Error(), "start a new file") {
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

// A loss of power takes what was not synced. It is not refused, and it is marked.
func TestPowerLossIsMarked(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	f, err := audit.OpenFile(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	durable := record(audit.Intent, 1)
	durable.Durable = true
	for _, r := range []audit.Record{durable, record(audit.Intent, 2), record(audit.End, 2)} {
		if err := f.Write(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	raw, head := read(t, name), read(t, name+".head")
	_ = f.Close()
	lines := bytes.SplitAfter(raw, []byte("\n"))
	write(t, name, lines[0])
	write(t, name+".head", head)
	if got := verify(t, name); got.State != audit.Damaged || !strings.Contains(got.Problem, "2 records are missing at the end; they had not been synced") {
		t.Errorf("got %+v", got)
	}
	if f, err = audit.OpenFile(name, nil); err != nil {
		t.Fatal(err)
	}
	if got := f.Interrupted(); len(got) != 1 || got[0].N != 1 {
		t.Errorf("got %+v", got)
	}
	_ = f.Close()
	if got := verify(t, name); got.State != audit.Whole || got.Recovered != 1 || !bytes.Contains(read(t, name), []byte(`"lost":2`)) {
		t.Errorf("got %+v", got)
	}
	write(t, name, nil)
	write(t, name+".head", head)
	if f, err := audit.OpenFile(name, nil); err == nil {
		t.Errorf("a file that has lost what was synced was opened: %v", f.Close())
	}
}

// A process that ends between a line and its head leaves a record that the head does
// not know. It is kept, and marked.
func TestRecordsBeyondTheHeadAreMarked(t *testing.T) {
	t.Parallel()
	name := file(t, 2)
	head := read(t, name+".head")
	f, err := audit.OpenFile(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Write(t.Context(), record(audit.End, 3)), f.Close()); err != nil {
		t.Fatal(err)
	}
	write(t, name+".head", head)
	if got := verify(t, name); got.State != audit.Interrupted || got.Records != 5 || !strings.Contains(got.Problem, "the last 1 records") {
		t.Errorf("got %+v", got)
	}
	if f, err = audit.OpenFile(name, nil); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if got := verify(t, name); got.State != audit.Whole || got.Records != 6 || got.Recovered != 1 || !bytes.Contains(read(t, name), []byte(`"unattested":1`)) {
		t.Errorf("got %+v", got)
	}
}
