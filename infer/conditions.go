package infer

import (
	"slices"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/schema"
)

// conditions states which calls are less than the worst one, by the parameters with power. The class of a call is the
// strictest that they give. A parameter that has no pointer, and what the sentences raise, hold for each.
//
// Beside them, a verb in a text that chooses the deed may make a call stricter than its tool.
func (t *tool) conditions() []annotation.Condition {
	all := t.lesser()
	return append(all, t.stricter(all)...)
}

// stricter states which texts may say a verb that makes the call graver. They can only raise. A name that reads, or adds,
// decides: list_events may be given an action to look for, and create_rule one that the rule is about. So does a trial,
// and so do the probes of texts that are carried out.
func (t *tool) stricter(all []annotation.Condition) (more []annotation.Condition) {
	class := classOf(t.so)
	if t.name.verb.means(add) || t.name.firm && t.deed.effect == reads || class <= annotation.Dangerous && len(all) == 0 {
		return nil
	}
	for i := range all {
		if all[i].Language != "" || all[i].Effect == effects[triesOnly] {
			return nil
		}
	}
	if len(all) > 0 {
		class = annotation.Safe // the others have the class of the deed
	}
	for _, p := range t.params.verbs {
		judged := slices.ContainsFunc(all, func(c annotation.Condition) bool { return c.Argument == p.pointer && c.Other == annotation.Dangerous })
		if p.pointer == "" || judged {
			continue
		}
		more = append(more, annotation.Condition{
			Argument: p.pointer, Absent: class, Other: class, Language: "verb", Effect: effects[choosesDeed], Word: p.found.word,
		})
	}
	return more
}

// lesser states which calls are less than the worst one.
//
// One condition at most accounts for the deed itself: the choice of it, the text that is carried out, or a dry run.
// The others then start from a call that does nothing.
func (t *tool) lesser() []annotation.Condition {
	if t.so.effect <= reads || t.doubtful {
		return nil
	}
	var all []annotation.Condition
	floor := annotation.Safe
	for _, p := range t.counts {
		if p.pointer == "" {
			floor = min(floor, t.classWith(p))
		}
	}
	by := t.accounted()
	if by != nil {
		c := t.condition(by, floor, true)
		if !c.Decides() {
			return nil // whatever it is, the call is as strict
		}
		all = append(all, c)
	} else {
		floor = min(floor, max(classOf(t.deed), annotation.Dangerous)) // what is not understood asks
	}
	for _, p := range t.counts {
		if p.pointer == "" || p.kind == triesOnly || p == by {
			continue
		}
		if c := t.condition(p, floor, false); c.Decides() {
			all = append(all, c)
		}
	}
	if !accountFor(all, classOf(t.so)) {
		return nil
	}
	return all
}

// accountFor reports whether the strictest of the conditions is as strict as the tool.
func accountFor(all []annotation.Condition, class annotation.Safety) bool {
	for i := range all {
		if all[i].Worst() <= class {
			return true
		}
	}
	return false
}

// classWith returns the class of a call with a parameter.
func (t *tool) classWith(p *parameter) annotation.Safety {
	return max(classOf(p.found.worse(p.noun)), annotation.Dangerous)
}

// accounted returns the parameter that decides what the deed is, nil if the deed is what the words say.
func (t *tool) accounted() *parameter {
	for _, p := range t.counts {
		switch {
		case p.pointer == "":
		case p.kind == choosesDeed && t.open():
			return p
		case p.kind == sendsRequest, p.carriedOut() && (t.deed.effect == commands || t.name.runs() && t.params.speaks(t.params.language(p))):
			return p
		}
	}
	for _, p := range t.counts {
		if p.kind == triesOnly && p.pointer != "" && t.deed.effect.writes() {
			return p
		}
	}
	return nil
}

func (p *parameter) carriedOut() bool {
	return p.kind == sendsRequest || p.kind == executesText || p.kind == mayExecuteText || p.kind == asksText
}

// open reports whether the deed is what a parameter chooses: the name has no firm verb, or one without a meaning of its
// own, and the description has none either.
func (t *tool) open() bool {
	own := t.name.firm && !t.name.verb.means(manage|run)
	says := t.said.plain && t.said.main.effect.writes() && t.said.listed.effect == unknown
	return !own && !says
}

// condition returns what a parameter makes of a call that is of the class floor without it.
func (t *tool) condition(p *parameter, floor annotation.Safety, deed bool) annotation.Condition {
	with := min(floor, t.classWith(p))
	c := annotation.Condition{
		Argument: p.pointer, Absent: floor, Other: with, Effect: effects[p.kind], Word: p.found.word,
	}
	switch p.kind {
	case choosesDeed:
		c.Other = floor
		t.choices(&c, p, floor, deed)
	case reachesAddress, evaluatesText:
		if floor == annotation.Safe {
			c.Language = p.spoken
		}
	case sendsRequest, executesText, mayExecuteText, asksText:
		if deed || floor == annotation.Safe { // else the text alone does not decide
			c.Language, c.With = t.params.language(p), p.with
		}
		if deed {
			c.Absent = c.Other
		}
	case triesOnly:
		c.Other = classOf(t.deed)
		if t.deed.effect == reads {
			c.Other = classOf(p.found)
		}
		c.Absent = c.Other
		c.Values = []annotation.Outcome{{Value: true, Class: annotation.Safe, Word: p.found.word}}
		if p.trial != nil {
			c.Values = p.outcomes(c.Other)
		}
	case takesAway, overridesGuard, doesMore, showsWrite, saysDeed:
		if !p.Only(schema.Bool) {
			break
		}
		c.Values = []annotation.Outcome{{Value: true, Class: with, Word: p.found.word}, {Value: false, Class: floor}}
		if p.Default == true {
			c.Absent = with
		}
	}
	return c
}

// choices gives each value its class. A value that is not understood asks if it is the deed.
func (t *tool) choices(c *annotation.Condition, p *parameter, floor annotation.Safety, deed bool) {
	for i, value := range p.Values {
		text, ok := value.(string)
		if !ok {
			continue
		}
		f, class := p.choices[i].finding, floor
		switch {
		case f.effect != unknown && (deed || p.choices[i].firm):
			class = min(floor, classOf(f))
		case deed:
			class = annotation.Dangerous
		}
		c.Values = append(c.Values, annotation.Outcome{Value: text, Class: class, Word: f.word})
		c.Other = min(c.Other, class)
	}
	if deed && p.Open {
		c.Other = annotation.Dangerous
	}
	c.Absent = c.Other
}
