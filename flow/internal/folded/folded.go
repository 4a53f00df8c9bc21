// Package folded compares texts that are written differently: in other case, spelling, white space or encoding.
package folded

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"html"
	"math"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Text is a text in a form for comparison: letters without case, accents and look-alikes, and
// digits without the trailing zeros of decimals. Decoded parts follow it.
type Text struct {
	Raw    string
	Norm   []byte
	starts []uint64 // a bit for each byte of norm at which a word begins, and for its end
	// offsets has the place in raw, or of the encoded part in it, of every 64th byte of norm.
	offsets []int32
	Own     int // how much of norm is raw itself, and not decoded from a part of it
}

const offsetEvery = 64

// folded maps each ASCII letter and digit to its folded form, everything else to 0.
var folded = func() (t [256]byte) {
	for _, c := range []byte("0123456789abcdefghijklmnopqrstuvwxyz") {
		t[c], t[unicode.ToUpper(rune(c))] = c, c
	}
	return t
}()

// lookAlikes pairs letters with the ASCII letters that they are read as.
var lookAlikes = func() map[rune]string {
	m := map[rune]string{'ß': "ss", 'æ': "ae", 'œ': "oe", 'ﬁ': "fi", 'ﬂ': "fl", 'ø': "o", 'đ': "d", 'ð': "d", 'þ': "th"}
	for ascii, alike := range map[string]string{
		"a": "àáâãäåāăąаαɑǎ", "b": "ЬƄьв", "c": "çćĉċčсϲ", "d": "ďԁ", "e": "èéêëēĕėęěеёєε", "f": "ƒ", "g": "ĝğġģɡ",
		"h": "ĥħһн", "i": "ìíîïĩīĭįıіїιɩ", "j": "ĵјϳ", "k": "ķкκ", "l": "ĺļľŀłӏⅼ", "m": "мⅿ", "n": "ñńņňŉո", "o": "òóôõöōŏőоοσօ",
		"p": "рρ", "q": "ԛ", "r": "ŕŗřг", "s": "śŝşšѕ", "t": "ţťŧтτ", "u": "ùúûüũūŭůűųυս", "v": "νѵ", "w": "ŵѡԝω", "x": "хχ", "y": "ýÿŷуγ", "z": "źżžᴢ",
	} {
		for _, r := range alike {
			m[r] = ascii
		}
	}
	return m
}()

// appendRune appends a folded letter or digit, and nothing for marks. It reports false for what separates.
func appendRune(dst []byte, r rune) (out []byte, joins bool) {
	switch {
	case '！' <= r && r <= '～': // full width
		r -= '！' - '!'
	case 0x1D400 <= r && r <= 0x1D6A3: // mathematical letters
		r = 'a' + (r-0x1D400)%26
	case 0x1D7CE <= r && r <= 0x1D7FF: // and digits
		r = '0' + (r-0x1D7CE)%10
	case 0x24B6 <= r && r <= 0x24E9: // circled letters
		r = 'a' + (r-0x24B6)%26
	case unicode.In(r, unicode.Mn, unicode.Cf):
		return dst, true
	}
	r = unicode.ToLower(r)
	if s, ok := lookAlikes[r]; ok {
		return append(dst, s...), true
	}
	if unicode.IsLetter(r) || unicode.IsDigit(r) {
		return utf8.AppendRune(dst, r), true
	}
	return dst, false
}

