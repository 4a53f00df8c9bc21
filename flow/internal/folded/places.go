package folded

import (
	"bytes"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxTries is how many places of a value are looked at.
const MaxTries = 64

// Find returns where a folded value is, -1 if nowhere: as whole words if words is true, unless it is there too
// often.
func (t *Text) Find(value []byte, words bool, from int) int {
	at := t.next(value, from)
	for tries := 0; words && at >= 0 && tries < MaxTries && !(t.Edge(at) && t.Edge(at+len(value))); tries++ {
		at = t.next(value, at+1)
	}
	return at
}

// next returns the first place from a byte on where a folded value is, -1 if there is none.
func (t *Text) next(value []byte, from int) int {
	if at := bytes.Index(t.Norm[min(from, len(t.Norm)):], value); at >= 0 {
		return from + at
	}
	return -1
}

// Backwards appends a folded text from its end to its beginning.
func Backwards(out, norm []byte) []byte {
	for len(norm) > 0 {
		_, n := utf8.DecodeLastRune(norm)
		out = append(out, norm[len(norm)-n:]...)
		norm = norm[:len(norm)-n]
	}
	return out
}

// Limits on what is looked at around a part.
const (
	maxLine = 300 // bytes on either side, for a sentence
	near    = 60  // folded bytes between the words of one action
)

// Part returns what raw has at a place of norm.
func (t *Text) Part(at, n int) string {
	from, last := t.Place(at), t.Place(at+n-1)
	if last < from || last >= len(t.Raw) {
		return ""
	}
	_, size := utf8.DecodeRuneInString(t.Raw[last:])
	if t.Raw[last] == '.' { // the decimals of a number
		size += digits(t.Raw[last+1:])
	}
	return t.Raw[from : last+size]
}

// Word returns where a word that begins with a stem is, -1 if nowhere.
func (t *Text) Word(stem []byte, from int) int {
	at := t.next(stem, from)
	for at >= 0 && !t.Edge(at) {
		at = t.next(stem, at+1)
	}
	return at
}

// Names returns where a text has two words of an action close together, -1 if nowhere.
func (t *Text) Names(stems [][]byte) int {
	for i, stem := range stems {
		for at := t.Word(stem, 0); at >= 0; at = t.Word(stem, at+1) {
			around := Text{Norm: t.Norm[:min(len(t.Norm), at+near)], starts: t.starts}
			for j, other := range stems {
				if j != i && around.Word(other, max(0, at-near)) >= 0 {
					return at
				}
			}
		}
	}
	return -1
}

// Whole returns a part with all that stands around it without a blank, a quotation mark, a bracket or a comma: the address
// or path that the part may be only a part of.
func (t *Text) Whole(at, n int) string {
	from := t.Place(at)
	end := min(len(t.Raw), from+len(t.Part(at, n)))
	for from > 0 {
		r, size := utf8.DecodeLastRuneInString(t.Raw[:from])
		if parts(r) || (r == ':' || r == '=') && !strings.HasPrefix(t.Raw[from:], "//") {
			break
		}
		from -= size
	}
	for end < len(t.Raw) {
		r, size := utf8.DecodeRuneInString(t.Raw[end:])
		if parts(r) {
			break
		}
		end += size
	}
	return trimWord(t.Raw[from:end])
}

// Words returns what stands between the blanks, quotation marks, brackets and commas of a text, without the marks that
// end a sentence.
func Words(raw string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for word := range strings.FieldsFuncSeq(raw, parts) {
			if word = trimWord(word); word != "" && !yield(word) {
				return
			}
		}
	}
}

func trimWord(word string) string { return strings.TrimRight(strings.TrimLeft(word, "*_"), ".,:;!?*_") }

