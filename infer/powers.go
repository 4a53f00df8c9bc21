package infer

import "slices"

// A powerRule shows when a power of a parameter counts.
type powerRule struct {
	name   string
	kind   kind
	counts func(t *tool, p *parameter) bool
}

// found returns what a parameter makes of a call. A value that may be a noun counts if no plain verb speaks.
func (r *powerRule) found(t *tool, p *parameter) finding {
	f := p.found.worse(p.noun.when(!t.name.firm))
	if p.kind != choosesDeed || !t.open() {
		return f
	}
	sure := p.found.effect.writes() // a noun among nouns is not one of the deeds
	for i := range p.choices {
		if sure || !p.choices[i].noun {
			f = f.worse(p.choices[i].finding)
		}
	}
	for i := range p.choices {
		if text, ok := p.Values[i].(string); ok && p.choices[i].effect == unknown && sure {
			return f.worse(finding{effect: takes, place: inUnknownChoice, word: text}) // what is not understood asks
		}
	}
	return f
}

// powers are the rules for parameters, in the order of their application.
var powers = []powerRule{
	{"a choice of a parameter", choosesDeed, func(t *tool, p *parameter) bool {
		return !t.name.verb.means(add) && !(p.unusual && t.name.firm && t.name.looks())
	}},
	{"a command of any kind", namesDeed, func(t *tool, p *parameter) bool {
		if !p.dispatched {
			return t.name.runs() && t.name.obj.last.may(chooser)
		}
		return t.deed.effect != reads || t.said.manages || !t.name.firm && !(t.name.told && t.said.verb.has(read))
	}},
	{"a parameter that is run", sendsRequest, func(t *tool, p *parameter) bool {
		return t.deed.effect == reads || t.deed.effect >= leaves || t.open() || t.name.runs()
	}},
	{"an address that is fetched", reachesAddress, func(t *tool, p *parameter) bool { return t.deed.effect == reads && t.name.effect == reads }},
	{"a filter that may hold code", evaluatesText, func(t *tool, p *parameter) bool { return t.deed.effect == reads }},
	{"a parameter that is run", executesText, func(t *tool, p *parameter) bool { return t.runs(p) || t.makes(p) }},
	{"a parameter that is run", mayExecuteText, func(t *tool, p *parameter) bool {
		return t.runsWhatItIsGiven() && (p.Description == "" || t.deed.effect == commands || speaksOfCode(p.Description))
	}},
	{"a parameter that is run", asksText, func(t *tool, p *parameter) bool {
		about := t.name.looks() && (t.name.obj.any.has(code) || t.name.verb.means(supposes)) // explains or checks a query
		return t.deed.effect == commands || t.makes(p) || !about && t.params.language(p) != p.found.word && (t.params.language(p) == "graphql" || runs(p.Description))
	}},
	{"a switch", takesAway, func(*tool, *parameter) bool { return true }},
	{"a parameter says what happens", saysDeed, func(t *tool, p *parameter) bool {
		return t.reads() && (p.found.effect != commands || t.name.looks())
	}},
	{"a parameter of a write", showsWrite, func(t *tool, p *parameter) bool { return t.deed.effect == reads }},
	{"a parameter of a write", triesOnly, func(t *tool, p *parameter) bool { return true }},
	{"a parameter of a write", writesFile, (*tool).yields},
	{"an address that the outcome goes to", sendsAway, (*tool).yields},
	{"money that is spent", spendsMoney, func(t *tool, p *parameter) bool { return true }},
	{"a switch that does more", doesMore, func(t *tool, p *parameter) bool { return t.name.obj.any&tentative == 0 }}, // of a template it is a setting
	{"people who are written to", writesToPeople, func(t *tool, p *parameter) bool { return t.so.effect.writes() }},
	{"a protection overridden", overridesGuard, func(t *tool, p *parameter) bool { return t.so.effect.writes() }},
}

// yields reports whether a tool has an outcome that can go elsewhere: it reads, a parameter chooses what it does, or a
// switch makes a trial of it. What a trial finds is then written or sent, and the switch does not make that harmless.
func (t *tool) yields(*parameter) bool {
	tries := slices.ContainsFunc(t.params.powers, func(p parameter) bool { return p.kind == triesOnly })
	return tries || t.deed.effect == reads || t.said.abroad.main.effect == reads || t.params.choose && t.open()
}

// runs reports whether a tool carries out a text that a parameter holds: one that runs it, or one that only looks and
// would have no use for it.
func (t *tool) runs(*parameter) bool {
	return t.runsWhatItIsGiven() || t.name.looks() && t.name.obj.any&code == 0 && !t.name.verb.means(supposes)
}

// runs reports whether a description states that what it describes is carried out: "SQL query to execute".
func runs(description string) bool {
	for ws := range clauses(description) {
		for i := range ws {
			if w := &ws[i]; w.is(run) && !w.means(noun|weak) {
				return true
			}
		}
	}
	return false
}

// speaksOfCode reports whether the description of a parameter called code is one of a text that is carried out, and not
// of a short word, such as the code of a country or a project.
func speaksOfCode(description string) bool {
	for ws := range clauses(description) {
		for i := range ws {
			if w := &ws[i]; w.is(run|code) && w.base != "code" || w.is(power) {
				return true
			}
		}
	}
	return false
}

func (t *tool) runsWhatItIsGiven() bool { return t.name.runs() || !t.name.firm && !t.name.told }
