// Package canonical writes JSON in one form: the same value has the same bytes
// whatever the order of its members, its white space and its escapes.
//
// It is strict where two parsers might disagree about what a text says, since
// the text that a person approved must be the text that runs: duplicate members,
// ill-formed UTF-8 and lone surrogates are errors. Number literals are kept as
// they are written, so that large integers never fold into each other.
package canonical

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits on what is looked at.
const (
	MaxBytes = 4 << 20 // of one text
	MaxDepth = 512     // levels of nesting
)

// An Error says what is wrong with a text and where. It has not been sent
// anywhere, and sending it again unchanged is of no use.
type Error struct {
	Reason string
	Offset int
}

func (e *Error) Error() string   { return fmt.Sprintf("%s (at byte %d)", e.Reason, e.Offset) }
func (e *Error) NotSent() bool   { return true }
func (e *Error) Permanent() bool { return true }

// AppendObject appends the canonical form of an object to dst. Nothing, as MCP
// has it for absent arguments, is the empty object.
func AppendObject(dst, src []byte) ([]byte, error) {
	switch trimmed := bytes.TrimLeft(src, " \t\r\n"); {
	case len(trimmed) == 0:
		return append(dst, "{}"...), nil
	case trimmed[0] != '{':
		return dst, &Error{Reason: "not a JSON object"}
	}
	return Append(dst, src)
}

// Append appends the canonical form of any JSON value to dst. Where it fails, dst
// comes back as it was.
func Append(dst, src []byte) ([]byte, error) {
	if len(src) > MaxBytes {
		return dst, tooLong(len(src))
	}
	w := writers.Get().(*writer)
	w.src, w.pos, w.dst, w.members = src, 0, dst, w.members[:0]
	err := w.document()
	if err == nil {
		dst = w.dst
	}
	w.src, w.dst = nil, nil
	if cap(w.scratch) <= maxPooled {
		writers.Put(w)
	}
	return dst, err
}

// maxPooled keeps one large text from pinning its buffers for good.
const maxPooled = 256 << 10

var writers = sync.Pool{New: func() any { return new(writer) }}

type writer struct {
	src     []byte
	pos     int
	dst     []byte
	members []member // a stack: those of the objects that are open
	keys    []string // likewise
	scratch []byte
}

// A member is a span of dst that holds `"key":value`.
type member struct{ start, keyEnd, end int }

var errEnd = errors.New("unexpected end")

func (w *writer) fail(format string, args ...any) error {
	return &Error{Reason: fmt.Sprintf(format, args...), Offset: w.pos}
}

func (w *writer) document() error {
	if err := w.value(0); err != nil {
		return err
	}
	if w.space(); w.pos < len(w.src) {
		return w.fail("not valid JSON: %q after the value", w.src[w.pos])
	}
	return nil
}

func (w *writer) space() {
	for w.pos < len(w.src) {
		switch w.src[w.pos] {
		case ' ', '\t', '\r', '\n':
			w.pos++
		default:
			return
		}
	}
}

// next skips white space and returns the byte there, 0 at the end.
func (w *writer) next() byte {
	w.space()
	if w.pos == len(w.src) {
		return 0
	}
	return w.src[w.pos]
}

func (w *writer) value(depth int) error {
	if depth > MaxDepth {
		return tooDeep(w.pos)
	}
	switch c := w.next(); {
	case c == '{':
		return w.object(depth)
	case c == '[':
		return w.array(depth)
	case c == '"':
		return w.string()
	case c == '-' || '0' <= c && c <= '9':
		return w.number()
	case c == 't':
		return w.literal("true")
	case c == 'f':
		return w.literal("false")
	case c == 'n':
		return w.literal("null")
	}
	return w.unexpected()
}

func (w *writer) unexpected() error {
	if w.pos >= len(w.src) {
		return w.fail("not valid JSON: %v", errEnd)
	}
	return w.fail("not valid JSON: unexpected %q", w.src[w.pos])
}

func (w *writer) literal(word string) error {
	if !bytes.HasPrefix(w.src[w.pos:], []byte(word)) {
		return w.unexpected()
	}
	w.pos += len(word)
	w.dst = append(w.dst, word...)
	return nil
}

