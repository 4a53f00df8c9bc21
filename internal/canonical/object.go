package canonical

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// A member is a span of the output, `"name":value`, counted as [scanner.at] does while its object is read.
type member struct {
	start, nameEnd, end int
	prefix              uint64 // the first bytes of the name, its closing quote among them; see prefixOf
}

// order puts the members of the object that has just been read in order, by the bytes of their names with the
// quotes. It refuses a name that is given twice. Members are moved only if they are out of order: on their way into
// dst if all of them are in the run, and within dst otherwise.
func (s *scanner) order(members []member) error {
	inRun := members[0].start >= len(s.dst)
	text, shift := s.src, s.run-len(s.dst) // from positions in the output to positions in text
	if !inRun {
		s.flush()
		text, shift = s.dst, 0
	}
	sorted := true
	var used letters
	for i := range members {
		m := &members[i]
		m.start, m.nameEnd, m.end = m.start+shift, m.nameEnd+shift, m.end+shift
		m.prefix = prefixOf(text, m.start+1, m.nameEnd)
		sorted = sorted && (i == 0 || before(text, &members[i-1], m))
		used.add(m.prefix)
		if m.nameEnd-m.start > 9 {
			used.addText(text[m.start+9 : m.nameEnd])
		}
	}
	if s.strict && used.cased() {
		if err := s.alike(text, members, used.other == 0); err != nil {
			return err
		}
	}
	if sorted {
		return nil
	}
	first := members[0].start
	sortMembers(text, members)
	for i := 1; i < len(members); i++ {
		if m := &members[i]; !before(text, &members[i-1], m) {
			return s.fail("the member %s is given twice", text[m.start:m.nameEnd])
		}
	}
	if inRun {
		s.copyInOrder(members, first)
	} else {
		s.moveInOrder(members, first)
	}
	return nil
}

// copyInOrder copies the run up to the members, which begin at first, and then the members in their order. The
// closing brace begins the next run.
func (s *scanner) copyInOrder(members []member, first int) {
	dst := s.dst
	dst = append(dst, s.src[s.run:first]...)
	for i := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, s.src[members[i].start:members[i].end]...)
	}
	s.dst, s.run = dst, s.pos-1
}

// moveInOrder puts members that are in dst from first on in their order. The longest one, which may be nearly all of
// a text, moves once; the others go by way of scratch.
func (s *scanner) moveInOrder(members []member, first int) {
	longest := 0
	for i := range members {
		if members[i].end-members[i].start > members[longest].end-members[longest].start {
			longest = i
		}
	}
	scratch, place := s.scratch[:0], first
	for i := range members {
		if i == longest {
			place = first + len(scratch)
			continue
		}
		scratch = append(scratch, s.dst[members[i].start:members[i].end]...)
		scratch = append(scratch, ',')
	}
	m := &members[longest]
	size, end := m.end-m.start, len(s.dst)-1 // where the closing brace is
	copy(s.dst[place:], s.dst[m.start:m.end])
	copy(s.dst[first:place], scratch)
	if rest := scratch[place-first:]; len(rest) > 0 {
		s.dst[place+size] = ','
		copy(s.dst[place+size+1:end], rest) // without its last comma
	}
	s.scratch = scratch
}

// before reports whether a comes before b. Of equal names neither does.
func before(text []byte, a, b *member) bool {
	if a.prefix != b.prefix {
		return a.prefix < b.prefix
	}
	return compareNames(text, a, b) < 0
}

//go:noinline // so that before is inlined
func compareNames(text []byte, a, b *member) int {
	return bytes.Compare(text[a.start:a.nameEnd], text[b.start:b.nameEnd])
}

// prefixOf returns the first eight bytes of text[from:to] as a number, so that the numbers have the order of the
// texts. Missing bytes count as 0, which no name has in its form.
func prefixOf(text []byte, from, to int) (n uint64) {
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
			return cmp.Or(cmp.Compare(a.prefix, b.prefix), compareNames(text, &a, &b))
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
