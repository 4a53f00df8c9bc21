package infer

import (
	"cmp"
	"slices"

	"github.com/fairlead-go/fairlead/infer/internal/text"
)

// raises are the rules for what else is stated.
var raises = []rule{
	{"name and description at odds", func(t *tool) finding {
		made := t.name.verb.means(secret) && t.said.verb.has(produce)
		queries := t.said.query && !t.params.asks && !t.so.effect.writes() && (t.params.any || !t.name.runs())
		executes := t.said.main.effect == commands && !queries
		more := t.said.plain && t.said.main.effect != commands || made || executes
		return t.said.main.when(t.name.firm && more)
	}},
	{"a verb of another language", func(t *tool) finding { return t.said.abroad.main.worse(t.said.abroad.also) }},
	{"a second verb of the name", func(t *tool) finding { return t.name.last.when(t.said.main.effect != reads) }},
	{"what else is said", func(t *tool) finding { return t.said.also }},
	{"what is done to something", func(t *tool) finding { return t.said.done.when(!t.so.effect.writes()) }},
	{"what is lost by a write", func(t *tool) finding { return t.said.done.when(t.said.done.effect >= takes) }},
	{"what a weak verb means", func(t *tool) finding {
		const review = read | weak | either
		return t.said.order.when(t.name.verb.all(review))
	}},
	{"the title", func(t *tool) finding {
		v := judge(cut(t.title))
		return v.at(inTitle).when(v.firm && v.effect.dangerous())
	}},
	{"the outcome stays", func(t *tool) finding { return t.said.stays.when(t.reads() && t.soft()) }},
	{"credentials are handed out", func(t *tool) finding { return t.said.hands }},
	{"no way back", func(t *tool) finding { return t.said.warn.when(!t.reads()) }},
}

// A reading is the meaning of the description, sentence by sentence.
type reading struct {
	name    string  // the tool's
	main    finding // the main verb of the first sentence
	also    finding // the gravest of what else is stated of the tool
	listed  finding // the gravest verb of a list: "actions like list, get and delete"
	done    finding // the gravest of what is done to something: "older files are deleted"
	order   finding // the gravest imperative of a later sentence
	hands   finding // states that credentials are handed out
	warn    finding // states that there is no way back
	stays   finding // states that the outcome does: "is saved to a file"
	verb    sense   // the main verb
	told    bool    // a sentence has been read
	plain   bool    // the main verb can hardly be anything else
	unread  string  // the verb that the first sentence begins with, if the lexicon does not have it
	object  bool    // the main verb has an object
	query   bool    // the object is a query, which may be of a language or a search
	manages bool    // the first sentence has commands that manage
	vague   bool    // the first sentence is a phrase without a verb, and informs only by that

	open, stem string // the first word for the world outside, the first stem of a complex tool
	strange    bool   // the first sentence is in another language
	abroad     translation
	odd        string // the first word of it that is not understood
}

func (r *reading) read(description string) {
	room := rooms.Get().(*[longest]word)
	defer rooms.Put(room)
	p := parser{scan: text.Scanner{Text: description}, words: room[:0]}
	start, begins := 0, 0 // where this sentence begins, and the first one that states something
	for p.next() {
		if !r.told {
			begins = start
		}
		r.sentence(p.words, p.scan.Odd)
		start = p.scan.Pos()
	}
	r.understand(description, description[begins:])
}

// sentence reads one sentence. One about the tool itself going away does not count.
func (r *reading) sentence(ws []word, odd bool) {
	r.open = cmp.Or(r.open, first(ws, outside))
	r.stem = cmp.Or(r.stem, first(ws, involved))
	if slices.ContainsFunc(ws, func(w word) bool { return w.base == "deprecate" }) {
		return
	}
	r.passing(ws)
	r.row(ws)
	r.sideEffects(ws)
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
	r.manages = first(ws, manage) != ""
	r.hands = freshSecret(ws)
	r.strange = r.another(ws, odd)
	r.told = r.told || r.strange && (odd || first(ws, foreign) != "") // a short one as well, since it is not a label
}

// sideEffects reads a label of that name, "Side effects: writes a log", unless there are none.
func (r *reading) sideEffects(ws []word) {
	if len(ws) < 4 || ws[0].base != "side" || ws[1].base != "effect" && ws[1].base != "effects" || ws[2].mark != text.Colon {
		return
	}
	if w := &ws[3]; !w.is(not) && w.base != "none" && !w.is(read) {
		r.also = r.also.worse(finding{effect: changes, place: inDescription, word: "side effects"})
	}
}

// row reads a list of deeds: "Actions: list, add, remove", "all lamp operations (get, dim)".
func (r *reading) row(ws []word) {
	at := slices.IndexFunc(ws, func(w word) bool { return w.mark == text.Colon || w.mark == text.Paren })
	if at < 1 || at > 6 || !ws[at-1].may(chooser) {
		return
	}
	for i := at + 1; i < len(ws); i++ {
		begins := ws[i-1].mark != 0 || ws[i-1].is(and)
		if at == 1 || begins && ws[i].form == base {
			if ws[i].is(add | change | take | out | power) {
				r.claim(ws, i)
			}
		}
	}
}

// first reads the main verb of the first sentence, behind labels in brackets, and the verbs beside it. It passes
// over a verb that shows only when to use the tool: "call once".
func (r *reading) first(ws []word) {
	ws = behindTags(ws)
	if isLabel(ws) || aboutPeople(ws) {
		return
	}
	r.toOthers(ws)
	i := mainVerb(ws)
	if i < 0 {
		r.main = r.nominal(ws)
		r.told = len(ws) > 3
		return
	}
	if advertises(ws, i) {
		return
	}
	if i+1 < len(ws) && ws[i+1].base == "nothing" {
		return // "changes nothing" states no deed
	}
	const call = run | weak | noun
	if ws[i].all(call) && (i+1 == len(ws) || ws[i+1].is(prep|subord|lead) && !ws[i+1].is(article)) {
		for i++; i < len(ws) && !infinitive(ws, i); i++ {
		}
		if i == len(ws) {
			return
		}
	}
	r.told = true
	r.main = r.leading(ws, i)
	r.asides(ws[i+1:])
}

// asides reads what the first sentence states behind a bracket or a colon: "Read a conversation (marks it as read)",
// "Review a request: submit an opinion".
func (r *reading) asides(ws []word) {
	for i := range len(ws) - 1 {
		if ws[i].mark != text.Paren && ws[i].mark != text.Colon {
			continue
		}
		if w := &ws[i+1]; ws[i].mark == text.Colon && w.is(add|change|take|out) && w.form == base && !w.means(noun|either|weak) {
			r.order = r.order.worse(w.does(objectIn(ws, i+1), inDescription))
		}
		r.later(ws[i+1:])
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
	case next.is(modal), w.is(right) && next.is(prep), next.flags&text.Joined != 0 && next.is(prep|particle): // reply-to
		return false
	case !w.means(noun):
		return true
	case next.mark == text.Slash && i+2 < len(ws) && !ws[i+2].is(verbs): // exchange/market data
		return false
	case next.flags&text.Capital != 0, w.form == ing:
		return false
	}
	return w.form != third || next.is(english) || i == 0 && w.means(says)
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
