// Package safetext makes text of a server or a model safe to show to a person: in a terminal, a dialog, a log or a prompt.
// It escapes what could move the cursor, reorder, hide or smuggle text, and what could be taken for something else:
//
//   - a second spelling of a character, such as a letter with a separate accent (NFD),
//   - letters of Cyrillic, Greek or Armenian in a word with letters of another alphabet, or
//     in a word of which each letter looks like one of another,
//   - letters of alphabets that no language of today uses, and digits other than ASCII's,
//   - letters that are read from the right, if digits follow them, which are shown elsewhere.
//
// Look-alikes within one alphabet, and between kana and Han, are shown as they are.
//
// The escapes are Go's: \x1b, \u202e, \U000e0041, and \xff for a byte that is not UTF-8. Long blanks become
// ⟦300 newlines⟧ or ⟦80 spaces⟧, and what [Cut] left out is ⟦4012 bytes cut⟧. A backslash itself is written \\, and these
// brackets are escaped, so that text cannot fake an escape or a count.
package safetext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
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

// Cut returns text that [Text] or [Line] made, shortened to at most limit bytes, between runes and never inside an escape.
// It ends in "…" and a mark with the number of missing bytes, which the text itself cannot contain. A limit too small for
// the mark gives the mark alone.
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

// SameName reports whether two names are one to a reader: case, white space around and
// between the words, and characters that cannot be seen make no difference. If one of them
// is written with combining marks, letters with marks count as equal.
func SameName(a, b string) bool {
	a, b = seen(a), seen(b)
	marked := strings.ContainsFunc(a+b, func(r rune) bool { return unicode.Is(unicode.Mn, r) })
	return strings.EqualFold(a, b) || marked && strings.EqualFold(bare(a), bare(b))
}

// bare returns a name with one sign for each letter that is outside ASCII or has a mark of its own.
func bare(name string) string {
	var signs []rune
	for _, r := range name {
		switch {
		case unicode.Is(unicode.Mn, r) && len(signs) > 0:
			signs[len(signs)-1] = '?'
		case r > unicode.MaxASCII:
			signs = append(signs, '?')
		default:
			signs = append(signs, r)
		}
	}
	return string(signs)
}

func seen(name string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case Invisible(r):
			return -1
		}
		return r
	}, name)), " ")
}

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

func wrap(runes []rune) []string {
	const width = 72
	first := fit(runes, width)
	rows := []string{string(runes[:first])}
	for _, more := range Wrap(string(runes[first:]), width-4) {
		rows = append(rows, "    "+more)
	}
	return rows
}

// Wrap breaks a line into rows of so many columns, so that no terminal breaks it, at a blank if the row's second half has
// one. It is empty for an empty text.
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

// JSON writes what [Line] escapes in a JSON text as JSON's own escapes. It keeps white space.
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

// JSONWriter writes JSON texts to w as [JSON] has them, each by one Write, as a json.Encoder makes them.
func JSONWriter(w io.Writer) io.Writer { return jsonWriter{w} }

// Doubtful reports whether a text has characters that [Line] escapes since they could be taken for others.
func Doubtful(s string) bool { return len(alike(s)) > 0 }

type jsonWriter struct{ to io.Writer }

func (w jsonWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.to, JSON(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// alike returns the places of the runes that could be taken for others; nil for plain ASCII.
func alike(s string) map[int]bool {
	if strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return nil
	}
	found := make(map[int]bool)
	var word []letter
	var leftward []int // letters since the last one that is read to the right
	var before rune
	for i, r := range s {
		switch {
		case unicode.IsLetter(r) || unicode.IsMark(r):
			word = append(word, letter{i, r})
		default:
			mixed(word, found)
			word = word[:0]
		}
		switch {
		case unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana):
			leftward = append(leftward, i)
		case r == '\n' || unicode.IsLetter(r):
			leftward = leftward[:0]
		case unicode.IsDigit(r): // which is shown on the other side of them than it is
			for _, at := range leftward {
				found[at] = true
			}
		}
		if double(r) || unicode.Is(unicode.Other_Grapheme_Extend, r) && unicode.IsMark(before) {
			found[i] = true
		}
		before = r
	}
	mixed(word, found)
	return found
}

type letter struct {
	at   int
	rune rune
}

// imitators are scripts with letters that look like those of another script, and the letters that do not.
var imitators = [...]struct {
	script *unicode.RangeTable
	likes  string
}{
	{unicode.Cyrillic, "АВЕЅІЈКМНОРСТУХҮҺӀԌԚԜЁЇӔЗГПФаеѕіјорсухһӏԁԛԝёїӕ"},
	{unicode.Greek, "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹΆΈΉΊΌΎΪΫΓΠΦαγινορσυϲϳάίόύϊϋΐΰµμ"},
	{unicode.Armenian, "ԼՍՕՏգզհյոռսցւօ"},
}

