// Package reading reads what a text spells out: characters and numbers in words, and dates.
package reading

import (
	_ "embed" // for the tables
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

//go:embed words.txt
var wordsText string

//go:embed translations.txt
var translationsText string

// A table maps words to what they stand for: of words.txt by what sort that is.
type table map[string]map[string][]string

func (t table) first(sort, word string) (string, bool) {
	if all := t[sort][word]; len(all) > 0 {
		return all[0], true
	}
	return "", false
}

func (t table) number(sort, word string) (int, bool) {
	first, ok := t.first(sort, word)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(first)
	return n, err == nil
}

// words is read at the first use: most programs and most calls need none of it.
var words = sync.OnceValue(func() table {
	t := make(table)
	for line := range strings.SplitSeq(strings.ReplaceAll(wordsText, "\n\t", " "), "\n") {
		at := strings.LastIndex(line, ": ")
		if at < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		sort, means, _ := strings.Cut(line[:at], " ")
		if t[sort] == nil {
			t[sort] = make(map[string][]string)
		}
		for word := range strings.FieldsSeq(line[at+2:]) {
			t[sort][word] = append(t[sort][word], means)
		}
	}
	return t
})

// translations maps a word to those that mean the same.
var translations = sync.OnceValue(func() map[string][]string {
	t := make(map[string][]string)
	for line := range strings.Lines(translationsText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		all := strings.Fields(line)
		for _, word := range all {
			t[word] = append(t[word], all...)
		}
	}
	return t
})

// Translations returns the words of other languages that mean what a word does, with the word itself; none for a word
// that is not known.
func Translations(word string) []string { return translations()[strings.ToLower(word)] }

// A token is a run of letters or of digits, or a mark. It ends before the byte end of the text.
type token struct {
	text    string // in lower case
	at, end int
	sort    byte // 'a', '0' or '.'
}

// A Text is one that is read in several ways.
type Text struct {
	Raw string

	tokens []token // without blanks
}

// New returns a text to read.
func New(raw string) Text {
	list := make([]token, 0, len(raw)/3+1)
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRuneInString(raw[i:])
		from := i
		i += n
		sort := sortOf(r)
		if sort == ' ' {
			continue
		}
		for sort != '.' && i < len(raw) {
			r, n := utf8.DecodeRuneInString(raw[i:])
			if sortOf(r) != sort {
				break
			}
			i += n
		}
		list = append(list, token{strings.ToLower(raw[from:i]), from, i, sort})
	}
	return Text{raw, list}
}

// sortOf returns the sort of token that a character belongs to, ' ' for none.
func sortOf(r rune) byte {
	switch {
	case r >= '0' && r <= '9':
		return '0'
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
		return 'a'
	case r > ' ' && r < 0x7f:
		return '.'
	case unicode.IsLetter(r), unicode.Is(unicode.Mn, r):
		return 'a'
	case unicode.IsSpace(r), unicode.Is(unicode.Cf, r):
		return ' '
	}
	return '.'
}
