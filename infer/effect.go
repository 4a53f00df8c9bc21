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

// An act is a row of what a verb does to an object: it is for a verb with one of
// the senses in verb and all those in also. The conditions on the object that are 0
// always hold.
type act struct {
	verb, also sense
	any, with  sense // the object has a word with one of these, and one with one of those
	head       sense // its last word has one of these
	not        sense // its last word has none of these
	without    sense // no word of it has one of these
	given      given
	effect     effect
}

// A given says what else has to hold of an object.
type given uint8

const (
	something given = iota + 1 // there is one
	nothing                    // there is none
	free                       // two words of a request
)

// acts are looked through in order; the first row that fits decides.
var acts = [...]act{
	{verb: take, also: sweep, any: view, effect: changes},
	{verb: take, effect: takes},
	{verb: power, effect: commands},
	{verb: out, also: bends, any: revision, effect: changes},
	{verb: out, effect: leaves},
	{verb: produce, any: storage, effect: takes},
	{verb: seals, head: money | message | pact, effect: leaves},
	{verb: run | produce, any: wire, with: outside, effect: commands},
	{verb: run, any: wire, given: free, effect: commands},
	{verb: produce, also: seals, any: wire, given: free, effect: commands},
	{verb: read | compute, also: bends, head: kept, effect: adds},
	{verb: run | fills, any: code, not: report, effect: commands},
	{verb: run, any: many, with: wire, effect: commands},
	{verb: run, also: change, head: money, effect: leaves},
	{verb: run, also: change, effect: changes},
	{verb: run, head: report, effect: reads},
	{verb: run, also: compute, given: something, effect: reads},
	{verb: run, head: money, effect: leaves},
	{verb: run, effect: changes},
	{verb: produce, any: artefact | number, not: access, effect: reads},
	{verb: produce, effect: adds},
	{verb: retire, any: many, effect: takes},
	{verb: retire, head: access | money, effect: takes},
	{verb: fills, any: kept, effect: takes},
	{verb: change, effect: changes},
	{verb: add, also: bends, any: picture, without: kept, effect: reads},
	{verb: add, also: bends, without: kept, given: nothing, effect: reads},
	{verb: add, also: wire, any: many, given: nothing, effect: commands}, // a raw request
	{verb: add, also: says, head: report, effect: reads},                 // it reports a status
	{verb: add, head: number, effect: reads},
	{verb: add, head: message | money, without: tentative, effect: leaves},
	{verb: add, effect: adds},
	{verb: read | compute, effect: reads},
}

// effectOf says what a verb does to an object.
func effectOf(verb sense, o object) effect {
	for i := range acts {
		if d := &acts[i]; verb&d.verb != 0 && verb&d.also == d.also && d.fits(o) {
			return d.effect
		}
	}
	return unknown
}

// fits reports whether the conditions on the object hold.
func (d *act) fits(o object) bool {
	switch {
	case d.given == something && !o.some, d.given == nothing && o.some, d.given == free && !o.free:
		return false
	case o.head&d.not != 0, o.any&d.without != 0:
		return false
	}
	return has(o.any, d.any) && has(o.any, d.with) && has(o.head, d.head)
}

// has reports whether s has one of some senses, or none is asked for.
func has(s, some sense) bool { return some == 0 || s&some != 0 }

// runs reports whether a verb runs what it is given: "run", and a "query", which
// is itself a thing that is run.
func runs(verb sense) bool { return verb&run != 0 || verb&read != 0 && verb&code != 0 }
