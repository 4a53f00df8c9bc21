package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
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
