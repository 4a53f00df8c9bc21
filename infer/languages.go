package infer

import (
	_ "embed" // for the word list
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/infer/internal/text"
)

// A translation is what the verbs of a text in another language do.
type translation struct {
	foreign bool    // the text is in another language
	main    finding // the main verb; empty if it is not known
	also    finding // the gravest of the verbs that are joined to it, or that a later sentence states
}

// languagesText has the verbs and the small words of each language.
//
//go:embed languages.txt
var languagesText string

// A language is what is known of one.
type language struct {
	verbs   map[rune][]verbOf // by their first letter
	tells   []string          // nouns of information, which end a phrase without a verb
	small   map[string]bool
	joins   []string
	endings bool // a verb stands at the end of its clause
	closing bool // an infinitive closes a phrase: "Lampen eines Hauses abrufen"
}

// A verbOf a language is how a verb begins, or how it is written, and what it does.
type verbOf struct {
	written string
	does    finding
}

var deedsOf = map[string]finding{
	"reads": {effect: reads}, "adds": {effect: adds}, "changes": {effect: changes}, "takes": {effect: takes},
	"sends": {effect: leaves}, "publishes": {effect: leaves, gives: givesPublic}, "pays": {effect: leaves, gives: givesMoney},
	"runs": {effect: changes},
}

var languages = sync.OnceValue(func() map[string]*language {
	all := make(map[string]*language)
	name, what := "", ""
	for line := range strings.Lines(languagesText) {
		words := line
		if head, rest, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "#") {
			name, what, _ = strings.Cut(head, " ")
			words = rest
			if all[name] == nil {
				all[name] = &language{verbs: make(map[rune][]verbOf), small: make(map[string]bool), endings: name == "ja" || name == "ko", closing: name == "de"}
			}
		} else if !strings.HasPrefix(line, "\t") {
			continue
		}
		l := all[name]
		for w := range strings.FieldsSeq(words) {
			switch what {
			case "small":
				l.small[w] = true
			case "tells":
				l.tells = append(l.tells, w)
			case "joins":
				l.joins = append(l.joins, w)
			default:
				f := deedsOf[what]
				f.word, f.place = w, mainOfDescription
				letter, _ := utf8.DecodeRuneInString(w)
				l.verbs[letter] = append(l.verbs[letter], verbOf{w, f})
			}
		}
	}
	return all
})

// translate reads the verbs of a description in another language.
func translate(description string) translation {
	description = unquoted(untagged(description))
	sentence, rest := firstSentence(description)
	switch script := scriptOf(sentence); script {
	case "zh", "ja", "ko":
		l := languages()[script]
		t := l.unspaced(sentence, rest)
		for range 3 { // a first sentence may only name the tool, or another one
			if t.main.effect != unknown && !strings.HasSuffix(sentence, "入口") || rest == "" {
				break
			}
			sentence, rest = firstSentence(strings.TrimLeftFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) }))
			next := l.unspaced(sentence, rest)
			next.also = next.also.worse(t.also)
			t = next
		}
		return t
	case "ru":
		return languages()["ru"].spaced(strings.ToLower(sentence))
	}
	best, most := translation{}, 0
	folded := foldedWords(sentence)
	for _, name := range [...]string{"de", "fr", "es", "pt", "it", "nl", "sv", "da", "pl", "tr", "fi", "id"} {
		l := languages()[name]
		n := 0
		for _, w := range folded {
			if l.small[w] {
				n++
			}
		}
		t := l.words(folded)
		switch {
		case n > most:
			best, most = t, n
		case n == most && n > 0 && len(l.verbs) == 0:
			best = translation{foreign: true} // it may be of a language whose verbs are not known
		case n == most && n > 0 && t.main.effect > best.main.effect:
			best = t
		}
	}
	return best
}

// foldedWords returns the words of a text in small letters without accents.
func foldedWords(sentence string) []string {
	words := strings.FieldsFunc(strings.ToLower(sentence), func(r rune) bool { return !unicode.IsLetter(r) })
	for i := range words {
		words[i], _ = text.Letters(words[i])
	}
	return words
}

// scriptOf returns the language whose letters most of a text is written in, "" for Latin ones.
func scriptOf(sentence string) string {
	han, kana, hangul, cyrillic, latin := 0, 0, 0, 0, 0
	inWord := false
	for _, r := range sentence {
		was := inWord
		inWord = false
		switch {
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana++
		case unicode.Is(unicode.Hangul, r):
			hangul++
		case unicode.Is(unicode.Cyrillic, r):
			cyrillic++
		case unicode.IsLetter(r):
			if inWord = true; !was {
				latin++ // a word counts as one letter of the others, which are whole syllables
			}
		}
	}
	switch most := max(han, kana, hangul, cyrillic); {
	case most == 0 || han+kana+hangul+cyrillic/4 < latin:
		return ""
	case kana > 1:
		return "ja"
	case most == hangul:
		return "ko"
	case most == cyrillic:
		return "ru"
	}
	return "zh"
}

var brackets = map[rune]string{'[': "]", '【': "】", '(': ")", '（': "）"}

// untagged strips what stands before the first sentence: a tag in brackets, a symbol.
func untagged(s string) string {
	for {
		s = strings.TrimLeftFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !strings.ContainsRune("[【(（", r) })
		opening, size := utf8.DecodeRuneInString(s)
		closing, bracket := brackets[opening]
		if !bracket {
			return s
		}
		_, rest, ok := strings.Cut(s, closing)
		if !ok || len(s)-len(rest) > 80 {
			return s[size:]
		}
		s = rest
	}
}

