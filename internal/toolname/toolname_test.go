package toolname_test

import (
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/toolname"
)

func TestCheckHoldsMCPsRule(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a":                      "",
		"read_file":              "",
		"Files.read-2":           "",
		strings.Repeat("a", 128): "",
		"":                       "it has no name",
		strings.Repeat("a", 129): "its name has 129 characters",
		"read file":              "its name has characters other than",
		"read/file":              "its name has characters other than",
		"read_file\n":            "its name has characters other than",
		"\u0440ead_file":         "its name has characters other than",
	} {
		err := toolname.Check(name)
		switch {
		case want == "" && err != nil:
			t.Errorf("%.20q: got %v, want none", name, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%.20q: got %v, want %s", name, err, want)
		}
	}
}
