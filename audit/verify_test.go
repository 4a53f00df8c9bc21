package audit_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/google/go-cmp/cmp"
)

// A forger that computes the hashes has to get everything right.
func TestForgeriesAreDamage(t *testing.T) {
	t.Parallel()
	hash := func(line []byte) string {
		sum := sha256.Sum256(bytes.TrimSuffix(line, []byte("\n")))
		return hex.EncodeToString(sum[:])
	}
	unsynced := func(name string) (lines [][]byte, head []byte) {
		f, err := audit.OpenFile(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		durable := record(audit.End, 1)
		durable.Durable = true
		for _, r := range []audit.Record{durable, record(audit.End, 2), record(audit.End, 3)} {
			if err := f.Write(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		raw, head := read(t, name), read(t, name+".head")
		_ = f.Close()
		lines = bytes.SplitAfter(raw, []byte("\n"))
		return lines[:3], head
	}
	changed := func(line []byte) []byte { return bytes.Replace(line, []byte("touch"), []byte("watch"), 1) }
	for what, forge := range map[string]func(lines [][]byte, head []byte) ([][]byte, []byte){
		"the last one, which is not synced":         func(l [][]byte, h []byte) ([][]byte, []byte) { return [][]byte{l[0], l[1], changed(l[2])}, h },
		"the last synced one, and the rest is gone": func(l [][]byte, h []byte) ([][]byte, []byte) { return [][]byte{changed(l[0])}, h },
		"a wrong number, and a head that fits": func(l [][]byte, h []byte) ([][]byte, []byte) {
			last := bytes.Replace(l[2], []byte(`"seq":3`), []byte(`"seq":9`), 1)
			return [][]byte{l[0], l[1], last}, bytes.Replace(h, []byte(hash(l[2])), []byte(hash(last)), 1)
		},
		"a last one that is not JSON, and a head that fits": func(l [][]byte, h []byte) ([][]byte, []byte) {
			last := bytes.Replace(l[2], []byte(`"tool":`), []byte(`"tool";`), 1)
			return [][]byte{l[0], l[1], last}, bytes.Replace(h, []byte(hash(l[2])), []byte(hash(last)), 1)
		},
		"a record with what only a recovered one has": func(l [][]byte, h []byte) ([][]byte, []byte) {
			last := bytes.Replace(l[2], []byte("}\n"), []byte(`,"found":{"bytes":0}}`+"\n"), 1)
			return [][]byte{l[0], l[1], last}, bytes.Replace(h, []byte(hash(l[2])), []byte(hash(last)), 1)
		},
		"a torn line without an explanation": func(l [][]byte, h []byte) ([][]byte, []byte) {
			return [][]byte{l[0], []byte("{ torn\n"), l[1], l[2]}, h
		},
	} {
		name := filepath.Join(t.TempDir(), "calls.jsonl")
		lines, head := forge(unsynced(name))
		write(t, name, bytes.Join(lines, nil))
		write(t, name+".head", head)
		if got := verify(t, name); got.State != audit.Damaged {
			t.Errorf("%s: %s", what, got.State)
		}
		if f, err := audit.OpenFile(name, nil); err == nil {
			t.Errorf("%s: it was opened: %v", what, f.Close())
		}
	}
}

// Most records are skimmed, and must count as they would if they were decoded.
func TestSkimmedRecordsCountAsDecodedOnes(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	f, err := audit.OpenFile(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n, end := range []audit.Outcome{audit.OK, "", audit.Unknown, audit.ToolError, audit.Unknown, audit.OK, ""} {
		for _, kind := range []audit.Kind{audit.Intent, audit.End} {
			r := record(kind, int64(n+1))
			r.Call, r.Run, r.Arguments = `","outcome":"unknown","found":{}}`, fmt.Sprint("run ", n%2), json.RawMessage(fmt.Sprintf(`{"n":%d,"outcome":"unknown","found":{}}`, n%5))
			if r.Outcome = end; n == 5 && kind == audit.End {
				r.Decisions = []audit.Decision{{Stage: "doubt", What: "held"}, {Stage: "doubt", What: "settled by a person"}}
			}
			if end == "" && kind == audit.End {
				continue
			}
			if err := f.Write(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
	}
	other, err := audit.OpenFile(name, nil) // beside the first, which ends nothing
	if err != nil {
		t.Fatal(err)
	}
	want, doubt := verify(t, name), other.InDoubt()
	raw, head := read(t, name), read(t, name+".head")
	_, _ = f.Close(), other.Close()

	var spaced []byte
	prev := ""
	for i, line := range bytes.SplitAfter(bytes.TrimSuffix(raw, []byte("\n")), []byte("\n")) {
		_, rest, _ := bytes.Cut(bytes.TrimSpace(line), []byte(`"time"`))
		body := fmt.Appendf(nil, `{ "seq":%d, "prev":%q, "time"%s`, i+1, prev, rest)
		sum := sha256.Sum256(body)
		prev = hex.EncodeToString(sum[:])
		spaced = append(append(spaced, body...), '\n')
	}
	write(t, name, spaced)
	write(t, name+".head", bytes.ReplaceAll(head, []byte(want.Hash), []byte(prev)))
	got := verify(t, name)
	if want.Hash, got.Hash = "", ""; want.State != audit.Whole || !cmp.Equal(got, want) {
		t.Errorf("decoded, skimmed: %s", cmp.Diff(got, want))
	}
	again, err := audit.OpenFile(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := again.InDoubt(); len(got) < 4 || !cmp.Equal(got, doubt) {
		t.Errorf("in doubt, decoded, skimmed: %s", cmp.Diff(got, doubt))
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

func TestVerifyOfAMissingFile(t *testing.T) {
	t.Parallel()
	if _, err := audit.Verify(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// Any file is read without a panic; and a whole one is not whole after any change.
func FuzzVerify(f *testing.F) {
	name := file(f, 2)
	raw, head := read(f, name), read(f, name+".head")
	f.Add(raw, head)
	f.Add(append(bytes.Clone(raw), "torn torn\n"...), head)
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, records, attested []byte) {
		name := filepath.Join(t.TempDir(), "calls.jsonl")
		write(t, name, records)
		write(t, name+".head", head)
		if got := verify(t, name); got.State == audit.Whole && !bytes.Equal(records, raw) {
			t.Fatalf("other records are whole: %q", records)
		}
		write(t, name+".head", attested)
		before := verify(t, name)
		opened, err := audit.OpenFile(name, nil)
		if err != nil {
			if before.State == audit.Whole {
				t.Fatalf("whole, and cannot be opened: %v", err)
			}
			return
		}
		if err := opened.Close(); err != nil {
			t.Fatal(err)
		}
		if got := verify(t, name); got.State != audit.Whole || got.Records < before.Records {
			t.Fatalf("opened, and %+v; it was %+v", got, before)
		}
	})
}

func ExampleVerify() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "calls.jsonl")
	f, err := audit.OpenFile(name, nil)
	if err != nil {
		panic(err)
	}
	for n := range int64(3) {
		if err := f.Write(context.Background(), record(audit.End, n+1)); err != nil {
			panic(err)
		}
	}
	if err := f.Close(); err != nil {
		panic(err)
	}
	report, _ := audit.Verify(name)
	fmt.Println(report.State, report.Records)

	raw, _ := os.ReadFile(name)
	_ = os.WriteFile(name, bytes.Replace(raw, []byte("touch"), []byte("watch"), 1), 0o600)
	report, _ = audit.Verify(name)
	fmt.Printf("%s: %s\n", report.State, report.Problem)
	// Output:
	// whole 3
	// damaged: what follows record 1 does not belong there: a record was changed, taken out or put in
}
