package canonical

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"sync"
)

// How the form is made
//
// A scanner reads the text once, from left to right, by recursive descent. It decodes nothing: no tree is built, no
// number is converted and no string is unquoted unless it has an escape. Checking and writing are one pass, which
// takes less time than json.Valid does and, with a dst that is large enough, allocates nothing.
//
// Four things make that fast:
//
//   - Runs. Nearly all of a text is in its form already, so it is copied in runs and not token by token. The bytes
//     src[run:pos] have been read, are in their form and are not in dst yet. A run ends at white space, at an
//     escape, and where members have to be moved; flush copies it. A text without any of these is one copy.
//   - Spans. While an object is read, its members are only noted, as spans of the output (see member). They are put
//     in order once its closing brace is read, and stay where they are if they are in order already. Inner objects
//     are in order before outer ones, since they end earlier.
//   - Words. Strings are looked through eight bytes at a time (skipText), and names are compared by their first
//     eight bytes as one number (member.prefix).
//   - Reuse. A pool keeps the scanners, with the stack of members and the room to move them in. It keeps no text of
//     a caller in a way that another could get it back, and no room that one long text has made large.
//
// Positions in the output are counted as if the run had been copied, see at. They hold whether or not the run is
// flushed in between, so that a member may begin in dst and end in the run.
//
// A text of n bytes takes time in proportion to n if its objects are in order. Where they are not, an object is
// moved once for each object around it that is not in order either, so the worst is n times the depth.
type scanner struct {
	src      []byte
	run, pos int // the run is src[run:pos]; what is before it is in dst, what is behind it was not read yet
	dst      []byte
	members  []member // a stack: those of the objects that are open
	scratch  []byte   // room to move members in
	strict   bool     // refuse names that differ only in case
}

var scanners = sync.Pool{New: func() any { return new(scanner) }}

// Bounds of what a scanner in the pool keeps, so that one long text does not pin memory.
const (
	keptMembers = 8 << 10
	keptScratch = 64 << 10
)

// release puts the scanner back into the pool, without the texts of its caller.
func (s *scanner) release() {
	s.src, s.dst, s.members = nil, nil, s.members[:0]
	if cap(s.members) <= keptMembers && cap(s.scratch) <= keptScratch {
		scanners.Put(s)
	}
}

// flush copies the run.
func (s *scanner) flush() {
	s.dst = append(s.dst, s.src[s.run:s.pos]...)
	s.run = s.pos
}

// at returns how long dst will be with the run, which is where the next byte goes.
func (s *scanner) at() int { return len(s.dst) + s.pos - s.run }

var errEnd = errors.New("unexpected end")

func (s *scanner) fail(format string, args ...any) error {
	return &Error{Reason: fmt.Sprintf(format, args...), Offset: s.pos}
}

func (s *scanner) unexpected() error {
	if s.pos >= len(s.src) {
		return s.fail("not valid JSON: %v", errEnd)
	}
	return s.fail("not valid JSON: unexpected %q", s.src[s.pos])
}

func (s *scanner) document() error {
	if err := s.value(0); err != nil {
		return err
	}
	if s.next(); s.pos < len(s.src) {
		return s.fail("not valid JSON: %q after the value", s.src[s.pos])
	}
	s.flush()
	return nil
}

// next leaves white space out and returns the byte after it, 0 at the end. A 0 in the text is returned as well: no
// caller accepts it.
func (s *scanner) next() (c byte) {
	if s.pos < len(s.src) {
		c = s.src[s.pos]
	}
	if c <= ' ' {
		return s.nextAfterSpace()
	}
	return c
}

//go:noinline // so that next is inlined, which is called for every token
func (s *scanner) nextAfterSpace() byte {
	s.flush()
	s.pos = skipSpace(s.src, s.pos)
	if s.run = s.pos; s.pos == len(s.src) {
		return 0
	}
	return s.src[s.pos]
}

