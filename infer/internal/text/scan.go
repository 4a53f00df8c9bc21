// Package text cuts the texts of a definition into words, in small Latin letters, and the marks between them.
// Look-alikes and invisible characters hide no word.
package text

import (
	"strings"
	"unicode/utf8"
)

// A Flag is what is around a word, or how it is written.
type Flag uint8

// The flags of a word.
const (
	Joined   Flag = 1 << iota // a hyphen binds it to the word before
	Opaque                    // quoted, part of an identifier, or in another script: a mention and no use
	Folded                    // written with look-alikes or accents, or in another script
	Capital                   // begins with a capital and goes on small: a name, unless it begins the sentence
	LikeThis                  // ends in -ly
	Plural                    // ends in -s
	Doing                     // ends in -ion, -ent or -ing, and may name a deed
	Verbal                    // ends in -ate, -ify, -ize or -ise, as verbs do
)

// A Token is a word or a mark.
type Token struct {
	Text string // the letters of a word
	Mark Kind   // 0 for a word
	Flag Flag
}

// A Scanner cuts a text into words and marks.
type Scanner struct {
	Text string
	Name bool // the text is a name in any dress: snake, kebab, dots, camelCase, acronyms (HTTPDelete)
	Odd  bool // a word was in another script, or written with look-alikes
	pos  int
	next Flag // what the next word has to bear
}

// Next returns the next token, and false at the end of the text.
func (s *Scanner) Next() (Token, bool) {
	for s.pos < len(s.Text) {
		if t, ok := s.step(); ok {
			return t, true
		}
	}
	return Token{}, false
}

func (s *Scanner) step() (Token, bool) {
	at := s.pos
	r, size := utf8.DecodeRuneInString(s.Text[at:])
	k := kindOf(r).kind
	if k == letter || k == other || k == part && !s.Name {
		return s.word(), true
	}
	s.pos += size
	if k != escape {
		s.next = 0
	}
	rest := s.Text[s.pos:]
	switch k {
	case stop:
		return Token{Mark: End}, rest == "" || strings.IndexByte(" \t\r\n", rest[0]) >= 0
	case line:
		// A line that was only wrapped goes on with a small letter.
		rest = strings.TrimLeft(rest, " \t\r")
		return Token{Mark: End}, rest == "" || !isLower(rest[0])
	case Comma, Colon, Paren, Unparen, Slash:
		return Token{Mark: k}, true
	case hyphen:
		if at == 0 || !isLetter(s.Text[at-1]) || !s.letterAt(s.pos) || isUpper(rest[0]) {
			return Token{Mark: Colon}, true
		}
		s.next = Joined
	case quote:
		s.next = Opaque
	case escape:
		s.terminal()
	}
	return Token{}, false
}

func (s *Scanner) terminal() {
	if rest, ok := strings.CutPrefix(s.Text[s.pos:], "["); ok {
		end := strings.IndexFunc(rest, func(r rune) bool { return r >= '@' })
		s.pos = min(len(s.Text)-len(rest)+max(end, 0)+1, len(s.Text))
	}
}

// word reads one word. Other characters attached to it make it an identifier in a text, and end it in a name.
func (s *Scanner) word() Token {
	start, flags := s.pos, s.next
	if s.next = 0; s.Name {
		flags = 0
	}
	for s.pos < len(s.Text) {
		r, size := utf8.DecodeRuneInString(s.Text[s.pos:])
		switch k := kindOf(r).kind; {
		case s.Name && (k == part || s.pos > start && s.humps()):
			size = 0
		case k == part, k == other:
			flags |= Opaque
		case k != letter && (k != silent || r == '\'' && !s.letterAt(s.pos+1)):
			size = 0
		}
		if size == 0 {
			break
		}
		s.pos += size
	}
	written := s.Text[start:s.pos]
	if len(written) > 1 && isUpper(written[0]) && isLower(written[1]) {
		flags |= Capital
	}
	if !s.Name && strings.IndexAny(s.Text[s.pos:min(s.pos+1, len(s.Text))], "(=") == 0 {
		flags |= Opaque // a call or an assignment in code
	}
	text, odd := Letters(written)
	if odd {
		flags |= Folded
		s.Odd = true
	}
	return Token{Text: text, Flag: flags}
}

// humps reports whether a new word of a name begins here.
func (s *Scanner) humps() bool {
	i := s.pos
	return isUpper(s.Text[i]) && (!isUpper(s.Text[i-1]) || i+1 < len(s.Text) && isLower(s.Text[i+1]))
}

func (s *Scanner) letterAt(i int) bool {
	return i < len(s.Text) && (isLetter(s.Text[i]) || s.Text[i] >= utf8.RuneSelf)
}

func isLetter(c byte) bool { return isLower(c) || isUpper(c) }

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
