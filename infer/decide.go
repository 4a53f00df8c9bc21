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
	c     parameters
	title string

	so       finding // what the rules before found
	rule     string  // the rule that found it, "" before one did
	deed     finding // what every call does, whatever its arguments
	counts   []*parameter
	doubtful bool // what decides is not understood
}

// decide puts the four together. A tool is safe only if they agree: its deed is a read, no sentence says more, no
// parameter has power, and the words that decide are understood.
func (t *tool) decide() {
	t.so = finding{place: notUnderstood}
	for _, r := range deeds {
		if f := r.find(t); f.place != "" {
			t.so, t.rule = f, r.name
			break
		}
	}
	for _, r := range raises {
		t.raise(r.name, r.find(t))
	}
	for _, r := range doubts {
		if f := r.find(t); t.reads() && f.place != "" {
			t.so, t.rule, t.doubtful = f, r.name, true
		}
	}
	t.deed = t.so
	for _, r := range powers {
		for i := range t.c.powers {
			if p := &t.c.powers[i]; p.kind == r.kind && r.counts(t, p) {
				t.counts = append(t.counts, p)
				t.raise(r.name, r.found(t, p))
			}
		}
	}
	t.raise("a body of a write", t.c.body.when(t.reads() && !t.v.firm))
	if t.doubtful && !t.so.effect.dangerous() {
		t.so = t.deed
	}
	t.rule = cmp.Or(t.rule, "nothing is understood")
}

// raise takes what a rule found if it is graver than what was found before.
func (t *tool) raise(rule string, f finding) {
	if f.effect > t.so.effect {
		t.so, t.rule = f, rule
	}
}

func (t *tool) reads() bool { return t.so.effect == reads }

// A rule finds one thing in a tool. A finding without a place is empty.
type rule struct {
	name string
	find func(t *tool) finding
}

// deeds are the rules for the deed. The first one that finds something decides.
var deeds = []rule{
	{"several things", (*tool).several},
	{"a verb alone", func(t *tool) finding {
		all := finding{effect: commands, place: t.v.place, word: t.v.word, gives: givesPower}
		return all.when(t.v.only && t.v.verb.sense&run != 0 && !t.r.object)
	}},
	{"the name's verb", func(t *tool) finding { return t.v.when(t.v.firm && !(t.v.verb.sense&run != 0 && t.r.plain)) }},
	{"an unknown verb", func(t *tool) finding {
		named := t.v.deed && !t.r.plain && !t.r.main.effect.dangerous()
		return finding{place: notUnderstood}.when(t.r.unread || named)
	}},
	{"the description's verb", (*tool).described},
	{"the name, though weak", func(t *tool) finding { return t.v.finding }},
}

// raises are the rules for what else is said.
var raises = []rule{
	{"name and description at odds", func(t *tool) finding {
		made := t.v.verb.sense&secret != 0 && t.r.verb&produce != 0
		executes := t.r.main.effect == commands && (!t.r.query || t.c.asks || t.so.effect.writes())
		more := t.r.plain && t.r.main.effect != commands || made || executes
		return t.r.main.when(t.v.firm && more)
	}},
	{"a verb of another language", func(t *tool) finding { return t.r.abroad.main.worse(t.r.abroad.also) }},
	{"a second verb of the name", func(t *tool) finding { return t.v.last.when(t.r.main.effect != reads) }},
	{"what else is said", func(t *tool) finding { return t.r.also }},
	{"what is done to something", func(t *tool) finding { return t.r.done.when(!t.so.effect.writes()) }},
	{"what is lost by a write", func(t *tool) finding { return t.r.done.when(t.r.done.effect >= takes) }},
	{"what a weak verb means", func(t *tool) finding {
		const review = read | weak | either
		return t.r.order.when(t.v.verb.sense&review == review)
	}},
	{"the title", func(t *tool) finding {
		v := judge(cut(t.title))
		return v.at(inTitle).when(v.firm && v.effect.dangerous())
	}},
	{"the outcome stays", func(t *tool) finding { return t.r.stays.when(t.reads() && t.soft()) }},
	{"credentials are handed out", func(t *tool) finding { return t.r.hands }},
	{"no way back", func(t *tool) finding { return t.r.warn.when(!t.reads()) }},
}

// A powerRule tells when a power of a parameter counts.
type powerRule struct {
	name   string
	kind   kind
	counts func(t *tool, p *parameter) bool
}

// found returns what a parameter makes of a call. A value that may be a noun counts if no plain verb speaks.
func (r *powerRule) found(t *tool, p *parameter) finding {
	f := p.found.worse(p.noun.when(!t.v.firm))
	if p.kind != choosesDeed || !t.open() {
		return f
	}
	sure := p.found.effect.writes() // a noun among nouns is none of the deeds
	for i := range p.choices {
		if sure || !p.choices[i].noun {
			f = f.worse(p.choices[i].finding)
		}
	}
	for i := range p.choices {
		if text, ok := p.Values[i].(string); ok && p.choices[i].effect == unknown && sure {
			return f.worse(finding{effect: takes, place: inChoice, word: text}) // what is not understood asks
		}
	}
	return f
}

