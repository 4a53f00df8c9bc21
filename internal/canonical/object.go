package canonical

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// A member is a span of what has been read, as it stands or will stand in dst, that
// holds `"key":value`.
type member struct {
	start, keyEnd, end int
	prefix             uint64 // the first bytes of the key, its closing quote among them
}

func (m *member) length() int { return m.end - m.start }

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
