package text

import (
	"strings"
	"unicode"
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

// A character is the kind of one and, for a letter, the small Latin one that it is
// or passes for, so that a word cannot hide.
type character struct {
	kind  Kind
	latin rune
}

// characters are those that mean something.
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

// kindOf returns what a character is. It identifies nothing.
func kindOf(r rune) character {
	if 0 <= r && r <= unicode.MaxASCII {
		return ascii[r]
	}
	return find(r)
}

// find is kindOf of any character.
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

// Letters returns the letters of a word, small and without accents, and whether
// some are written with look-alikes or accents, or in another script. Those of
// another script become question marks, so that no word is found.
func Letters(text string) (plain string, odd bool) {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return text, false
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
