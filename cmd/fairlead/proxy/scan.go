package proxy

// A scan reads JSON by hand, in one pass, and keeps values as slices of the text. Package json validates a text before
// it decodes it, and copies each value, although most of what a proxy reads is only passed on.
//
// A scan that fails decides nothing: its caller has the text decoded by package json and the SDK, which report what is
// wrong with it. So a scan may refuse what they take, such as a second member of one name, a name with an escape, or
// deep nesting. It never takes what they refuse, nor reads another value than they do; FuzzScan compares them.
//
// After a failure every method of a scan returns at once, so callers check at only when they are through.

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// maxScanned is how deep values may be nested in a text that is scanned. Package json allows 10,000, and a scan is
// recursive as it is.
const maxScanned = 500

// A scan reads a JSON text from its beginning. After a failure its at is negative.
type scan struct {
	text  []byte
	at    int
	depth int
}

// next returns the first byte that is not white space, without taking it; 0 at the end.
func (s *scan) next() byte {
	for s.at >= 0 && s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// take takes one byte and reports whether it is c. It fails if it is not.
func (s *scan) take(c byte) bool {
	if s.next() != c {
		s.at = -1
		return false
	}
	s.at++
	return true
}

// list calls one for each element between two brackets, until one fails.
func (s *scan) list(from, to byte, one func()) {
	if s.depth++; s.depth > maxScanned {
		s.at = -1
	}
	if !s.take(from) {
		return
	}
	for empty := true; !empty || s.next() != to; empty = false {
		if one(); s.next() != ',' {
			break
		}
		s.at++
	}
	s.take(to)
	s.depth--
}

// object calls one for each member of an object, with its name; one takes the value. An
// object fails that has a name with an escape, or one that is not in ASCII.
func (s *scan) object(one func(name []byte)) {
	s.list('{', '}', func() {
		if name, plain := s.string(); s.take(':') && plain {
			one(name)
			return
		}
		s.at = -1
	})
}

// value takes a value and returns its text, nil after a failure.
func (s *scan) value() json.RawMessage {
	c, from := s.next(), s.at
	switch c {
	case '{':
		s.list('{', '}', func() {
			s.string()
			s.take(':')
			s.value()
		})
	case '[':
		s.list('[', ']', func() { s.value() })
	case '"':
		s.string()
	default:
		for s.at >= 0 && s.at < len(s.text) && strings.IndexByte("+-.0123456789Eaeflnrstu", s.text[s.at]) >= 0 {
			s.at++
		}
		if s.at < 0 || !json.Valid(s.text[from:s.at]) {
			s.at = -1
		}
	}
	if s.at < 0 {
		return nil
	}
	return s.text[from:s.at:s.at]
}

// string takes a string and returns what is between its quotes. It is plain if that is ASCII without escapes.
func (s *scan) string() (inside []byte, plain bool) {
	if !s.take('"') {
		return nil, false
	}
	from, plain := s.at, true
	for i := skipPlain(s.text, from); i < len(s.text); i = skipPlain(s.text, i+1) {
		switch c := s.text[i]; {
		case c == '"':
			s.at = i + 1
			return s.text[from:i], plain
		case c == '\\' && i+1 < len(s.text) && (unescaped[s.text[i+1]] != 0 || isHex(s.text[i+1:])):
			i++
		case c < utf8.RuneSelf:
			s.at = -1
			return nil, false
		}
		plain = false
	}
	s.at = -1
	return nil, false
}

// skipPlain returns the index of the first byte from i that ends a run of plain text: a control character, a quote, a
// backslash, or one that is not ASCII. It returns the length of the text if there is none.
func skipPlain(text []byte, i int) int {
	const ones = 0x0101010101010101
	// Eight bytes at a time. In others, the high bit of a byte is set if the byte is not ASCII (c), below a space
	// (c-ones*' '), or equal to a quote or a backslash, which makes it 0 in quote or backslash. A subtraction can borrow
	// from the bytes above it and set their bits too, so only the lowest bit that is set is exact. It is the first.
	for ; i+8 <= len(text); i += 8 {
		c := binary.LittleEndian.Uint64(text[i:])
		quote, backslash := c^ones*'"', c^ones*'\\'
		others := (c | (c-ones*' ')&^c | (quote-ones)&^quote | (backslash-ones)&^backslash) & (ones * utf8.RuneSelf)
		if others != 0 {
			return i + bits.TrailingZeros64(others)/8
		}
	}
	for i < len(text) && text[i] >= ' ' && text[i] != '"' && text[i] != '\\' && text[i] < utf8.RuneSelf {
		i++
	}
	return min(i, len(text))
}

// str takes a string and returns what it stands for.
func (s *scan) str() (text string) {
	inside, plain := s.string()
	switch {
	case s.at < 0:
		return ""
	case plain:
		return string(inside)
	case bytes.Contains(inside, []byte(`\u`)) || !utf8.Valid(inside):
		if json.Unmarshal(s.text[s.at-len(inside)-2:s.at], &text) != nil {
			s.at = -1
		}
		return text
	}
	var out strings.Builder
	out.Grow(len(inside))
	for i := bytes.IndexByte(inside, '\\'); i >= 0; i = bytes.IndexByte(inside, '\\') {
		out.Write(inside[:i])
		out.WriteByte(unescaped[inside[i+1]])
		inside = inside[i+2:]
	}
	out.Write(inside)
	return out.String()
}

// isHex reports whether the text begins with an escape such as u00e9.
func isHex(text []byte) bool {
	const hex = "0123456789abcdefABCDEF"
	return len(text) > 4 && text[0] == 'u' && len(bytes.Trim(text[1:5], hex)) == 0
}

// unescaped are what escapes of one byte stand for.
var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}
