package infer

import "unicode/utf8"

// longest is how many words and marks of a sentence are looked at together; the
// rest of a longer one is looked at as its continuation.
const longest = 48

// A sentence is a run of words, as the scanner hands them on.
type sentence struct {
	words     [longest]word
	n         int
	senses    sense // of all the words
	continues bool  // it is the rest of a longer one
}

func (s *sentence) all() []word { return s.words[:s.n] }

// A scanner cuts a text into sentences of words that the lexicon knows, in one
// pass. It stands on the stack and allocates nothing.
type scanner struct {
	table *table
	text  string
	pos   int
	next  flag // what the next word has to bear
	last  spelling
	lastN int
	sentence

	shady   int  // words with look-alikes or accents
	strange int  // words of another script
	wide    bool // something is not ASCII
}

// scan reads the next sentence and reports whether there is one. It stops at
// the end of the sentence, or where the buffer is full.
func (s *scanner) scan() bool {
	s.continues = s.n == longest
	s.n, s.senses = 0, 0
	for s.pos < len(s.text) && s.n < longest-1 {
		switch c := s.text[s.pos]; {
		case isLetter(c):
			s.word()
			continue
		case c == ' ':
			s.pos, s.next = s.pos+1, 0
			continue
		}
		if s.delimiter() && s.n > 0 {
			return true
		}
	}
	if s.n >= longest-1 {
		s.n = longest // a full buffer, whose last place stays empty
		s.words[longest-1] = word{}
	}
	return s.n > 0
}

// word reads one word. Letters first, at full speed; anything that is glued to
// them makes an identifier of it.
func (s *scanner) word() {
	var k spelling
	text, start, n := s.text, s.pos, 0
	for _, c := range []byte(text[start:]) {
		if !isLetter(c) {
			break
		}
		k = k.add(c & 31) // 1 to 26, small or not
		n++
	}
	i, flags := start+n, s.next
	s.next = 0
	if n > 1 && isUpper(text[start]) && !isUpper(text[start+1]) {
		flags |= capital
	}
	if i < len(text) && text[i] == ' ' {
		i++
	} else if i < len(text) {
		if c := classes[text[i]]; c == 0 || c == part || text[i] == '\'' {
			k, n, i, flags = s.glued(k, n, i, flags)
		}
		if i < len(text) && (text[i] == '(' || text[i] == '=') {
			flags |= opaque // a call or an assignment in code
		}
	}
	s.pos = i
	s.emit(k, n, flags)
}

// glued goes on with a word that holds more than plain letters.
func (s *scanner) glued(k spelling, n, i int, flags flag) (spelling, int, int, flag) {
	for i < len(s.text) {
		c, size := s.class(i)
		switch {
		case c <= 26:
			k, n = k.add(c), n+1
			if size > 1 {
				flags |= folded
			}
		case c == part:
			flags |= opaque
		case c == other:
			flags |= opaque | folded
		case c != silent || size == 1 && !s.letterAt(i+1):
			return k, n, i, flags
		}
		i += size
	}
	return k, n, i, flags
}

// class returns the class of what stands at i and its size in bytes.
func (s *scanner) class(i int) (byte, int) {
	if c := classes[s.text[i]]; c != 0 {
		return c, 1
	}
	s.wide = true
	return classOf(s.text[i:])
}

// classOf returns the class of a rune past ASCII and its size in bytes.
func classOf(text string) (byte, int) {
	r, size := utf8.DecodeRuneInString(text)
	return fold(r), size
}

// isLetter reports whether c is one of 26 letters, small or not.
func isLetter(c byte) bool { return c|0x20-'a' < 26 }

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

func (s *scanner) letterAt(i int) bool {
	return i < len(s.text) && (isLetter(s.text[i]) || classes[s.text[i]] == 0)
}

// emit looks the word up and appends it. Two words that a hyphen binds, and a
// verb with its particle, are one where the lexicon has them so: read-only, shut
// down.
func (s *scanner) emit(k spelling, n int, flags flag) {
	if flags&folded != 0 {
		s.shady++
	}
	if flags&joined != 0 && s.n > 0 {
		if w := s.table.find(s.last.glue(k, n).sized(s.lastN + n)); w.id != 0 {
			s.n--
			s.append(w, flags&^joined)
			return
		}
	}
	w := s.table.find(k.sized(n))
	if w.sense&particle != 0 && flags == 0 && s.n > 0 && s.words[s.n-1].takesParticle() {
		if both := s.table.phrasal(s.last, s.lastN, k, n); both.is(verbs) {
			s.n--
			s.append(&both, s.words[s.n].flags)
			return
		}
	}
	s.last, s.lastN = k, n
	if w.id == 0 {
		flags |= k.ending()
	}
	s.append(w, flags)
}

func (s *scanner) append(w *word, flags flag) {
	if flags&opaque == 0 {
		s.senses |= w.sense
	}
	at := &s.words[s.n]
	*at = *w
	at.flags = flags
	s.n++
}

// delimiter goes over what stands between words and reports whether the
// sentence ends there.
func (s *scanner) delimiter() (end bool) {
	i := s.pos
	c, size := s.class(i)
	s.pos += size
	switch c {
	case gap, symbol, silent:
		s.next = 0
	case stop:
		s.next = 0
		return s.pos >= len(s.text) || classes[s.text[s.pos]] == gap || classes[s.text[s.pos]] == line
	case line:
		s.next = 0
		return s.breaks()
	case comma, colon, paren, unparen, slash:
		s.mark(c)
	case hyphen:
		if s.n > 0 && i > 0 && isLetter(s.text[i-1]) && s.letterAt(s.pos) && !isUpper(s.text[s.pos]) {
			s.next = joined
		} else {
			s.mark(colon)
		}
	case quote:
		s.next = opaque
	case escape:
		s.terminal()
	default: // a letter after all, or an identifier that begins with a digit
		if c == other {
			s.strange++
		}
		s.pos = i
		s.word()
	}
	return false
}

// terminal goes over the rest of a terminal's control sequence, which is no part
// of the word that it hides.
func (s *scanner) terminal() {
	if s.pos < len(s.text) && s.text[s.pos] == '[' {
		for s.pos++; s.pos < len(s.text) && s.text[s.pos] < '@'; s.pos++ {
		}
		s.pos = min(s.pos+1, len(s.text))
	}
}

func (s *scanner) mark(c byte) {
	s.next = 0
	if s.n > 0 {
		s.words[s.n] = word{mark: c}
		s.n++
	}
}

// breaks reports whether a new line ends the sentence: an empty line, a list, a
// heading or a capital do; a line that was only wrapped does not.
func (s *scanner) breaks() bool {
	for i := s.pos; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == ' ' || c == '\t' || c == '\r':
		case 'a' <= c && c <= 'z':
			return false
		default:
			return true
		}
	}
	return true
}
