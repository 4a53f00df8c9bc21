// Package reading reads what a text spells out: characters and numbers in words, and dates.
package reading

import (
	_ "embed" // for the tables
	"iter"
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

// tokens returns those of a text, without blanks.
func tokens(raw string) iter.Seq[token] {
	return func(yield func(token) bool) {
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
			if !yield(token{strings.ToLower(raw[from:i]), from, i, sort}) {
				return
			}
		}
	}
}

func sortOf(r rune) byte {
	switch {
	case r < utf8.RuneSelf && r >= '0' && r <= '9':
		return '0'
	case unicode.IsLetter(r), unicode.Is(unicode.Mn, r):
		return 'a'
	case unicode.IsSpace(r), unicode.Is(unicode.Cf, r):
		return ' '
	}
	return '.'
}
