package screen

import (
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// A style knows what the output can show.
type style struct {
	colour bool
	width  int
	live   bool // a terminal, where a line can be drawn again
}

// styleOf looks at where the transcript goes: width and colour are a terminal's.
func styleOf(out io.Writer, getenv func(string) string) style {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return style{width: 80}
	}
	s := style{width: 80, live: true, colour: getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		s.width = min(max(w, 40), 120)
	}
	return s
}

type paint string

const (
	bold   paint = "1"
	dim    paint = "2"
	red    paint = "31"
	green  paint = "32"
	yellow paint = "33"
	purple paint = "35"
	cyan   paint = "36"
)

func (s style) paint(p paint, text string) string {
	if !s.colour || text == "" {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[0m"
}

// wide is the number of columns that text takes, were all its runes narrow.
func wide(text string) int { return utf8.RuneCountInString(text) }

// fit cuts text to n columns.
func fit(text string, n int) string {
	if wide(text) <= n {
		return text
	}
	if n < 1 {
		return ""
	}
	return string([]rune(text)[:n-1]) + "…"
}

// pad fills text up to n columns.
func pad(text string, n int) string {
	return text + strings.Repeat(" ", max(0, n-wide(text)))
}

// wrap breaks text into lines of n columns, between words and not before a dot
// in the middle.
func wrap(text string, n int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(strings.ReplaceAll(text, " · ", "· ")) {
		word = strings.ReplaceAll(word, "·", " ·")
		switch {
		case line == "":
			line = word
		case wide(line)+1+wide(word) <= n:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// short is a duration for people.
func short(d time.Duration) string {
	if d < time.Millisecond {
		return "<1ms"
	}
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}
