package infer

import (
	"cmp"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/infer/internal/text"
)

// A tool is what was read of one definition: what the rules look at.
type tool struct {
	v     verdict
	r     reading
	c     cues
	title string
	so    finding // what the rules before found
	rule  string  // the rule that found it, "" before one did
}

// A kind is when the finding of a rule counts.
type kind uint8

const (
	leading kind = iota // it is the first one; one whose effect is unknown counts as well
	raise               // it is graver than what was found before
	doubt               // what was found before only reads
)

// A rule finds one thing in a tool. A finding without a place is empty.
type rule struct {
	kind kind
	name string
	find func(t *tool) finding
}

var rules = [...]rule{
	{leading, "several things", (*tool).several},
	{leading, "a verb alone", func(t *tool) finding {
		all := finding{effect: commands, place: t.v.place, word: t.v.word, gives: givesPower}
		return all.when(t.v.only && t.v.verb.sense&run != 0 && !t.r.object)
	}},
	{leading, "what the description runs", func(t *tool) finding {
		comes := t.c.nodes == 0 || t.c.carries != "" // what is run comes with the call
		runs := t.v.runs() && t.r.main.effect == commands
		return t.r.main.when(t.v.firm && !t.r.claimsHarmless && runs && comes)
	}},
	{leading, "the name's verb", func(t *tool) finding { return t.v.when(t.v.firm && !(t.v.verb.sense&run != 0 && t.r.plain)) }},
	{leading, "an unknown verb", func(t *tool) finding {
		named := t.v.deed && !t.r.plain && !t.r.main.effect.dangerous()
		return finding{place: notUnderstood}.when(t.r.unread || named)
	}},
	{leading, "the description's verb", (*tool).described},
	{leading, "the name, though weak", func(t *tool) finding { return t.v.finding }},

	{raise, "name and description at odds", func(t *tool) finding {
		made := t.v.verb.sense&secret != 0 && t.r.verb&produce != 0
		more := t.r.plain || made || t.r.main.effect == commands && t.so.effect.writes()
		return t.r.main.when(t.v.firm && !t.r.claimsHarmless && more)
	}},
	{raise, "a second verb of the name", func(t *tool) finding { return t.v.last.when(t.r.main.effect != reads) }},
	{raise, "what else is said", func(t *tool) finding { return t.r.also }},
	{raise, "what is done to something", func(t *tool) finding { return t.r.done.when(!t.so.effect.writes()) }},
	{raise, "what is lost by a write", func(t *tool) finding { return t.r.done.when(t.r.done.effect >= takes) }},
	{raise, "what a weak verb means", func(t *tool) finding {
		const review = read | weak | either
		return t.r.order.when(t.v.verb.sense&review == review)
	}},
	{raise, "the title", func(t *tool) finding {
		v := judge(cut(t.title))
		return v.at(inTitle).when(v.firm && v.effect.dangerous())
	}},
	{raise, "the outcome stays", func(t *tool) finding { return t.r.stays.when(t.reads() && t.soft()) }},
	{raise, "credentials are handed out", func(t *tool) finding { return t.r.hands }},
	{raise, "no way back", func(t *tool) finding { return t.r.warn.when(!t.reads()) }},
	{raise, "a choice of a parameter", func(t *tool) finding {
		// A nominal value counts if no plain verb speaks.
		return t.c.action.when(t.v.verb.sense&add == 0).worse(t.c.noun.when(!t.v.firm))
	}},
	{raise, "a parameter that is run", (*tool).given},
	{raise, "a switch", func(t *tool) finding { return t.c.switched }},
	{raise, "a parameter says what happens", func(t *tool) finding {
		return t.c.said.when(t.reads() && (t.c.said.effect != commands || t.v.looks()))
	}},
	{raise, "a parameter of a write", func(t *tool) finding { return t.c.tried.when(t.reads()) }},
	{raise, "a body of a write", func(t *tool) finding { return t.c.body.when(t.reads() && !t.v.firm) }},
	{raise, "people who are written to", func(t *tool) finding {
		f := t.c.people
		if t.so.gives == "" {
			f.rests = t.c.optional // without them the call does what was found before
		}
		return f.when(t.so.effect.writes())
	}},
	{raise, "a protection overridden", func(t *tool) finding { return t.c.forced.when(t.so.effect.writes()) }},

	{doubt, "another language", func(t *tool) finding { return finding{place: notUnderstood}.when(t.r.strange) }},
	{doubt, "a noun alone", func(t *tool) finding {
		noun := t.v.verb.sense&noun != 0
		return finding{place: notUnderstood, word: t.so.word}.when(noun && t.r.told && t.r.main.effect == unknown)
	}},
	{doubt, "the description manages", func(t *tool) finding {
		return finding{place: mainOfDescription, word: t.r.main.word}.when(t.r.verb&manage != 0 && !t.c.chosen)
	}},
	{doubt, "an unknown deed is simulated", func(t *tool) finding {
		const simulate = compute | bends
		return finding{place: notUnderstood, word: t.so.word}.when(t.so.place == mainOfDescription && t.r.verb&simulate == simulate)
	}},
	{doubt, "a phrase beside a body or a method", func(t *tool) finding {
		return finding{place: inSchema, word: t.c.carries}.when(t.so.place == saysNoDeed && t.c.carries != "")
	}},
}

