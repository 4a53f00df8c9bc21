package preflight

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/toolname"
	"github.com/fairlead-go/fairlead/middleware"
)

// Rules are the host's word on calls by their arguments, by "server/tool":
//
//	preflight.Rules{"github/issue_write": preflight.When("method", "get", "list").Safe()}
type Rules map[string]Rule

// A Rule judges the arguments of one call, or returns false, and then the tool keeps its class. It is called
// concurrently. A rule that panics counts as dangerous, and so does every rule on arguments with two members of one
// object whose names differ only in case.
//
// A rule depends on the arguments alone and returns at once: it has no context and no time limit. To ask elsewhere, use
// a [Resolver].
type Rule func(Arguments) (v Verdict, ok bool)

// A Probe reads the text of one argument and judges the call. A text that it cannot read with certainty is destructive.
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

// Argument applies a probe to one argument, if it is not missing or null. One that is not a string is dangerous.
func Argument(name string, probe Probe) Rule {
	if name == "" || probe == nil {
		panic("preflight: Argument needs a name and a probe")
	}
	return func(a Arguments) (Verdict, bool) {
		text, ok := a.Text(name)
		v := Verdict{Why: "not a string, or its name in another case"}
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

type test struct {
	name   string
	values []any
}

// When holds if the argument is one of the values, each a string or a boolean. It does not hold for another case or type, or
// without the argument, whatever a schema's default is.
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
			panic(fmt.Sprintf("preflight: the condition on %q has the value %v, want a string or a boolean", argument, v))
		}
	}
	return Condition{append(slices.Clip(c.tests), test{argument, slices.Clone(values)})}
}

// Present holds if the argument is there with any value but null. It does not hold without it, whatever a schema's default
// is.
func Present(argument string) Condition { return Condition{}.AndPresent(argument) }

// AndPresent is met where c is and the argument is present.
func (c Condition) AndPresent(argument string) Condition {
	if argument == "" {
		panic("preflight: the condition on a present argument has no name")
	}
	return Condition{append(slices.Clip(c.tests), test{argument, nil})}
}

// Safe declares that such a call only reads.
func (c Condition) Safe() Rule { return c.rule(annotation.ReadOnly(), certain) }

// Moderate declares that such a call adds something and takes nothing away.
func (c Condition) Moderate() Rule { return c.rule(annotation.Write(), certain) }

// Dangerous declares such a call destructive. Since it raises, it also counts if the condition may hold: for a value in
// another case or of another type, or a name in another case.
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
	var got any
	_ = json.Unmarshal(raw, &got) // it is canonical
	if t.values == nil && got != nil {
		return certain
	}
	text, _ := got.(string)
	sure := no
	for _, want := range t.values {
		like, isText := want.(string)
		switch {
		case got == want:
			return certain
		case reflect.TypeOf(got) != reflect.TypeOf(want), isText && strings.EqualFold(strings.TrimSpace(text), strings.TrimSpace(like)):
			sure = likely
		}
	}
	return sure
}

// String returns the condition as people read it: "method is get or list".
func (c Condition) String() string {
	var parts []string
	for _, t := range c.tests {
		if t.values == nil {
			parts = append(parts, t.name+" is given")
			continue
		}
		values := make([]string, len(t.values))
		for i, v := range t.values {
			values[i] = fmt.Sprint(v)
		}
		parts = append(parts, t.name+" is "+strings.Join(values, " or "))
	}
	return strings.Join(parts, " and ")
}

func (r Rules) check() {
	for name, rule := range r {
		server, tool, ok := strings.Cut(name, "/")
		switch err := toolname.Check(tool); {
		case !ok || server == "":
			panic(fmt.Sprintf(`preflight: Options.Rules[%q]: write "server/tool", for example "github/issue_write"`, name))
		case err != nil:
			panic(fmt.Sprintf(`preflight: Options.Rules[%q]: such a tool cannot exist: %v; write "server/tool"`, name, err))
		case rule == nil:
			panic(fmt.Sprintf("preflight: Options.Rules[%q]: the rule is nil", name))
		}
	}
}

// Arguments are the arguments of one call, one JSON object without a repeated member.
type Arguments struct {
	members map[string]json.RawMessage
}

// parse refuses arguments that two readers could read differently.
func parse(ctx context.Context, call middleware.Call) (Arguments, error) {
	form, err := callstate.Form(callstate.Of(ctx), &call)
	if err != nil {
		return Arguments{}, err
	}
	var a Arguments
	return a, json.Unmarshal(form, &a.members) // it is an object
}

// Text returns an argument that is a string. It does not where the argument is missing or of another type.
func (a Arguments) Text(name string) (text string, ok bool) {
	raw := a.members[name]
	ok = len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil
	return text, ok
}

// Bool returns an argument that is true or false, as [Arguments.Text] does a string.
func (a Arguments) Bool(name string) (value, ok bool) {
	raw := string(a.members[name])
	return raw == "true", raw == "true" || raw == "false"
}

// Raw returns the JSON of an argument, with sorted members and without white space, and whether it is there.
func (a Arguments) Raw(name string) (json.RawMessage, bool) {
	raw, ok := a.members[name]
	return slices.Clone(raw), ok
}

func (a Arguments) absent(name string) bool {
	return !a.has(name) || string(a.members[name]) == "null"
}

func (a Arguments) given(name string) bool {
	switch string(a.members[name]) {
	case "[]", `""`:
		return false
	}
	return !a.absent(name)
}

// has reports whether there is an argument of that name in any case.
func (a Arguments) has(name string) bool {
	for have := range a.members {
		if strings.EqualFold(have, name) {
			return true
		}
	}
	return false
}
