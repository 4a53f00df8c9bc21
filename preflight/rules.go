package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/toolname"
)

// Rules are the host's word on calls by their arguments, by "server/tool":
//
//	preflight.Rules{"github/issue_write": preflight.When("method", "get", "list").Safe()}
type Rules map[string]Rule

// A Rule judges the arguments of one call, or says that it has nothing to say, and
// then the tool keeps its class. It is asked concurrently. A rule that panics has
// said that the call is dangerous, and so has every rule on arguments with two members
// of one object whose names differ only in case: which of them counts is the server's affair.
//
// A rule computes its verdict from the arguments alone and returns at once: it has no
// context, and nothing bounds it. What has to ask somewhere is a [Resolver].
type Rule func(Arguments) (v Verdict, ok bool)

// A Probe reads the text of one argument and says what a call with it would do.
// What it cannot read with certainty it must call destructive. Package probe has some.
type Probe func(text string) Verdict

// A Verdict is what a probe or a rule found. The zero Verdict is dangerous.
type Verdict struct {
	Annotations annotation.Annotations // ReadOnly, Destructive, … as far as the text decides them; zero means unknown, which asks
	Why         string                 // the word or part that decided, for people, on one line
}

// Strictest asks all of the rules; the most dangerous verdict counts.
func Strictest(rules ...Rule) Rule {
	if slices.ContainsFunc(rules, func(r Rule) bool { return r == nil }) || len(rules) == 0 {
		panic("preflight: Strictest needs rules, and none of them nil")
	}
	rules = slices.Clone(rules)
	return func(a Arguments) (strictest Verdict, ok bool) {
		for _, rule := range rules {
			v, said := rule(a)
			switch {
			case !said:
			case !ok || v.Annotations.Safety() < strictest.Annotations.Safety():
				strictest, ok = v, true
			case v.Annotations.Safety() == strictest.Annotations.Safety():
				strictest.Annotations = annotation.Raise(strictest.Annotations, v.Annotations)
			}
		}
		return strictest, ok
	}
}

// Argument has a probe read one argument. Where that is missing or null the rule says
// nothing; where it is no text, or has its name in another case, the call is dangerous.
func Argument(name string, probe Probe) Rule {
	if name == "" || probe == nil {
		panic("preflight: Argument needs a name and a probe")
	}
	return func(a Arguments) (Verdict, bool) {
		text, ok := a.Text(name)
		v := Verdict{Why: "no text, or its name in another case"}
		switch {
		case ok:
			v = probe(text)
		case a.absent(name):
			return Verdict{}, false
		}
		v.Why = strings.TrimSuffix(name+": "+v.Why, ": ")
		return v, true
	}
}

// A Condition is what arguments must be for a rule to speak.
type Condition struct{ tests []test }

// A test is that one argument has one of the values.
type test struct {
	name   string
	values []any
}

// When is met where the argument is one of the values, each a text or a bool. It is
// not met by another case, another type, or an argument that is not there: a schema's
// default is the server's affair.
func When(argument string, values ...any) Condition { return Condition{}.And(argument, values...) }

// And is met where both are.
func (c Condition) And(argument string, values ...any) Condition {
	if argument == "" || len(values) == 0 {
		panic(fmt.Sprintf("preflight: the condition on %q has no name or no values", argument))
	}
	for _, v := range values {
		switch v.(type) {
		case string, bool:
		default:
			panic(fmt.Sprintf("preflight: the condition on %q has the value %v, which is neither a text nor a bool", argument, v))
		}
	}
	return Condition{append(slices.Clip(c.tests), test{argument, slices.Clone(values)})}
}

// Safe says that such a call only reads.
func (c Condition) Safe() Rule { return c.rule(annotation.ReadOnly(), certain) }

// Moderate says that such a call adds something and takes nothing away.
func (c Condition) Moderate() Rule { return c.rule(annotation.Write(), certain) }

// Dangerous says that such a call takes away or cannot be taken back. Since it
// raises, it speaks as well where the condition may be met: by a value in another
// case or of another type, or by a name in another case.
func (c Condition) Dangerous() Rule { return c.rule(annotation.Destructive(), likely) }

// How sure it is that a condition is met, surest last.
const (
	no = iota
	likely
	certain
)

func (c Condition) rule(verdict annotation.Annotations, least int) Rule {
	if len(c.tests) == 0 {
		panic("preflight: the zero Condition is met by everything; begin with When")
	}
	met := Verdict{Annotations: verdict, Why: c.String()}
	return func(a Arguments) (Verdict, bool) {
		for _, t := range c.tests {
			if t.met(a) < least {
				return Verdict{}, false
			}
		}
		return met, true
	}
}

func (t test) met(a Arguments) int {
	raw, ok := a.members[t.name]
	switch {
	case !ok && a.has(t.name):
		return likely
	case !ok:
		return no
	}
	text, isText := textOf(raw)
	flag, isFlag := flagOf(raw)
	sure := no
	for _, want := range t.values {
		switch want := want.(type) {
		case string:
			if isText && text == want {
				return certain
			}
			if !isText || strings.EqualFold(strings.TrimSpace(text), strings.TrimSpace(want)) {
				sure = likely
			}
		case bool:
			if isFlag && flag == want {
				return certain
			}
			if !isFlag {
				sure = likely
			}
		}
	}
	return sure
}

// String returns the condition as people read it: "method is get or list".
func (c Condition) String() string {
	var parts []string
	for _, t := range c.tests {
		values := make([]string, len(t.values))
		for i, v := range t.values {
			values[i] = fmt.Sprint(v)
		}
		parts = append(parts, t.name+" is "+strings.Join(values, " or "))
	}
	return strings.Join(parts, " and ")
}

type toolKey struct{ server, tool string }

// index checks the rules.
func (r Rules) index() map[toolKey]Rule {
	out := make(map[toolKey]Rule, len(r))
	for name, rule := range r {
		key, err := splitName(name)
		if err == nil && rule == nil {
			err = fmt.Errorf("the rule is nil")
		}
		if err != nil {
			panic(fmt.Sprintf("preflight: Options.Rules[%q]: %v", name, err))
		}
		out[key] = rule
	}
	return out
}

// splitName reads "server/tool".
func splitName(name string) (toolKey, error) {
	server, tool, ok := strings.Cut(name, "/")
	if !ok || server == "" {
		return toolKey{}, fmt.Errorf(`write "server/tool", for example "github/issue_write"`)
	}
	if err := toolname.Check(tool); err != nil {
		return toolKey{}, fmt.Errorf(`there can be no such tool: %w; write "server/tool"`, err)
	}
	return toolKey{server, tool}, nil
}
