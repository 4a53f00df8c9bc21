package infer

import "cmp"

// A reading is what the description says, sentence by sentence.
type reading struct {
	main   finding // the main verb of the first sentence
	also   finding // the gravest of what else is stated of the tool
	listed finding // the gravest verb of a list: "actions like list, get and delete"
	warn   finding // says that there is no way back
	stays  finding // says that the outcome does: "is saved to a file"
	verb   sense   // the main verb
	told   bool    // a sentence has been read
	plain  bool    // the main verb can hardly be anything else
	unread bool    // the first sentence begins with a verb that the lexicon does not have
	vague  bool    // the first sentence is a phrase without a verb, and tells only by that

	claimsHarmless bool
	odd            bool   // some words are in another script, or written with look-alikes
	open, stem     string // the first word for the world outside, the first stem of a complex tool
	understood     bool   // the first sentence has a small word of English
	strange        bool   // it has more small words of other languages
}

// unreadable reports whether the first sentence is in another language.
func (r *reading) unreadable() bool { return r.odd && !r.understood || r.strange }

// read reads a whole description.
func (r *reading) read(text string) {
	s := scanner{text: text, sentence: sentence{words: make([]word, 0, longest/2)}}
	for s.scan() {
		r.sentence(&s.sentence)
	}
	r.odd = s.odd
}

// sentence reads one sentence.
func (r *reading) sentence(s *sentence) {
	ws := s.words
	if !r.told {
		r.understood = s.senses&english != 0
		r.strange = speaksAnother(ws)
	}
	r.open = cmp.Or(r.open, first(ws, outside))
	r.stem = cmp.Or(r.stem, first(ws, involved))
	r.warnings(ws)
	r.outcome(ws)
	if len(ws) > 2 && ws[0].is(chooser) && ws[1].mark == colon && !s.continues {
		r.actions(ws[2:])
	}
	switch {
	case !r.told && !s.continues:
		r.first(unlabelled(ws))
	case s.senses&(add|change|take|out|power) != 0 && !s.continues:
		r.later(ws)
	}
}

// first reads the first sentence: its main verb, and the verbs beside it.
func (r *reading) first(ws []word) {
	i := mainVerb(ws)
	if i < 0 {
		r.main = r.nominal(ws)
		r.told = r.main.effect != unknown || len(ws) > 3
		return
	}
	if advice(ws, i) {
		for i++; i < len(ws) && ws[i].mark == 0 && !infinitive(ws, i); i++ {
		}
		if i == len(ws) || ws[i].mark != 0 {
			return
		}
	}
	r.told = true
	r.main = r.leading(ws, i)
}

// leading is the finding for the main verb at i. One that says nothing by
// itself, "perform actions like …", gives way to those that it lists.
func (r *reading) leading(ws []word, i int) finding {
	o := objectIn(ws, i)
	r.verb = ws[i].sense
	f := finding{effectOf(ws[i].sense, o), mainOfDescription, ws[i].base}
	if both := r.parted(ws, i); both.is(verbs) {
		f = finding{effectOf(both.sense, o), mainOfDescription, both.base}
	}
	if next := i + 1; next < len(ws) && f.effect == adds &&
		(ws[next].is(subord) && ws[i].sense&noun != 0 || ws[i].sense&(says|noun) == says|noun && ws[i].form == third && !ws[next].is(article)) {
		f.effect = reads // "report whether", "note which", "reports limits": it tells
	}
	r.goesInto(ws[i+1:])
	r.plain = !r.compound(ws, i) && ws[i].sense&(either|weak|run|produce|manage) == 0 &&
		(ws[i].sense&noun == 0 || i+1 < len(ws) && ws[i+1].is(article) && (f.effect.dangerous() || ws[i+1].base != "the"))
	r.beside(ws, i)
	if ws[i].sense&(run|manage) != 0 && f.effect != commands && r.listed.effect != unknown &&
		(r.listed.effect > f.effect || ws[i].sense&manage != 0 || o.head&chooser != 0) {
		f.effect, f.word = r.listed.effect, r.listed.word
	}
	return f
}

// nominal reads a first sentence that has no verb in front: "Paginated list of
// assets", or a subject of its own: "The search API returns …".
func (r *reading) nominal(ws []word) finding {
	for i := range ws {
		w := &ws[i]
		switch {
		case i == 0 && w.is(question) && len(ws) > 1 && ws[1].base != "this":
			return finding{reads, mainOfDescription, w.base}
		case w.is(not | subord):
			return finding{}
		case i == 1 && w.is(article) && ws[0].sense == 0: // an unknown word before an article is a verb
			r.unread = true
			r.beside(ws, 0)
			return finding{}
		case i > 0 && w.sense&noun == 0 && w.form == third && isVerb(ws, i) && !loose(ws, i) && ws[i+1].form != past, infinitive(ws, i), i == 0 && does(ws):
			return r.leading(ws, i)
		case w.is(read|compute|report) && w.form <= ing && (i+1 == len(ws) || ws[i+1].is(prep) || ws[i+1].mark != 0) && !deed(ws[:i]):
			return finding{reads, mainOfDescription, w.base}
		case w.is(prep) && !(w.is(lead) && i+1 < len(ws) && (infinitive(ws, i+1) || ws[i+1].sense == 0)):
			return r.phrase(ws)
		}
	}
	return r.phrase(ws)
}

