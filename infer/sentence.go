package infer

import (
	"cmp"
	_ "embed" // for lexicon.txt
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/infer/internal/text"
)

// A reading is the meaning of the description, sentence by sentence.
type reading struct {
	name   string  // the tool's
	main   finding // the main verb of the first sentence
	also   finding // the gravest of what else is stated of the tool
	listed finding // the gravest verb of a list: "actions like list, get and delete"
	done   finding // the gravest of what is done to something: "older files are deleted"
	order  finding // the gravest imperative of a later sentence
	hands  finding // states that credentials are handed out
	warn   finding // states that there is no way back
	stays  finding // states that the outcome does: "is saved to a file"
	verb   sense   // the main verb
	told   bool    // a sentence has been read
	plain  bool    // the main verb can hardly be anything else
	unread bool    // the first sentence begins with a verb that the lexicon does not have
	object bool    // the main verb has an object
	vague  bool    // the first sentence is a phrase without a verb, and informs only by that

	claimsHarmless bool
	open, stem     string // the first word for the world outside, the first stem of a complex tool
	strange        bool   // the first sentence is in another language, which is not understood
}

func (r *reading) read(description string) {
	p := parser{scan: text.Scanner{Text: description}, words: make([]word, 0, longest/2)}
	for p.next() {
		r.sentence(p.words, p.scan.Odd)
	}
	has := func(words string) bool {
		return slices.ContainsFunc(strings.Fields(words), func(w string) bool { return strings.Contains(description, w) })
	}
	if r.strange && has(abroadReads) {
		r.strange = has(abroadWrites)
	}
}

// sentence reads one sentence. One about the tool itself going away does not count.
func (r *reading) sentence(ws []word, odd bool) {
	r.open = cmp.Or(r.open, first(ws, outside))
	r.stem = cmp.Or(r.stem, first(ws, involved))
	if slices.ContainsFunc(ws, func(w word) bool { return w.base == "deprecate" }) {
		return
	}
	r.passing(ws)
	if len(ws) > 2 && ws[1].mark == text.Colon && ws[0].may(chooser) { // "Actions: list, add, remove"
		for i := range ws {
			if ws[i].is(add | change | take | out | power) {
				r.claim(ws, i)
			}
		}
	}
	if r.told {
		if ws[0].is(add|change|take|out) && ws[0].form == base {
			r.order = r.order.worse(ws[0].does(objectIn(ws, 0), inDescription))
		}
		r.later(ws)
		for i := 1; i < len(ws)-1; i++ {
			if ws[i].mark == text.Colon || warned(ws, i) {
				r.later(ws[i+1:])
			}
		}
		return
	}
	r.first(ws)
	r.hands = freshSecret(ws)
	r.strange = r.another(ws, odd)
}

// another reports whether a sentence is in another language: it has more small words of others than of English,
// or none of English and few known words. Three words may be, unless one is of the tool's name.
func (r *reading) another(ws []word, odd bool) bool {
	count := func(holds func(*word) bool) (n int) {
		for i := range ws {
			if holds(&ws[i]) {
				n++
			}
		}
		return n
	}
	all, known := count(func(w *word) bool { return w.mark == 0 }), count(func(w *word) bool { return w.sense&^foreign != 0 })
	small, englishes := count(func(w *word) bool { return w.is(foreign) }), count(func(w *word) bool { return w.is(english) })
	few := r.main.effect == unknown && all > 2 && 4*known <= all
	verb := len(ws[0].base) > 3 && ws[0].sense == 0 && ws[0].flags&text.Plural == 0
	brief := verb && len(ws) < 4 && all == len(ws) && 2*known <= all
	return small > englishes || englishes == 0 && (odd || few || brief && !r.named(ws))
}

func (r *reading) named(ws []word) bool {
	name, _ := text.Letters(r.name)
	return slices.ContainsFunc(ws, func(w word) bool { return len(w.base) > 2 && strings.Contains(name, w.base) })
}

