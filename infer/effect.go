package infer

import "github.com/fairlead-go/fairlead/annotation"

// An effect is what a call does, mildest first.
type effect uint8

const (
	unknown  effect = iota
	reads           // changes nothing
	adds            // adds
	changes         // changes what can be set back
	leaves          // goes to others, or cannot be taken back
	takes           // takes away or overwrites
	commands        // does whatever it is told
)

// writes reports whether something is another after the call.
func (e effect) writes() bool { return e >= adds }

// dangerous reports whether a person has to agree.
func (e effect) dangerous() bool { return e >= leaves }

// A gift is what a call gives away, as the reason why a person is asked.
type gift string

const (
	givesAccess   gift = "gives access away"
	givesKeys     gift = "hands out or changes credentials"
	givesMoney    gift = "moves or commits money"
	givesControl  gift = "controls a thing in the physical world"
	givesPublic   gift = "publishes"
	givesIdentity gift = "acts as somebody else"
	givesPower    gift = "does whatever it is told"
)

// A finding is an effect with its reason: a word of the lexicon and where it stood.
type finding struct {
	word   string
	effect effect
	place  place
	gives  gift
}

// A place is where a word stood, as evidence has it.
type place string

const (
	leadsName         place = "leads the name"
	inName            place = "in the name"
	mainOfDescription place = "is the main verb of the description"
	warns             place = "warns in the description"
	inChoice          place = "is a choice of a parameter"
	inTitle           place = "in the title"
	inDescription     place = "in the description"
	saysNoDeed        place = "begins a description in which nothing is done"
	inSchema          place = "is a parameter"
	ofParameter       place = "in the description of a parameter"
	notUnderstood     place = "the words are not understood"
	longText          place = "more than 100 characters of description"
	shortText         place = "at most 100 characters of description"
)

// strength returns how much a word at a place says.
func (p place) strength() annotation.Strength {
	switch p {
	case leadsName, inName, mainOfDescription, warns, inChoice:
		return annotation.Strong
	}
	return annotation.Weak
}

// at returns the finding for another place.
func (f finding) at(p place) finding {
	f.place = p
	return f
}

// when returns the finding if a condition holds, and else one that says nothing.
func (f finding) when(holds bool) finding {
	if !holds {
		return finding{}
	}
	return f
}

// worse returns the graver of two; at par the first one stays.
func (f finding) worse(g finding) finding {
	if g.effect > f.effect {
		return g
	}
	return f
}

// An object is what a verb is done to: the senses of all its words, and the last
// one, which says what it is. A payment link is a link.
type object struct {
	any   sense
	last  word
	some  bool // something follows the verb, known or not
	free  bool // two words of a request: an API request is whatever it is told
	known bool // one that exists: an existing query, a saved one
}

func (o *object) add(w *word) {
	o.some = o.some || w.sense&lead == 0
	o.free = o.free || w.sense&o.any&wire != 0
	if w.sense&nouns != 0 && w.form <= third && w.sense&(read|secret) != read|secret {
		o.any |= w.sense
	}
	o.any |= w.sense & outside
	o.known = o.known || w.sense&tells != 0 || w.form == past
	if w.sense&many == 0 {
		o.last = *w
	}
}

// does returns what a verb does to an object, as it was found at a place.
func (w *word) does(o object, at place) finding {
	for i := range acts {
		if d := &acts[i]; w.sense&d.verb != 0 && w.sense&d.also == d.also && d.fits(&o) {
			return finding{effect: d.effect, place: at, word: w.base, gives: d.gives}
		}
	}
	return finding{place: at, word: w.base}
}

// fits reports whether the conditions on the object hold.
func (d *act) fits(o *object) bool {
	has := func(s, some sense) bool { return some == 0 || s&some != 0 }
	given := [...]bool{true, o.some, !o.some, o.free, !o.known}[d.given]
	whole := has(o.any, d.any) && has(o.any, d.with) && o.any&d.without == 0
	return given && whole && has(o.last.sense, d.head) && o.last.sense&d.not == 0
}
