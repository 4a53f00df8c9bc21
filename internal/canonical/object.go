package canonical

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

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
