package infer

// A tool is what was read of one definition: what the rules look at.
type tool struct {
	v     verdict
	r     reading
	c     cues
	title string
	so    finding // what the rules before found
	rule  string  // the rule that found it
	facts fact    // what holds of it now
}

// A fact is something that a rule requires of a tool, or that keeps the rule away.
type fact uint16

const (
	isFirm     fact = 1 << iota // the name's verb stands on its own
	saysLittle                  // it is one such as "review", which says little
	isSoft                      // what decided is a verb that may leave something behind
	givesWay                    // it only says that something is run, and the description says that it reads
	isHarmless                  // the description claims that nothing is changed
	isStrange                   // it is in another language, which is not understood
	explains                    // it shows that the name only reads
	onlyReads                   // the rules before found a read
	doesWrite                   // they found a write
)

// look returns what holds of a tool.
func (t *tool) look() (f fact) {
	const review = read | weak | either
	verb := t.v.verb.sense
	decided := verb
	if t.so.place == mainOfDescription {
		decided = t.r.verb
	}
	set := func(fact fact, holds bool) {
		if holds {
			f |= fact
		}
	}
	set(isFirm, t.v.firm)
	set(saysLittle, verb&review == review)
	set(isSoft, decided&read == 0 || decided&(weak|noun|bends) != 0)
	set(givesWay, verb&run != 0 && t.r.plain)
	set(isHarmless, t.r.claimsHarmless)
	set(isStrange, t.r.strange)
	set(explains, t.r.main.effect == reads)
	set(onlyReads, t.so.effect == reads)
	set(doesWrite, t.so.effect.writes())
	return f
}

// A rule finds one thing in a tool of which all of some facts hold, and none of
// others. A finding without a place says nothing.
type rule struct {
	name         string
	when, unless fact
	find         func(t *tool) finding
}

// leads are the rules that say what a tool is: the first one that finds something
// decides. A finding whose effect is unknown decides that too.
var leads = [...]rule{
	{"several things", 0, 0, several},
	{"a verb alone", 0, 0, alone},
	{"what the description runs", isFirm, isHarmless, whatRuns},
	{"the name's verb", isFirm, givesWay, func(t *tool) finding { return t.v.finding }},
	{"an unknown verb", 0, 0, unknownVerb},
	{"the description's verb", 0, 0, descriptionsVerb},
	{"the name, though weak", 0, 0, func(t *tool) finding { return t.v.finding }},
}

// raises are the rules that make it graver. Each of them is applied.
var raises = [...]rule{
	{"name and description at odds", isFirm, isHarmless, atOdds},
	{"a second verb of the name", 0, explains, func(t *tool) finding { return t.v.last }},
	{"what else is said", 0, 0, func(t *tool) finding { return t.r.also }},
	{"what is done to something", 0, doesWrite, func(t *tool) finding { return t.r.done }},
	{"what is lost by a write", doesWrite, 0, lost},
	{"what a weak verb means", saysLittle, 0, func(t *tool) finding { return t.r.order }},
	{"the title", 0, 0, titled},
	{"the outcome stays", onlyReads | isSoft, 0, func(t *tool) finding { return t.r.stays }},
	{"credentials are handed out", 0, 0, func(t *tool) finding { return t.r.hands }},
	{"no way back", 0, onlyReads, func(t *tool) finding { return t.r.warn }},
	{"a choice of a parameter", 0, 0, choice},
	{"a parameter that is run", 0, isHarmless, parameterRuns},
	{"a switch", 0, 0, func(t *tool) finding { return t.c.switched }},
	{"a parameter says what happens", onlyReads, 0, parameterSays},
	{"a parameter of a write", onlyReads, 0, func(t *tool) finding { return t.c.tried }},
	{"a body of a write", onlyReads, isFirm, func(t *tool) finding { return t.c.body }},
	{"a protection overridden", doesWrite, 0, func(t *tool) finding { return t.c.forced }},
}

// doubts are the rules that take back that a tool only reads.
var doubts = [...]rule{
	{"another language", onlyReads | isStrange, 0, func(*tool) finding { return finding{place: notUnderstood} }},
	{"a noun alone", onlyReads, 0, nounAlone},
	{"the description manages", onlyReads, 0, manages},
	{"an unknown deed is simulated", onlyReads, 0, simulated},
	{"a phrase beside a body or a method", onlyReads, 0, phraseCarries},
}

// decide applies the rules.
func (t *tool) decide() finding {
	t.so, t.rule = finding{place: notUnderstood}, "nothing is understood"
	t.facts = t.look()
	for i := range leads {
		if t.apply(&leads[i], func(f finding) bool { return f.place != 0 }) {
			break
		}
	}
	for i := range raises {
		t.apply(&raises[i], func(f finding) bool { return f.effect > t.so.effect })
	}
	for i := range doubts {
		t.apply(&doubts[i], func(f finding) bool { return f.place != 0 })
	}
	return t.so
}

