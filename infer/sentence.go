package infer

import (
	"cmp"

	"github.com/fairlead-go/fairlead/infer/internal/text"
)

// A reading is what the description says, sentence by sentence.
type reading struct {
	main   finding // the main verb of the first sentence
	also   finding // the gravest of what else is stated of the tool
	listed finding // the gravest verb of a list: "actions like list, get and delete"
	done   finding // the gravest of what is done to something: "older files are deleted"
	order  finding // the gravest imperative of a later sentence
	hands  finding // says that credentials are handed out
	warn   finding // says that there is no way back
	stays  finding // says that the outcome does: "is saved to a file"
	verb   sense   // the main verb
	told   bool    // a sentence has been read
	plain  bool    // the main verb can hardly be anything else
	unread bool    // the first sentence begins with a verb that the lexicon does not have
	vague  bool    // the first sentence is a phrase without a verb, and tells only by that
	object bool    // the main verb has an object
	code   bool    // the first sentence names code

	claimsHarmless bool
	open, stem     string // the first word for the world outside, the first stem of a complex tool
	strange        bool   // the first sentence is in another language
	abroad         bool   // one that is understood a little, and in which things are only read
}

// read reads a whole description.
func (r *reading) read(description string) {
	p := parser{scan: text.Scanner{Text: description}, sentence: sentence{words: make([]word, 0, longest/2)}}
	for p.next() {
		r.sentence(&p.sentence, p.scan.Odd)
	}
	r.abroad = r.strange && readsAbroad(description)
}

