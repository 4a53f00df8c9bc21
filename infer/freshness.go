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
	"github.com/fairlead-go/fairlead/infer/internal/text"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A keeping is what a word implies about how long the result of a read stays true.
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

// freshWords lists words in the singular by their keeping. A hyphen is between words that follow each other.
//
//go:embed freshness.txt
var freshWords string

// freshIndex holds the keepings of words, and of two words that follow each other, with their plurals.
var freshIndex = sync.OnceValue(func() map[string]keeping {
	listed, all := make(map[string]keeping), make(map[string]keeping)
	for line := range strings.Lines(freshWords) {
		name, words, _ := strings.Cut(line, ":")
		for entry := range strings.FieldsSeq(words) {
			listed[strings.Replace(entry, "-", " ", 1)] |= keepings[name]
		}
	}
	for entry, k := range listed {
		all[text.Inflect(entry, "s")] |= k
	}
	maps.Copy(all, listed) // a plural that is listed is a word of its own
	return all
})

// A look is what the words of a text imply.
type look struct {
	place place
	words [16]string // the first one of each keeping
	last  string     // the last word
	all   keeping    // of all the words
	lead  keeping    // of the first
	head  keeping    // of the last one before a preposition that names something
	bound bool       // the preposition has come
}

func (l *look) add(w string) {
	var room [64]byte // for the last word and this one, in small letters
	two := append(append(append(room[:0], l.last...), ' '), w...)
	for i, c := range two {
		if 'A' <= c && c <= 'Z' {
			two[i] += 'a' - 'A'
		}
	}
	k := cmp.Or(freshIndex()[string(two)], freshIndex()[string(two[len(l.last)+1:])], plain)
	l.last = w
	if l.all == 0 {
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

func (l *look) read(description string) {
	for w := range strings.FieldsFuncSeq(description, func(r rune) bool { return !unicode.IsLetter(r) }) {
		l.add(w)
	}
}

// freshness returns how long the result of a read stays true ("" if unknown), whether it is a secret, and why.
func freshness(def *mcp.Tool, words []word) (says annotation.Freshness, secret bool, why finding) {
	name, first, rest, parameters := look{place: inName}, look{place: inDescription}, look{place: inDescription}, look{place: inSchema}
	for i := range words {
		name.add(words[i].base)
	}
	description := def.Description[:min(len(def.Description), 8000)]
	sentence, _, _ := strings.Cut(description, "\n")
	sentence, _, _ = strings.Cut(sentence, ". ")
	first.read(sentence)
	rest.read(description[len(sentence):])
	schema, _ := def.InputSchema.(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	if len(properties) > 0 {
		for _, label := range slices.Sorted(maps.Keys(properties)) {
			for _, w := range cut(label) {
				parameters.add(w.base)
			}
		}
	}
	in := func(l *look, k keeping) bool {
		if l.all&k == 0 {
			return false
		}
		why = finding{place: l.place, word: strings.ToLower(l.words[bits.TrailingZeros16(uint16(l.all&k))])}
		return true
	}
	defined := name.head&fixed != 0
	switch {
	case name.head&token != 0 && in(&name, token), in(&first, hands), in(&rest, hands), in(&parameters, reveals), !defined && (in(&name, opens) || in(&first, opens)):
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

func unfamiliar(r rune) bool { return r >= 0x2E80 }