// mixed adds the letters of a word that could be taken for those of another script.
func mixed(word []letter, found map[int]bool) {
	var of [len(imitators)][]letter
	var evident [len(imitators)]bool
	scripts, latin := 0, false
	for _, l := range word {
		latin = latin || unicode.Is(unicode.Latin, l.rune)
		for i, script := range imitators {
			if !unicode.Is(script.script, l.rune) {
				continue
			}
			if of[i] == nil {
				scripts++
			}
			of[i] = append(of[i], l)
			evident[i] = evident[i] || unicode.IsLetter(l.rune) && !strings.ContainsRune(script.likes, l.rune)
		}
	}
	for i, letters := range of {
		if latin || scripts > 1 || !evident[i] {
			for _, l := range letters {
				found[l.at] = true
			}
		}
	}
}

// common are the scripts of today's languages. Letters of others are escaped.
var common = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Georgian,
	unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
	unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Thai, unicode.Lao, unicode.Tibetan,
	unicode.Myanmar, unicode.Ethiopic, unicode.Khmer, unicode.Bopomofo, unicode.Common,
}

// doubles are second spellings of other code points: compatibility forms, and those that are not in NFC.
var doubles = &unicode.RangeTable{R16: []unicode.Range16{
	{0x0374, 0x0374, 1}, {0x037e, 0x037e, 1}, {0x0387, 0x0387, 1}, // Greek punctuation
	{0x0653, 0x0655, 1}, {0x0958, 0x095f, 1}, {0x09dc, 0x09df, 1}, {0x0a33, 0x0a36, 3}, {0x0a59, 0x0a5e, 1}, {0x0b5c, 0x0b5d, 1},
	{0x0e4d, 0x0e4d, 1}, {0x0ecd, 0x0ecd, 1}, // parts of a vowel sign of Thai and of Lao
	{0x0f43, 0x0f43, 1}, {0x0f4d, 0x0f5c, 5}, {0x0f69, 0x0f69, 1}, {0x0f73, 0x0f78, 1}, {0x0f81, 0x0f81, 1},
	{0x1100, 0x11ff, 1}, {0x1f00, 0x1fff, 1}, // conjoining jamo, Greek with breathings
	{0x2010, 0x2012, 1}, {0x2015, 0x2015, 1}, {0x2024, 0x2024, 1}, {0x2043, 0x2044, 1}, // hyphens, a dot, a slash
	{0x2160, 0x2188, 1}, {0x2212, 0x2212, 1}, {0x2215, 0x2217, 1}, {0x2223, 0x2223, 1}, {0x2236, 0x2236, 1}, {0x223c, 0x223c, 1},
	{0x2329, 0x232a, 1}, {0x27e6, 0x27e7, 1}, {0x29f8, 0x29f9, 1}, {0x3164, 0x3164, 1}, {0xa789, 0xa78a, 1}, {0xa960, 0xa97f, 1}, {0xd7b0, 0xd7ff, 1},
	{0xf900, 0xfdff, 1}, {0xfe50, 0xfeff, 1}, {0xff00, 0xffef, 1},
}, R32: []unicode.Range32{{0x1d400, 0x1d7ff, 1}, {0x1ee00, 0x1eeff, 1}, {0x1fbf0, 0x1fbf9, 1}, {0x2f800, 0x2fa1f, 1}}}

// double reports whether a rune could be taken for another in whatever word.
func double(r rune) bool {
	switch {
	case r < 0xaa:
		return false
	case unicode.Is(unicode.Latin, r):
		return !latin(r)
	case unicode.IsDigit(r), unicode.In(r, doubles, unicode.Radical):
		return true // other digits than ASCII's, and parts of Han
	case unicode.Is(unicode.Inherited, r):
		return r < 0x064b || 0x0652 < r && r != 0x0670 // marks for letters that have a code point with them, but for Arabic vowels
	case unicode.IsLetter(r):
		return 0x02b0 <= r && r <= 0x02ff || 0x2100 <= r && r <= 0x214f || !unicode.In(r, common...)
	}
	return false
}

// latin reports whether a letter beyond ASCII is one of a language's alphabet that looks like no other.
func latin(r rune) bool {
	if slices.Contains([]rune{0xd0, 0x132, 0x133, 0x138, 0x13f, 0x140, 0x149, 0x17f}, r) {
		return false
	}
	return r <= 0x17f || slices.Contains([]rune{0x1a0, 0x1a1, 0x1af, 0x1b0, 0x218, 0x219, 0x21a, 0x21b, 0x1e9e}, r) || 0x1ea0 <= r && r <= 0x1ef9
}
