package approvals_test

import (
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/hitl/approvals"
)

// A file of an earlier version is read; of a later one, what is not understood approves nothing.
func TestFileOfAnotherVersion(t *testing.T) {
	t.Parallel()
	const standing = `"id":"1","scope":"ann","server":"files","tool":"delete","definition":"d","class":"dangerous","arguments":"any","until":"2100-01-01T00:00:00Z"`
	for name, tt := range map[string]struct {
		line  string
		found int
		err   string
	}{
		"B362 an earlier one, without a time and a name": {`{"at":"2026-01-01T00:00:00Z","op":"remembered","standing":{` + standing + `}}`, 1, ""},
		"B363 a later one, with another kind of entry":   {`{"at":"2026-01-01T00:00:00Z","op":"delegated","id":"1"}`, 0, `unknown entry "delegated"; was it written by a later version`},
		"B364 a later one, with a limit of an approval":  {`{"at":"2026-01-01T00:00:00Z","op":"remembered","standing":{` + standing + `,"weekdays":"mon-fri"}}`, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := approvals.Open(t, []byte(tt.line+"\n"), newDisk())
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			all, err := f.List(t.Context())
			if err != nil || len(all) != tt.found {
				t.Errorf("got %d approvals and %v, want %d", len(all), err, tt.found)
			}
		})
	}
}
