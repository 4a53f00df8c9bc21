package safetext

// Rows fit a terminal, which would otherwise break long ones by itself, where a person could not tell a row of ours
// from the rest of another's text.

import (
	"bytes"
	"encoding/json"
	"strings"
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

// breaks turns JSON's own \n into a line break, which Line shows as \n again, or counts.
var breaks = strings.NewReplacer(`\\`, `\\`, `\n`, "\n")

// wrap breaks a line into rows, with all but the first set in.
func wrap(runes []rune) []string {
	const width = 72
	first := fit(runes, width)
	rows := []string{string(runes[:first])}
	for _, more := range Wrap(string(runes[first:]), width-4) {
		rows = append(rows, "    "+more)
	}
	return rows
}

// Wrap breaks a line into rows of so many columns, so that no terminal breaks it, at a blank if the row's second half
// has one. It is empty for an empty text.
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

// fit returns how many of the runes have room in so many columns, one at least. One that may take two counts as two.
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
