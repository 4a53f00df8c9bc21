// Package safetext makes text of a server or a model safe to show to a person: in a terminal, a dialog, a log or a
// prompt. It escapes what could move the cursor, reorder, hide or smuggle text, and what could be taken for something
// else:
//
//   - a second spelling of a character, such as a letter with a separate accent (NFD),
//   - letters of Cyrillic, Greek or Armenian in a word with letters of another alphabet, or
//     in a word of which each letter looks like one of another,
//   - letters of alphabets that no language of today uses, and digits other than ASCII's,
//   - letters that are read from the right, if digits follow them, which are shown elsewhere.
//
// Look-alikes within one alphabet, and between kana and Han, are shown as they are.
//
// The escapes are Go's: \x1b, \u202e, \U000e0041, and \xff for a byte that is not UTF-8. Long blanks become ⟦300
// newlines⟧ or ⟦80 spaces⟧, and what [Cut] left out is ⟦4012 bytes cut⟧. A backslash itself is written \\, and these
// brackets are escaped, so that text cannot fake an escape or a count.
package safetext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s for a place with many lines: up to two newlines in a row stay, and more than 32 spaces are counted.
func Text(s string) string { return style{newlines: 2, spaces: 32}.apply(s) }

// Line returns s for a place with one line: every newline is shown, and more than three spaces are counted.
func Line(s string) string { return style{newlines: 0, spaces: 3}.apply(s) }

// A style is how much blank may stay: newlines since the last visible rune, and spaces in a row.
type style struct{ newlines, spaces int }

// maxMarks is how many combining marks may be on one rune; scripts need three or four.
const maxMarks = 4

// apply escapes a text in one pass. It counts combining marks, so that a stack of them does not cover other rows.
func (st style) apply(s string) string {
	var b strings.Builder
	odd := alike(s)
	blank, marks := 0, maxMarks // a mark in front of everything would sit on text of ours
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		isMark := r >= utf8.RuneSelf && unicode.In(r, unicode.Mn, unicode.Me)
		switch {
		case r == '\n' || r == ' ':
			n := len(s[i:]) - len(strings.TrimLeft(s[i:], string(r)))
			st.blanks(&b, r, n, &blank)
			i, marks = i+n, maxMarks
			continue
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
			marks = maxMarks
		case Invisible(r) || odd[i] || isMark && marks >= maxMarks:
			b.WriteString(escaped(r))
			marks = maxMarks
		case isMark:
			b.WriteRune(r)
			marks++
		case r == '\\':
			b.WriteString(`\\`)
			marks = 0
		default:
			b.WriteRune(r)
			marks = 0
		}
		blank = 0
		i += size
	}
	return b.String()
}

// blanks writes n newlines or spaces; blank counts the newlines since the last rune that can be seen.
func (st style) blanks(b *strings.Builder, r rune, n int, blank *int) {
	if r == ' ' {
		if n > st.spaces {
			fmt.Fprintf(b, `⟦%d spaces⟧`, n)
			return
		}
		b.WriteString(strings.Repeat(" ", n))
		return
	}
	raw := min(n, max(0, st.newlines-*blank))
	b.WriteString(strings.Repeat("\n", raw))
	*blank += raw
	if n -= raw; n > 3 {
		fmt.Fprintf(b, `⟦%d newlines⟧`, n)
	} else {
		b.WriteString(strings.Repeat(`\n`, n))
	}
}

// Invisible reports whether a reader could not see that r is there, or what it is: controls (a newline and a tab too),
// formats (bidi, zero-width, tags), private use, surrogates, unassigned ones, odd spaces, and blank letters and marks.
func Invisible(r rune) bool {
	switch {
	case ' ' <= r && r <= '~': // most are, and the tables take long
		return false
	case r == '\u2800' || r == '\U0001d159': // braille blank, null note head
		return true
	}
	return !unicode.IsPrint(r) ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// escaped returns Go's escape of a rune.
func escaped(r rune) string {
	switch {
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r < utf8.RuneSelf:
		return fmt.Sprintf(`\x%02x`, r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// Cut returns text that [Text] or [Line] made, shortened to at most limit bytes, between runes and never inside an
// escape. It ends in "…" and a mark with the number of missing bytes, which the text itself cannot contain. A limit
// too small for the mark gives the mark alone.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	// The mark gets no longer when more is cut from a text of the same length.
	room := limit - len(mark(len(s)))
	end := 0
	for {
		n := token(s[end:])
		if end+n > room {
			break
		}
		end += n
	}
	return s[:end] + mark(len(s)-end)
}

// mark is what stands in the place of n bytes.
func mark(n int) string { return fmt.Sprintf(`…⟦%d bytes cut⟧`, n) }

// token returns the length of the rune, the escape or the count that s begins with.
func token(s string) int {
	if end := strings.Index(s, "⟧"); end > 0 && strings.HasPrefix(s, "⟦") {
		return end + len("⟧")
	}
	if len(s) < 2 || s[0] != '\\' {
		_, n := utf8.DecodeRuneInString(s)
		return max(n, 1)
	}
	n := map[byte]int{'x': 4, 'u': 6, 'U': 10}[s[1]]
	return min(max(n, 2), len(s))
}
