package canonical

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode"
	"unicode/utf8"
)

// A member is a span of dst, or of what dst will hold with the run: `"key":value`.
type member struct {
	start, keyEnd, end int
	prefix             uint64 // the first bytes of the key, which are compared as a number
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

// alike refuses two members whose names differ only in case. A server that ignores the
// case, as encoding/json does, takes them for one, and which of them counts is its affair.
func (w *writer) alike(members []member) error {
	name := func(m member) []byte { return w.dst[m.start:m.keyEnd] }
	if !slices.ContainsFunc(members, func(m member) bool { return cased(name(m)) }) {
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

// cased reports whether a name has a letter that lower-case ASCII folds to: one of any
// two names that differ only in case does.
func cased(name []byte) bool {
	for _, c := range name {
		if c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return true
		}
	}
	return false
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

// order sorts the members of the object that has just been read and refuses a key
// that stands twice.
func (w *writer) order(members []member) error {
	w.flush()
	if w.strict {
		if err := w.alike(members); err != nil {
			return err
		}
	}
	compare := func(a, b member) int { return bytes.Compare(w.dst[a.start:a.keyEnd], w.dst[b.start:b.keyEnd]) }
	before := func(a, b *member) bool { return a.prefix < b.prefix || a.prefix == b.prefix && compare(*a, *b) < 0 }
	sorted := true
	for i := range members {
		m := &members[i]
		var key [8]byte
		copy(key[:], w.dst[m.start:m.keyEnd])
		m.prefix = binary.BigEndian.Uint64(key[:])
		sorted = sorted && (i == 0 || before(&members[i-1], m))
	}
	if sorted {
		return nil
	}
	first := members[0].start
	if len(members) > few {
		slices.SortFunc(members, compare)
	}
	for i := range members { // by insertion, which leaves sorted ones alone
		for j := i; j > 0 && before(&members[j], &members[j-1]); j-- {
			members[j], members[j-1] = members[j-1], members[j]
		}
	}
	w.scratch = w.scratch[:0]
	for i := range members {
		m := &members[i]
		if i > 0 {
			if !before(&members[i-1], m) {
				return w.fail("the member %s is given twice", w.dst[m.start:m.keyEnd])
			}
			w.scratch = append(w.scratch, ',')
		}
		w.scratch = append(w.scratch, w.dst[m.start:m.end]...)
	}
	copy(w.dst[first:], w.scratch)
	return nil
}

// few members are sorted by insertion alone.
const few = 16