// first reads the main verb of the first sentence, behind labels in brackets, and the verbs beside it. It passes
// over a verb that tells only when to use the tool: "call once".
func (r *reading) first(ws []word) {
	for len(ws) > 2 && ws[1].mark == text.Unparen && !ws[0].is(take|out|power) {
		ws = ws[2:]
	}
	i := mainVerb(ws)
	if i < 0 {
		r.main = r.nominal(ws)
		r.told = len(ws) > 3
		return
	}
	const call = run | weak | noun
	if ws[i].sense&call == call && (i+1 == len(ws) || ws[i+1].is(prep|subord|lead) && !ws[i+1].is(article)) {
		for i++; i < len(ws) && !infinitive(ws, i); i++ {
		}
		if i == len(ws) {
			return
		}
	}
	r.told = true
	r.main = r.leading(ws, i)
}

// mainVerb returns the verb that a clause begins with, past "this tool will", "use this to", "Step 1:", or -1.
func mainVerb(ws []word) int {
	for i := 0; i < len(ws); i++ {
		w := &ws[i]
		colon := slices.IndexFunc(ws[i:min(len(ws), i+4)], func(w word) bool { return w.mark == text.Colon })
		switch {
		case w.is(not):
			return -1
		case i == 0 && colon > 0 && w.sense&noun != 0:
			i = colon
		case i == 0 && len(ws) > 1 && ws[1].flags&text.Joined != 0 && ws[1].is(verbs):
			return 1
		case i+3 < len(ws) && ws[i+1].base == "permission":
			return i + 3 // "grants permission to": what it is for
		case i+1 < len(ws) && w.is(lead) && ws[i+1].is(lead): // "allows you to"
		case isVerb(ws, i) && (i == 0 || !ws[i-1].is(article)):
			return i
		case w.is(lead | aux | warning):
		case colon > 0:
			i += colon
		default:
			return -1
		}
	}
	return -1
}

// leading returns the finding for the main verb at i. One that only informs does nothing: "report whether"; one
// without a meaning of its own yields to those that it lists: "perform actions like …".
func (r *reading) leading(ws []word, i int) finding {
	w, o := &ws[i], objectIn(ws, i)
	r.verb, r.object = w.sense, o.some
	f := w.does(o, mainOfDescription)
	if both := parted(ws, i); both.is(verbs) {
		f = both.does(o, mainOfDescription)
	}
	last := i+1 == len(ws)
	if !last && (ws[i+1].is(subord) && w.sense&noun != 0 || w.sense&(says|noun) == says|noun && w.form == third) {
		f.effect = reads
	}
	r.goesInto(ws[i+1:])
	compound := i+2 < len(ws) && !w.is(add|change) && ws[i+2].base == "of" // "pay stubs of an employee"
	sure := w.sense&(noun|either) == 0 || !last && ws[i+1].is(article)
	loose := w.sense&(weak|produce|manage) != 0 || w.sense&(run|change) == run // "perform a search"
	r.plain = len(ws) > 1 && sure && !compound && !loose
	r.beside(ws, i)
	if w.sense&(run|manage) != 0 && r.listed.effect != unknown && o.last.may(chooser) {
		f.effect, f.word = r.listed.effect, r.listed.word
	}
	return f
}

// nominal reads a first sentence that begins without a verb: "Paginated list of assets", "The search API returns …".
func (r *reading) nominal(ws []word) finding {
	if len(ws) > 1 && ws[0].is(question) {
		return finding{effect: reads, place: mainOfDescription, word: ws[0].base}
	}
	// "Copies pages to a disk", and not "orders of a day" or "notes, revision 1".
	copies := len(ws) > 1 && ws[0].is(add|change|take|out) && ws[0].form == third && !ends(ws, 0) && !ws[1].is(report|read|modal)
	for i := range ws {
		w := &ws[i]
		switch {
		case i == 1 && ws[0].unread(w):
			r.unread = true
			r.beside(ws, 0)
			return finding{}
		case i > 0 && w.form == third && isVerb(ws, i) && !ends(ws, i), infinitive(ws, i), i == 0 && copies:
			return r.leading(ws, i)
		case w.is(read|compute|report) && w.sense&(acting|right) == 0 && ends(ws, i):
			return finding{effect: reads, place: mainOfDescription, word: w.base}
		case w.is(prep) && !(w.is(lead) && i+1 < len(ws) && (infinitive(ws, i+1) || ws[i+1].sense == 0)):
			return r.phrase(ws)
		}
	}
	return r.phrase(ws)
}

