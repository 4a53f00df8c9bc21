package infer

import "cmp"

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
