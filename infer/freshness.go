package infer

import (
	"cmp"
	_ "embed" // for the word list
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A keeping is what a word tells about how long the result of a read stays true.
type keeping uint16

const (
	opens   keeping = 1 << iota // a secret, or something that opens one
	token                       // likewise, if the name ends in it
	hands                       // likewise, anywhere in a description
	moment                      // the present moment
	scene                       // likewise, in the first sentence of a description
	fixed                       // a definition
	works                       // a verb that computes
	teaches                     // documentation, in the first sentence of a description
	seeks                       // a verb that searches
	lists                       // a verb that lists
	record                      // what others may change
	plain                       // any other word
	reveals                     // a parameter that has a secret shown
	passing                     // does not name anything: get, all
	bound                       // a preposition: what is named is before it
)

// keepings are the names that the word list has for them.
var keepings = map[string]keeping{
	"opens": opens, "token": token, "hands": hands, "moment": moment, "scene": scene, "fixed": fixed, "works": works,
	"teaches": teaches, "seeks": seeks, "lists": lists, "record": record, "reveals": reveals, "passing": passing, "bound": bound,
}

// freshWords is a list of words in the singular, each line after the name of their keeping. A hyphen is
// between words that follow each other.
//
//go:embed freshness.txt
var freshWords string

// freshIndex holds the keepings of words, and of two words that follow each other.
var freshIndex = sync.OnceValue(func() map[string]keeping {
	m := make(map[string]keeping)
	for line := range strings.Lines(freshWords) {
		name, words, _ := strings.Cut(line, ":")
		for entry := range strings.FieldsSeq(words) {
			first, second, two := strings.Cut(entry, "-")
			if entry = singular(first); two {
				entry += " " + singular(second)
			}
			m[entry] |= keepings[name]
		}
	}
	return m
})

// A look is what the words of a text tell.
type look struct {
	text  []byte     // the words in the singular, a space between them
	last  int        // where the last one begins
	all   keeping    // of all the words
	lead  keeping    // of the first
	head  keeping    // of the last one before a preposition that names something
	bound bool       // the preposition has come
	words [16]string // the first one of each keeping
}

// add takes the next word, alone and with the one before it.
func (l *look) add(w string) {
	before := l.last
	if len(l.text) > 0 {
		l.text = append(l.text, ' ')
	}
	l.last = len(l.text)
	l.text = append(l.text, singular(w)...)
	k := freshIndex()[string(l.text[l.last:])]
	if l.last > 0 {
		k = cmp.Or(freshIndex()[string(l.text[before:])], k)
	}
	k = cmp.Or(k, plain)
	if l.last == 0 {
		l.lead = k
	}
	l.bound = l.bound || k&bound != 0 && l.head != 0
	if !l.bound && k&(passing|bound) == 0 {
		l.head = k
	}
	for news := k &^ l.all; news != 0; news &= news - 1 {
		l.words[bits.TrailingZeros16(uint16(news))] = w
	}
	l.all |= k
}

// read takes the words of a text.
func (l *look) read(text string) {
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		l.add(strings.ToLower(w))
	}
}

// singular returns a noun without the ending of its plural; statuses are definitions, and stay.
func singular(w string) string {
	stem, plural := strings.CutSuffix(w, "s")
	if !plural || len(w) < 4 || w == "statuses" || strings.HasSuffix(w, "ics") {
		return w
	}
	switch stem[len(stem)-1] {
	case 's', 'u', 'i':
		return w
	case 'e':
		if begin, ok := strings.CutSuffix(stem, "ie"); ok {
			return begin + "y"
		}
		for _, end := range [...]string{"sse", "xe", "che", "she"} {
			if strings.HasSuffix(stem, end) {
				return stem[:len(stem)-1]
			}
		}
	}
	return stem
}

// withFreshness adds to what was found of a tool how long its result stays true. That of a write is never used again.
func withFreshness(a annotation.Annotations, def *mcp.Tool, name []word) annotation.Annotations {
	if a.ReadOnly == annotation.No {
		return a
	}
	says, secret, why := freshness(def, name)
	if says == "" {
		return a
	}
	e := annotation.Evidence{
		Field: annotation.FreshnessHint, Value: string(says), Source: annotation.Inferred,
		Strength: why.place.strength(), Word: why.word, Place: string(why.place),
	}
	a.Freshness, a.Evidence = says, append(a.Evidence, e)
	if secret {
		a.Secret, e.Field, e.Value = annotation.Yes, annotation.SecretHint, annotation.Yes.String()
		a.Evidence = append(a.Evidence, e)
	}
	return a
}

// freshness returns how long the result of a read stays true, "" if that is not understood, whether it is a
// secret, and why.
func freshness(def *mcp.Tool, words []word) (says annotation.Freshness, secret bool, why finding) {
	var name, first, all, parameters look
	for i := range words {
		name.add(words[i].base)
	}
	sentence := def.Description
	if end := strings.IndexAny(sentence, "\n"); end > 0 {
		sentence = sentence[:end]
	}
	sentence, _, _ = strings.Cut(sentence, ". ")
	first.read(sentence)
	all.read(def.Description[:min(len(def.Description), 8000)])
	schema, _ := def.InputSchema.(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	for _, label := range slices.Sorted(maps.Keys(properties)) {
		for _, w := range cut(label) {
			parameters.add(w.base)
		}
	}
	in := func(l *look, k keeping) bool {
		if l.all&k == 0 {
			return false
		}
		why = finding{place: inDescription, word: l.words[bits.TrailingZeros16(uint16(l.all&k))]}
		switch l {
		case &name:
			why.place = inName
		case &parameters:
			why.place = inSchema
		}
		return true
	}
	defined := name.head&fixed != 0
	switch {
	case name.head&token != 0 && in(&name, token), in(&all, hands), in(&parameters, reveals), !defined && (in(&name, opens) || in(&first, opens)):
		return annotation.Volatile, true, why
	case strings.ContainsFunc(sentence, unfamiliar):
		return "", false, finding{}
	case in(&first, teaches), defined && name.lead&seeks == 0 && in(&name, fixed):
		return annotation.Stable, false, why
	case in(&name, moment):
		return annotation.Volatile, false, why
	case (name.lead|name.head)&works != 0 && in(&name, works):
		return annotation.Stable, false, why
	case in(&first, scene):
		return annotation.Volatile, false, why
	case in(&name, record), name.lead&seeks != 0 && in(&name, seeks):
		return annotation.Shared, false, why
	case in(&name, fixed), first.lead&works != 0 && in(&first, works), first.head&fixed != 0 && in(&first, fixed):
		return annotation.Stable, false, why
	case in(&first, moment):
		return annotation.Volatile, false, why
	case in(&first, record|fixed), name.head&plain != 0 && in(&name, lists):
		return annotation.Shared, false, why
	}
	return "", false, finding{}
}

// unfamiliar reports whether a character is of a script in which words are not told apart.
func unfamiliar(r rune) bool { return r >= 0x2E80 }