// skipSpace returns where the white space from i on ends. The four kinds are bits of one number, so that which of
// them comes next is not a branch for the processor to guess.
func skipSpace(src []byte, i int) int {
	const spaces = 1<<' ' | 1<<'\t' | 1<<'\r' | 1<<'\n'
	for i < len(src) && uint64(spaces)>>src[i]&1 != 0 {
		i++
	}
	return i
}

func (s *scanner) value(depth int) error {
	if depth > MaxDepth {
		return s.fail("nested deeper than %d levels", MaxDepth)
	}
	switch c := s.next(); {
	case c == '{':
		return s.object(depth)
	case c == '[':
		return s.array(depth)
	case c == '"':
		return s.string()
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	}
	return s.unexpected()
}

func (s *scanner) literal(word string) error {
	if !bytes.HasPrefix(s.src[s.pos:], []byte(word)) {
		return s.unexpected()
	}
	s.pos += len(word)
	return nil
}

func (s *scanner) array(depth int) error {
	s.pos++
	if s.next() == ']' {
		s.pos++
		return nil
	}
	for {
		if err := s.value(depth + 1); err != nil {
			return err
		}
		c := s.next()
		if c != ',' && c != ']' {
			return s.unexpected()
		}
		s.pos++
		if c == ']' {
			return nil
		}
	}
}

// object reads an object and puts its members in order.
func (s *scanner) object(depth int) error {
	s.pos++
	if s.next() == '}' {
		s.pos++
		return nil
	}
	base := len(s.members)
	for {
		if s.next() != '"' {
			return s.unexpected()
		}
		m := member{start: s.at()}
		if err := s.string(); err != nil {
			return err
		}
		m.nameEnd = s.at()
		if s.next() != ':' {
			return s.unexpected()
		}
		s.pos++
		if err := s.value(depth + 1); err != nil {
			return err
		}
		c := s.next()
		m.end = s.at()
		s.members = append(s.members, m)
		if c != ',' && c != '}' {
			return s.unexpected()
		}
		s.pos++
		if c == '}' {
			break
		}
	}
	err := s.order(s.members[base:])
	s.members = s.members[:base]
	return err
}

// number leaves a literal as it is written, if it fits a float64. A literal has the form -0.5e+1: a sign, digits
// without a zero in front, and perhaps a fraction and an exponent.
func (s *scanner) number() error {
	start := s.pos
	if s.src[s.pos] == '-' {
		s.pos++
	}
	whole := s.digits()
	valid := whole == 1 || whole > 1 && s.src[s.pos-whole] != '0'
	if s.pos < len(s.src) && s.src[s.pos] == '.' {
		s.pos++
		valid = s.digits() > 0 && valid
	}
	exponent := s.pos < len(s.src) && s.src[s.pos]|0x20 == 'e'
	if exponent {
		s.pos++
		if s.pos < len(s.src) && (s.src[s.pos] == '+' || s.src[s.pos] == '-') {
			s.pos++
		}
		valid = s.digits() > 0 && valid
	}
	if !valid || s.pos < len(s.src) && inNumber[s.src[s.pos]] {
		s.pos = start
		return s.fail("not valid JSON: the number %.40s", numberAt(s.src[start:]))
	}
	text := s.src[start:s.pos]
	if exponent || len(text) > 300 { // without an exponent it takes 309 digits to be out of range
		if _, err := strconv.ParseFloat(string(text), 64); err != nil {
			return s.fail("the number %.40s is out of range", text)
		}
	}
	return nil
}

// digits reads digits and returns how many there were.
func (s *scanner) digits() int {
	i := s.pos
	for i < len(s.src) && '0' <= s.src[i] && s.src[i] <= '9' {
		i++
	}
	read := i - s.pos
	s.pos = i
	return read
}

// inNumber marks the characters that numbers are written with.
var inNumber = func() (t [256]bool) {
	for _, c := range []byte("0123456789+-.eE") {
		t[c] = true
	}
	return t
}()

// numberAt returns what src begins with as a reader sees it: all characters that are of numbers.
func numberAt(src []byte) []byte {
	for i, c := range src {
		if !inNumber[c] {
			return src[:i]
		}
	}
	return src
}
