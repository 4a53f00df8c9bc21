package safetext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
)

// Rows lays out a text for a place of rows: as [JSONRows] does where it is JSON.
func Rows(s string) []string {
	if json.Valid([]byte(s)) {
		return JSONRows(json.RawMessage(s))
	}
	var rows []string
	for text := range strings.SplitSeq(Text(s), "\n") {
		rows = append(rows, wrap([]rune(text))...)
	}
	return rows
}

// JSONRows lays out the arguments of a call one member a row, long ones on several.
func JSONRows(arguments json.RawMessage) []string {
	var pretty bytes.Buffer
	if len(arguments) == 0 {
		return []string{"no arguments"}
	}
	if err := json.Indent(&pretty, bytes.TrimSpace(arguments), "", "  "); err != nil {
		pretty.Write(arguments)
	}
	var rows []string
	for text := range strings.Lines(pretty.String()) {
		text = strings.TrimRight(text, "\n")
		indent := len(text) - len(strings.TrimLeft(text, " "))
		// What Line shows is JSON's own escape here, so JSON's backslashes stay single.
		runes := []rune(text[:indent] + strings.ReplaceAll(Line(breaks.Replace(text[indent:])), `\\`, `\`))
		rows = append(rows, wrap(runes)...)
	}
	return rows
}

// breaks turns JSON's own \n into a line break, which Line shows as \n again,
// and as a count where there are many, so that they push nothing out of sight.
var breaks = strings.NewReplacer(`\\`, `\\`, `\n`, "\n")

// wrap breaks a row where it is too long for a terminal.
func wrap(runes []rune) []string {
	const width = 72
	first := fit(runes, width)
	rows := []string{string(runes[:first])}
	for _, more := range Wrap(string(runes[first:]), width-4) {
		rows = append(rows, "    "+more)
	}
	return rows
}

// Wrap breaks a text of one line into rows of so many columns, so that no terminal
// breaks it and begins a line of its own with what somebody else wrote: behind a blank
// where the row's second half has one. It is empty for an empty text.
func Wrap(text string, columns int) []string {
	var rows []string
	for runes := []rune(text); len(runes) > 0; {
		n := fit(runes, columns)
		if n < len(runes) {
			for i := n; i > n/2; i-- {
				if runes[i-1] == ' ' {
					n = i
					break
				}
			}
		}
		rows = append(rows, string(runes[:n]))
		runes = runes[n:]
	}
	return rows
}

// fit returns how many of the runes have room in so many columns, one at least. What
// may take two counts as two.
func fit(runes []rune, columns int) int {
	for i, r := range runes {
		if columns--; r >= 0x1100 {
			columns--
		}
		if columns < 0 {
			return max(i, 1)
		}
	}
	return len(runes)
}

// JSON writes what [Line] escapes in a JSON text as JSON's own escapes, so that the meaning
// stays. It keeps white space.
func JSON(text string) string {
	var b strings.Builder
	odd := alike(text)
	for i, r := range text {
		if r == '\n' || !Invisible(r) && !odd[i] {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// JSONWriter writes JSON texts to w as [JSON] has them, each by one Write, as
// a json.Encoder makes them.
func JSONWriter(w io.Writer) io.Writer { return jsonWriter{w} }

// Doubtful reports whether a text has characters that [Line] escapes since they could be
// taken for others.
func Doubtful(s string) bool { return len(alike(s)) > 0 }

type jsonWriter struct{ to io.Writer }

func (w jsonWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.to, JSON(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}
