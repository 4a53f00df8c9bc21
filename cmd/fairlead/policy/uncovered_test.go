package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
)

// An entry that approves no call of its tool is a warning, with the word to add: for the file alone as far as it shows,
// and for the class that the tool has.
func TestApprovedBelowTheClassOfItsTool(t *testing.T) {
	t.Parallel()
	const (
		dangerous = `write "class": "dangerous"`
		moderate  = `write "class": "moderate"`
	)
	for _, tt := range []struct {
		name, class, more string
		of                annotation.Safety // of the tool
		file, against     string            // in the warning; "" for none
	}{
		{"no class, a dangerous tool", "", "", annotation.Dangerous, dangerous, dangerous},
		{"no class, an unclassified tool", "", "", annotation.Unknown, dangerous, ""},
		{"no class, a write", "", "", annotation.Moderate, dangerous, ""},
		{"no class, a write that is asked about", "", `, "writes": true`, annotation.Moderate, "", ""},
		{"no class, a dangerous tool, and writes are asked about", "", `, "writes": true`, annotation.Dangerous, "", dangerous},
		{"writes, a dangerous tool", `"class": "moderate", `, "", annotation.Dangerous, "", dangerous},
		{"writes, an unclassified tool", `"class": "moderate", `, "", annotation.Unknown, "", dangerous},
		{"reads, a write", `"class": "safe", `, "", annotation.Moderate, "", moderate},
		{"all", `"class": "dangerous", `, "", annotation.Dangerous, "", ""},
		{"one definition", `"definition": "` + strings.Repeat("ab", 32) + `", `, "", annotation.Dangerous, "", ""},
	} {
		p := parse(t, fmt.Sprintf(`{"approvals": {"approved": [
			{"tool": "files/write_file", %s"members": {"path": {"like": "drafts/*"}}, "until": "2999-01-31"}]%s}}`, tt.class, tt.more))
		there := policy.There{
			Servers: []string{"files"}, Listed: map[string][]string{"files": {"write_file"}},
			Classes: map[string]annotation.Safety{"files/write_file": tt.of},
		}
		for from, c := range map[string]struct {
			got  []string
			want string
		}{"the file": {p.Warnings, tt.file}, "the class": {p.Unused(there), tt.against}} {
			all := strings.Join(c.got, "\n")
			if (c.want == "") != (all == "") || !strings.Contains(all, c.want) || c.want != "" && !strings.Contains(all, "p.json:2: approvals.approved[0]: it approves no call of files/write_file") {
				t.Errorf("%s: by %s: got %q, want %q", tt.name, from, all, c.want)
			}
		}
	}
}

// The file's own word on a tool is enough to know that an entry approves nothing.
func TestApprovedBelowTheClassInTheFile(t *testing.T) {
	t.Parallel()
	p := parse(t, `{"tools": [{"tool": "files/write_file", "class": "dangerous"}], "approvals": {"writes": true, "approved": [
		{"tool": "files/write_file", "class": "moderate", "members": {"path": {"like": "drafts/*"}}, "until": "2999-01-31"}]}}`)
	if all := strings.Join(p.Warnings, "\n"); !strings.Contains(all, `it approves no call of files/write_file that is dangerous, since it covers moderate calls alone; write "class": "dangerous"`) {
		t.Errorf("got %q", all)
	}
}
