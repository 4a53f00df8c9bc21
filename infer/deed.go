package infer

import (
	"github.com/fairlead-go/fairlead/infer/internal/text"
)

// deeds are the rules for the deed. The first one that finds something decides.
var deeds = []rule{
	{"several things", (*tool).several},
	{"a verb alone", func(t *tool) finding {
		all := finding{effect: commands, place: t.name.place, word: t.name.word, gives: givesPower}
		return all.when(t.name.only && t.name.verb.means(run) && !t.said.object)
	}},
	{"the name's verb", func(t *tool) finding { return t.name.when(t.name.firm && !(t.name.verb.means(run) && t.said.plain)) }},
	{"an unknown verb", func(t *tool) finding {
		named := t.name.deed && !t.said.plain && !t.said.main.effect.dangerous()
		if t.said.unread != "" {
			return notKnown(t.said.unread)
		}
		return notKnown(t.name.first).when(named)
	}},
	{"the description's verb", (*tool).described},
	{"a weak verb of the name", func(t *tool) finding { return t.name.finding }},
}

// several is for a verb such as "manage": the gravest of what the parameters or the description offer, or of all.
func (t *tool) several() finding {
	switch v := &t.name; {
	case !v.verb.means(manage):
		return finding{}
	case t.params.choose:
		return t.params.chosen()
	case t.said.listed.effect != unknown:
		return t.said.listed
	case v.verb.means(noun):
		return finding{place: namesAnyDeed, word: v.word}
	default:
		return finding{effect: takes, place: v.place, word: v.word}
	}
}

// described is the main verb of the description, for a name that is not clear alone. A phrase lowers no verb.
func (t *tool) described() finding {
	v, main := &t.name, t.said.main
	if t.said.vague && (v.effect.dangerous() || v.effect.writes() && !v.verb.means(noun)) {
		main = finding{}
	}
	if t.said.listed.effect.writes() {
		main = main.worse(t.said.listed)
	}
	if main.effect.writes() && (v.verb.means(power) || t.said.verb.has(run)) { // initiates a transfer: the name's deed
		main = main.worse(v.finding)
	}
	return main.when(main.word != v.word || t.said.plain && main.effect > v.effect && main.effect.writes() || main.effect.dangerous() || main.effect == reads && !v.obj.some)
}

// runs reports whether the verb runs what it is given: "run", and a "query", which is itself a thing that is run.
func (v *verdict) runs() bool { return v.verb.means(run | code) }

type verdict struct {
	finding
	verb  word // the head verb; none where its sense is 0
	head  int  // its index, or -1
	firm  bool // it decides; else the description is asked first
	obj   object
	told  bool    // the last word names information: command_help
	only  bool    // it is the only word
	deed  bool    // it begins with an unknown word that ends like a verb
	first string  // the word that it begins with
	last  finding // what a grave verb at the end of the name does, which may be a noun
}

// judge finds the verb that speaks for the name and what it does, and whether another one makes it worse.
func judge(ws []word) verdict {
	v, last := verdict{head: headVerb(ws)}, len(ws)-1
	if last < 0 {
		return v
	}
	v.only, v.told, v.first = last == 0, ws[last].is(report), ws[0].base
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
		if v.verb.means(supposes) && w.is(verbs&^(read|compute)) {
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
	case v.effect == reads && v.verb.means(noun), v.verb.means(run) && !v.told && w.grave():
		return true
	case v.effect.writes() && w.is(take) && w.means(noun):
		return true
	}
	return before.is(and) && w.form != past && !w.all(produce|weak)
}

func (v *verdict) looks() bool {
	return v.verb.is(read) && !v.verb.means(weak|noun|either)
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
	case last > 0 && n[last].all(manager) && !n[last-1].is(prep) && !n.sure(0) && !n.sure(1):
		return last
	case n.plain(0) && !n.object():
		return 0
	case n.sure(1), n.plain(1) && n[1].means(supposes):
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
	if i > last || !n[i].is(verbs) || n[i].means(noun) || n[i].means(agent) && i < last {
		return false
	}
	return n[i].form == base || i == 0 && i < last && n[i].form == third
}

// sure is plain of a verb that is never a noun.
func (n phrase) sure(i int) bool { return n.plain(i) && !n[i].means(either) }

// object reports whether the leading plain verb is the object of a plainer one at the end: survey_create.
func (n phrase) object() bool {
	last, s := len(n)-1, n[0].sense
	if !s.has(either|weak) || s.has(supposes|take) || last == 0 || !n.sure(last) {
		return false
	}
	return !(s.has(weak) && n[last].means(weak)) && !n[last-1].is(prep)
}

// deed reports whether the noun that leads may be the verb of the name: post_item, as against posts_history.
func (n phrase) deed() bool {
	last := len(n) - 1
	return n[0].is(verbs) && !n[0].means(manage) && (n[0].form == base || n[0].form == third && last > 0 && !n[last].is(report))
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
