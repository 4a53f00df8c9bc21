package tail_test

import (
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/tail"
)

// Each line of a server is marked, and empty ones push nothing off the screen.
func TestLinesAreMarked(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	to := &tail.Tail{Out: &out, Mark: "memory | "}
	if _, err := to.Write([]byte("one\n" + strings.Repeat("\n \r\n", 60) + "Allow? [y]es\n")); err != nil || out.String() != "memory | one\nmemory | Allow? [y]es\n" {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

// What a server writes to its standard error cannot redraw a question on the terminal.
func TestOutGetsNoControlCharacters(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	to := &tail.Tail{Out: &out}
	for _, part := range []string{"one\ntw", "o\r\n", "\x1b[31mred\x1b[0m\n", "\x1b[2J\x1b[1;1Hallow delete? [y/N]\n", "a\rb\n", "\u202eevil\n", "not ended"} {
		if n, err := to.Write([]byte(part)); err != nil || n != len(part) {
			t.Fatal(n, err)
		}
	}
	got := out.String()
	if strings.ContainsAny(got, "\x1b\r\u202e") || !strings.HasPrefix(got, "one\ntwo\nred\n") || strings.Contains(got, "ended") {
		t.Errorf("got %q", got)
	}
	if got := to.LastWords(); !strings.Contains(got, "not ended") {
		t.Errorf("got %q", got)
	}
}
