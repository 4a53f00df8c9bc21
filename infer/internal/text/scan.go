// Package text cuts the texts of a definition into words, in small Latin letters,
// and the marks between them. Letters that pass for others, and characters that are
// not seen, hide no word. It does not know what a word means.
package text

import (
	"iter"
	"strings"
	"unicode/utf8"
)

// A Flag is what stands around a word, or how it is written.
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
)

// A Mark is what stands between words.
type Mark uint8

// The marks. A dash, a bar and a colon are the same.
const (
	Comma   Mark = iota + 1
	Colon        // what follows stands for itself
	Paren        // what follows is an aside
	Unparen      // the aside is over
	Slash        // either of two
	End          // the sentence ends
)

// A Token is a word or a mark.
type Token struct {
	Text string // the letters of a word
	Mark Mark   // 0 for a word
	Flag Flag
}

// A Scanner cuts a text into words and marks.
type Scanner struct {
	Text string
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

// step reads a word, or one character of what stands between words.
func (s *Scanner) step() (Token, bool) {
	at := s.pos
	r, size := utf8.DecodeRuneInString(s.Text[at:])
	k, _ := kindOf(r)
	if k == letter || k == other || k == part {
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
	case comma:
		return Token{Mark: Comma}, true
	case colon:
		return Token{Mark: Colon}, true
	case paren:
		return Token{Mark: Paren}, true
	case unparen:
		return Token{Mark: Unparen}, true
	case slash:
		return Token{Mark: Slash}, true
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

// terminal goes over the rest of a terminal's control sequence, which is no part
// of the word that it hides.
func (s *Scanner) terminal() {
	if s.pos < len(s.Text) && s.Text[s.pos] == '[' {
		for s.pos++; s.pos < len(s.Text) && s.Text[s.pos] < '@'; s.pos++ {
		}
		s.pos = min(s.pos+1, len(s.Text))
	}
}

// word reads one word. Anything but letters that is glued to it makes an
// identifier of it.
func (s *Scanner) word() Token {
	start, flags := s.pos, s.next
	s.next = 0
	for s.pos < len(s.Text) {
		r, size := utf8.DecodeRuneInString(s.Text[s.pos:])
		k, _ := kindOf(r)
		if k == part || k == other {
			flags |= Opaque
		} else if k != letter && (k != silent || size == 1 && (r != '\'' || !s.letterAt(s.pos+1))) {
			break
		}
		s.pos += size
	}
	written := s.Text[start:s.pos]
	if len(written) > 1 && isUpper(written[0]) && isLower(written[1]) {
		flags |= Capital
	}
	if s.pos < len(s.Text) && (s.Text[s.pos] == '(' || s.Text[s.pos] == '=') {
		flags |= Opaque // a call or an assignment in code
	}
	text, odd := letters(written)
	if odd {
		flags |= Folded
		s.Odd = true
		text = strings.ReplaceAll(text, "?", "")
	}
	return Token{Text: text, Flag: flags}
}

// Name yields the words of a name in any dress: snake, kebab, dots, slashes,
// camelCase, acronyms (HTTPDelete), digits.
func Name(name string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		start := -1
		end := func(at int) bool {
			from := start
			if start = -1; from < 0 {
				return true
			}
			plain, odd := letters(name[from:at])
			var flags Flag
			if odd {
				flags = Folded
			}
			if strings.Contains(plain, "?") {
				flags |= Opaque
			}
			return yield(Token{Text: plain, Flag: flags})
		}
		for i, r := range name {
			k, _ := kindOf(r)
			inside := k == letter || k == other
			if k != silent && (!inside || start >= 0 && humps(name, i)) && !end(i) {
				return
			}
			if inside && start < 0 {
				start = i
			}
		}
		end(len(name))
	}
}

// humps reports whether a new word begins at i: deleteUser, HTTPDelete.
func humps(text string, i int) bool {
	return isUpper(text[i]) && (!isUpper(text[i-1]) || i+1 < len(text) && isLower(text[i+1]))
}

// letterAt reports whether a letter stands at i, of any script.
func (s *Scanner) letterAt(i int) bool {
	return i < len(s.Text) && (isLetter(s.Text[i]) || s.Text[i] >= utf8.RuneSelf)
}

func isLetter(c byte) bool { return isLower(c) || isUpper(c) }

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
