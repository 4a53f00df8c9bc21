package infer

import (
	"cmp"
	_ "embed" // for the word list
	"maps"
	"math/bits"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

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

// A freshWord is what is known of a word, or of two words that follow each other.
type freshWord struct {
	keeping keeping
	leads   bool // two words begin with it
}

// freshIndex holds the keepings of words, and of two words that follow each other, with their plurals.
var freshIndex = sync.OnceValue(func() map[string]freshWord {
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
	index := make(map[string]freshWord, len(all))
	for entry, k := range all {
		index[entry] = freshWord{keeping: k}
	}
	for entry := range all {
		if first, _, two := strings.Cut(entry, " "); two {
			w := index[first]
			w.leads = true
			index[first] = w
		}
	}
	return index
})

// A look is what the words of a text imply.
type look struct {
	place place
	words [16]string // the first one of each keeping
	last  string     // the last word
	leads bool       // two words begin with the last word
	all   keeping    // of all the words
	lead  keeping    // of the first
	head  keeping    // of the last one before a preposition that names something
	bound bool       // the preposition has come
}

func (l *look) add(w string) {
	var room [64]byte // for the last word and this one, in small letters
	index := freshIndex()
	one := index[string(appendLower(room[:0], w))]
	k := cmp.Or(one.keeping, plain)
	if l.leads {
		two := appendLower(append(appendLower(room[:0], l.last), ' '), w)
		k = cmp.Or(index[string(two)].keeping, k)
	}
	l.last, l.leads = w, one.leads
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

// appendLower appends a word with the letters A to Z as small ones.
func appendLower(dst []byte, w string) []byte {
	at := len(dst)
	dst = append(dst, w...)
	for i := at; i < len(dst); i++ {
		if c := dst[i]; 'A' <= c && c <= 'Z' {
			dst[i] = c + ('a' - 'A')
		}
	}
	return dst
}

func (l *look) read(description string) {
	begins := -1 // where the word begins, if one is open
	for i, r := range description {
		small := r | 0x20
		switch isLetter := 'a' <= small && small <= 'z' || r >= utf8.RuneSelf && unicode.IsLetter(r); {
		case isLetter && begins < 0:
			begins = i
		case !isLetter && begins >= 0:
			l.add(description[begins:i])
			begins = -1
		}
	}
	if begins >= 0 {
		l.add(description[begins:])
	}
}

// revealing returns the word of a parameter's name that has a secret shown, "" for none.
func revealing(ws []word) string {
	leads := false
	for i := range ws {
		one := freshIndex()[ws[i].base]
		if one.keeping&reveals != 0 || leads && freshIndex()[ws[i-1].base+" "+ws[i].base].keeping&reveals != 0 {
			return ws[i].base
		}
		leads = one.leads
	}
	return ""
}

// freshness returns how long the result of a read stays true ("" if unknown), whether it is a secret, and why. A
// parameter may have a secret shown, by a word of its name.
func freshness(def *mcp.Tool, words []word, reveals string) (says annotation.Freshness, secret bool, why finding) {
	name, first, rest := look{place: inName}, look{place: inDescription}, look{place: inDescription}
	for i := range words {
		name.add(words[i].base)
	}
	description := def.Description[:min(len(def.Description), 8000)]
	sentence, _, _ := strings.Cut(description, "\n")
	sentence, _, _ = strings.Cut(sentence, ". ")
	first.read(sentence)
	rest.read(description[len(sentence):])
	in := func(l *look, k keeping) bool {
		if l.all&k == 0 {
			return false
		}
		why = finding{place: l.place, word: strings.ToLower(l.words[bits.TrailingZeros16(uint16(l.all&k))])}
		return true
	}
	shown := func() bool {
		why = finding{place: inSchema, word: reveals}
		return reveals != ""
	}
	defined := name.head&fixed != 0
	switch {
	case name.head&token != 0 && in(&name, token), in(&first, hands), in(&rest, hands), shown(), !defined && (in(&name, opens) || in(&first, opens)):
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
