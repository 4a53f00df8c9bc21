package infer

import (
	"strings"
	"unicode/utf8"
)

// longest is how many words and marks of a sentence are looked at together; the
// rest of a longer one is looked at as its continuation.
const longest = 48

// A sentence is a run of words and of marks between them.
type sentence struct {
	words     []word
	senses    sense // of all the words
	continues bool  // it is the rest of a longer one
}

// A scanner cuts a text into sentences.
type scanner struct {
	text string
	pos  int
	next flag   // what the next word has to bear
	last string // the letters of the last word
	odd  bool   // some words are in another script, or written with look-alikes
	sentence
}

// scan reads the next sentence and reports whether there is one. The words of the
// one before are overwritten.
func (s *scanner) scan() bool {
	s.continues = len(s.words) == longest
	s.words, s.senses = s.words[:0], 0
	for s.pos < len(s.text) && len(s.words) < longest-1 {
		if s.step() && len(s.words) > 0 {
			return true
		}
	}
	if len(s.words) == longest-1 {
		s.words = append(s.words, word{}) // nothing is known of what comes next
	}
	return len(s.words) > 0
}

// step reads a word, or what stands between words, and reports whether the
// sentence ends there.
func (s *scanner) step() (end bool) {
	at := s.pos
	r, size := utf8.DecodeRuneInString(s.text[at:])
	k, _ := kindOf(r)
	if k == letter || k == other || k == part {
		s.word()
		return false
	}
	s.pos += size
	if k != escape {
		s.next = 0
	}
	rest := s.text[s.pos:]
	switch k {
	case stop:
		return rest == "" || strings.IndexByte(" \t\r\n", rest[0]) >= 0
	case line:
		// A line that was only wrapped goes on with a small letter.
		rest = strings.TrimLeft(rest, " \t\r")
		return rest == "" || !isLower(rest[0])
	case comma, colon, paren, unparen, slash:
		s.mark(k)
	case hyphen:
		if len(s.words) > 0 && at > 0 && isLetter(s.text[at-1]) && s.letterAt(s.pos) && !isUpper(rest[0]) {
			s.next = joined
		} else {
			s.mark(colon)
		}
	case quote:
		s.next = opaque
	case escape:
		s.terminal()
	}
	return false
}

func (s *scanner) mark(k kind) {
	if len(s.words) > 0 {
		s.words = append(s.words, word{mark: k})
	}
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

// word reads one word. Anything but letters that is glued to it makes an
// identifier of it.
func (s *scanner) word() {
	start, flags := s.pos, s.next
	s.next = 0
	for s.pos < len(s.text) {
		r, size := utf8.DecodeRuneInString(s.text[s.pos:])
		k, _ := kindOf(r)
		if k == part || k == other {
			flags |= opaque
		} else if k != letter && (k != silent || size == 1 && (r != '\'' || !s.letterAt(s.pos+1))) {
			break
		}
		s.pos += size
	}
	written := s.text[start:s.pos]
	if len(written) > 1 && isUpper(written[0]) && isLower(written[1]) {
		flags |= capital
	}
	if s.pos < len(s.text) && (s.text[s.pos] == '(' || s.text[s.pos] == '=') {
		flags |= opaque // a call or an assignment in code
	}
	text, odd := letters(written)
	if odd {
		flags |= folded
		s.odd = true
		text = strings.ReplaceAll(text, "?", "")
	}
	s.emit(text, flags)
}

// emit appends a word. Two words that a hyphen binds, and a verb with its
// particle, are one if the lexicon has them so: read-only, shut down.
func (s *scanner) emit(text string, flags flag) {
	before := len(s.words) - 1
	if flags&joined != 0 && before >= 0 {
		if w := lookup(s.last + text); w.sense != 0 {
			s.words = s.words[:before]
			s.append(w, flags&^joined)
			return
		}
	}
	w := lookup(text)
	if w.sense&particle != 0 && flags == 0 && before >= 0 && s.words[before].takesParticle() {
		if both := phrasal(s.last, text); both.is(verbs) {
			flags = s.words[before].flags
			s.words = s.words[:before]
			s.append(both, flags)
			return
		}
	}
	s.last = text
	if w.sense == 0 {
		flags |= ending(text)
	}
	s.append(w, flags)
}

func (s *scanner) append(w word, flags flag) {
	w.flags = flags
	if flags&opaque == 0 {
		s.senses |= w.sense
	}
	s.words = append(s.words, w)
}

// letterAt reports whether a letter stands at i, of any script.
func (s *scanner) letterAt(i int) bool {
	return i < len(s.text) && (isLetter(s.text[i]) || s.text[i] >= utf8.RuneSelf)
}

func isLetter(c byte) bool { return isLower(c) || isUpper(c) }

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
