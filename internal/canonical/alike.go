package canonical

import (
	"bytes"
	"encoding/binary"
	"unicode"
)

// alike refuses two members whose names differ only in case, since a server that ignores case takes them for one.
// Members of the same name are another fault, and pass here.
func (s *scanner) alike(text []byte, members []member, ascii bool) error {
	if ascii && len(members) <= few {
		return s.alikeOfFew(text, members)
	}
	folded := make(map[string][]byte, len(members))
	for _, m := range members {
		name := text[m.start:m.nameEnd]
		key := fold(name)
		if other, ok := folded[key]; ok && !bytes.Equal(other, name) {
			return s.failAlike(other, name)
		}
		folded[key] = name
	}
	return nil
}

// alikeOfFew is alike for names in ASCII, as most objects have, without a map. The first eight bytes of two names that
// differ only in case are equal with the bit set that makes an upper-case letter a lower-case one.
func (s *scanner) alikeOfFew(text []byte, members []member) error {
	const lower = 0x20 * ones
	for i := range members {
		for j := range members[:i] {
			if members[i].prefix|lower != members[j].prefix|lower {
				continue
			}
			name, other := text[members[i].start:members[i].nameEnd], text[members[j].start:members[j].nameEnd]
			if bytes.EqualFold(name, other) && !bytes.Equal(name, other) {
				return s.failAlike(other, name)
			}
		}
	}
	return nil
}

func (s *scanner) failAlike(one, other []byte) error {
	return s.fail("the members %s and %s differ only in case", one, other)
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

// letters are the kinds of letters that words of eight bytes have: a bit in upper for a capital letter of ASCII, in
// other for a byte that is not ASCII.
type letters struct{ upper, other uint64 }

// add looks at a word. The additions set the top bit of a byte that is at least 'A', and of one that is past 'Z';
// without its own top bit no byte carries into the next.
func (l *letters) add(word uint64) {
	low := word &^ tops
	fromA, pastZ := low+(0x80-'A')*ones, low+(0x7f-'Z')*ones
	l.upper |= fromA &^ pastZ & tops
	l.other |= word & tops
}

// cased reports whether there is a letter that one of two names that differ only in case has.
func (l *letters) cased() bool { return l.upper|l.other != 0 }

func (l *letters) addText(text []byte) {
	for ; len(text) >= 8; text = text[8:] {
		l.add(binary.LittleEndian.Uint64(text))
	}
	var rest uint64
	for _, c := range text {
		rest = rest<<8 | uint64(c)
	}
	l.add(rest)
}
