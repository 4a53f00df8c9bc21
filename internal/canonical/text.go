package canonical

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// string reads a string. One with escapes is written anew with the fewest: those
// of the quote, the backslash and control characters.
func (w *writer) string() error {
	w.pos++
	for {
		w.pos = skipPlain(w.src, w.pos)
		if w.pos == len(w.src) {
			return w.fail("not valid JSON: %v in a string", errEnd)
		}
		switch c := w.src[w.pos]; {
		case c == '"':
			w.pos++
			return nil
		case c == '\\':
			w.flush()
			r, err := w.escape()
			if err != nil {
				return err
			}
			w.rune(r)
			w.run = w.pos
		case c < 0x20:
			return w.fail("not valid JSON: control character %#02x in a string", c)
		default:
			r, n := utf8.DecodeRune(w.src[w.pos:])
			if r == utf8.RuneError && n == 1 {
				return w.fail("a string is not valid UTF-8")
			}
			w.pos += n
		}
	}
}

// skipPlain returns where the bytes from i on end that stand for themselves in a
// string. It takes eight at once: a top bit of special is set where a byte is above
// ASCII, a control character, a quote or a backslash. What a borrow sets besides
// stands after the first that is right.
func skipPlain(src []byte, i int) int {
	for i < len(src) && plain[src[i]] {
		i++
	}
	return i
}

// plain marks the bytes that stand for themselves in a string.
var plain = func() (t [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

func (w *writer) rune(r rune) {
	switch {
	case r == '"' || r == '\\':
		w.dst = append(w.dst, '\\', byte(r))
	case r < 0x20:
		const hex = "0123456789abcdef"
		w.dst = append(w.dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
	default:
		w.dst = utf8.AppendRune(w.dst, r)
	}
}

// escape reads one escape sequence, a pair of surrogates included.
func (w *writer) escape() (rune, error) {
	w.pos++
	if w.pos == len(w.src) {
		return 0, w.fail("not valid JSON: %v in a string", errEnd)
	}
	c := w.src[w.pos]
	if c == 'u' {
		r, err := w.hex4()
		if err != nil || !utf16.IsSurrogate(r) {
			return r, err
		}
		if bytes.HasPrefix(w.src[w.pos:], []byte(`\u`)) {
			w.pos++
			low, err := w.hex4()
			if err != nil {
				return 0, err
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				return r, nil
			}
		}
		return 0, w.fail("a string holds half a surrogate pair")
	}
	w.pos++
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	}
	w.pos--
	return 0, w.fail("not valid JSON: unknown escape \\%c", c)
}

// hex4 reads the four digits after the u at pos.
func (w *writer) hex4() (rune, error) {
	w.pos++
	if w.pos+4 > len(w.src) {
		w.pos = len(w.src)
		return 0, w.fail("not valid JSON: %v in a string", errEnd)
	}
	n, err := strconv.ParseUint(string(w.src[w.pos:w.pos+4]), 16, 16)
	if err != nil {
		return 0, w.fail("not valid JSON: %q is no escaped character", w.src[w.pos:w.pos+4])
	}
	w.pos += 4
	return rune(n), nil
}