// unread reports whether an unknown word that begins a sentence is a verb, by the word after it.
func (w *word) unread(next *word) bool {
	return w.sense == 0 && (next.is(article) || w.flags&text.Plural != 0 && (next.sense&nouns != 0 || next.flags&text.Plural != 0))
}

// phrase reads a phrase without a verb: "Current prices". A thing that acts implies nothing: "A REST client".
func (r *reading) phrase(ws []word) finding {
	for i := range ws {
		w := &ws[i]
		if w.flags&text.Doing != 0 && i+1 < len(ws) || w.is(verbs&^(read|compute)) && w.sense&noun == 0 && w.form <= third {
			return finding{}
		}
	}
	for len(ws) > 1 && (ws[0].flags&text.LikeThis != 0 || ws[0].is(article) && ws[1].is(report|artefact)) {
		ws = ws[1:]
	}
	begins := &ws[0]
	if begins.form == base && begins.is(money|message|pact|add|change|take|out) || begins.base == "allows" {
		return finding{} // a payment may be one that is made
	}
	told := begins.is(many | tells)
	r.vague = !begins.is(many)
	if told {
		ws = ws[1:]
	}
	if !things(ws, told) {
		return finding{}
	}
	return finding{effect: reads, place: saysNoDeed, word: begins.entry()}
}

// things reports whether a phrase begins with a name of things. One unknown singular may be a verb, unless marked.
func things(ws []word, told bool) bool {
	end := slices.IndexFunc(ws, func(w word) bool { return w.is(english | prep | and) })
	switch {
	case end < 0:
		return told && len(ws) > 0 && ws[len(ws)-1].tells(true)
	case end == 0, !ws[end].is(prep | and), ws[end].base == "to":
		return false
	case end == 1 && !told && ws[0].flags&text.Plural == 0:
		return ws[1].base == "of" || things(ws[2:], false)
	}
	return ws[end-1].tells(told || end > 1)
}

// tells reports whether the last word of a phrase names information: several things, or one such as a report.
func (w *word) tells(behind bool) bool {
	return w.sense&acting == 0 && (w.flags&text.Plural != 0 || w.is(nouns) && (behind || w.sense&verbs == 0))
}

// beside reads the verbs beside the one at i: "create or overwrite", ", replacing the old one".
func (r *reading) beside(ws []word, i int) {
	under := false
	careful := ws[i].does(object{}, inDescription).effect == reads
	for j := i + 1; j < len(ws); j++ {
		w, before := &ws[j], &ws[j-1]
		switch {
		case w.is(subord), w.form == base && w.is(verbs) && before.is(prep):
			under = true
		case w.form == ing && w.is(take|out) && (before.mark == text.Comma || before.base == "by"):
			r.claim(ws, j)
		case w.is(not), careful && w.mark == text.Colon:
			return
		case w.is(and | aux), w.mark == text.Comma, w.mark == text.Slash:
			k := j + 1
			for k < len(ws) && ws[k].is(and|aux) {
				k++
			}
			if k == len(ws) || under || !joins(ws, i, k) {
				continue
			}
			emptied := ws[k].sense&sweep != 0 || ws[i].sense&settled != 0 && ws[k-1].base == "or" // set or clear: a field
			also := r.also
			if !careful || !listed(ws, i, j, k) {
				r.claim(ws, k)
			}
			if emptied {
				r.also = also
			}
			j = k
		}
	}
}

// joins reports whether the word at k is a verb like the one at i, by its form or the next word.
func joins(ws []word, i, k int) bool {
	w := &ws[k]
	made := w.sense&weak != 0 && w.sense&(produce|says) != 0
	used := w.sense&noun == 0
	if k+1 < len(ws) && !used {
		used = ws[k+1].is(lead) && ws[k+1].is(english) && !ws[k+1].is(prep|modal|subord)
	}
	return w.form == ws[i].form && used && !made && isVerb(ws, k)
}