// deedOf reports whether a deed is named as a thing is: "creation of orders".
func (r *reading) deedOf(ws []word) bool {
	for i := range len(ws) - 1 {
		if ws[i].flags&doing != 0 && ws[i].sense == 0 && ws[i].mark == 0 && (ws[i+1].is(and) || ws[i+1].base == "of") {
			return true
		}
	}
	return false
}

// phrase reads a phrase in which nothing is done: "All jobs by account", "Current
// prices", "Deleted items", "Open hours, closing days".
func (r *reading) phrase(ws []word) finding {
	if deed(ws) || r.deedOf(ws) {
		return finding{}
	}
	for len(ws) > 1 && ws[0].flags&likeThis != 0 {
		ws = ws[1:]
	}
	if len(ws) == 0 || ws[0].is(money|message|pact) && ws[0].form == base {
		return finding{} // a payment may be one that is made
	}
	told := ws[0].is(many)
	r.vague = !told
	if !told && !ws[0].is(tells) && !r.things(ws) {
		return finding{}
	}
	return finding{reads, saysNoDeed, ws[0].entry()}
}

// beside reads the verbs that stand beside the one at i: "create or overwrite".
func (r *reading) beside(ws []word, i int) {
	aside, under, purpose := false, false, false
	careful := effectOf(ws[i].sense, object{}) == reads
	for j := i + 1; j < len(ws); j++ {
		w := &ws[j]
		switch {
		case w.mark == paren:
			aside = true
		case w.mark == unparen:
			aside = false
		case aside:
		case w.is(subord):
			under = true
		case infinitive(ws, j):
			purpose = true
		case w.form == ing && w.is(take|out) && w.sense&noun == 0 && (ws[j-1].mark == comma || ws[j-1].base == "by"):
			r.claim(ws, j) // how it is done, or what comes of it
		case w.is(not), careful && w.mark == colon:
			return
		case w.is(and|aux) || w.mark == comma || w.mark == slash:
			k := j + 1
			for k < len(ws) && (ws[k].is(and|aux) || ws[k].flags&likeThis != 0) {
				k++
			}
			if w.mark == comma && k > j+1 {
				purpose = false
			}
			if k < len(ws) && !under && !purpose && ws[k].form == ws[i].form && used(ws, k, w.base) && isVerb(ws, k) &&
				!(w.mark == slash && ws[i].sense&(run|manage) == 0 && loose(ws, k)) &&
				!(careful && (loose(ws, k) || !ws[k+1].is(english) && (ws[k].sense&weak != 0 || j > i+1 && (ws[k].sense&either != 0 || !w.is(aux) && ws[k+1].is(report) && !w.is(and) ||
					(!w.is(and) || w.base == "or") && ws[k].sense&(take|out) == 0)))) &&
				!((careful || ws[i].is(produce)) && ws[k].sense&(produce|weak) == produce|weak) {
				also := r.also
				r.claim(ws, k)
				if ws[i].sense&(add|change) != 0 && ws[k].sense&sweep != 0 {
					r.also = also // set or clear: a field is left empty
				}
				j = k
			}
		}
	}
}

// actions reads a list of what can be chosen, "Actions: list, add, remove". It
// can only raise.
func (r *reading) actions(ws []word) {
	for i := range ws {
		if ws[i].is(add|change|take|out|power) && ws[i].sense&(weak|noun) == 0 && ws[i].form == base {
			r.claim(ws, i)
		}
	}
}

// parted finds the verb at i with a particle behind its object: "rolls a release
// back", "checks a guest in".
func (r *reading) parted(ws []word, i int) word {
	for j := i + 1; j < min(len(ws), i+6) && ws[j].mark == 0 && !ws[j].is(and|subord); j++ {
		if w := &ws[j]; w.is(particle) && (!w.is(prep) || j+1 == len(ws) || ws[j+1].mark != 0 || ws[j+1].is(and)) {
			return phrasal(ws[i].base, w.base)
		}
	}
	return word{}
}

// later reads a sentence after the first. It counts only what it states of the
// tool, "also deletes …", "it will overwrite …": an imperative there is advice.
func (r *reading) later(ws []word) {
	stated := false
	for i := range ws {
		w := &ws[i]
		switch {
		case w.is(verbs) && (w.form == third || stated && w.form == base):
			if w.sense&(noun|run|produce|retire|says) == 0 && w.sense&(weak|change) != weak|change && isVerb(ws, i) && !loose(ws, i) {
				r.claim(ws, i)
			}
			if w.form == third {
				r.beside(ws, i)
			}
			return
		case w.is(aux):
			stated = true
		case w.is(lead) && !w.is(subord|prep):
			if person := w.base; person == "user" || person == "users" || person == "you" || person == "agent" || person == "agents" {
				return // what they do is not what the tool does
			}
		case w.flags&likeThis != 0:
		default:
			return
		}
	}
}

func (r *reading) claim(ws []word, i int) {
	f := finding{effectOf(ws[i].sense, objectIn(ws, i)), inDescription, ws[i].base}
	r.listed = r.listed.worse(f)
	if f.effect.writes() && (ws[i].sense&(run|change) != run || f.effect.dangerous()) {
		r.also = r.also.worse(f)
	}
}

// warnings finds what says that there is no way back, or that nothing happens.
func (r *reading) warnings(ws []word) {
	negated := false
	for i := range ws {
		w := &ws[i]
		switch {
		case w.is(not):
			negated = true
		case w.mark != 0:
			negated = false
		case w.is(warning) && !negated, w.is(unmade) && negated:
			r.warn = finding{leaves, warns, w.base}
		case w.is(harmless) && !negated:
			r.claimsHarmless = true
		}
	}
}
