// Package text cuts the texts of a definition into words, in small Latin letters, and the marks between them.
// Look-alikes and invisible characters hide no word.
package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Kind is what a character is for the scanner.
type Kind uint8

// The kinds that are tokens of their own. A dash, a bar and a colon are the same.
const (
	Comma   Kind = iota + 1 // separates verbs
	Colon                   // what follows stands for itself
	Paren                   // what follows is an aside
	Unparen                 // the aside is over
	Slash                   // either of two
	End                     // the sentence ends
	letter
	gap    // white space
	part   // part of an identifier: a digit, an underscore
	stop   // ends a sentence
	line   // may end a sentence
	hyphen // binds words
	quote  // the next word is a mention
	silent // nothing at all: an apostrophe, an invisible character
	escape // begins a terminal's control sequence
	other  // a letter of another script
	symbol // anything else
)

// A character is the kind of one and, for a letter, the small Latin one that it is or passes for.
type character struct {
	kind  Kind
	latin rune
}

var characters = func() map[rune]character {
	m := make(map[rune]character)
	for kind, all := range marks {
		for _, r := range all {
			m[r] = character{kind: kind}
		}
	}
	for latin, all := range lookalikes {
		for _, r := range all {
			m[r] = character{letter, latin}
		}
	}
	return m
}()

// ascii holds the characters that most texts are made of.
var ascii = func() (all [unicode.MaxASCII + 1]character) {
	for r := range all {
		all[r] = find(rune(r))
	}
	return all
}()

func kindOf(r rune) character {
	if 0 <= r && r <= unicode.MaxASCII {
		return ascii[r]
	}
	return find(r)
}

func find(r rune) character {
	for _, a := range alphabets {
		if a.first <= r && r <= a.last {
			return character{letter, (r-a.first)%26 + 'a'}
		}
	}
	if c, ok := characters[r]; ok {
		return c
	}
	if c, ok := characters[unicode.ToLower(r)]; ok {
		return c
	}
	switch {
	case unicode.IsLetter(r):
		return character{kind: other}
	case unicode.IsDigit(r):
		return character{kind: part}
	case unicode.IsSpace(r):
		return character{kind: gap}
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Mn), 0xE0000 <= r && r <= 0xE0FFF:
		return character{kind: silent}
	}
	return character{kind: symbol}
}

// Letters returns the letters of a word, small and without accents, and whether some were not plain Latin. Those
// of another script become question marks.
func Letters(text string) (plain string, odd bool) {
	if plain, ok := lower(text); ok {
		return plain, false
	}
	plain = strings.Map(func(r rune) rune {
		c := kindOf(r)
		odd = odd || r > unicode.MaxASCII && (c.kind == letter || c.kind == other)
		switch c.kind {
		case letter:
			return c.latin
		case other:
			return '?'
		}
		return -1
	}, text)
	return plain, odd
}

// lower returns a word of plain Latin letters in small ones, and false for any other word or a very long one.
func lower(word string) (small string, ok bool) {
	var room [32]byte
	i := 0
	for i < len(word) && isLower(word[i]) {
		i++
	}
	if i == len(word) {
		return word, true
	}
	if len(word) > len(room) {
		return "", false
	}
	for i := range len(word) {
		c := word[i]
		if !isLetter(c) {
			return "", false
		}
		room[i] = c | 0x20
	}
	return string(room[:len(word)]), true
}

// Ending returns the flags that follow from the last letters of an unknown word.
func Ending(word string) Flag {
	switch {
	case endsIn(word, "ly"):
		return LikeThis
	case endsIn(word, "ate", "ify", "ize", "ise"):
		return Verbal
	case endsIn(word, "ion", "ent", "ing"):
		return Doing
	case endsIn(word, "s") && !endsIn(word, "ss"):
		return Plural
	}
	return 0
}