// listed reports whether the word at k is one of a list of things: "get targets, rules, and rollouts".
func listed(ws []word, i, j, k int) bool {
	if ends(ws, k) || ws[k+1].is(english) {
		return ends(ws, k)
	}
	join, w := &ws[j], &ws[k]
	if j == i+1 && w.sense&weak == 0 {
		return false
	}
	return w.sense&weak != 0 || ws[k+1].is(report) || (!join.is(and) || join.base == "or") && w.sense&(take|out) == 0
}

func (r *reading) claim(ws []word, i int) {
	if r.verb&settled != 0 && ws[i].base == "replace" {
		return // it is set
	}
	f := ws[i].does(objectIn(ws, i), inDescription)
	r.listed = r.listed.worse(f)
	if f.effect.writes() && ws[i].sense&(run|change) != run {
		r.also = r.also.worse(f)
	}
}

// parted finds the verb at i with a particle behind its object: "rolls a release back", "checks a guest in".
func parted(ws []word, i int) word {
	for j := i + 1; j < min(len(ws), i+6); j++ {
		if w := &ws[j]; w.is(particle) && (!w.is(prep) || j+1 == len(ws) || ws[j+1].is(and)) {
			return ws[i].phrasal(w.base)
		}
	}
	return word{}
}

func warned(ws []word, i int) bool { return ws[i].base == "that" && i < 4 }

// freshSecret finds credentials that are made for the call: "a set of temporary credentials".
func freshSecret(ws []word) finding {
	made := 0
	for i := range ws {
		w := &ws[i]
		if w.base == "temporary" || w.base == "fresh" {
			made = i + 4
		}
		behind := i > 1 && ends(ws, i) && (ws[i-1].base == "and" || ws[i-2].base == "and")
		if w.is(secret|access) && (i < made || behind) {
			return finding{effect: adds, place: inDescription, word: w.base}
		}
	}
	return finding{}
}

// later reads a clause after the first sentence. Only what it states of the tool counts; an imperative is advice.
func (r *reading) later(ws []word) {
	stated := false
	for i := range ws {
		w := &ws[i]
		switch {
		case w.is(verbs) && (w.form == third || stated):
			f := w.does(objectIn(ws, i), inDescription)
			verb := w.sense&noun == 0 || stated && w.is(message) && !ends(ws, i) && ws[i+1].is(article)
			plain := verb && w.sense&(run|produce|retire|says) == 0 && w.sense&(weak|change) != weak|change
			if !ends(ws, i) && (plain || f.gives == givesPublic || f.gives == givesMoney) {
				r.claim(ws, i)
			}
			if w.form == third {
				r.beside(ws, i)
			}
			return
		case w.is(aux):
			stated = true
		case w.is(lead) && !w.is(subord|prep) && w.base != "user" && w.base != "you":
		case i == 0 && w.form == ing && len(ws) > 1:
		default:
			return
		}
	}
}

// passing finds what a sentence mentions: that there is no way back, that nothing is changed, that the outcome
// stays, and what is done to something, but not what was, may or would be done.
func (r *reading) passing(ws []word) {
	negated, aside, held, done := false, false, false, false
	for i := range ws {
		w := &ws[i]
		if !aside && saved(ws, i) {
			r.stays = r.stays.worse(finding{effect: adds, place: inDescription, word: w.base})
		}
		switch {
		case w.mark != 0:
			negated, held, done = false, false, false
		case w.is(not | subord):
			negated, aside, held = negated || w.is(not), true, !warned(ws, i)
		case w.is(warning) && !negated, w.is(unmade) && negated:
			r.warn = finding{effect: leaves, place: warns, word: w.base}
		case w.is(harmless) && !negated:
			r.claimsHarmless = true
		case !held && happens(ws[:i]), done && ws[i-1].is(and):
			done = true
			r.done = r.done.worse(w.undergone(ws[i-1].base))
		}
	}
}

