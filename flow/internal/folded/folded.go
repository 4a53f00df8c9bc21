// Package folded compares texts that are written differently: in other case, spelling, white space or encoding.
package folded

import (
	_ "embed" // for lookalikes.txt
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Text is a text in a form for comparison: letters without case, accents and look-alikes, and
// digits without the trailing zeros of decimals. Decoded parts follow it.
//
// The form has no blanks and no marks, so that "DE89 3704 0044" and "de8937040044" have the same bytes, and a value is
// found by a search for bytes. Where words begin is kept beside it, in bits. To show a place of the form as it was written,
// raw is folded again from the nearest of the kept offsets: an offset for each byte would take four times the form.
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

//go:embed lookalikes.txt
var compatibleText string

// compatible has the characters of lookalikes.txt.
var compatible = func() map[rune]string {
	m := make(map[rune]string, 2600)
	for line := range strings.Lines(compatibleText) {
		ascii, codes, _ := strings.Cut(line, ":")
		if strings.HasPrefix(line, "#") {
			continue
		}
		for code := range strings.FieldsSeq(codes) {
			if r, err := strconv.ParseUint(code, 16, 32); err == nil {
				m[rune(r)] = ascii
			}
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
	case 0xE0020 <= r && r <= 0xE007E: // tags, which a model reads and nobody sees
		r -= 0xE0000
	case unicode.In(r, unicode.Mn, unicode.Cf):
		return dst, true
	}
	whole := r
	r = unicode.ToLower(r)
	if s, ok := lookAlikes[r]; ok {
		return append(dst, s...), true
	}
	if s, ok := compatible[whole]; ok {
		return append(dst, s...), true
	}
	if unicode.IsLetter(r) || unicode.IsDigit(r) {
		return utf8.AppendRune(dst, r), true
	}
	return dst, false
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

// Set makes t the folded form of a value, in the memory that it has.
func (t *Text) Set(value string) []byte {
	t.Norm, t.offsets = t.Norm[:0], t.offsets[:0]
	clear(t.starts)
	t.fold(value, 0, -1, math.MaxInt)
	return t.Norm
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

func afterDigit(s string, i int) bool { return i > 0 && '0' <= s[i-1] && s[i-1] <= '9' }

// escaped returns what a backslash and what follows it mean in JSON, JavaScript or C, and their length.
func escaped(s string) (r rune, n int) {
	switch s[1] {
	case 'x':
		var b [1]byte
		if len(s) >= 4 {
			if _, err := hex.Decode(b[:], []byte(s[2:4])); err == nil && b[0] > ' ' && b[0] < utf8.RuneSelf {
				return rune(b[0]), 4
			}
		}
	case 'u':
		if code, _, ok := strings.Cut(s[2:min(len(s), 10)], "}"); ok && strings.HasPrefix(code, "{") {
			if r, err := strconv.ParseUint(code[1:], 16, 21); err == nil {
				return rune(r), len(code) + 3
			}
		}
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

// offset notes where the next byte of norm that has an offset comes from.
func (t *Text) offset(i, at int) {
	if at >= 0 {
		i = at
	}
	t.offsets = append(t.offsets, int32(min(i, 1<<30)))
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
