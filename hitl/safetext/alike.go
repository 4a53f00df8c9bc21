package safetext

// A character is doubtful if a reader could take it for another. There are three kinds. A second spelling, such as a
// full-width letter, is doubtful in any word (double). A letter of a script that imitates another is doubtful by its
// word: in one with letters of another script, or in one that has no letter which shows the script that it is in
// (mixed). Letters that are read from the right are doubtful if digits follow, since those are displayed on their other
// side. Nothing here needs a table of confusable pairs: what is rare and unclear is escaped, and what the languages of
// today write is not.

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Doubtful reports whether a text has characters that [Line] escapes since they could be taken for others.
func Doubtful(s string) bool { return len(alike(s)) > 0 }

// alike returns the places of the runes that could be taken for others; nil for plain ASCII.
func alike(s string) map[int]bool {
	if strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return nil
	}
	found := make(map[int]bool)
	var word []letter
	var leftward []int // letters since the last one that is read to the right
	var before rune
	for i, r := range s {
		switch {
		case unicode.IsLetter(r) || unicode.IsMark(r):
			word = append(word, letter{i, r})
		default:
			mixed(word, found)
			word = word[:0]
		}
		switch {
		case unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana):
			leftward = append(leftward, i)
		case r == '\n' || unicode.IsLetter(r):
			leftward = leftward[:0]
		case unicode.IsDigit(r): // which is shown on the other side of them than it is
			for _, at := range leftward {
				found[at] = true
			}
		}
		if double(r) || unicode.Is(unicode.Other_Grapheme_Extend, r) && unicode.IsMark(before) {
			found[i] = true
		}
		before = r
	}
	mixed(word, found)
	return found
}

type letter struct {
	at   int
	rune rune
}

// imitators are scripts with letters that look like those of another script, and the letters that do not.
var imitators = [...]struct {
	script *unicode.RangeTable
	likes  string
}{
	{unicode.Cyrillic, "АВЕЅІЈКМНОРСТУХҮҺӀԌԚԜЁЇӔЗГПФаеѕіјорсухһӏԁԛԝёїӕ"},
	{unicode.Greek, "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹΆΈΉΊΌΎΪΫΓΠΦαγινορσυϲϳάίόύϊϋΐΰµμ"},
	{unicode.Armenian, "ԼՍՕՏգզհյոռսցւօ"},
}

// mixed adds the letters of a word that could be taken for those of another script.
func mixed(word []letter, found map[int]bool) {
	var of [len(imitators)][]letter
	var evident [len(imitators)]bool
	scripts, latin := 0, false
	for _, l := range word {
		latin = latin || unicode.Is(unicode.Latin, l.rune)
		for i, script := range imitators {
			if !unicode.Is(script.script, l.rune) {
				continue
			}
			if of[i] == nil {
				scripts++
			}
			of[i] = append(of[i], l)
			evident[i] = evident[i] || unicode.IsLetter(l.rune) && !strings.ContainsRune(script.likes, l.rune)
		}
	}
	for i, letters := range of {
		if latin || scripts > 1 || !evident[i] {
			for _, l := range letters {
				found[l.at] = true
			}
		}
	}
}

// common are the scripts of today's languages. Letters of others are escaped.
var common = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Georgian,
	unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
	unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Thai, unicode.Lao, unicode.Tibetan,
	unicode.Myanmar, unicode.Ethiopic, unicode.Khmer, unicode.Bopomofo, unicode.Common,
}

// doubles are second spellings of other code points: compatibility forms, and those that are not in NFC.
var doubles = &unicode.RangeTable{R16: []unicode.Range16{
	{0x0374, 0x0374, 1}, {0x037e, 0x037e, 1}, {0x0387, 0x0387, 1}, // Greek punctuation
	{0x0653, 0x0655, 1}, {0x0958, 0x095f, 1}, {0x09dc, 0x09df, 1}, {0x0a33, 0x0a36, 3}, {0x0a59, 0x0a5e, 1}, {0x0b5c, 0x0b5d, 1},
	{0x0e4d, 0x0e4d, 1}, {0x0ecd, 0x0ecd, 1}, // parts of a vowel sign of Thai and of Lao
	{0x0f43, 0x0f43, 1}, {0x0f4d, 0x0f5c, 5}, {0x0f69, 0x0f69, 1}, {0x0f73, 0x0f78, 1}, {0x0f81, 0x0f81, 1},
	{0x1100, 0x11ff, 1}, {0x1f00, 0x1fff, 1}, // conjoining jamo, Greek with breathings
	{0x2010, 0x2012, 1}, {0x2015, 0x2015, 1}, {0x2024, 0x2024, 1}, {0x2043, 0x2044, 1}, // hyphens, a dot, a slash
	{0x2160, 0x2188, 1}, {0x2212, 0x2212, 1}, {0x2215, 0x2217, 1}, {0x2223, 0x2223, 1}, {0x2236, 0x2236, 1}, {0x223c, 0x223c, 1},
	{0x2329, 0x232a, 1}, {0x27e6, 0x27e7, 1}, {0x29f8, 0x29f9, 1}, {0x3164, 0x3164, 1}, {0xa789, 0xa78a, 1}, {0xa960, 0xa97f, 1}, {0xd7b0, 0xd7ff, 1},
	{0xf900, 0xfdff, 1}, {0xfe50, 0xfeff, 1}, {0xff00, 0xffef, 1},
}, R32: []unicode.Range32{{0x1d400, 0x1d7ff, 1}, {0x1ee00, 0x1eeff, 1}, {0x1fbf0, 0x1fbf9, 1}, {0x2f800, 0x2fa1f, 1}}}

// double reports whether a rune could be taken for another in whatever word.
func double(r rune) bool {
	switch {
	case r < 0xaa:
		return false
	case unicode.Is(unicode.Latin, r):
		return !latin(r)
	case unicode.IsDigit(r), unicode.In(r, doubles, unicode.Radical):
		return true // other digits than ASCII's, and parts of Han
	case unicode.Is(unicode.Inherited, r):
		return r < 0x064b || 0x0652 < r && r != 0x0670 // marks for letters that have a code point with them, but for Arabic vowels
	case unicode.IsLetter(r):
		return 0x02b0 <= r && r <= 0x02ff || 0x2100 <= r && r <= 0x214f || !unicode.In(r, common...)
	}
	return false
}

// latin reports whether a letter beyond ASCII is one of a language's alphabet that looks like no other.
func latin(r rune) bool {
	if slices.Contains([]rune{0xd0, 0x132, 0x133, 0x138, 0x13f, 0x140, 0x149, 0x17f}, r) {
		return false
	}
	return r <= 0x17f || slices.Contains([]rune{0x1a0, 0x1a1, 0x1af, 0x1b0, 0x218, 0x219, 0x21a, 0x21b, 0x1e9e}, r) || 0x1ea0 <= r && r <= 0x1ef9
}
