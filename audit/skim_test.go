package audit_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/google/go-cmp/cmp"
)

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
	want.Hash, got.Hash, want.First, got.First = "", "", "", "" // of lines that are written in another way
	if want.State != audit.Whole || !cmp.Equal(got, want) {
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
