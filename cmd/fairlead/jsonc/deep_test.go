package jsonc_test

import (
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/jsonc"
)

func TestDeep(t *testing.T) {
	t.Parallel()
	const many = 10_000
	open, shut := strings.Repeat("[{", many/2), strings.Repeat("}]", many/2)
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"nothing":                        {"", false},
		"as deep as may be":              {open + shut, false},
		"deeper":                         {"[" + open + shut + "]", true},
		"without an end":                 {open + "[", true},
		"often, side by side":            {strings.Repeat("[[],{}]", many), false},
		"in a text":                      {`"\"` + open + `[[", "` + open + `"`, false},
		"an end in a text":               {strings.Repeat(`["]",`, many+1), true},
		"an end in a comment":            {strings.Repeat("[/*]*/", many+1), true},
		"an end in a line's comment":     {strings.Repeat("[//]\n", many+1), true},
		"in a comment without an end":    {"/*" + open + "[", false},
		"in the last line":               {"//" + open + "[", false},
		"behind a slash that is no more": {"/" + open + "[", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := jsonc.Deep([]byte("\n" + c.text)); got > 1 != c.want {
				t.Errorf("got line %d", got)
			}
		})
	}
}