// saved reports whether the outcome stays, by the word at i: "are saved to", ", persisted with".
func saved(ws []word, i int) bool {
	if i == 0 || i+1 == len(ws) || !ws[i].is(add) || !ws[i+1].is(prep|and) {
		return false
	}
	return ws[i-1].is(modal|and|aux) || ws[i-1].mark == text.Comma
}

// undergone returns what a verb does to its subject after a form of "to be". A thing that is paid may have been paid before.
func (w *word) undergone(before string) finding {
	now := before == "be" || before == "get" || w.base == "deduct" || lookup(w.base).sense&message != 0
	if w.form != past && w.sense&sweep == 0 || !w.is(take) && !(w.is(out) && now) {
		return finding{}
	}
	f := w.does(object{}, inDescription)
	if w.sense&sweep != 0 {
		f.effect = leaves
	}
	return f
}

// happens reports whether words end in a form of "to be" that states something.
func happens(ws []word) bool {
	last := len(ws) - 1
	if last < 1 {
		return false
	}
	if ws[last].base == "be" {
		return ws[last-1].base == "will" || last > 1 && ws[last-2].base == "will"
	}
	return ws[last].base == "is" || ws[last].base == "are" || ws[last].base == "get"
}

// goesInto finds what the outcome goes into: "into a folder", "to a file", not "into markdown".
func (r *reading) goesInto(ws []word) {
	for i := range ws {
		w := &ws[i]
		if w.is(subord) {
			return
		}
		if w.base != "into" && w.base != "to" {
			continue
		}
		if o := objectIn(ws, i); w.base == "into" && o.any&artefact == 0 || w.base == "to" && o.last.holds() {
			r.stays = r.stays.worse(finding{effect: adds, place: inDescription, word: w.base})
		}
	}
}

// isVerb reports whether the word at i is a verb, not a subject, a noun ("access to") or part of a name.
func isVerb(ws []word, i int) bool {
	w := &ws[i]
	if !w.is(verbs) || w.form == past || i+1 == len(ws) {
		return w.is(verbs) && w.form != past
	}
	next := &ws[i+1]
	switch {
	case next.is(modal), w.is(right) && next.is(prep):
		return false
	case w.sense&noun == 0:
		return true
	case next.flags&text.Capital != 0, w.form == ing:
		return false
	}
	return w.form != third || next.is(english) || i == 0 && w.sense&says != 0
}

func infinitive(ws []word, i int) bool {
	if !ws[i].is(verbs) {
		return false
	}
	for i--; i > 0 && ws[i].flags&text.LikeThis != 0; i-- {
	}
	return i >= 0 && ws[i].is(lead) && ws[i].is(prep)
}

// ends reports whether a phrase ends at i, so that a verb there has no object.
func ends(ws []word, i int) bool { return i+1 == len(ws) || ws[i+1].mark != 0 || ws[i+1].is(and|prep) }

func objectIn(ws []word, i int) (o object) {
	for j := i + 1; j < len(ws); j++ {
		w := &ws[j]
		over := w.mark != 0 && w.mark != text.Slash || w.is(subord|and)
		if over || w.is(prep) && j > i+1 && ws[j-1].base != "up" { // "up to 20 lamps"
			break
		}
		if !w.is(english) || w.is(many) {
			o.add(w)
		}
	}
	return o
}

// A form is how a word of the lexicon is written.
type form uint8

const (
	base  form = iota // delete
	third             // deletes; also a noun's plural
	past              // deleted
	ing               // deleting
)

// A word is one word of a name or of a sentence, or a mark between words.
type word struct {
	base  string // the entry of the lexicon that it is a form of, or the letters of an unknown word
	sense sense  // 0 for an unknown word and for a mark
	form  form
	flags text.Flag
	mark  text.Kind // 0 for a word
}

func (w *word) is(s sense) bool { return w.sense&s != 0 && w.flags&text.Opaque == 0 }

// may reports whether a word of the name of a parameter can mean this.
func (w *word) may(c cue) bool {
	return w.flags&text.Opaque == 0 && w.form <= third && cuesOf()[w.base]&c != 0
}