// parts reports whether a rune stands between two addresses: a blank, a quotation mark, a bracket, a comma, or a letter of
// a script that writes words without blanks.
func parts(r rune) bool {
	if r < utf8.RuneSelf {
		return r <= ' ' || strings.IndexByte("\"'<>()[]{}|`,;", byte(r)) >= 0
	}
	return unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

// Field reports whether a part is all of a field or a line, the first column of a list, or a file of a comparison, and
// not a part of a sentence. The value is as it was written: a path may begin with marks that have no folded form.
func (t *Text) Field(at, n int, value string) bool {
	if at >= t.Own {
		return false
	}
	from := t.Place(at)
	end := from + len(t.Part(at, n))
	if lead := value[:len(value)-len(strings.TrimLeft(value, "./~#@"))]; strings.HasSuffix(t.Raw[:from], lead) {
		from -= len(lead)
	}
	if t.compared(from, end) || t.column(from, end) {
		return true
	}
	before := strings.TrimRight(t.Raw[:from], ` "'\*`+"`")
	after := strings.TrimLeft(t.Raw[end:], ` "'\*.0`+"`")
	if before != "" && !strings.ContainsAny(before[len(before)-1:], ":=,[{(|;<>\n\t-#") {
		return false
	}
	if after != "" && !strings.ContainsAny(after[:1], ",]})|;<>:\n\t(") && !strings.HasPrefix(t.Raw[end:], `\n`) {
		return false
	}
	return !t.prose(from)
}

// prose reports whether the line around a part has many words and little that separates fields.
func (t *Text) prose(from int) bool {
	before, after := t.Raw[max(0, from-maxLine):from], t.Raw[from:min(len(t.Raw), from+maxLine)]
	rest, _, _ := strings.Cut(after, "\n")
	line := before[strings.LastIndexByte(before, '\n')+1:] + rest
	count := len(strings.Fields(line))
	marks := strings.Count(line, ",") + strings.Count(line, ":") + strings.Count(line, "|") + strings.Count(line, `"`)/2 + strings.Count(line, "'")/2
	return count > 8 && count > 4*marks
}

// Stands reports whether a part stands for itself: it is a field or a line, or sentences from the beginning of the first to
// the end of the last, and not what a sentence quotes or is a part of.
func (t *Text) Stands(at, n int, value string) bool {
	if at >= t.Own {
		return false
	}
	if t.Field(at, n, value) {
		return true
	}
	from := t.Place(at)
	end := from + len(t.Part(at, n))
	before, after := strings.TrimRight(t.Raw[:from], " \t#*-"), strings.TrimLeft(t.Raw[end:], " \t")
	ends := ".!?\n\f"
	if before != "" && !strings.ContainsAny(before[len(before)-1:], ends+":") {
		begin, _ := t.line(from)
		if first := firstWord(t.Raw[begin:]); begin+len(first)+1 != from || !t.column(begin, begin+len(first)) {
			return false
		}
		ends += "(" // as the year behind a title
	}
	return after == "" || strings.ContainsAny(after[:1], ends)
}

// Quoted reports whether a part is between two quotation marks and not a field.
func (t *Text) Quoted(at, n int, value string) bool {
	if at >= t.Own {
		return true
	}
	from := t.Place(at)
	end := from + len(t.Part(at, n))
	const marks = "\"'`“”‘’«»„"
	last, _ := utf8.DecodeLastRuneInString(t.Raw[:from])
	next, _ := utf8.DecodeRuneInString(t.Raw[end:])
	return strings.ContainsRune(marks, last) && strings.ContainsRune(marks, next) && !t.Field(at, n, value)
}

// line returns where the line around a place begins and ends.
func (t *Text) line(at int) (from, end int) {
	from, end = strings.LastIndexByte(t.Raw[:at], '\n')+1, len(t.Raw)
	if n := strings.IndexByte(t.Raw[at:], '\n'); n >= 0 {
		end = at + n
	}
	return from, end
}

// compared reports whether a part is a file in the head of a comparison of files, as diff writes it.
func (t *Text) compared(from, end int) bool {
	begin, last := t.line(from)
	line := t.Raw[begin:last]
	if !strings.HasPrefix(line, "diff --git a/") && !strings.HasPrefix(line, "--- a/") && !strings.HasPrefix(line, "+++ b/") {
		return false
	}
	before, after := t.Raw[begin:from], strings.TrimRight(t.Raw[end:last], "\r")
	return (strings.HasSuffix(before, " a/") || strings.HasSuffix(before, " b/")) && (after == "" || strings.HasPrefix(after, " b/"))
}

// column reports whether a part with a digit is the first word of a line, and a line before or after it begins with a word
// of the same form, as rows of a list do.
func (t *Text) column(from, end int) bool {
	begin, last := t.line(from)
	if begin != from || end >= last || t.Raw[end] != ' ' || !strings.ContainsAny(t.Raw[from:end], "0123456789") || t.prose(from) {
		return false
	}
	own := shape(t.Raw[from:end])
	if last < len(t.Raw) && shape(firstWord(t.Raw[last+1:])) == own {
		return true
	}
	if from == 0 {
		return false
	}
	before, _ := t.line(from - 1)
	return shape(firstWord(t.Raw[before:from-1])) == own
}

func firstWord(s string) string {
	s = s[:min(len(s), maxLine)]
	if end := strings.IndexAny(s, " \n"); end >= 0 {
		return s[:end]
	}
	return ""
}

// shape returns a word with each run of letters as one letter, and each of digits as one digit.
func shape(word string) string {
	var b strings.Builder
	last := ' '
	for _, r := range word {
		switch {
		case unicode.IsLetter(r):
			r = 'a'
		case unicode.IsDigit(r):
			r = '0'
		}
		if r != last || r != 'a' && r != '0' {
			b.WriteRune(r)
		}
		last = r
	}
	return b.String()
}
