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