// holds reports whether the last word of an object is a place where an outcome stays: a file, a disk.
func (w *word) holds() bool { return w.sense&storage != 0 || w.may(location) }

func (w *word) entry() string {
	if w.sense == 0 {
		return ""
	}
	return w.base
}

// grave reports whether a word is a plain verb that takes away or sends.
func (w *word) grave() bool {
	return w.sense&(take|out|power) != 0 && w.sense&(noun|either) == 0 && w.form == base
}

// first returns the first of some words that may mean s, "" if none does.
func first(ws []word, s sense) string {
	for i := range ws {
		if ws[i].is(s) {
			return ws[i].base
		}
	}
	return ""
}

var words = sync.OnceValue(func() map[string]word { return index(lexicon()) })

func lookup(letters string) word {
	w := words()[letters]
	w.base = cmp.Or(w.base, letters)
	return w
}

// phrasal returns the verb that a word is with a particle, if the lexicon has the two as one: shut down.
func (w *word) phrasal(particle string) word {
	both := words()[w.base+particle]
	both.form = w.form
	return both
}

// cuesOf holds the words of the names of parameters.
var cuesOf = sync.OnceValue(func() map[string]cue {
	m := make(map[string]cue)
	for _, p := range parameters {
		for w := range strings.FieldsSeq(p.words) {
			m[w] |= p.cue
		}
	}
	return m
})

// An entry is one word of a group of the lexicon.
type entry struct {
	base  string
	group int
	sense sense
	forms map[string]form
}

func index(all []entry) map[string]word {
	out := make(map[string]word)
	for _, e := range all {
		for written, f := range e.forms {
			w := out[written]
			// A word of its own goes before a form that a rule made of another one.
			if w.base == "" || f == base && w.form != base {
				w = word{base: e.base, form: f}
			}
			if w.base == e.base {
				w.sense |= e.sense
			}
			out[written] = w
		}
	}
	return out
}

// formsOf returns every spelling of an entry with its form. Small words have no forms.
func formsOf(spellings []string, s sense) map[string]form {
	forms := make(map[string]form)
	for i, written := range spellings {
		switch {
		case strings.HasSuffix(written, "ise"), strings.HasSuffix(written, "yse"), i == 0:
			forms[written] = base
			if s&(verbs|involved) != 0 {
				forms[text.Inflect(written, "ed")] = past
				forms[text.Inflect(written, "ing")] = ing
			}
			if s&(verbs|involved|nouns) != 0 {
				forms[text.Inflect(written, "s")] = third
			}
		case strings.HasSuffix(written, "ing"):
			forms[written] = ing
		case strings.HasSuffix(written, "s"):
			forms[written] = third
		default:
			forms[written] = past
		}
	}
	return forms
}

const (
	// maxWords is how many words of a name are looked at.
	maxWords = 24
	// maxCompound is how many letters a word may have in which two are looked for.
	maxCompound = 12
	// longest is how many words and marks of a sentence are looked at together; the rest is another sentence.
	longest = 48
)

// cut returns the words of a name, with a verb and its particle as one: check_out, shut_down.
func cut(name string) []word {
	ws := make([]word, 0, min(len(name), 8))
	scan := text.Scanner{Text: name, Name: true}
	for t, ok := scan.Next(); ok && len(ws) < maxWords; t, ok = scan.Next() {
		if t.Mark != 0 {
			continue
		}
		w := lookup(t.Text)
		w.flags = t.Flag
		if last := len(ws) - 1; last >= 0 && w.is(particle) {
			if both := ws[last].phrasal(t.Text); both.is(verbs) {
				ws[last] = both
				continue
			}
		}
		if first, second, ok := compound(&w); ok {
			ws = append(ws, first, second)
			continue
		}
		ws = append(ws, w)
	}
	return ws
}

// compound cuts an unknown word in two words of the lexicon, one of which takes away or sends: bulkdelete.
func compound(w *word) (first, second word, ok bool) {
	if w.sense != 0 || len(w.base) > maxCompound || cuesOf()[w.base] != 0 {
		return first, second, false
	}
	for at := len(w.base) - 3; at >= 3; at-- {
		first, second = lookup(w.base[:at]), lookup(w.base[at:])
		small := (first.sense|second.sense)&(particle|aux) != 0
		if first.sense != 0 && second.sense != 0 && !small && (first.grave() || second.grave()) {
			return first, second, true
		}
	}
	return first, second, false
}