// Inflect adds a regular ending: delete, deletes, deleted; copy, copies; stop, stopped; search, searches.
func Inflect(verb, ending string) string {
	last := verb[len(verb)-1]
	switch {
	case last == 'y' && len(verb) > 1 && !vowel(verb[len(verb)-2]) && ending != "ing":
		return verb[:len(verb)-1] + "ie" + ending[len(ending)-1:]
	case ending == "s":
		if endsIn(verb, "s", "x", "sh", "ch", "z") {
			return verb + "es"
		}
		return verb + "s"
	case last == 'e' && ending == "ed":
		return verb + "d"
	case last == 'e' && ending == "ing" && !strings.HasSuffix(verb, "ee"):
		return verb[:len(verb)-1] + "ing"
	case doubles(verb):
		return verb + string(last) + ending
	}
	return verb + ending
}

// doubles reports whether the last letter is written twice: stop, drag, reset, submit; not open, visit, show.
func doubles(verb string) bool {
	n := len(verb)
	if n < 3 || strings.IndexByte("aeiouwxy", verb[n-1]) >= 0 || !vowel(verb[n-2]) || vowel(verb[n-3]) {
		return false
	}
	return !endsIn(verb, "er", "en", "el", "on", "or", "isit", "dit", "ain")
}

func endsIn(text string, endings ...string) bool {
	for _, e := range endings {
		if strings.HasSuffix(text, e) {
			return true
		}
	}
	return false
}

func vowel(c byte) bool { return strings.IndexByte("aeiou", c) >= 0 }

// marks are the characters that mean something between words, by their kind.
var marks = map[Kind]string{
	gap: " \t\r", line: "\n\u0085\u2028\u2029", stop: ".!?;。！？；", Comma: ",&，、", Colon: ":|–—", Paren: "([", Unparen: ")]",
	Slash: "/", hyphen: "-", quote: "`\"<{$#@=\\“”«»‘", part: "_", silent: "'’", escape: "\x1b",
}

// lookalikes are the accented letters, and the letters of other scripts that pass for a Latin one.
var lookalikes = map[rune]string{
	'a': "аαạɑàáâãäåāăą", 'b': "ЬВʙ", 'c': "сϲᴄçćč", 'd': "ԁɗďđ", 'e': "еєҽΕèéêëēėęě", 'g': "ɡցğģ", 'h': "һΗН",
	'i': "іιɪıìíîïīį", 'j': "јϳ", 'k': "κкΚ", 'l': "ӏⅼłĺľ", 'm': "мΜМ", 'n': "ոՈñńňņ", 'o': "оοօòóôõöøōő", 'p': "рρ",
	'q': "ԛ", 'r': "гᴦřŕ", 's': "ѕꜱśšş", 't': "тτΤťţ", 'u': "υսᴜùúûüūůűų", 'v': "νѵ", 'w': "ԝѡ", 'x': "хχ", 'y': "уγүýÿ",
	'z': "ᴢΖźżž",
}

// alphabets are other forms of the Latin letters, 26 after 26: full-width, mathematical and circled ones.
var alphabets = [...]struct{ first, last rune }{
	{'a', 'z'}, {'A', 'Z'}, {0xFF21, 0xFF3A}, {0xFF41, 0xFF5A}, {0x1D400, 0x1D6A3}, {0x24B6, 0x24E9},
}

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

// Pos returns how much of the text has been read, in bytes.
func (s *Scanner) Pos() int { return s.pos }

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
	for s.pos < len(s.Text) && s.Text[s.pos] == ' ' { // most of what is between words
		s.pos++
		s.next = 0
	}
	if s.pos == len(s.Text) {
		return Token{}, false
	}
	at := s.pos
	if isLower(s.Text[at]) {
		return s.word(), true
	}
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
		if isLower(s.Text[s.pos]) { // most letters, which neither end a word nor begin one
			s.pos++
			continue
		}
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
	if !s.Name && s.pos < len(s.Text) && (s.Text[s.pos] == '(' || s.Text[s.pos] == '=') {
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