// powers are the rules for parameters, in the order of their application.
var powers = []powerRule{
	{"a choice of a parameter", choosesDeed, func(t *tool, p *parameter) bool {
		return t.v.verb.sense&add == 0 && !(p.unusual && t.v.firm && t.v.looks())
	}},
	{"a command of any kind", namesDeed, func(t *tool, p *parameter) bool {
		if !p.dispatched {
			return t.v.runs() && t.v.obj.last.may(chooser)
		}
		return t.deed.effect != reads || t.r.manages || !t.v.firm && !(t.v.told && t.r.verb&read != 0)
	}},
	{"a parameter that is run", executesText, (*tool).runs},
	{"a parameter that is run", mayExecuteText, func(t *tool, p *parameter) bool {
		return t.runsWhatItIsGiven() && (p.Description == "" || t.deed.effect == commands || speaksOfCode(p.Description))
	}},
	{"a parameter that is run", asksText, func(t *tool, p *parameter) bool { return t.deed.effect == commands }},
	{"a switch", takesAway, func(*tool, *parameter) bool { return true }},
	{"a parameter says what happens", saysDeed, func(t *tool, p *parameter) bool {
		return t.reads() && (p.found.effect != commands || t.v.looks())
	}},
	{"a parameter of a write", showsWrite, func(t *tool, p *parameter) bool { return t.deed.effect == reads }},
	{"a parameter of a write", triesOnly, func(t *tool, p *parameter) bool { return true }},
	{"a parameter of a write", writesFile, func(t *tool, p *parameter) bool { return t.deed.effect == reads }},
	{"an address that the outcome goes to", sendsAway, func(t *tool, p *parameter) bool { return t.deed.effect == reads }},
	{"money that is spent", spendsMoney, func(t *tool, p *parameter) bool { return true }},
	{"a switch that does more", doesMore, func(t *tool, p *parameter) bool { return t.v.obj.any&tentative == 0 }}, // of a template it is a setting
	{"people who are written to", writesToPeople, func(t *tool, p *parameter) bool { return t.so.effect.writes() }},
	{"a protection overridden", overridesGuard, func(t *tool, p *parameter) bool { return t.so.effect.writes() }},
}

// runs reports whether a tool carries out a text that a parameter holds: one that runs it, or one that only looks and
// would have no use for it.
func (t *tool) runs(*parameter) bool {
	return t.runsWhatItIsGiven() || t.v.looks() && t.v.obj.any&code == 0 && t.v.verb.sense&supposes == 0
}

// speaksOfCode reports whether the description of a parameter called code is one of a text that is carried out, and not
// of a short word, such as the code of a country or a project.
func speaksOfCode(description string) bool {
	parse := parser{scan: text.Scanner{Text: description}}
	for parse.next() {
		for i := range parse.words {
			if w := &parse.words[i]; w.is(run|code) && w.base != "code" || w.is(power) {
				return true
			}
		}
	}
	return false
}

func (t *tool) runsWhatItIsGiven() bool { return t.v.runs() || !t.v.firm && !t.v.told }

// doubts are the rules for what is not understood. They count if what was found before only reads.
var doubts = []rule{
	{"another language", func(t *tool) finding {
		return finding{place: notUnderstood}.when(t.r.strange && t.r.abroad.main.effect == unknown)
	}},
	{"a noun alone", func(t *tool) finding {
		is := t.v.verb.sense&noun != 0
		return finding{place: notUnderstood, word: t.so.word}.when(is && t.r.told && t.r.main.effect == unknown)
	}},
	{"the description manages", func(t *tool) finding {
		return finding{place: mainOfDescription, word: t.r.main.word}.when(t.r.verb&manage != 0 && !t.c.choose)
	}},
	{"an unknown deed is simulated", func(t *tool) finding {
		const simulate = compute | bends
		return finding{place: notUnderstood, word: t.so.word}.when(t.so.place == mainOfDescription && t.r.verb&simulate == simulate)
	}},
	{"a phrase beside a body or a method", func(t *tool) finding {
		return finding{place: inSchema, word: t.c.carries}.when(t.so.place == saysNoDeed && t.c.carries != "")
	}},
}

// classOf returns the class of a finding.
func classOf(f finding) annotation.Safety {
	switch {
	case f.effect == unknown:
		return annotation.Unknown
	case f.effect == reads && f.gives == "":
		return annotation.Safe
	case f.effect.dangerous() || f.gives != "":
		return annotation.Dangerous
	}
	return annotation.Moderate
}