func (t *tool) decide() {
	t.so = finding{place: notUnderstood}
	for i := range rules {
		f, counts := rules[i].find(t), false
		switch rules[i].kind {
		case leading:
			counts = t.rule == "" && f.place != ""
		case raise:
			counts = f.effect > t.so.effect
		case doubt:
			counts = t.reads() && f.place != ""
		}
		if counts {
			t.so, t.rule = f, rules[i].name
		}
	}
	t.rule = cmp.Or(t.rule, "nothing is understood")
}

func (t *tool) reads() bool { return t.so.effect == reads }

// soft reports whether the verb that decided may leave something behind, as rendering does and getting does not.
func (t *tool) soft() bool {
	verb := t.v.verb.sense
	if t.so.place == mainOfDescription {
		verb = t.r.verb
	}
	return verb&read == 0 || verb&(weak|noun|bends) != 0
}

// several is for a verb such as "manage": the gravest of what the parameters or the description offer, or of all.
func (t *tool) several() finding {
	switch v := &t.v; {
	case v.verb.sense&manage == 0:
		return finding{}
	case t.c.chosen:
		return t.c.action
	case t.r.listed.effect != unknown:
		return t.r.listed
	case v.verb.sense&noun != 0:
		return finding{place: notUnderstood, word: v.word}
	default:
		return finding{effect: takes, place: v.place, word: v.word}
	}
}

// described is the main verb of the description, for a name that is not clear alone. A phrase lowers no verb.
func (t *tool) described() finding {
	v, main := &t.v, t.r.main
	if t.r.vague && (v.effect.dangerous() || v.effect.writes() && v.verb.sense&noun == 0) {
		main = finding{}
	}
	if t.r.listed.effect.writes() {
		main = main.worse(t.r.listed)
	}
	if v.verb.sense&power != 0 && main.effect.writes() {
		main = main.worse(v.finding)
	}
	return main.when(main.word != v.word || main.effect.dangerous() || main.effect == reads && !v.obj.some)
}

// given is a parameter that is a command, for a tool that runs it, only looks, or has an unclear name.
func (t *tool) given() finding {
	switch v := &t.v; {
	case t.r.claimsHarmless:
		return finding{}
	case v.runs(), !v.firm && !v.told:
		return t.c.command.worse(t.c.code)
	default:
		return t.c.command.when(v.looks() && v.obj.any&code == 0)
	}
}

// runs reports whether the verb runs what it is given: "run", and a "query", which is itself a thing that is run.
func (v *verdict) runs() bool { return v.verb.sense&(run|code) != 0 }

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
	givesIdentity gift = "acts as somebody else"
	givesPower    gift = "does whatever it is told"
)

