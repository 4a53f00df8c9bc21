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
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
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
	switch begin := skipSpace(src, 0); {
	case begin == len(src):
		return append(dst, "{}"...), nil
	case src[begin] != '{':
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
	if len(w.lastSrc) > 0 && bytes.Equal(src, w.lastSrc) {
		dst = append(dst, w.lastForm...)
		writers.Put(w)
		return dst, nil
	}
	w.src, w.pos, w.run, w.dst, w.members = src, 0, 0, slices.Grow(dst, len(src)), w.members[:0]
	err := w.document()
	if err == nil {
		w.remember(src, w.dst[len(dst):])
		dst = w.dst
	}
	w.src, w.dst = nil, nil
	if cap(w.members) <= maxPooled {
		writers.Put(w)
	}
	return dst, err
}

// maxPooled keeps one text of many members from pinning their places.
const maxPooled = 8 << 10

var writers = sync.Pool{New: func() any { return new(writer) }}

// A writer copies what it can in long runs: src[run:pos] has been read, stands in
// its form already and is not in dst yet.
type writer struct {
	src      []byte
	run, pos int
	dst      []byte
	members  []member // a stack: those of the objects that are open
	keys     []string // likewise

	// The text that was written last, and its form: the rooms of a chain look at the
	// same arguments one after the other.
	lastSrc, lastForm []byte
}

// maxLast is how long a text may be that is remembered.
const maxLast = 64 << 10

func (w *writer) remember(src, form []byte) {
	if len(src) <= maxLast && len(form) <= maxLast {
		w.lastSrc, w.lastForm = append(w.lastSrc[:0], src...), append(w.lastForm[:0], form...)
	}
}

// flush copies the run.
func (w *writer) flush() {
	w.dst = append(w.dst, w.src[w.run:w.pos]...)
	w.run = w.pos
}

// at is how long dst will be with the run.
func (w *writer) at() int { return len(w.dst) + w.pos - w.run }

// A member is a span of what has been read, as it stands or will stand in dst, that
// holds `"key":value`.
type member struct {
	start, keyEnd, end int
	prefix             uint64 // the first bytes of the key, its closing quote among them
}

func (m *member) length() int { return m.end - m.start }

var errEnd = errors.New("unexpected end")

func (w *writer) fail(format string, args ...any) error {
	return &Error{Reason: fmt.Sprintf(format, args...), Offset: w.pos}
}

func (w *writer) document() error {
	if err := w.value(0); err != nil {
		return err
	}
	if w.next(); w.pos < len(w.src) {
		return w.fail("not valid JSON: %q after the value", w.src[w.pos])
	}
	w.flush()
	return nil
}

// next leaves white space out and returns the byte after it, 0 at the end.
func (w *writer) next() (c byte) {
	if w.pos < len(w.src) {
		c = w.src[w.pos]
	}
	if c <= ' ' {
		return w.nextAfterSpace()
	}
	return c
}

// nextAfterSpace stands by itself so that next is inlined.
//
//go:noinline
func (w *writer) nextAfterSpace() byte {
	w.flush()
	w.pos = skipSpace(w.src, w.pos)
	if w.run = w.pos; w.pos == len(w.src) {
		return 0
	}
	return w.src[w.pos]
}

// skipSpace returns where the white space from i on ends. Which of the four it is
// makes no branch.
func skipSpace(src []byte, i int) int {
	const spaces = 1<<' ' | 1<<'\t' | 1<<'\r' | 1<<'\n'
	for i < len(src) && uint64(spaces)>>src[i]&1 != 0 {
		i++
	}
	return i
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
	return nil
}

func (w *writer) array(depth int) error {
	w.pos++
	if w.next() == ']' {
		w.pos++
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
		if c == ']' {
			return nil
		}
	}
}

func (w *writer) object(depth int) error {
	w.pos++
	if w.next() == '}' {
		w.pos++
		return nil
	}
	base := len(w.members)
	for {
		if w.next() != '"' {
			return w.unexpected()
		}
		m := member{start: w.at()}
		if err := w.string(); err != nil {
			return err
		}
		m.keyEnd = w.at()
		if w.next() != ':' {
			return w.unexpected()
		}
		w.pos++
		if err := w.value(depth + 1); err != nil {
			return err
		}
		c := w.next()
		m.end = w.at()
		w.members = append(w.members, m)
		if c != ',' && c != '}' {
			return w.unexpected()
		}
		w.pos++
		if c == '}' {
			break
		}
	}
	err := w.order(w.members[base:])
	w.members = w.members[:base]
	return err
}

// order sorts the members of the object that has just been read and refuses a key
// that stands twice. Where all of them are in the run, they are sorted on their way
// into dst, if they have to be at all.
func (w *writer) order(members []member) error {
	inRun := members[0].start >= len(w.dst)
	text, shift := w.src, w.run-len(w.dst)
	if !inRun {
		w.flush()
		text, shift = w.dst, 0
	}
	sorted := true
	for i := range members {
		m := &members[i]
		m.start, m.keyEnd, m.end = m.start+shift, m.keyEnd+shift, m.end+shift
		m.prefix = prefix(text, m.start+1, m.keyEnd)
		sorted = sorted && (i == 0 || before(text, &members[i-1], m))
	}
	if sorted {
		return nil
	}
	first := members[0].start
	sortMembers(text, members)
	for i := 1; i < len(members); i++ {
		if m := &members[i]; !before(text, &members[i-1], m) {
			return w.fail("the member %s is given twice", text[m.start:m.keyEnd])
		}
	}
	if inRun {
		w.dst = append(w.dst, w.src[w.run:first]...)
		w.join(text, members)
		w.run = w.pos - 1 // the brace
		return nil
	}
	end := len(w.dst)
	if end-first > small {
		w.rearrange(members, first)
		return nil
	}
	w.join(text, members)
	copy(w.dst[first:], w.dst[end:])
	w.dst = w.dst[:end]
	return nil
}

