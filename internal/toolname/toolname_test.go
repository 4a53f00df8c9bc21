package toolname_test

import (
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/toolname"
)

func TestCheckTakesNamesThatCanBeSeen(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a":                           "",
		"read_file":                   "",
		"Files.read-2":                "",
		strings.Repeat("a", 128):      "",
		"":                            "it has no name",
		strings.Repeat("a", 129):      "its name has 129 characters",
		"Disk report":                 "",
		"calendar/respond":            "",
		"files:read":                  "",
		`share\read`:                  "",
		"lire_caf\u00e9":              "",
		"\u67e5\u8be2":                "",
		strings.Repeat("\u67e5", 128): "",
		strings.Repeat("\u67e5", 129): "its name has 129 characters",
		"read_file\n":                 "its name has characters that cannot be seen",
		"read\u00a0file":              "its name has characters that cannot be seen",
		"read\u200bfile":              "its name has characters that cannot be seen",
		"read\u202efile":              "its name has characters that cannot be seen",
		"\u3164":                      "its name has characters that cannot be seen",
		"read\xff":                    "its name has",
		"lire_cafe\u0301":             "its name has letters that are not shown as they are",
		"\u0440ead_file":              "its name has letters that are not shown as they are",
		" read":                       "its name has blanks at an end",
		"read  file":                  "its name has blanks at an end, or in a row",
		"read_*":                      "its name has a *",
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
