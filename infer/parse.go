package infer

import (
	"github.com/fairlead-go/fairlead/infer/internal/text"
)

const (
	// maxWords is how many words of a name are looked at. Names have at most 128
	// characters; of longer ones the rest is not needed to find the verb.
	maxWords = 24
	// maxCompound is how many letters a word may have in which two are looked for.
	maxCompound = 12
	// longest is how many words and marks of a sentence are looked at together; the
	// rest of a longer one is looked at as its continuation.
	longest = 48
)

// cut returns the words of a name.
func cut(name string) []word {
	ws := make([]word, 0, 8)
	before := ""
	scan := text.Scanner{Text: name, Name: true}
	for t, ok := scan.Next(); ok && len(ws) < maxWords; t, ok = scan.Next() {
		if t.Mark == 0 {
			ws = appendWord(ws, t, before)
			before = t.Text
		}
	}
	return ws
}

// appendWord appends a word of a name. A particle joins the verb before it if the
// lexicon has the two as one: check_out, shut_down.
func appendWord(ws []word, t text.Token, before string) []word {
	w := lookup(t.Text)
	w.flags = t.Flag
	if w.is(particle) && len(ws) > 0 {
		if both := phrasal(before, t.Text); both.is(verbs) {
			both.flags = w.flags
			ws[len(ws)-1] = both
			return ws
		}
	}
	if w.sense == 0 && w.flags&text.Opaque == 0 && cuesOf()[w.base] == 0 {
		if first, second, ok := compound(t.Text); ok && len(ws)+1 < maxWords {
			return append(ws, first, second)
		}
	}
	return append(ws, w)
}

// compound cuts an unknown word that hides one that takes away or sends:
// bulkdelete, deleteall. Both halves have to be words of the lexicon.
func compound(text string) (first, second word, ok bool) {
	if len(text) > maxCompound {
		return word{}, word{}, false
	}
	for at := len(text) - 3; at >= 3; at-- {
		a, b := lookup(text[:at]), lookup(text[at:])
		if a.sense == 0 || b.sense == 0 || (a.sense|b.sense)&(particle|aux) != 0 || b.is(lead) && !b.is(many) || a.imperative() && b.imperative() {
			continue
		}
		if a.grave() || b.grave() {
			return a, b, true
		}
	}
	return word{}, word{}, false
}

// A sentence is a run of words and of marks between them.
type sentence struct {
	words     []word
	senses    sense // of all the words
	continues bool  // it is the rest of a longer one
}

// A parser reads the sentences of a text.
type parser struct {
	scan text.Scanner
	last string // the letters of the last word
	sentence
}

// next reads the next sentence and reports whether there is one. The words of the
// one before are overwritten.
func (p *parser) next() bool {
	p.continues = len(p.words) == longest
	p.words, p.senses = p.words[:0], 0
	for len(p.words) < longest-1 {
		t, ok := p.scan.Next()
		switch {
		case !ok, t.Mark == text.End && len(p.words) > 0:
			return len(p.words) > 0
		case t.Mark == text.End:
		case t.Mark == 0:
			p.emit(t)
		case len(p.words) > 0:
			p.words = append(p.words, word{mark: t.Mark})
		}
	}
	p.words = append(p.words, word{}) // nothing is known of what comes next
	return true
}

// emit appends a word. Two words that a hyphen binds, and a verb with its
// particle, are one if the lexicon has them so: read-only, shut down.
func (p *parser) emit(t text.Token) {
	before := len(p.words) - 1
	w := lookup(t.Text)
	w.flags = t.Flag
	if before >= 0 && t.Flag&text.Joined != 0 {
		if both := lookup(p.last + t.Text); both.sense != 0 {
			both.flags = t.Flag &^ text.Joined
			p.put(before, both)
			return
		}
	}
	if before >= 0 && t.Flag == 0 && w.sense&particle != 0 && p.words[before].takesParticle() {
		if both := phrasal(p.last, t.Text); both.is(verbs) {
			both.flags = p.words[before].flags
			p.put(before, both)
			return
		}
	}
	p.last = t.Text
	if w.sense == 0 {
		w.flags |= text.Ending(t.Text)
	}
	p.put(before+1, w)
}

// put makes w the word at i, which is the last one.
func (p *parser) put(i int, w word) {
	if w.flags&text.Opaque == 0 {
		p.senses |= w.sense
	}
	p.words = append(p.words[:i], w)
}