// fold appends the folded form of raw from a place on until norm is longer than until, and returns where it
// stopped. The offsets are at, unless it is negative.
func (t *Text) fold(raw string, from, at, until int) int {
	between := true // words
	norm := t.Norm
	i := from
	for i < len(raw) {
		if between && folded[raw[i]] != 0 {
			t.mark(len(norm))
			between = false
		}
		for i < len(raw) && folded[raw[i]] != 0 { // most of most texts
			if len(norm) >= until {
				return i
			}
			if len(norm) >= offsetEvery*len(t.offsets) {
				t.offset(i, at)
			}
			norm = append(norm, folded[raw[i]])
			i++
		}
		if i == len(raw) {
			break
		}
		c, n, before, joins := raw[i], 1, len(norm), true
		switch {
		case c == '.' && afterDigit(raw, i) && digits(raw[i+1:]) > 0:
			n += digits(raw[i+1:])
			if places := strings.TrimRight(raw[i+1:i+n], "0"); places != "" {
				norm = append(append(norm, '.'), places...)
			}
		case c == ',' && afterDigit(raw, i) && digits(raw[i+1:]) == 3: // thousands
		case c == '\\' && i+1 < len(raw):
			var r rune
			r, n = escaped(raw[i:])
			norm, joins = appendRune(norm, r)
		case c < utf8.RuneSelf:
			joins = false
		default:
			var r rune
			r, n = utf8.DecodeRuneInString(raw[i:])
			norm, joins = appendRune(norm, r)
		}
		if len(norm) > until {
			return i
		}
		if len(norm) > offsetEvery*len(t.offsets) {
			t.offset(i, at)
		}
		if between && len(norm) > before {
			t.mark(before)
			between = false
		} else if !joins {
			between = true
		}
		i += n
	}
	t.Norm = norm
	t.mark(len(norm))
	return i
}

// offset notes where the next byte of norm that has an offset comes from.
func (t *Text) offset(i, at int) {
	if at >= 0 {
		i = at
	}
	t.offsets = append(t.offsets, int32(min(i, 1<<30)))
}

// Set makes t the folded form of a value, in the memory that it has.
func (t *Text) Set(value string) []byte {
	t.Norm, t.offsets = t.Norm[:0], t.offsets[:0]
	clear(t.starts)
	t.fold(value, 0, -1, math.MaxInt)
	return t.Norm
}

func afterDigit(s string, i int) bool { return i > 0 && '0' <= s[i-1] && s[i-1] <= '9' }

// escaped returns what a backslash and what follows it mean in JSON, and their length.
func escaped(s string) (r rune, n int) {
	switch s[1] {
	case 'u':
		var b [2]byte
		if len(s) >= 6 {
			if _, err := hex.Decode(b[:], []byte(s[2:6])); err == nil {
				return rune(binary.BigEndian.Uint16(b[:])), 6
			}
		}
	case 'n', 't', 'r', '"', '\\', '/':
		return ' ', 2
	}
	return ' ', 1
}

func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

func (t *Text) mark(at int) {
	for at/64 >= len(t.starts) {
		t.starts = append(t.starts, 0)
	}
	t.starts[at/64] |= 1 << (at % 64)
}

// Edge reports whether a word begins or the text ends at a byte of norm.
func (t *Text) Edge(at int) bool {
	return at/64 < len(t.starts) && t.starts[at/64]&(1<<(at%64)) != 0
}

// Place returns where in raw a byte of norm comes from.
func (t *Text) Place(at int) int {
	sample := at / offsetEvery
	if sample >= len(t.offsets) {
		return len(t.Raw)
	}
	from := int(t.offsets[sample])
	if at >= t.Own {
		return from
	}
	again := Text{Norm: make([]byte, 0, 2*offsetEvery), offsets: []int32{0}}
	return again.fold(t.Raw, from, -1, at-sample*offsetEvery)
}

// New folds a text and, if deep, what is encoded in it.
func New(raw string, deep bool) *Text {
	t := &Text{Raw: raw, Norm: make([]byte, 0, len(raw)+len(raw)/8)}
	t.fold(raw, 0, -1, math.MaxInt)
	t.Own = len(t.Norm)
	if deep {
		most := t.Own + maxDecoded
		for _, part := range Decode(raw, 2) {
			if len(t.Norm) < most {
				t.fold(part.Text, 0, part.at, math.MaxInt)
			}
		}
	}
	return t
}

// maxDecoded bounds what decoded parts add to a text.
const maxDecoded = 64 << 10

// minEncoded is the length of the shortest encoded part that is looked at.
const minEncoded = 8

// encodes are the characters of the encodings that words are cut at.
var encodes = func() (t [256]bool) {
	for c := range t {
		t[c] = folded[c] != 0 || strings.IndexByte("+/=_-%&#;.@:", byte(c)) >= 0
	}
	return t
}()

// A Part is what an encoded word is in clear.
type Part struct {
	Text string
	at   int // the word's place
}