// unquoted leaves out what is in quotes of other languages: it is mentioned, not done.
func unquoted(s string) string {
	if !strings.ContainsAny(s, "「『《“") {
		return s
	}
	depth := 0
	return strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("「『《“", r):
			depth++
		case strings.ContainsRune("」』》”", r):
			depth--
		case depth <= 0:
			return r
		}
		return -1
	}, s)
}

// firstSentence cuts a text behind its first sentence.
func firstSentence(s string) (sentence, rest string) {
	for i, r := range s {
		if strings.ContainsRune("。．！？!?\n；;", r) || r == '.' && (i+1 == len(s) || s[i+1] == ' ' || s[i+1] == '\n') {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// unspaced reads a text without spaces between words: Chinese, with the verb at the beginning of a clause, Japanese and
// Korean, with the verb at its end.
func (l *language) unspaced(sentence, rest string) translation {
	t := translation{foreign: true}
	at := -1
	for i := range sentence {
		f, length, ok := l.verbAt(sentence[i:])
		if !ok || denied(sentence[:i]) || i > 0 && length == utf8.RuneLen('查') {
			continue // one sign is a verb only where it begins the sentence
		}
		after := sentence[i+length:]
		switch {
		case l.endings && strings.HasPrefix(after, "済"):
		case at < 0, l.endings:
			if l.endings && at >= 0 && t.main.effect > reads && l.joined(sentence[at:i]) {
				t.also = t.also.worse(t.main)
			}
			t.main, at = f, i
			if l.endings {
				at = i + length
			}
		case l.joinedBefore(sentence[:i]):
			t.also = t.also.worse(f)
		}
	}
	for _, noun := range l.tells {
		if at < 0 && strings.HasSuffix(strings.TrimRight(sentence, " "), noun) {
			t.main = finding{effect: reads, place: saysNoDeed, word: noun}
		}
	}
	for i := range rest[:min(len(rest), maxRest)] {
		f, _, ok := l.verbAt(rest[i:])
		if ok && f.effect > adds && !l.endings && stated(rest[:i]) && !denied(rest[:i]) {
			t.also = t.also.worse(f)
		}
	}
	return t
}

// verbAt returns the verb that a text begins with, the longest one.
func (l *language) verbAt(s string) (f finding, length int, ok bool) {
	letter, _ := utf8.DecodeRuneInString(s)
	for _, v := range l.verbs[letter] {
		if len(v.written) > length && strings.HasPrefix(s, v.written) {
			f, length, ok = v.does, len(v.written), true
		}
	}
	return f, length, ok
}

// joined reports whether the words behind a verb join it to the next one.
func (l *language) joined(s string) bool {
	for _, join := range l.joins {
		if strings.HasPrefix(s, join) {
			return true
		}
	}
	return false
}

// joinedBefore reports whether a text ends with a word that joins what follows.
func (l *language) joinedBefore(s string) bool {
	s = strings.TrimRight(s, " ")
	for _, join := range l.joins {
		if strings.HasSuffix(s, join) {
			return true
		}
	}
	return false
}

// denied reports whether a Chinese text ends in a negation.
func denied(s string) bool {
	if i := strings.LastIndex(s, "包括"); i >= 0 && !strings.ContainsAny(s[i:], "。；;") {
		return true // what is listed is a part of the outcome
	}
	for _, not := range [...]string{"不", "未", "无", "無", "不会", "不會", "无法", "已", "被", "的"} {
		if strings.HasSuffix(s, not) {
			return true
		}
	}
	return false
}

// stated reports whether a Chinese text ends in a word that states that what follows is done.
func stated(s string) bool {
	for _, word := range [...]string{"会", "將", "将", "自动", "自動", "同时", "同時", "并", "並"} {
		if strings.HasSuffix(s, word) {
			return true
		}
	}
	return false
}

// spaced reads a text of words in their own script.
func (l *language) spaced(sentence string) translation {
	return l.words(strings.FieldsFunc(sentence, func(r rune) bool { return !unicode.IsLetter(r) }))
}

// words reads the verbs of a sentence: the first word but small ones, or in German the last one, is the main verb.
func (l *language) words(words []string) translation {
	t := translation{foreign: true}
	begins := true // nothing but small words came before
	for i, w := range words {
		f, ok := l.verb(w)
		first := begins
		begins = begins && l.small[w]
		switch main := t.main.effect != unknown; {
		case !ok:
		case !main && (first || l.closing && i == len(words)-1):
			t.main = f
		case main && i > 0 && l.joins[0] != "" && l.isJoin(words[i-1]):
			t.also = t.also.worse(f)
		}
	}
	return t
}

func (l *language) isJoin(w string) bool { return slices.Contains(l.joins, w) }

// maxRest is how much of what follows the first sentence is read, in bytes.
const maxRest = 16 << 10

// shortest is how many letters a beginning has that stands for one word only.
const shortest = 2

// verb returns what a word does that begins like a verb, the longest one.
func (l *language) verb(w string) (f finding, ok bool) {
	if l.small[w] {
		return f, false
	}
	length := 0
	letter, _ := utf8.DecodeRuneInString(w)
	for _, v := range l.verbs[letter] {
		// A short beginning may be one of other words: "le" is "reads", and "lei" a law.
		if len(v.written) > length && strings.HasPrefix(w, v.written) && (len(v.written) > shortest || w == v.written) {
			f, length, ok = v.does, len(v.written), true
		}
	}
	return f, ok
}
