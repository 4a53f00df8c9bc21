package infer

// A tool is what was read of one definition: what the rules look at.
type tool struct {
	v     verdict
	r     reading
	c     cues
	title string
	so    finding // what the rules before found
	rule  string  // the rule that found it
}

// A rule finds one thing. A finding without a place says nothing.
type rule struct {
	name string
	find func(t *tool) finding
}

// leads are the rules that say what a tool is: the first one that finds something
// decides. A finding whose effect is unknown decides that too.
var leads = [...]rule{
	{"several things", several},
	{"a verb alone", alone},
	{"what the description runs", whatRuns},
	{"the name's verb", namesVerb},
	{"an unknown verb", unknownVerb},
	{"the description's verb", descriptionsVerb},
	{"the name, though weak", namesWord},
}

// raises are the rules that make it graver. Each of them is applied.
var raises = [...]rule{
	{"name and description at odds", atOdds},
	{"a second verb of the name", secondVerb},
	{"what else is said", func(t *tool) finding { return t.r.also }},
	{"what is done to something", undergone},
	{"what a weak verb means", orders},
	{"the title", titled},
	{"the outcome stays", stays},
	{"credentials are handed out", handsOut},
	{"no way back", noWayBack},
	{"a choice of a parameter", choice},
	{"a parameter that is run", parameterRuns},
	{"a switch", func(t *tool) finding { return t.c.switched }},
	{"a parameter says what happens", parameterSays},
	{"a parameter of a write", parameterWrites},
	{"a protection overridden", forced},
}

// doubts are the rules that take back that a tool only reads.
var doubts = [...]rule{
	{"another language", anotherLanguage},
	{"a noun alone", nounAlone},
	{"the description manages", manages},
	{"an unknown deed is simulated", simulated},
	{"a phrase beside a body or a method", phraseCarries},
}

// decide applies the rules.
func (t *tool) decide() finding {
	t.so, t.rule = finding{place: notUnderstood}, "nothing is understood"
	for i := range leads {
		if f := leads[i].find(t); f.place != 0 {
			t.so, t.rule = f, leads[i].name
			break
		}
	}
	for i := range raises {
		if f := raises[i].find(t); f.effect > t.so.effect {
			t.so, t.rule = f, raises[i].name
		}
	}
	for i := range doubts {
		if f := doubts[i].find(t); f.place != 0 && t.so.effect == reads {
			t.so, t.rule = f, doubts[i].name
		}
	}
	return t.so
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
	if !v.only || v.verb.sense&run == 0 || v.verb.sense&compute != 0 || t.r.object {
		return finding{}
	}
	return finding{effect: commands, place: v.place, word: v.word, gives: givesPower}
}

// whatRuns is for a verb that runs what the description names.
func whatRuns(t *tool) finding {
	switch main := t.r.main; {
	case !t.v.firm, !runs(t.v.verb.sense), main.effect != commands, t.r.claimsHarmless:
		return finding{}
	case t.c.nodes > 0 && t.c.carries == "":
		return finding{} // what is run does not come with the call
	default:
		return main
	}
}

func namesVerb(t *tool) finding {
	if !t.v.firm || t.gives() {
		return finding{}
	}
	return t.v.finding
}

// gives reports whether a name that only says that something is run gives way to a
// description that plainly reads: execute_dql, "Gets data by executing …".
func (t *tool) gives() bool {
	return t.v.verb.sense&run != 0 && t.v.effect == changes && t.r.plain && t.r.main.effect == reads
}

// unknownVerb is for a description that begins with a verb which is not in the
// lexicon, beside a name that does nothing.
func unknownVerb(t *tool) finding {
	if !t.r.unread || t.v.effect.writes() || t.main().effect != unknown {
		return finding{}
	}
	return finding{place: notUnderstood}
}