// small is an object that is moved by way of the end of dst as a whole.
const small = 4 << 10

// rearrange puts members that stand in dst from first on in their order. The longest,
// which may hold nearly all, moves once; the others go by way of the end of dst.
func (w *writer) rearrange(members []member, first int) {
	longest, end := 0, len(w.dst)
	for i := range members {
		if members[i].length() > members[longest].length() {
			longest = i
		}
	}
	place := first
	for i := range members {
		switch m := &members[i]; {
		case i < longest:
			place += m.length() + 1
			fallthrough
		case i > longest:
			w.dst = append(w.dst, w.dst[m.start:m.end]...)
		}
	}
	m := &members[longest]
	copy(w.dst[place:], w.dst[m.start:m.end])
	from := end
	for i := range members {
		if i > 0 {
			w.dst[first] = ','
			first++
		}
		n := members[i].length()
		if i != longest {
			copy(w.dst[first:], w.dst[from:from+n])
			from += n
		}
		first += n
	}
	w.dst = w.dst[:end]
}

// join appends members to dst.
func (w *writer) join(text []byte, members []member) {
	dst := w.dst
	for i := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, text[members[i].start:members[i].end]...)
	}
	w.dst = dst
}

func before(text []byte, a, b *member) bool {
	if a.prefix != b.prefix {
		return a.prefix < b.prefix
	}
	return compare(text, a, b) < 0
}

// compare stands by itself so that before is inlined.
//
//go:noinline
func compare(text []byte, a, b *member) int {
	return bytes.Compare(text[a.start:a.keyEnd], text[b.start:b.keyEnd])
}

// prefix returns the first eight bytes of a key as a number, so that numbers are in
// the order of the bytes; what is missing counts as 0, which stands in no key.
func prefix(text []byte, from, to int) (n uint64) {
	if from+8 <= len(text) {
		n = binary.BigEndian.Uint64(text[from:])
		if missing := 8 - (to - from); missing > 0 {
			n = n >> (8 * missing) << (8 * missing)
		}
		return n
	}
	for i := from; i < to; i++ {
		n |= uint64(text[i]) << (56 - 8*(i-from))
	}
	return n
}

// few members are sorted by insertion, which needs no func.
const few = 16

func sortMembers(text []byte, members []member) {
	if len(members) > few {
		slices.SortFunc(members, func(a, b member) int {
			return cmp.Or(cmp.Compare(a.prefix, b.prefix), compare(text, &a, &b))
		})
		return
	}
	for i := 1; i < len(members); i++ {
		m, j := members[i], i
		for ; j > 0 && before(text, &m, &members[j-1]); j-- {
			members[j] = members[j-1]
		}
		members[j] = m
	}
}

// number leaves a literal as it is written, if it fits a float64.
func (w *writer) number() error {
	start := w.pos
	if w.src[w.pos] == '-' {
		w.pos++
	}
	switch {
	case w.pos < len(w.src) && w.src[w.pos] == '0':
		w.pos++
	case !w.digits():
		return w.unexpected()
	}
	if w.pos < len(w.src) && w.src[w.pos] == '.' {
		w.pos++
		if !w.digits() {
			return w.unexpected()
		}
	}
	exponent := w.pos < len(w.src) && w.src[w.pos]|0x20 == 'e'
	if exponent {
		w.pos++
		if w.pos < len(w.src) && (w.src[w.pos] == '+' || w.src[w.pos] == '-') {
			w.pos++
		}
		if !w.digits() {
			return w.unexpected()
		}
	}
	text := w.src[start:w.pos]
	if exponent || len(text) > 300 {
		if _, err := strconv.ParseFloat(string(text), 64); err != nil {
			return w.fail("the number %.40s is out of range", text)
		}
	}
	return nil
}

// digits reads digits, at least one.
func (w *writer) digits() bool {
	i := w.pos
	for i < len(w.src) && '0' <= w.src[i] && w.src[i] <= '9' {
		i++
	}
	read := i > w.pos
	w.pos = i
	return read
}

// string reads a string. One with escapes is written anew with the fewest: those
// of the quote, the backslash and control characters.
func (w *writer) string() error {
	w.pos = skipPlain(w.src, w.pos+1)
	if w.pos < len(w.src) && w.src[w.pos] == '"' { // as in nearly all
		w.pos++
		return nil
	}
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
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(src); i += 8 {
		x := binary.LittleEndian.Uint64(src[i:])
		quote, backslash := x^'"'*ones, x^'\\'*ones
		special := (x | (x-' '*ones)&^x | (quote-ones)&^quote | (backslash-ones)&^backslash) & tops
		if special != 0 {
			return i + bits.TrailingZeros64(special)/8
		}
	}
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
