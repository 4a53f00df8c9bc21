package preflight

import "github.com/fairlead-go/fairlead/annotation"

// A Probe reads the text of one argument and says what a call with it would do.
// What it cannot read with certainty it must call destructive.
type Probe func(text string) Verdict

// A Verdict is what a probe or a rule found. The zero Verdict is dangerous.
type Verdict struct {
	Annotations annotation.Annotations // ReadOnly, Destructive, … as far as the text decides them; zero means unknown, which asks
	Why         string                 // the word or part that decided, for people, on one line
}
