// Package tty finds out what an output can show, and lays text out for it.
package tty

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// A Style has what the output can show.
type Style struct {
	Colour bool
	Width  int  // in columns; 80 where there is no terminal
	Live   bool // a terminal, where a line can be drawn again
}

// Of looks at where the output goes: width and colour are a terminal's.
func Of(out io.Writer, getenv func(string) string) Style {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return Style{Width: 80}
	}
	s := Style{Width: 80, Live: true, Colour: getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		s.Width = min(max(w, 40), 120)
	}
	return s
}

// A Paint is a colour or a weight.
type Paint string

// The paints.
const (
	Bold   Paint = "1"
	Dim    Paint = "2"
	Red    Paint = "31"
	Green  Paint = "32"
	Yellow Paint = "33"
	Purple Paint = "35"
)

// Paint paints text where there are colours.
func (s Style) Paint(p Paint, text string) string {
	if !s.Colour || text == "" {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[0m"
}

// Wide is the number of columns that text takes, were all its runes narrow.
func Wide(text string) int { return utf8.RuneCountInString(text) }

// Fit cuts text to n columns, at least one.
func Fit(text string, n int) string {
	if Wide(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}

// Pad fills text up to n columns.
func Pad(text string, n int) string {
	return text + strings.Repeat(" ", max(0, n-Wide(text)))
}