// A parser cuts a text into sentences: runs of words and of marks between them.
type parser struct {
	scan  text.Scanner
	last  string // the letters of the last word
	words []word
}

// next reads the next sentence and reports whether there is one. The words of the one before are overwritten.
func (p *parser) next() bool {
	p.words = p.words[:0]
	for len(p.words) < longest {
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
	return true
}

// emit appends a word, joined to the one before if the lexicon has the two as one: read-only, shut down.
func (p *parser) emit(t text.Token) {
	w := lookup(t.Text)
	w.flags = t.Flag
	if w.sense == 0 {
		w.flags |= text.Ending(t.Text)
	}
	if last := len(p.words) - 1; last >= 0 {
		both := word{}
		if w.sense&particle != 0 {
			both = p.words[last].phrasal(t.Text)
		}
		if t.Flag&text.Joined != 0 {
			both = lookup(p.last + t.Text)
		}
		if both.sense != 0 {
			p.words[last] = both
			return
		}
	}
	p.last = t.Text
	p.words = append(p.words, w)
}

// Version names the lexicon and the rules together. It changes whenever a tool may get another class.
const Version = "5"

// A sense is what a word can mean. It is a set: "report" is a verb and a noun.
type sense uint64

// Verbs, by what they do.
const (
	read    sense = 1 << iota // looks, and changes nothing
	compute                   // works something out and hands it back
	produce                   // makes something: a chart that is handed back, or a thing that stays
	run                       // carries something out: a search, a workflow, a script
	add                       // adds
	change                    // changes what can be set back
	take                      // takes away, or overwrites
	out                       // goes to others, or cannot be taken back
	power                     // carries out its argument
	manage                    // several of these, and the name does not say which
)

// Verbs, by how far they can be relied on.
const (
	weak    sense = 1 << (iota + 10) // says little: the main verb of the description is asked first
	either                           // may be a noun; where it leads the name it is a verb
	noun                             // more often a noun; any plainer verb of the name goes before it
	settled                          // may be repeated
	retire                           // a change that is as good as a loss once it is done to many
	sweep                            // a loss, unless it is a view that is cleared
	agent                            // a noun for the tool itself, at the end of its name: a reader
	fills                            // replaces what was in a file
	seals                            // of money or a message, it is for good
)

// Nouns, by what they turn a verb into.
const (
	view      sense = 1 << (iota + 19) // clearing it loses nothing: a filter, a selection
	code                               // running it can do anything: a command, a script
	artefact                           // making it changes nothing: a chart, a summary
	report                             // heads a phrase about information: details, status
	message                            // making it sends it
	money                              // making it moves money
	access                             // closing or making one matters: an account, a key
	storage                            // formatting it loses what is on it
	tentative                          // a message or payment that is only prepared
	wire                               // with the outside in it, its method decides what it does: an HTTP request
	number                             // adding it is arithmetic
	many                               // done to all at once
)

// Small words.
const (
	and      sense = 1 << (iota + 31) // what follows does as what went before
	not                               // turns it round
	subord                            // what follows is about something else
	lead                              // may be before the main verb: "this tool will"
	aux                               // what follows is stated of the tool: "also", "will"
	prep                              // ends the object
	particle                          // belongs to the verb before it: "check out"
	warning                           // states that there is no way back
	unmade                            // states so after a negation: "cannot be undone"
	harmless                          // states that nothing is changed
	english                           // a small word of English
	foreign                           // a small word of another language
	outside                           // the world outside
	inside                            // the server's own state
	involved                          // one of the seven stems of a complex tool
	modal                             // a subject is before it: "updates will"
	article                           // what follows is a noun
	says                              // what a tool does where a description says so; at the head of a name it says little
	supposes                          // what comes after it is only supposed
	bends                             // what is left behind hangs on the object: a snapshot of a page, or of a volume
	kept                              // an object of which something is left behind, and which is overwritten when written: a volume, a file
	revision                          // a line of work: to check out a branch only goes there
	picture                           // what a picture is taken of, and handed back
	question                          // a sentence that begins with it names the information
	pact                              // what one is bound by: an offer, a contract
	tells                             // begins a phrase about information: "current prices"
)

// Nouns, by what it means to change or to hand them out.
const (
	secret   sense = 1 << (iota + 57) // whoever has it is let in: a password
	right                             // what one may do: a role; of a verb, it gives some
	shield                            // what keeps others out: a firewall
	physical                          // a thing in the world that moves, heats or locks: a door
	public                            // where everybody can see it: a website
	bookable                          // reserving it costs money: a room
	acting                            // a thing that carries out commands: a client, an agent
)

const (
	verbs = read | compute | produce | run | add | change | take | out | power | manage
	nouns = view | code | artefact | report | message | money | access | storage | tentative | wire | number | many | kept | revision | picture |
		secret | right | shield | physical | public | bookable | acting
)

// senseNames are the senses as lexicon.txt has them, in their order.
const senseNames = `read compute produce run add change take out power manage weak either noun settled retire sweep agent fills seals view code
	artefact report message money access storage tentative wire number many and not subord lead aux prep particle warning unmade
	harmless english foreign outside inside involved modal article says supposes bends kept revision picture question pact tells secret
	right shield physical public bookable acting`

//go:embed lexicon.txt
var lexiconText string

// lexicon returns the words of lexicon.txt, which explains its form.
var lexicon = sync.OnceValue(func() (all []entry) {
	senses := make(map[string]sense)
	for i, name := range strings.Fields(senseNames) {
		senses[name] = 1 << i
	}
	groups, of := 0, sense(0)
	for line := range strings.Lines(lexiconText) {
		words := line
		if !strings.HasPrefix(line, "\t") {
			names, rest, ok := strings.Cut(line, ":")
			if !ok || strings.HasPrefix(line, "#") {
				continue
			}
			groups, of, words = groups+1, 0, rest
			for name := range strings.FieldsSeq(names) {
				of |= senses[name]
			}
		}
		for word := range strings.FieldsSeq(words) {
			spellings := strings.Split(word, "/")
			all = append(all, entry{spellings[0], groups - 1, of, formsOf(spellings, of)})
		}
	}
	return all
})

// A cue is what the name of a parameter can mean.
type cue uint16

// The cues.
const (
	chooser   cue = 1 << iota // chooses what is done
	namer                     // names what is acted on
	location                  // names a place
	outlet                    // with a location behind it, names the place of the outcome
	force                     // overrides a protection
	body                      // holds what is to be written
	trial                     // only a tool which changes something has it: a dry run
	switcher                  // switched on, takes something away
	strict                    // is run
	asked                     // is run, or looked for
	addressee                 // names people who are written to, or paid
)

// parameters is what is known of the names of parameters.
var parameters = []struct {
	cue   cue
	words string
}{
	{chooser, `actions operations modes action operation op method command subcommand verb mode task event`},
	{namer, `id uid uuid key name slug number sha path file filename filepath folder dir directory`},
	{location, `path file filename filepath folder dir directory`},
	{outlet, `output out dest destination save`},
	{force, `overwrite cascade permanent permanently hard`},
	{body, `body payload patch`},
	{trial, `dry confirm commit persist append save`},
	{switcher, `reset delete remove purge erase wipe`},
	{asked, `query statement`},
	{addressee, `recipient recipients attendees participants invitees`},
	{strict, `sql code script command shell bash powershell javascript expression cypher cmd`},
}

// abroadReads and abroadWrites are all that is known of other languages: Chinese words for reading, and for deeds.
const (
	abroadReads  = `查询 获取 列出 搜索 读取 查看 检索 只读`
	abroadWrites = `删 移除 清空 清除 清理 销毁 发送 发布 支付 付款 扣 转账 覆盖 撤销 取消 创建 新建 新增 添加 修改 更新 写入 重置 停止 终止 授予 抹 擦`
)
