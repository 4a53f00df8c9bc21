package infer

import (
	"strings"
	"unicode"
)

// A kind is what a character is for the scanner.
type kind uint8

const (
	letter  kind = iota + 1
	gap          // white space
	part         // part of an identifier: a digit, an underscore
	stop         // ends a sentence
	line         // may end a sentence
	comma        // separates verbs
	colon        // what follows stands for itself
	paren        // what follows is an aside
	unparen      // the aside is over
	slash        // either of two
	hyphen       // binds words
	quote        // the next word is a mention
	silent       // nothing at all: an apostrophe, an invisible character
	escape       // begins a terminal's control sequence
	other        // a letter of another script
	symbol       // anything else
)

// marks are the characters that mean something between words.
var marks = func() map[rune]kind {
	m := make(map[rune]kind)
	for k, chars := range map[kind]string{
		gap: " \t\r", line: "\n\u0085\u2028\u2029", stop: ".!?;。！？；", comma: ",&，、", colon: ":|–—", paren: "([", unparen: ")]",
		slash: "/", hyphen: "-", quote: "`\"<{$#@=\\“”«»‘", part: "_", silent: "'’", escape: "\x1b",
	} {
		for _, r := range chars {
			m[r] = k
		}
	}
	return m
}()

// kindOf returns the kind of a character and, for a letter, the small Latin one
// that it is or passes for, so that a word cannot hide. It identifies nothing.
func kindOf(r rune) (kind, rune) {
	switch {
	case 'a' <= r && r <= 'z':
		return letter, r
	case 'A' <= r && r <= 'Z':
		return letter, r - 'A' + 'a'
	case 0xFF21 <= r && r <= 0xFF3A: // full-width capitals
		return letter, r - 0xFF21 + 'a'
	case 0xFF41 <= r && r <= 0xFF5A: // full-width letters
		return letter, r - 0xFF41 + 'a'
	case 0x1D400 <= r && r <= 0x1D6A3: // mathematical letters, 26 capitals and 26 small in turn
		return letter, (r-0x1D400)%26 + 'a'
	case 0x24B6 <= r && r <= 0x24E9: // circled letters
		return letter, (r-0x24B6)%26 + 'a'
	}
	if k, ok := marks[r]; ok {
		return k, 0
	}
	latin, ok := lookalikes[r]
	if !ok {
		latin, ok = lookalikes[unicode.ToLower(r)]
	}
	switch {
	case ok:
		return letter, latin
	case unicode.IsLetter(r):
		return other, 0
	case unicode.IsDigit(r):
		return part, 0
	case unicode.IsSpace(r):
		return gap, 0
	case r <= unicode.MaxASCII && unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Mn), 0xE0000 <= r && r <= 0xE0FFF:
		return silent, 0
	}
	return symbol, 0
}

// letters returns the letters of a word, small and without accents, and whether
// some are written with look-alikes or accents, or in another script. Those of
// another script become question marks, so that no word is found.
func letters(text string) (plain string, odd bool) {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return text, false
	}
	plain = strings.Map(func(r rune) rune {
		k, latin := kindOf(r)
		odd = odd || r > unicode.MaxASCII && (k == letter || k == other)
		switch k {
		case letter:
			return latin
		case other:
			return '?'
		}
		return -1
	}, text)
	return plain, odd
}

// lookalikes are the accented letters, and the letters of other scripts that pass
// for a Latin one.
var lookalikes = func() map[rune]rune {
	m := make(map[rune]rune)
	for latin, others := range map[rune]string{
		'a': "аαạɑàáâãäåāăą", 'b': "ЬВʙ", 'c': "сϲᴄçćč", 'd': "ԁɗďđ", 'e': "еєҽΕèéêëēėęě", 'g': "ɡցğģ", 'h': "һΗН",
		'i': "іιɪıìíîïīį", 'j': "јϳ", 'k': "κкΚ", 'l': "ӏⅼłĺľ", 'm': "мΜМ", 'n': "ոՈñńňņ", 'o': "оοօòóôõöøōő", 'p': "рρ",
		'q': "ԛ", 'r': "гᴦřŕ", 's': "ѕꜱśšş", 't': "тτΤťţ", 'u': "υսᴜùúûüūůűų", 'v': "νѵ", 'w': "ԝѡ", 'x': "хχ", 'y': "уγүýÿ",
		'z': "ᴢΖźżž",
	} {
		for _, r := range others {
			m[r] = latin
		}
	}
	return m
}()