// sentence reads one sentence.
func (r *reading) sentence(s *sentence, odd bool) {
	ws := s.words
	r.open = cmp.Or(r.open, first(ws, outside))
	r.stem = cmp.Or(r.stem, first(ws, involved))
	r.warnings(ws)
	r.outcome(ws)
	if len(ws) > 2 && ws[0].may(chooser) && ws[1].mark == text.Colon && !s.continues {
		r.actions(ws[2:])
	}
	first := !r.told && !s.continues
	if first {
		r.first(unlabelled(ws))
		r.code = s.senses&code != 0
		r.hands = freshSecret(ws)
		r.strange = speaksAnother(ws) || s.senses&english == 0 && (odd || r.main.effect == unknown && !known(ws))
	}
	if s.senses&(produce|add|change|take|out|power) != 0 && !s.continues {
		if deprecated(ws) {
			return
		}
		r.undergoes(ws)
		if !first {
			if ws[0].is(add|change|take|out) && ws[0].form == base && isVerb(ws, 0) {
				r.order = r.order.worse(ws[0].does(objectIn(ws, 0), inDescription))
			}
			r.clauses(ws)
		}
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
	r.verb, r.object = ws[i].sense, o.some
	f := ws[i].does(o, mainOfDescription)
	if both := r.parted(ws, i); both.is(verbs) {
		f = both.does(o, mainOfDescription)
	}
	if f.effect == adds && i+1 < len(ws) && ws[i].tellsOf(&ws[i+1]) {
		f.effect = reads
	}
	r.goesInto(ws[i+1:])
	r.plain = len(ws) > 1 && !r.compound(ws, i) && (ws[i].sense&(weak|run|produce|manage) == 0 || ws[i].base == "trigger") && sureOf(ws, i, f)
	r.beside(ws, i)
	if r.means(ws[i].sense, o, f) {
		f.effect, f.word = r.listed.effect, r.listed.word
	}
	return f
}

// sureOf reports whether the word at i, which does f, is hardly a noun.
func sureOf(ws []word, i int, f finding) bool {
	if ws[i].sense&(noun|either) == 0 {
		return true
	}
	return i+1 < len(ws) && ws[i+1].is(article) && (f.effect.dangerous() || ws[i].sense&noun != 0 && ws[i+1].base != "the")
}

// tellsOf reports whether a verb that adds only tells, by the word behind it:
// "report whether", "note which", "reports limits".
func (w *word) tellsOf(next *word) bool {
	return next.is(subord) && w.sense&noun != 0 || w.sense&(says|noun) == says|noun && w.form == third && !next.is(article)
}

// means reports whether a verb, which does f, means what it lists: "perform
// actions like …".
func (r *reading) means(verb sense, o object, f finding) bool {
	if verb&(run|manage) == 0 || f.effect == commands || r.listed.effect == unknown {
		return false
	}
	return r.listed.effect > f.effect || verb&manage != 0 || o.last != nil && o.last.may(chooser)
}

// nominal reads a first sentence that has no verb in front: "Paginated list of
// assets", or a subject of its own: "The search API returns …".
func (r *reading) nominal(ws []word) finding {
	if len(ws) > 1 && ws[0].is(question) && ws[1].base != "this" {
		return finding{effect: reads, place: mainOfDescription, word: ws[0].base}
	}
	for i := range ws {
		w := &ws[i]
		switch {
		case w.is(not | subord):
			return finding{}
		case i == 1 && ws[0].unread(w): // an unknown word before an article is a verb
			r.unread = true
			r.beside(ws, 0)
			return finding{}
		case acts3(ws, i), infinitive(ws, i), i == 0 && does(ws):
			return r.leading(ws, i)
		case w.is(read|compute|report) && w.sense&(acting|right) == 0 && w.form <= ing && ends(ws, i) && !deed(ws[:i]):
			return finding{effect: reads, place: mainOfDescription, word: w.base}
		case w.is(prep) && !(w.is(lead) && i+1 < len(ws) && (infinitive(ws, i+1) || ws[i+1].sense == 0)):
			return r.phrase(ws)
		}
	}
	return r.phrase(ws)
}

// unread reports whether an unknown word that begins a sentence is a verb by what
// comes next: an article, or, for one with the ending of a third person, a word
// that it can be done to.
func (w *word) unread(next *word) bool {
	return w.sense == 0 && w.mark == 0 && (next.is(article) || w.flags&text.Plural != 0 && (next.sense&nouns != 0 || next.flags&text.Plural != 0))
}

// acts3 reports whether the word at i is the verb of a subject before it: "the API
// returns lamps".
func acts3(ws []word, i int) bool {
	w := &ws[i]
	return i > 0 && w.sense&noun == 0 && w.form == third && isVerb(ws, i) && !loose(ws, i) && ws[i+1].form != past
}

// ends reports whether a phrase ends at i.
func ends(ws []word, i int) bool { return i+1 == len(ws) || ws[i+1].is(prep) || ws[i+1].mark != 0 }

// deedOf reports whether a deed is named as a thing is: "creation of orders".
func (r *reading) deedOf(ws []word) bool {
	for i := range len(ws) - 1 {
		if ws[i].flags&text.Doing != 0 && ws[i].sense == 0 && ws[i].mark == 0 && (ws[i+1].is(and) || ws[i+1].base == "of") {
			return true
		}
	}
	return false
}

// phrase reads a phrase in which nothing is done: "All jobs by account", "Current
// prices", "Deleted items", "Open hours, closing days". A thing that acts, and one
// that is not information, says nothing: "A REST client".
func (r *reading) phrase(ws []word) finding {
	if deed(ws) || r.deedOf(ws) {
		return finding{}
	}
	for len(ws) > 1 && ws[0].flags&text.LikeThis != 0 {
		ws = ws[1:]
	}
	if allows(&ws[0]) {
		return finding{}
	}
	if len(ws) > 1 && ws[0].is(article) && ws[1].is(report|artefact) {
		ws = ws[1:]
	}
	if ws[0].form == base && (ws[0].is(money|message|pact) || ws[0].is(add|change|take|out) && !ws[0].is(report)) {
		return finding{} // a payment may be one that is made
	}
	first := &ws[0]
	told := first.is(many | tells)
	r.vague = !first.is(many)
	if told {
		ws = ws[1:]
	}
	if !r.things(ws, told) {
		return finding{}
	}
	return finding{effect: reads, place: saysNoDeed, word: first.entry()}
}

// beside reads the verbs that stand beside the one at i: "create or overwrite".
func (r *reading) beside(ws []word, i int) {
	aside, under, purpose := false, false, false
	careful := ws[i].does(object{}, inDescription).effect == reads
	for j := i + 1; j < len(ws); j++ {
		w := &ws[j]
		switch {
		case w.mark == text.Paren:
			aside = true
		case w.mark == text.Unparen:
			aside = false
		case aside:
		case w.is(subord), w.form == base && w.is(verbs) && w.sense&noun == 0 && ws[j-1].is(prep) && !ws[j-1].is(lead):
			under = true
		case infinitive(ws, j):
			purpose = true
		case howOr(ws, j):
			r.claim(ws, j)
		case w.is(not), careful && w.mark == text.Colon:
			return
		case w.is(and|aux) || w.mark == text.Comma || w.mark == text.Slash:
			k := j + 1
			for k < len(ws) && (ws[k].is(and|aux) || ws[k].flags&text.LikeThis != 0) {
				k++
			}
			purpose = purpose && (w.mark != text.Comma || k == j+1 || ws[j+1].base == "or")
			if k == len(ws) || under || purpose || !joins(ws, i, j, k) {
				continue
			}
			if !careful || !listed(ws, i, j, k) {
				r.second(ws, i, k)
			}
			j = k
		}
	}
}

// howOr reports whether the word at j tells how it is done, or what comes of it: ",
// replacing the old one".
func howOr(ws []word, j int) bool {
	w := &ws[j]
	return w.form == ing && w.is(take|out) && w.sense&noun == 0 && (ws[j-1].mark == text.Comma || ws[j-1].base == "by")
}

// joins reports whether the word at k, behind the one at j that joins, is a verb
// like the one at i.
func joins(ws []word, i, j, k int) bool {
	switch {
	case ws[k].form != ws[i].form, !used(ws, k, ws[j].base), !isVerb(ws, k):
		return false
	case ws[j].mark == text.Slash && ws[i].sense&(run|manage) == 0 && loose(ws, k):
		return false
	}
	made := ws[k].sense&(produce|weak) == produce|weak || ws[k].sense&(says|weak) == says|weak
	return !made || ws[i].sense&(read|compute|produce) == 0
}

// listed reports whether the word at k, after a verb that reads, is rather one of a
// list of things: "get targets, rules, and rollouts".
func listed(ws []word, i, j, k int) bool {
	if loose(ws, k) || ws[k+1].is(english) {
		return loose(ws, k)
	}
	join, s := &ws[j], ws[k].sense
	switch {
	case s&weak != 0:
		return true
	case j == i+1:
		return false
	case s&either != 0, !join.is(and|aux) && ws[k+1].is(report):
		return true
	}
	return (!join.is(and) || join.base == "or") && s&(take|out) == 0
}

// second claims the verb at k beside the one at i. Set or clear: a field is left
// empty.
func (r *reading) second(ws []word, i, k int) {
	also := r.also
	r.claim(ws, k)
	if ws[i].sense&(add|change) != 0 && ws[k].sense&sweep != 0 || ws[i].sense&settled != 0 && ws[k-1].base == "or" {
		r.also = also
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

// clauses reads the clauses of a sentence after the first: what stands in front,
// and behind "note that", a colon, or the comma after a condition.
func (r *reading) clauses(ws []word) {
	r.later(ws)
	for i := 1; i < len(ws)-1; i++ {
		switch w := &ws[i]; {
		case w.mark == text.Colon, warned(ws, i), w.mark == text.Comma && ws[0].is(subord|prep) && ws[i+1].is(lead):
			r.later(ws[i+1:])
		}
	}
}

// warned reports whether the word at i ends "note that" or "be aware that".
func warned(ws []word, i int) bool {
	return ws[i].base == "that" && 0 < i && i < 4 && (ws[0].base == "note" || ws[0].base == "be" || ws[0].base == "please")
}

// deprecated reports whether a sentence says that the tool itself goes away.
func deprecated(ws []word) bool {
	for i := range ws {
		if b := ws[i].base; b == "deprecate" || b == "obsolete" || b == "sunset" {
			return true
		}
	}
	return false
}

// freshSecret finds what says that credentials are made, or handed out, for this call: "a set
// of temporary credentials".
func freshSecret(ws []word) finding {
	made := 0
	for i := range ws {
		w := &ws[i]
		if b := w.base; b == "temporary" || b == "fresh" || b == "new" {
			made = i + 4
		}
		if !w.is(secret|access) || w.sense&(acting|verbs) != 0 || w.form > third {
			continue
		}
		if i < made || i > 1 && w.base != "key" && ends(ws, i) && (ws[i-1].base == "and" || ws[i-2].base == "and") {
			return finding{effect: adds, place: inDescription, word: w.base}
		}
	}
	return finding{}
}

// later reads a clause after the first sentence. It counts only what it states of the
// tool, "also deletes …", "it will overwrite …": an imperative there is advice.
func (r *reading) later(ws []word) {
	stated := false
	for i := range ws {
		w := &ws[i]
		switch {
		case w.is(verbs) && (w.form == third || stated && w.form == base):
			if f := w.does(objectIn(ws, i), inDescription); isVerb(ws, i) && !loose(ws, i) && w.states(f, i > 0) {
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
		case w.flags&text.LikeThis != 0, i == 0 && w.form == ing && len(ws) > 1 && ws[1].is(lead):
		default:
			return
		}
	}
}

// states reports whether a verb that stands in a later sentence can be believed to
// say what the tool does. A grave one behind a subject always can.
func (w *word) states(f finding, subject bool) bool {
	if subject && f.effect.dangerous() && (w.sense&(take|out) != 0 || f.gives == givesPublic || f.gives == givesMoney) {
		return true
	}
	return w.sense&(noun|run|produce|retire|says) == 0 && w.sense&(weak|change) != weak|change
}

// undergoes finds what is done to something: "older files are overwritten", "your
// card will be charged", and not what was, may or would be. A condition that a comma
// ends does not keep it from happening.
func (r *reading) undergoes(ws []word) {
	held, done, of := false, false, object{}
	for i := range ws {
		w := &ws[i]
		switch {
		case w.mark != 0:
			held, done, of = false, false, object{}
		case w.is(not | subord):
			held = !warned(ws, i)
		case !held && happens(ws[:i]), done && ws[i-1].is(and):
			done = true
			if w.is(take|out) && (w.form == past || w.form == base && w.sense&sweep != 0) && w.told(of, ws[i-1].base == "be" || ws[i-1].base == "get") {
				r.done = r.done.worse(w.done())
			}
		default:
			of.add(w)
		}
	}
}

// done is what a verb does to what it is done to. A field that is cleared may be filled
// again.
func (w *word) done() finding {
	f := w.does(object{some: true}, inDescription)
	if w.sense&sweep != 0 {
		f.effect = leaves
	}
	return f
}

// told reports whether a verb that something undergoes tells of a deed, and not of a
// state: what is paid or sold may have been so before. What is sent has to be a message.
func (w *word) told(of object, now bool) bool {
	const moved = money | noun
	switch {
	case w.base == "send":
		return of.any&message != 0
	case now, w.is(take), lookup(w.base).sense&message != 0, w.sense&moved == moved:
		return true
	}
	return w.base == "notify" || w.base == "deduct"
}

// happens reports whether words end in a form of "to be" that states something.
func happens(ws []word) bool {
	for i := len(ws) - 1; i > 0; i-- {
		switch w := &ws[i]; {
		case w.flags&text.LikeThis != 0, w.is(aux) && w.base != "will":
		case w.base == "be":
			return ws[i-1].base == "will" || i > 1 && ws[i-2].base == "will"
		default:
			return w.base == "is" || w.base == "are" || w.base == "get" && w.form <= third && w.flags&text.Capital == 0
		}
	}
	return false
}

func (r *reading) claim(ws []word, i int) {
	if r.verb&settled != 0 && ws[i].base == "replace" {
		return // it is set
	}
	f := ws[i].does(objectIn(ws, i), inDescription)
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
			r.warn = finding{effect: leaves, place: warns, word: w.base}
		case w.is(harmless) && !negated:
			r.claimsHarmless = true
		}
	}
}