func (w *writer) array(depth int) error {
	w.pos++
	w.dst = append(w.dst, '[')
	if w.next() == ']' {
		w.pos++
		w.dst = append(w.dst, ']')
		return nil
	}
	for {
		if err := w.value(depth + 1); err != nil {
			return err
		}
		c := w.next()
		if c != ',' && c != ']' {
			return w.unexpected()
		}
		w.pos++
		w.dst = append(w.dst, c)
		if c == ']' {
			return nil
		}
	}
}

func (w *writer) object(depth int) error {
	w.pos++
	w.dst = append(w.dst, '{')
	if w.next() == '}' {
		w.pos++
		w.dst = append(w.dst, '}')
		return nil
	}
	base := len(w.members)
	for {
		m := member{start: len(w.dst)}
		if w.next() != '"' {
			return w.unexpected()
		}
		if err := w.string(); err != nil {
			return err
		}
		m.keyEnd = len(w.dst)
		if w.next() != ':' {
			return w.unexpected()
		}
		w.pos++
		w.dst = append(w.dst, ':')
		if err := w.value(depth + 1); err != nil {
			return err
		}
		m.end = len(w.dst)
		w.members = append(w.members, m)
		c := w.next()
		if c != ',' && c != '}' {
			return w.unexpected()
		}
		w.pos++
		w.dst = append(w.dst, c)
		if c == '}' {
			break
		}
	}
	err := w.order(w.members[base:])
	w.members = w.members[:base]
	return err
}

// order sorts the members of the object that has just been written and refuses
// a key that stands twice.
func (w *writer) order(members []member) error {
	key := func(m member) []byte { return w.dst[m.start:m.keyEnd] }
	byKey := func(a, b member) int { return bytes.Compare(key(a), key(b)) }
	sorted := slices.IsSortedFunc(members, byKey)
	first := members[0].start
	if !sorted {
		slices.SortFunc(members, byKey)
	}
	for i := 1; i < len(members); i++ {
		if bytes.Equal(key(members[i-1]), key(members[i])) {
			return w.fail("the member %s is given twice", key(members[i]))
		}
	}
	if sorted {
		return nil
	}
	w.scratch = w.scratch[:0]
	for i, m := range members {
		if i > 0 {
			w.scratch = append(w.scratch, ',')
		}
		w.scratch = append(w.scratch, w.dst[m.start:m.end]...)
	}
	copy(w.dst[first:], w.scratch)
	return nil
}

// number copies a literal as it is written, if it fits a float64.
func (w *writer) number() error {
	start := w.pos
	digits := func() bool {
		from := w.pos
		for w.pos < len(w.src) && '0' <= w.src[w.pos] && w.src[w.pos] <= '9' {
			w.pos++
		}
		return w.pos > from
	}
	at := func(c byte) bool {
		if w.pos < len(w.src) && w.src[w.pos] == c {
			w.pos++
			return true
		}
		return false
	}
	at('-')
	if !at('0') && !digits() {
		return w.unexpected()
	}
	if at('.') && !digits() {
		return w.unexpected()
	}
	exponent := at('e') || at('E')
	if exponent {
		if !at('+') {
			at('-')
		}
		if !digits() {
			return w.unexpected()
		}
	}
	text := w.src[start:w.pos]
	if exponent || len(text) > 300 {
		if _, err := strconv.ParseFloat(string(text), 64); err != nil {
			return w.fail("the number %.40s is out of range", text)
		}
	}
	w.dst = append(w.dst, text...)
	return nil
}

// string writes a string with the fewest escapes: the quote, the backslash and
// control characters.
func (w *writer) string() error {
	w.pos++
	w.dst = append(w.dst, '"')
	for {
		run := w.pos
		for w.pos < len(w.src) && plain[w.src[w.pos]] {
			w.pos++
		}
		w.dst = append(w.dst, w.src[run:w.pos]...)
		if w.pos == len(w.src) {
			return w.fail("not valid JSON: %v in a string", errEnd)
		}
		switch c := w.src[w.pos]; {
		case c == '"':
			w.pos++
			w.dst = append(w.dst, '"')
			return nil
		case c == '\\':
			r, err := w.escape()
			if err != nil {
				return err
			}
			w.rune(r)
		case c < 0x20:
			return w.fail("not valid JSON: control character %#02x in a string", c)
		default:
			r, n := utf8.DecodeRune(w.src[w.pos:])
			if r == utf8.RuneError && n == 1 {
				return w.fail("a string is not valid UTF-8")
			}
			w.dst = append(w.dst, w.src[w.pos:w.pos+n]...)
			w.pos += n
		}
	}
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
