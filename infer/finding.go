package infer

import (
	"github.com/fairlead-go/fairlead/annotation"
)

// An effect is what a call does, mildest first.
type effect uint8

const (
	unknown  effect = iota
	reads           // changes nothing
	adds            // adds
	changes         // changes what can be set back
	leaves          // goes to others, or cannot be taken back
	takes           // takes away or overwrites
	commands        // carries out its argument
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
	givesLive     gift = "changes what is in use"
	givesIdentity gift = "acts as somebody else"
	givesPower    gift = "does whatever it is told"
)

// A finding is an effect with its reason: a word of the lexicon and its place.
type finding struct {
	word   string
	effect effect
	place  place
	gives  gift
}

// A place is where a word was, for the evidence.
type place string

const (
	leadsName         place = "leads the name"
	inName            place = "in the name"
	mainOfDescription place = "is the main verb of the description"
	warns             place = "warns in the description"
	inChoice          place = "is a choice of a parameter"
	inUnknownChoice   place = "is a choice that is not understood"
	inTitle           place = "in the title"
	inDescription     place = "in the description"
	saysNoDeed        place = "begins a description in which nothing is done"
	inSchema          place = "is a parameter"
	ofParameter       place = "in the description of a parameter"
	notUnderstood     place = "the words are not understood"
	isNotUnderstood   place = "is not understood"
	namesNoDeed       place = "names no deed"
	namesAnyDeed      place = "names several deeds, and not which"
	mayBeAThing       place = "may be a thing or a deed"
	simulatesUnknown  place = "works out what is not understood"
	longText          place = "more than 100 characters of description"
	shortText         place = "at most 100 characters of description"
)

func (p place) strength() annotation.Strength {
	switch p {
	case leadsName, inName, mainOfDescription, warns, inChoice, inUnknownChoice:
		return annotation.Strong
	}
	return annotation.Weak
}

func (f finding) at(p place) finding {
	f.place = p
	return f
}

// when returns the finding if a condition holds, and else an empty one.
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