// descriptionsVerb is the main verb of the description, for a name that does not
// stand on its own.
func descriptionsVerb(t *tool) finding {
	v, main := &t.v, t.main()
	switch {
	case main.effect == unknown:
		return finding{}
	case main.word != v.word, main.word == "", main.effect.dangerous():
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
	if main.effect == reads && r.strange {
		main = finding{}
	}
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

func namesWord(t *tool) finding { return t.v.finding }

// atOdds is for a main verb that plainly does more than the name.
func atOdds(t *tool) finding {
	main := t.r.main
	switch {
	case !t.v.firm, t.r.claimsHarmless, !main.effect.writes(), t.r.verb&read != 0:
		return finding{}
	case t.r.plain, main.effect == commands && t.so.effect.writes():
		return main
	case t.v.looks() && t.v.verb.sense&secret != 0 && t.r.verb&produce != 0:
		return main // get_link, "Generates a link"
	}
	return finding{}
}

// secondVerb is a grave verb at the end of a name that a reading one leads. The
// description may show that it is a noun: get_reply, "Gets a reply".
func secondVerb(t *tool) finding {
	if t.r.main.effect == reads && t.r.verb&(noun|weak) == 0 {
		return finding{}
	}
	return t.v.last
}

// undergone is what a sentence says to be done to something. Of a tool that writes only
// a loss counts.
func undergone(t *tool) finding {
	if t.so.effect.writes() && t.r.done.effect < takes {
		return finding{}
	}
	return t.r.done
}

// orders are the imperatives of later sentences, for a verb that says little: after
// "Review a request" comes "Approve or reject it".
func orders(t *tool) finding {
	const review = read | weak | either
	if t.v.verb.sense&review != review {
		return finding{}
	}
	return t.r.order
}

// titled is what a title says. It can only raise, and only by a plain verb that
// leads it.
func titled(t *tool) finding {
	if t.title == "" {
		return finding{}
	}
	v := judge(cut(t.title), 0)
	if v.head != 0 || !v.firm || !v.effect.dangerous() {
		return finding{}
	}
	return v.at(inTitle)
}

// stays is for a verb that may leave something behind, where the description says
// that it does.
func stays(t *tool) finding {
	verb := t.v.verb.sense
	if t.so.place == mainOfDescription {
		verb = t.r.verb
	}
	if t.so.effect != reads || !soft(verb) {
		return finding{}
	}
	return t.r.stays
}

func handsOut(t *tool) finding { return t.r.hands }

func noWayBack(t *tool) finding {
	if t.so.effect == reads {
		return finding{}
	}
	return t.r.warn
}

// choice is the gravest of what a parameter lets one choose. A nominal one counts
// where no plain verb speaks.
func choice(t *tool) finding {
	var f finding
	if t.c.action.effect.writes() && (!t.v.firm || t.v.verb.sense&add == 0) {
		f = t.c.action
	}
	if !t.v.firm || t.v.verb.sense&manage != 0 {
		f = f.worse(t.c.noun)
	}
	return f
}

// parameterRuns is a parameter that is itself a command, for a tool that runs what it
// is given, whose name does not stand on its own, or that only looks at something else.
func parameterRuns(t *tool) finding {
	v, r := &t.v, &t.r
	switch {
	case r.claimsHarmless:
		return finding{}
	case runs(v.verb.sense), !v.firm && !(v.told && r.plain && r.main.effect == reads):
		return t.c.command.worse(t.c.code)
	case v.looks() && v.obj.any&code == 0 && !r.code:
		return t.c.command
	}
	return finding{}
}

func parameterSays(t *tool) finding {
	if t.so.effect != reads || t.c.said.effect == commands && t.r.claimsHarmless {
		return finding{}
	}
	if t.c.said.effect == commands && !t.v.looks() {
		return finding{}
	}
	return t.c.said
}

// parameterWrites is a parameter that only a tool which writes has.
func parameterWrites(t *tool) finding {
	if t.so.effect != reads {
		return finding{}
	}
	if t.v.firm {
		return t.c.tried
	}
	return t.c.tried.worse(t.c.body)
}

func forced(t *tool) finding {
	if !t.so.effect.writes() {
		return finding{}
	}
	return t.c.forced
}

// anotherLanguage is for a description that is not understood: no English verb of the
// name makes it a read.
func anotherLanguage(t *tool) finding {
	if !t.r.strange || t.r.abroad {
		return finding{}
	}
	return finding{place: notUnderstood}
}

// nounAlone is for a noun that may be a verb, in a name that a description does not
// explain.
func nounAlone(t *tool) finding {
	if t.v.verb.sense&noun == 0 || t.so.place == mainOfDescription || !t.r.told || t.r.main.effect != unknown {
		return finding{}
	}
	return finding{place: notUnderstood, word: t.so.word}
}

// manages is for a description of several deeds beside a name that reads.
func manages(t *tool) finding {
	if t.r.verb&manage == 0 || t.r.main.place != mainOfDescription || t.c.chosen {
		return finding{}
	}
	return finding{place: mainOfDescription, word: t.r.main.word}
}

// simulated is for a name that is not understood, of which a description says that it
// is simulated: the deed may well be done.
func simulated(t *tool) finding {
	if t.so.place != mainOfDescription || t.r.verb&(compute|bends) != compute|bends || !t.v.odd {
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
