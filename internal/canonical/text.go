package canonical

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// string reads a string. A text without an escape stays in the run as it is. Escapes are written again, as the character
// itself except for the quote, the backslash and control characters.
func (s *scanner) string() error {
	s.pos++
	for {
		end, ascii := skipText(s.src, s.pos)
		if !ascii && !utf8.Valid(s.src[s.pos:end]) {
			return s.fail("a string is not valid UTF-8")
		}
		if s.pos = end; end == len(s.src) {
			return s.fail("not valid JSON: %v in a string", errEnd)
		}
		switch c := s.src[end]; c {
		case '"':
			s.pos++
			return nil
		case '\\':
			s.flush()
			r, err := s.escape()
			if err != nil {
				return err
			}
			s.dst = appendRune(s.dst, r)
			s.run = s.pos
		default:
			return s.fail("not valid JSON: control character %#02x in a string", c)
		}
	}
}

// The lowest and the highest bit of each byte of a word.
const (
	ones = 0x0101010101010101
	tops = 0x8080808080808080
)

// skipText returns where the characters from i on end that stand for themselves in a string: at a quote, a backslash,
// a control character or the end. It also reports whether all of them are ASCII.
//
// It takes eight bytes at once. To find a byte that is 0 in a word x, it computes (x-ones)&^x, which sets the top bit
// of each such byte, and perhaps that of bytes behind it by a borrow: the first is right, and only that one is
// looked for. A quote or a backslash is 0 after an exclusive or with eight of them; a control character is less than
// a space, to which the same applies.
func skipText(src []byte, i int) (end int, ascii bool) {
	var seen uint64
	for ; i+8 <= len(src); i += 8 {
		x := binary.LittleEndian.Uint64(src[i:])
		quote, backslash := x^'"'*ones, x^'\\'*ones
		special := ((x-' '*ones)&^x | (quote-ones)&^quote | (backslash-ones)&^backslash) & tops
		if special != 0 {
			n := bits.TrailingZeros64(special) // of the bits before it
			return i + n/8, (seen|x<<(63-n))&tops == 0
		}
		seen |= x
	}
	for ; i < len(src); i++ {
		c := src[i]
		if c < ' ' || c == '"' || c == '\\' {
			break
		}
		seen |= uint64(c)
	}
	return i, seen&tops == 0
}

// appendRune writes a character as it is in a string of the form.
func appendRune(dst []byte, r rune) []byte {
	switch {
	case r == '"' || r == '\\':
		return append(dst, '\\', byte(r))
	case r < 0x20:
		const hex = "0123456789abcdef"
		return append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
	}
	return utf8.AppendRune(dst, r)
}

// escape reads one escape sequence, or two that are a pair of surrogates.
func (s *scanner) escape() (rune, error) {
	s.pos++
	if s.pos == len(s.src) {
		return 0, s.fail("not valid JSON: %v in a string", errEnd)
	}
	c := s.src[s.pos]
	if c == 'u' {
		r, err := s.hex4()
		if err != nil || !utf16.IsSurrogate(r) {
			return r, err
		}
		if bytes.HasPrefix(s.src[s.pos:], []byte(`\u`)) {
			s.pos++
			low, err := s.hex4()
			if err != nil {
				return 0, err
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				return r, nil
			}
		}
		return 0, s.fail("a string holds half a surrogate pair")
	}
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		s.pos++
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	return 0, s.fail("not valid JSON: unknown escape \\%c", c)
}

// hex4 reads the u at pos and its four digits.
func (s *scanner) hex4() (rune, error) {
	s.pos++
	if s.pos+4 > len(s.src) {
		s.pos = len(s.src)
		return 0, s.fail("not valid JSON: %v in a string", errEnd)
	}
	n, err := strconv.ParseUint(string(s.src[s.pos:s.pos+4]), 16, 16)
	if err != nil {
		return 0, s.fail("not valid JSON: %q is not an escape", s.src[s.pos:s.pos+4])
	}
	s.pos += 4
	return rune(n), nil
}