// A finding is an effect with its reason: a word of the lexicon and its place.
type finding struct {
	word   string
	effect effect
	place  place
	gives  gift
	rests  string // the optional parameters on which it rests, "" if on none
}

// A place is where a word was, for the evidence.
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

func (p place) strength() annotation.Strength {
	switch p {
	case leadsName, inName, mainOfDescription, warns, inChoice:
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

// An object is what a verb is done to: the senses of all its words and the last one; a payment link is a link.
type object struct {
	any   sense
	last  word
	some  bool // something follows the verb, known or not
	free  bool // two words of a request: an API request does whatever its arguments say
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

func (d *act) fits(o *object) bool {
	has := func(s, some sense) bool { return some == 0 || s&some != 0 }
	given := [...]bool{true, o.some, !o.some, o.free, !o.known}[d.given]
	whole := has(o.any, d.any) && has(o.any, d.with) && o.any&d.without == 0
	return given && whole && has(o.last.sense, d.head) && o.last.sense&d.not == 0
}

// An act is what a verb with one sense of verb and all of also does to an object. A condition of 0 always holds.
type act struct {
	verb, also sense
	any, with  sense // the object has a word with one of these, and one with one of those
	head       sense // its last word has one of these
	not        sense // its last word has none of these
	without    sense // no word of it has one of these
	given      given
	effect     effect
	gives      gift
}

// A given is a further condition on an object.
type given uint8

const (
	something given = iota + 1 // there is one
	nothing                    // there is none
	free                       // two words of a request
	unseen                     // not one that exists
)

// acts are looked through in order; the first row that fits decides.
var acts = [...]act{
	{verb: take, also: sweep, any: view, effect: changes},
	{verb: take, effect: takes},
	{verb: power, effect: commands, gives: givesPower},
	{verb: out, also: bends, any: revision, effect: changes},
	{verb: out, also: money, effect: leaves, gives: givesMoney},
	{verb: out, also: public, effect: leaves, gives: givesPublic},
	{verb: out, also: right, effect: leaves, gives: givesIdentity},
	{verb: out, any: money, effect: leaves, gives: givesMoney},
	{verb: out, effect: leaves},
	{verb: produce, any: storage, effect: takes},
	{verb: seals, head: money | pact, effect: leaves, gives: givesMoney},
	{verb: add, also: seals, any: bookable, effect: leaves, gives: givesMoney},
	{verb: run | produce, any: wire, with: outside, effect: commands, gives: givesPower},
	{verb: run, any: wire, given: free, effect: commands, gives: givesPower},
	{verb: produce, also: seals, any: wire, given: free, effect: commands, gives: givesPower},
	{verb: read, also: secret, head: secret, effect: adds},
	{verb: read, also: secret, any: right, head: access, not: right, effect: adds}, // an access token
	{verb: produce, any: secret, head: artefact, not: report, effect: adds},        // a presigned URL
	{verb: read, also: supposes | secret, head: message | number, effect: adds},    // an address is verified by writing to it
	{verb: read | compute, also: bends, head: kept, effect: adds},
	{verb: run | fills, any: code, not: report, given: unseen, effect: commands, gives: givesPower},
	{verb: run, any: many, with: wire, effect: commands, gives: givesPower},
	{verb: run, head: report, given: unseen, effect: reads},
	{verb: run, also: compute, given: something, effect: reads},
	{verb: run, head: money, effect: leaves, gives: givesMoney},
	{verb: run, any: physical, effect: leaves, gives: givesControl},
	{verb: run, effect: changes},
	{verb: produce, also: weak, head: wire, effect: commands, gives: givesPower}, // requests in one
	{verb: produce, also: seals, any: public, effect: leaves, gives: givesPublic},
	{verb: produce, any: right, head: code, effect: leaves, gives: givesKeys}, // an access code
	{verb: produce, any: artefact | number, not: access | secret, effect: reads},
	{verb: produce, any: secret, effect: leaves, gives: givesKeys},
	{verb: produce, effect: adds},
	{verb: retire, any: many, effect: takes},
	{verb: retire, head: access | money, effect: takes},
	{verb: retire | change, any: shield, not: report, effect: leaves, gives: givesAccess},
	{verb: fills, any: kept, effect: takes},
	{verb: change | add, also: right, effect: leaves, gives: givesAccess},
	{verb: change, any: secret, not: report, effect: leaves, gives: givesKeys},
	{verb: change, also: physical, effect: leaves, gives: givesControl},
	{verb: change, also: settled, any: physical, effect: changes},
	{verb: retire | change, any: physical, effect: leaves, gives: givesControl},
	{verb: change | add, any: public, not: access, effect: leaves, gives: givesPublic},
	{verb: change, head: right, not: access | change, given: something, effect: leaves, gives: givesAccess}, // not a share
	{verb: change, effect: changes},
	{verb: add, also: revision, any: many, effect: takes}, // a push that is forced
	{verb: add, also: bends, any: picture, without: kept, effect: reads},
	{verb: add, also: bends, without: kept, given: nothing, effect: reads},
	{verb: add, also: wire, any: many, given: nothing, effect: commands, gives: givesPower}, // a raw request
	{verb: add, also: says, head: report, effect: reads},                                    // it reports a status
	{verb: add, any: wire | secret, head: access, effect: leaves, gives: givesKeys},
	{verb: add, any: right | shield, effect: leaves, gives: givesAccess},
	{verb: add, also: number, head: number, effect: reads},
	{verb: add, head: money, without: tentative, effect: leaves, gives: givesMoney},
	{verb: add, head: message, without: tentative, effect: leaves},
	{verb: add, effect: adds},
	{verb: read | compute, effect: reads},
}

type verdict struct {
	finding
	verb word // the head verb; none where its sense is 0
	head int  // its index, or -1
	firm bool // it decides; else the description is asked first
	obj  object
	told bool    // the last word names information: command_help
	only bool    // it is the only word
	deed bool    // it begins with an unknown word that ends like a verb
	last finding // what a grave verb at the end of the name does, which may be a noun
}

// judge finds the verb that speaks for the name and what it does, and whether another one makes it worse.
func judge(ws []word) verdict {
	v, last := verdict{head: headVerb(ws)}, len(ws)-1
	if last < 0 {
		return v
	}
	v.only, v.told = last == 0, ws[last].is(report)
	v.deed = ws[0].sense == 0 && text.Ending(ws[0].base) == text.Verbal
	switch {
	case last > 0 && ws[0].is(modal): // can_cancel: a question
		v.finding, v.firm = finding{effect: reads, place: leadsName, word: ws[0].base}, true
		return v
	case v.head < 0:
		if last > 0 && v.told && ws[last].flags&text.Folded == 0 { // printer_status: nothing is done
			v.finding = finding{effect: reads, place: inName, word: ws[last].base}
		}
		return v
	}
	v.verb, v.obj = ws[v.head], objectOf(ws, v.head)
	v.finding = v.verb.does(v.obj, inName)
	if v.head == 0 {
		v.place = leadsName
	}
	s := v.verb.sense
	loose := weak | noun | produce
	if v.deed {
		loose |= either
	}
	v.firm = s&loose == 0 && (s&either == 0 || v.effect == reads || !v.told)
	switch {
	case s&power != 0:
		v.firm = s&noun == 0 || v.head == last
	case v.effect != reads:
	case v.verb.flags&text.Folded != 0, s&says != 0:
		v.firm, v.effect = false, unknown
	}
	v.others(ws)
	return v
}

// others looks at the other verbs of the name. A plain one at the end, behind one that reads, may be a noun.
func (v *verdict) others(ws []word) {
	for i := v.head + 1; i < len(ws); i++ {
		w := &ws[i]
		if v.verb.sense&supposes != 0 && w.is(verbs&^(read|compute)) {
			v.firm = false // preview_send: or things that are done in a preview
		}
		f := w.does(objectOf(ws[i:], 0), inName)
		switch {
		case v.with(w, &ws[i-1]):
			v.finding = v.worse(f)
		case v.looks() && i == len(ws)-1 && w.grave():
			v.last = f
		}
	}
}

// with reports whether a word is a deed beside the head verb: chat_post, run_purge_job, and what "and" joins.
func (v *verdict) with(w, before *word) bool {
	switch {
	case v.effect == reads && v.verb.sense&noun != 0, v.verb.sense&run != 0 && !v.told && w.grave():
		return true
	case v.effect.writes() && w.is(take) && w.sense&noun != 0:
		return true
	}
	return before.is(and) && w.form != past && w.sense&(produce|weak) != produce|weak
}

func (v *verdict) looks() bool {
	return v.verb.is(read) && v.verb.sense&(weak|noun|either) == 0
}

// headVerb returns the index of the verb that speaks for the name, or -1.
func headVerb(ws []word) int {
	skip := 0
	for skip < len(ws)-1 && ws[skip].is(many) {
		skip++
	}
	if i := phrase(ws[skip:]).head(); i >= 0 {
		return skip + i
	}
	return -1
}

type phrase []word

// head is the first word; else the one after a prefix; else any plain verb; else one that may be a noun.
func (n phrase) head() int {
	last := len(n) - 1
	const manager = manage | noun // ops, admin: several things
	switch {
	case last > 0 && n[last].sense&manager == manager && !n[last-1].is(prep) && !n.sure(0) && !n.sure(1):
		return last
	case n.plain(0) && !n.object():
		return 0
	case n.sure(1), n.plain(1) && n[1].sense&supposes != 0:
		return 1
	}
	at, best := -1, 0
	for i := range n {
		if rank := n.rank(i); rank > best {
			at, best = i, rank
		}
	}
	return at
}

// rank returns how well the word at i does as the head verb, 0 for not at all.
func (n phrase) rank(i int) int {
	w, last := &n[i], len(n)-1
	switch {
	case i == last && i > 0 && w.is(bends) && n.deed():
		return 0
	case n.sure(i):
		return 4
	case n.plain(i):
		return 3
	case i == 0 && n.deed():
		return 2
	case w.form != third && (w.is(take) || i == last && w.is(out)):
		return 1
	}
	return 0
}

// plain reports whether the word at i can hardly be a noun, and has the form that a verb has in a name.
func (n phrase) plain(i int) bool {
	last := len(n) - 1
	if i > last || !n[i].is(verbs) || n[i].sense&noun != 0 || n[i].sense&agent != 0 && i < last {
		return false
	}
	return n[i].form == base || i == 0 && i < last && n[i].form == third
}

// sure is plain of a verb that is never a noun.
func (n phrase) sure(i int) bool { return n.plain(i) && n[i].sense&either == 0 }

// object reports whether the leading plain verb is the object of a plainer one at the end: survey_create.
func (n phrase) object() bool {
	last, s := len(n)-1, n[0].sense
	if s&(either|weak) == 0 || s&(supposes|take) != 0 || last == 0 || !n.sure(last) {
		return false
	}
	return s&n[last].sense&weak == 0 && !n[last-1].is(prep)
}

// deed reports whether the noun that leads may be the verb of the name: post_item, as against posts_history.
func (n phrase) deed() bool {
	last := len(n) - 1
	return n[0].is(verbs) && n[0].sense&manage == 0 && (n[0].form == base || last > 0 && !n[last].is(report))
}

// objectOf collects what the verb is done to: what follows it up to a preposition, or else what is before it.
func objectOf(ws []word, at int) (o object) {
	for i := at + 1; i < len(ws) && (!ws[i].is(prep) || ws[at].is(run|seals)); i++ {
		o.add(&ws[i])
	}
	if o.last.sense == 0 && o.any == 0 {
		for i := range at {
			o.add(&ws[i])
		}
		o.some = at+1 < len(ws)
	}
	for i := range ws {
		o.any |= ws[i].sense & (many | public)
	}
	return o
}
