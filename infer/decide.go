package infer

import (
	"cmp"

	"github.com/fairlead-go/fairlead/annotation"
)

// A tool is what was read of one definition: what the rules look at.
type tool struct {
	words  []word     // of the name, without what all tools of the server begin with
	name   verdict    // what the name states
	said   reading    // what the description states
	params parameters // what the schema states
	title  string

	so       finding // what the rules before found
	rule     string  // the rule that found it, "" before one did
	deed     finding // what every call does, whatever its arguments
	counts   []*parameter
	doubtful bool // what decides is not understood
}

// decide puts the four together. A tool is safe only if they agree: its deed is a read, no sentence states more, no
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
	deed := t.rule
	t.deed = t.so
	for _, r := range powers {
		for i := range t.params.powers {
			if p := &t.params.powers[i]; p.kind == r.kind && r.counts(t, p) {
				t.counts = append(t.counts, p)
				t.raise(r.name, r.found(t, p))
			}
		}
	}
	t.raise("a body of a write", t.params.body.when(t.reads() && !t.name.firm))
	if t.doubtful && !t.so.effect.dangerous() {
		t.so, t.rule = t.deed, deed // a power that is known does not make the deed known
	}
	if t.so.place == notUnderstood {
		t.so = t.unread()
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