// apply lets a rule decide if its facts hold and what it finds counts.
func (t *tool) apply(r *rule, counts func(finding) bool) bool {
	if t.facts&r.when != r.when || t.facts&r.unless != 0 {
		return false
	}
	f := r.find(t)
	if !counts(f) {
		return false
	}
	t.so, t.rule = f, r.name
	t.facts = t.look()
	return true
}

// several is for a verb such as "manage": the gravest of what the parameters let one
// choose or the description lists; and where neither tells, the gravest that it may
// be.
func several(t *tool) finding {
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

// alone is for a name that is one verb which needs an object, where the description
// has none either: run, do, sync.
func alone(t *tool) finding {
	v := &t.v
	if !v.only || v.verb.sense&run == 0 {
		return finding{}
	}
	return finding{effect: commands, place: v.place, word: v.word, gives: givesPower}
}

// whatRuns is for a verb that runs what the description names, unless what is run does
// not come with the call.
func whatRuns(t *tool) finding {
	if !runs(t.v.verb.sense) || t.r.main.effect != commands || t.c.nodes > 0 && t.c.carries == "" {
		return finding{}
	}
	return t.r.main
}

// unknownVerb is for a description that begins with a verb which is not in the
// lexicon, beside a name that does nothing.
func unknownVerb(t *tool) finding {
	if !t.r.unread {
		return finding{}
	}
	return finding{place: notUnderstood}
}

// descriptionsVerb is the main verb of the description, for a name that does not
// stand on its own.
func descriptionsVerb(t *tool) finding {
	v, main := &t.v, t.main()
	switch {

	case main.word != v.word, main.effect.dangerous():
		return main
	case main.effect == reads && !v.obj.some:
		return main
	}
	return finding{}
}

// main is the main verb of the description, where it may speak for the name.
func (t *tool) main() finding {
	v, r := &t.v, &t.r
	main := r.main

	if r.vague && (v.effect.dangerous() || v.effect.writes() && v.verb.sense&noun == 0) {
		main = finding{} // a phrase without a verb lowers no verb
	}
	if r.listed.effect.writes() {
		main = main.worse(r.listed)
	}
	if v.verb.sense&power != 0 && main.effect.writes() {
		main = main.worse(v.finding) // a shell that opens something is one
	}
	return main
}

// atOdds is for a main verb that plainly does more than the name: get_link, "Generates
// a link".
func atOdds(t *tool) finding {
	main := t.r.main
	made := t.v.verb.sense&secret != 0 && t.r.verb&produce != 0
	switch {

	case t.r.plain, made, t.so.effect.writes():
		return main
	}
	return finding{}
}

// lost is what a write takes away, by what is said to be done to something.
func lost(t *tool) finding {
	if t.r.done.effect < takes {
		return finding{}
	}
	return t.r.done
}

// titled is what a title says. It can only raise, and only by a plain verb that
// leads it.
func titled(t *tool) finding {

	v := judge(cut(t.title))
	if !v.firm || !v.effect.dangerous() {
		return finding{}
	}
	return v.at(inTitle)
}

// choice is the gravest of what a parameter lets one choose. A nominal one counts
// where no plain verb speaks.
func choice(t *tool) finding {
	var f finding
	if t.v.verb.sense&add == 0 {
		f = t.c.action
	}
	if !t.v.firm {
		f = f.worse(t.c.noun)
	}
	return f
}

// parameterRuns is a parameter that is itself a command, for a tool that runs what it
// is given, whose name does not stand on its own, or that only looks at something else.
func parameterRuns(t *tool) finding {
	v := &t.v
	told := v.told
	switch {
	case runs(v.verb.sense), !v.firm && !told:
		return t.c.command.worse(t.c.code)
	case v.looks() && v.obj.any&code == 0:
		return t.c.command
	}
	return finding{}
}

// parameterSays is what the description of a parameter says to happen. That code is run
// counts if the name only looks.
func parameterSays(t *tool) finding {
	if t.c.said.effect == commands && !t.v.looks() {
		return finding{}
	}
	return t.c.said
}

// nounAlone is for a noun that may be a verb, in a name that a description does not
// explain.
func nounAlone(t *tool) finding {
	if t.v.verb.sense&noun == 0 || !t.r.told || t.r.main.effect != unknown {
		return finding{}
	}
	return finding{place: notUnderstood, word: t.so.word}
}

// manages is for a description of several deeds beside a name that reads.
func manages(t *tool) finding {
	if t.r.verb&manage == 0 || t.c.chosen {
		return finding{}
	}
	return finding{place: mainOfDescription, word: t.r.main.word}
}

// simulated is for a name that is not understood, of which a description says that it
// is simulated: the deed may well be done.
func simulated(t *tool) finding {
	if t.so.place != mainOfDescription || t.r.verb&(compute|bends) != compute|bends {
		return finding{}
	}
	return finding{place: notUnderstood, word: t.so.word}
}

// phraseCarries is for a phrase in which nothing is done, beside a parameter that holds
// a method, an operation, a body or code.
func phraseCarries(t *tool) finding {
	if t.so.place != saysNoDeed || t.c.carries == "" {
		return finding{}
	}
	return finding{place: inSchema, word: t.c.carries}
}
