package audit_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/internal/longtest"
)

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