// Decode returns what the words of a text are in clear, where they are encoded.
func Decode(raw string, depth int) (parts []Part) {
	for i := 0; i < len(raw); i++ {
		if !encodes[raw[i]] {
			continue
		}
		end := i + 1
		marked := raw[i] == '%' || raw[i] == '&'
		for end < len(raw) && encodes[raw[end]] {
			marked = marked || raw[end] == '%' || raw[end] == '&'
			end++
		}
		if word := raw[i:end]; len(word) >= minEncoded && len(word) <= maxDecoded {
			for _, plain := range decodeWord(word, marked) {
				parts = append(parts, Part{plain, i})
				if depth > 1 {
					for _, deeper := range Decode(plain, depth-1) {
						parts = append(parts, Part{deeper.Text, i})
					}
				}
			}
		}
		i = end
	}
	return parts
}

// decodeWord returns what one word is in clear. A word that is marked has percent signs or ampersands.
func decodeWord(word string, marked bool) (decoded []string) {
	if marked {
		if plain, err := url.PathUnescape(word); err == nil && plain != word {
			decoded = append(decoded, plain)
		}
		if plain := html.UnescapeString(word); plain != word {
			decoded = append(decoded, plain)
		}
	}
	if plain, ok := unhex(word); ok {
		decoded = append(decoded, plain)
	} else if plain, ok := unbase64(word); ok {
		decoded = append(decoded, plain)
	}
	return decoded
}

func unhex(word string) (string, bool) {
	if folded[word[0]] > '7' {
		return "", false
	}
	if c := word[len(word)-1]; folded[c] == 0 || word[0] == '0' {
		word = strings.TrimPrefix(strings.Trim(word, ".:;-"), "0x")
	}
	if len(word) < minEncoded || len(word)%2 != 0 || word[0] < '0' || word[0] > '7' {
		return "", false
	}
	plain, err := hex.DecodeString(word)
	return string(plain), err == nil && readable(plain)
}

func unbase64(word string) (string, bool) {
	word = strings.Trim(word, ".:;&#=@%")
	if len(word) < minEncoded || len(word)%4 == 1 || !mixed(word) {
		return "", false
	}
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(word, "-_") {
		encoding = base64.RawURLEncoding
	}
	plain, err := encoding.DecodeString(word)
	return string(plain), err == nil && readable(plain)
}

// mixed reports whether a word has small and capital letters behind its first, as what encodes a text has.
func mixed(word string) bool {
	small, capital := false, false
	for i := 1; i < len(word); i++ {
		small = small || 'a' <= word[i] && word[i] <= 'z'
		capital = capital || 'A' <= word[i] && word[i] <= 'Z'
	}
	return small && capital
}

// readable reports whether decoded bytes are a text and not what chance makes of a word.
func readable(plain []byte) bool {
	return len(plain) >= 4 && utf8.Valid(plain) && !bytes.ContainsFunc(plain, func(r rune) bool {
		return r > unicode.MaxLatin1 && !unicode.IsLetter(r) || !unicode.IsPrint(r) && !unicode.IsSpace(r)
	})
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

// Alone reports whether a part is not a part of a longer address or path.
func (t *Text) Alone(at, n int) bool {
	from := t.Place(at)
	before := strings.TrimSuffix(t.Raw[:from], "://")
	end := min(len(t.Raw), from+len(t.Part(at, n)))
	after := strings.TrimLeft(t.Raw[end:], ".,:;!?/")
	if len(before) == from && before != "" && (folded[before[from-1]] != 0 || strings.IndexByte("._-@/+%", before[from-1]) >= 0) {
		return false
	}
	if after == "" || unicode.IsSpace(rune(after[0])) {
		return true
	}
	if end+len(after) == len(t.Raw) { // nothing is between
		return strings.IndexByte("\"'<>()[]{}|`", after[0]) >= 0
	}
	return folded[after[0]] == 0 && after[0] < utf8.RuneSelf
}

// Field reports whether a part is all of a field or a line, as in a list, and not a part of a sentence.
func (t *Text) Field(at, n int) bool {
	if at >= t.Own {
		return false
	}
	from := t.Place(at)
	end := from + len(t.Part(at, n))
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
