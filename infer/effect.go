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

// A finding is an effect with its reason: a word of the lexicon and where it
// stood.
type finding struct {
	effect effect
	place  place
	word   string
}

// A place is where a word stood, as evidence says it.
type place string

const (
	leadsName         place = "leads the name"
	inName            place = "in the name"
	inTitle           place = "in the title"
	mainOfDescription place = "is the main verb of the description"
	inDescription     place = "in the description"
	saysNoDeed        place = "begins a description in which nothing is done"
	warns             place = "warns in the description"
	inSchema          place = "is a parameter"
	inChoice          place = "is a choice of a parameter"
	inOutput          place = "the output is a list of items"
	longText          place = "more than 100 characters of description"
	shortText         place = "at most 100 characters of description"
)

// strength returns how much a word at a place says.
func (p place) strength() annotation.Strength {
	switch p {
	case inDescription, inSchema, inTitle, longText, shortText:
		return annotation.Weak
	}
	return annotation.Strong
}

// worse returns the graver of two; at par the first one stays.
func (f finding) worse(g finding) finding {
	if g.effect > f.effect {
		return g
	}
	return f
}

// An object is what a verb is done to: the senses of all its words, and those of
// the last one, which says what it is. A payment link is a link.
type object struct {
	any, head sense
	some      bool // something follows the verb, known or not
	free      bool // two words of a request: an API request is whatever it is told
}

func (o *object) add(w *word) {
	o.some = o.some || w.sense&lead == 0
	o.free = o.free || w.sense&o.any&wire != 0
	if w.sense&nouns != 0 && w.form <= third {
		o.any |= w.sense
	}
	o.any |= w.sense & outside
	if w.sense&many == 0 {
		o.head = w.sense
	}
}

// effectOf says what a verb does to an object.
func effectOf(verb sense, o object) effect {
	switch {
	case verb&take != 0:
		if verb&sweep != 0 && o.any&view != 0 {
			return changes
		}
		return takes
	case verb&power != 0:
		return commands
	case verb&out != 0 && verb&bends != 0 && o.any&revision != 0:
		return changes
	case verb&out != 0:
		return leaves
	case verb&produce != 0 && o.any&storage != 0:
		return takes
	case verb&seals != 0 && o.head&(money|message|pact) != 0:
		return leaves
	case verb&(run|produce) != 0 && o.any&wire != 0 && (o.any&outside != 0 || o.free && verb&(run|seals) != 0):
		return commands
	case verb&(read|compute) != 0 && verb&bends != 0 && o.head&kept != 0:
		return adds
	case verb&run != 0, verb&fills != 0 && o.any&code != 0:
		return ran(verb, o)
	case verb&produce != 0:
		if o.any&(artefact|number) != 0 && o.head&access == 0 {
			return reads
		}
		return adds
	case verb&change != 0:
		return changed(verb, o)
	case verb&bends != 0 && verb&add != 0 && o.any&kept == 0 && (o.any&picture != 0 || !o.some):
		return reads
	case verb&add != 0 && verb&wire != 0 && o.any&many != 0 && !o.some:
		return commands // a raw request
	case verb&add != 0 && verb&says != 0 && o.head&report != 0:
		return reads // it reports a status
	case verb&add != 0:
		return added(o)
	case verb&(read|compute) != 0:
		return reads
	}
	return unknown
}

// runs reports whether a verb runs what it is given: "run", and a "query", which
// is itself a thing that is run.
func runs(verb sense) bool { return verb&run != 0 || verb&read != 0 && verb&code != 0 }

func ran(verb sense, o object) effect {
	switch {
	case o.any&code != 0 && o.head&report == 0, o.any&many != 0 && o.any&wire != 0:
		return commands
	case o.head&report != 0 && verb&change == 0, verb&compute != 0 && o.some:
		return reads
	case o.head&money != 0:
		return leaves
	}
	return changes
}

func changed(verb sense, o object) effect {
	switch {
	case verb&retire != 0 && o.any&many != 0,
		verb&retire != 0 && o.head&(access|money) != 0,
		verb&fills != 0 && o.any&kept != 0:
		return takes
	}
	return changes
}

func added(o object) effect {
	switch {
	case o.head&number != 0:
		return reads
	case o.head&(message|money) != 0 && o.any&tentative == 0:
		return leaves
	}
	return adds
}
