// Package canonical writes JSON in one form, whatever the order of members, the white space and the escapes.
//
// It refuses what two parsers might read differently, since the text that a person approved must be the text that
// runs: duplicate members, ill-formed UTF-8 and lone surrogates. Numbers are kept as they are written.
package canonical

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits on what is looked at.
const (
	MaxBytes = 4 << 20 // of one text
	MaxDepth = 512     // levels of nesting
)

// An Error reports what is wrong with a text and where. It was not sent.
type Error struct {
	Reason string
	Offset int
}

func (e *Error) Error() string   { return fmt.Sprintf("%s (at byte %d)", e.Reason, e.Offset) }
func (e *Error) NotSent() bool   { return true }
func (e *Error) Permanent() bool { return true }

// AppendObject appends the canonical form of the arguments of a call to dst, {} for none. It refuses members of
// one object whose names differ only in case, at any depth.
func AppendObject(dst, src []byte) ([]byte, error) {
	switch begin := skipSpace(src, 0); {
	case begin == len(src):
		return append(dst, "{}"...), nil
	case src[begin] != '{':
		return dst, &Error{Reason: "not a JSON object"}
	}
	return appendForm(dst, src, true)
}

// Same reports whether two texts are the same JSON value.
func Same(a, b []byte) bool {
	x, errX := Append(nil, a)
	y, errY := Append(nil, b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// Append appends the canonical form of any JSON value to dst. Where it fails, dst comes back as it was.
func Append(dst, src []byte) ([]byte, error) { return appendForm(dst, src, false) }

func appendForm(dst, src []byte, strict bool) ([]byte, error) {
	if len(src) > MaxBytes {
		return dst, &Error{Reason: fmt.Sprintf("%d bytes, more than the limit of %d", len(src), MaxBytes), Offset: MaxBytes}
	}
	w := writers.Get().(*writer)
	w.strict = strict
	w.src, w.pos, w.run, w.dst, w.members = src, 0, 0, slices.Grow(dst, len(src)), w.members[:0]
	err := w.document()
	if err == nil {
		dst = w.dst
	}
	w.src, w.dst = nil, nil
	if cap(w.members) <= 8<<10 && cap(w.scratch) <= 64<<10 { // one long text pins no memory
		writers.Put(w)
	}
	return dst, err
}

var writers = sync.Pool{New: func() any { return new(writer) }}

// A writer copies in long runs: src[run:pos] has been read, is in its form already and is not in dst yet.
type writer struct {
	src      []byte
	run, pos int
	dst      []byte
	members  []member // a stack: those of the objects that are open
	scratch  []byte
	strict   bool // refuse names that differ only in case
}

func (w *writer) flush() {
	w.dst = append(w.dst, w.src[w.run:w.pos]...)
	w.run = w.pos
}

func (w *writer) at() int { return len(w.dst) + w.pos - w.run }

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

//go:noinline // so that next is inlined
func (w *writer) nextAfterSpace() byte {
	w.flush()
	w.pos = skipSpace(w.src, w.pos)
	if w.run = w.pos; w.pos == len(w.src) {
		return 0
	}
	return w.src[w.pos]
}

// skipSpace returns where the white space from i on ends. Which of the four it is makes no branch.
func skipSpace(src []byte, i int) int {
	const spaces = 1<<' ' | 1<<'\t' | 1<<'\r' | 1<<'\n'
	for i < len(src) && uint64(spaces)>>src[i]&1 != 0 {
		i++
	}
	return i
}

func (w *writer) value(depth int) error {
	if depth > MaxDepth {
		return &Error{Reason: fmt.Sprintf("nested deeper than %d levels", MaxDepth), Offset: w.pos}
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

// number leaves a literal as it is written, if it fits a float64.
func (w *writer) number() error {
	start := w.pos
	simple := true // digits alone
	for ; w.pos < len(w.src); w.pos++ {
		if c := w.src[w.pos]; c < '0' || c > '9' {
			if strings.IndexByte("+-.eE", c) < 0 {
				break
			}
			simple = false
		}
	}
	text := w.src[start:w.pos]
	if simple && len(text) < 300 && (text[0] != '0' || len(text) == 1) {
		return nil
	}
	if !json.Valid(text) {
		w.pos = start
		return w.fail("not valid JSON: the number %.40s", text)
	}
	if _, err := strconv.ParseFloat(string(text), 64); err != nil {
		return w.fail("the number %.40s is out of range", text)
	}
	return nil
}

// Identities returns at most so many texts of the values that members of an object have; none if that is ambiguous.
func Identities(object []byte, members []string, most int) (texts []string) {
	var given map[string]json.RawMessage
	if json.Unmarshal(object, &given) != nil {
		return nil
	}
	for _, member := range members {
		for other := range given { // many servers ignore the case
			if other != member && strings.EqualFold(other, member) {
				return nil
			}
		}
		list := []json.RawMessage{given[member]}
		if raw := given[member]; len(raw) > 0 && raw[0] == '[' && json.Unmarshal(raw, &list) != nil {
			return nil
		}
		if len(list) == 0 || len(texts)+len(list) > most {
			return nil
		}
		for _, one := range list {
			text := identity(one)
			if text == "" {
				return nil
			}
			texts = append(texts, text)
		}
	}
	return texts
}

// identity returns the text of a text or a number, and "" for any other value. It is the same for a number and its
// text, and for texts that differ in case or surrounding space: a server may take them for the same thing.
func identity(raw json.RawMessage) (text string) {
	switch {
	case len(raw) == 0:
	case raw[0] == '"':
		_ = json.Unmarshal(raw, &text) // it was JSON
	case raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9':
		text = string(raw)
	}
	text = strings.ToLower(strings.ToUpper(strings.TrimSpace(text))) // some letters have two small forms
	if number, err := strconv.ParseFloat(text, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		text = strconv.FormatFloat(number, 'g', -1, 64)
	}
	return text
}

// AppendTool appends the canonical form of a tool's definition to dst.
func AppendTool(dst []byte, d *mcp.Tool) ([]byte, error) {
	raw, err := json.Marshal(d)
	if err != nil {
		return dst, err
	}
	return Append(dst, raw)
}

// A member is a span of dst, or of what dst will hold with the run: `"key":value`.
type member struct{ start, keyEnd, end int }

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

// alike refuses two members whose names differ only in case, since a server that ignores case takes them for one.
func (w *writer) alike(members []member) error {
	name := func(m member) []byte { return w.dst[m.start:m.keyEnd] }
	cased := func(r rune) bool { return r >= utf8.RuneSelf || 'A' <= r && r <= 'Z' } // or folds to lower-case ASCII
	if !slices.ContainsFunc(members, func(m member) bool { return bytes.ContainsFunc(name(m), cased) }) {
		return nil
	}
	folded := make(map[string][]byte, len(members))
	for _, m := range members {
		key := fold(name(m))
		if other, ok := folded[key]; ok && !bytes.Equal(other, name(m)) {
			return w.fail("the members %s and %s differ only in case", other, name(m))
		}
		folded[key] = name(m)
	}
	return nil
}

// fold returns the same for all names that [bytes.EqualFold] holds for equal.
func fold(name []byte) string {
	return string(bytes.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, name))
}

// order sorts the members of the object that has just been read and refuses a key that is there twice.
func (w *writer) order(members []member) error {
	w.flush()
	if w.strict {
		if err := w.alike(members); err != nil {
			return err
		}
	}
	compare := func(a, b member) int { return bytes.Compare(w.dst[a.start:a.keyEnd], w.dst[b.start:b.keyEnd]) }
	sorted := true
	for i := range members[1:] {
		sorted = sorted && compare(members[i], members[i+1]) < 0
	}
	if sorted {
		return nil
	}
	first := members[0].start
	slices.SortFunc(members, compare)
	w.scratch = w.scratch[:0]
	for i, m := range members {
		if i > 0 {
			if compare(members[i-1], m) == 0 {
				return w.fail("the member %s is given twice", w.dst[m.start:m.keyEnd])
			}
			w.scratch = append(w.scratch, ',')
		}
		w.scratch = append(w.scratch, w.dst[m.start:m.end]...)
	}
	copy(w.dst[first:], w.scratch)
	return nil
}

// string reads a string. One with escapes is written again with the fewest.
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
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		w.pos++
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	return 0, w.fail("not valid JSON: unknown escape \\%c", c)
}

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
