package tty_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/tty"
)

// A file that is not a terminal has 80 columns and no colours, whatever the environment says.
func TestNoTerminal(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	nothing := func(string) string { return "" }
	for _, s := range []tty.Style{tty.Of(new(bytes.Buffer), nothing), tty.Of(w, nothing)} {
		if want := (tty.Style{Width: 80}); s != want || s.Paint(tty.Red, "x") != "x" {
			t.Errorf("got %+v", s)
		}
	}
	if got := (tty.Style{Colour: true}).Paint(tty.Red, "x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("got %q", got)
	}
}

func TestLayout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ got, want string }{
		"fits":            {tty.Fit("abc", 3), "abc"},
		"is cut":          {tty.Fit("abcd", 3), "ab…"},
		"counts runes":    {tty.Fit("äöü", 3), "äöü"},
		"is padded":       {tty.Pad("ä", 3) + ".", "ä  ."},
		"is long already": {tty.Pad("abcd", 3), "abcd"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", name, c.got, c.want)
		}
	}
}
