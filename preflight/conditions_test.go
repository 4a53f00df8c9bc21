package preflight_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/fairlead-go/fairlead/preflight/probe"
)

var (
	output = annotation.Condition{Argument: "/filename", Absent: safe, Other: moderate, Effect: "writes a file", Word: "filename"}
	action = annotation.Condition{
		Argument: "/action", Absent: dangerous, Other: dangerous, Effect: "chooses the deed", Word: "action",
		Values: []annotation.Outcome{
			{Value: "list", Class: safe, Word: "list"}, {Value: "add", Class: moderate, Word: "add"}, {Value: "delete", Class: dangerous, Word: "delete"},
		},
	}
	dryRun = annotation.Condition{
		Argument: "/dry_run", Absent: dangerous, Other: dangerous, Word: "dry", Values: []annotation.Outcome{{Value: true, Class: safe, Word: "dry"}},
	}
	query   = annotation.Condition{Argument: "/sql", Absent: dangerous, Other: dangerous, Language: "sql", Effect: "is carried out", Word: "sql"}
	command = annotation.Condition{Argument: "/command", Absent: dangerous, Other: dangerous, Language: "shell", Word: "command"}
	script  = annotation.Condition{Argument: "/code", Absent: dangerous, Other: dangerous, Language: "javascript", Word: "code"}
	steps   = annotation.Condition{
		Argument: "/steps/*/op", Absent: dangerous, Other: dangerous, Values: []annotation.Outcome{{Value: "get", Class: safe, Word: "get"}},
	}
)

// worst returns inferred annotations with the hints of a class, and conditions.
func worst(class annotation.Safety, conditions ...annotation.Condition) annotation.Annotations {
	a := map[annotation.Safety]annotation.Annotations{
		safe: annotation.ReadOnly(), moderate: {ReadOnly: annotation.No, Destructive: annotation.No}, dangerous: annotation.Destructive(),
	}[class]
	a.Conditions = conditions
	return a
}

// The class that a call goes on with, and that of the guard.
func TestConditionsDecideWithoutSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		tool      annotation.Annotations
		arguments string
		want      annotation.Safety
		why       string
	}{
		{"no output file", worst(moderate, output), `{"verbose":true}`, safe, "filename is not given"},
		{"no arguments", worst(moderate, output), ``, safe, "filename is not given"},
		{"an output file", worst(moderate, output), `{"filename":"package.json"}`, moderate, `"filename" by the arguments: filename is given (an argument that writes a file)`},
		{"null for a file", worst(moderate, output), `{"filename":null}`, moderate, "filename is given"},
		{"an empty file", worst(moderate, output), `{"filename":""}`, moderate, "filename is given"},
		{"a file in another case", worst(moderate, output), `{"FileName":"a"}`, moderate, "in another case"},

		{"a choice that reads", worst(dangerous, action), `{"action":"list"}`, safe, `action is "list"`},
		{"a choice that adds", worst(dangerous, action), `{"action":"add"}`, moderate, `action is "add"`},
		{"a choice that deletes", worst(dangerous, action), `{"action":"delete"}`, dangerous, `action is "delete"`},
		{"an unknown choice", worst(dangerous, action), `{"action":"purge"}`, dangerous, "not one of the known values"},
		{"a choice in another case", worst(dangerous, action), `{"action":"List"}`, dangerous, "not one of the known values"},
		{"no choice", worst(dangerous, action), `{}`, dangerous, "action is not given"},
		{"null for a choice", worst(dangerous, action), `{"action":null}`, dangerous, "not one of the known values"},
		{"a list of choices", worst(dangerous, action), `{"action":["list"]}`, dangerous, "not one of the known values"},
		{"an object for a choice", worst(dangerous, action), `{"action":{"list":"list"}}`, dangerous, "not one of the known values"},
		{"a choice, its name in another case", worst(dangerous, action), `{"Action":"list"}`, dangerous, "in another case"},
		{"a choice deeper than it belongs", worst(dangerous, action), `{"args":{"action":"list"}}`, dangerous, "action is not given"},

		{"a dry run", worst(dangerous, dryRun), `{"dry_run":true}`, safe, "dry_run is true"},
		{"no dry run", worst(dangerous, dryRun), `{"dry_run":false}`, dangerous, "dry_run is false"},
		{"a dry run as a text", worst(dangerous, dryRun), `{"dry_run":"true"}`, dangerous, "not one of the known values"},

		{"a query", worst(dangerous, query), `{"sql":"SELECT 1"}`, safe, "sql: one SELECT"},
		{"a query with a second statement", worst(dangerous, query), `{"sql":"COMMIT; DROP TABLE customers;"}`, dangerous, `sql: a second statement, and the word "COMMIT"`},
		{"a query that is not understood", worst(dangerous, query), `{"sql":"MATCH (n) RETURN n"}`, dangerous, "does not begin a SELECT"},
		{"no text for a query", worst(dangerous, query), `{"sql":["SELECT 1"]}`, dangerous, "not judged"},
		{"a command that reads", worst(dangerous, command), `{"command":"ls"}`, safe, "command: ls"},
		{"a command that deletes", worst(dangerous, command), `{"command":"rm x"}`, dangerous, `command: the command "rm"`},
		{"a language without a probe", worst(dangerous, script), `{"code":"1"}`, dangerous, "the javascript in code is not judged"},

		{"all steps read", worst(dangerous, steps), `{"steps":[{"op":"get"},{"op":"get"}]}`, safe, `steps[].op is "get"`},
		{"one step does not", worst(dangerous, steps), `{"steps":[{"op":"get"},{"op":"put"}]}`, dangerous, "steps[].op is not one of"},
		{"a list in the list", worst(dangerous, steps), `{"steps":[[{"op":"get"}]]}`, dangerous, "cannot be read"},

		{"the strictest of two", worst(dangerous, action, output), `{"action":"list","filename":"a"}`, moderate, "filename is given"},
		{"hints that are stricter than all conditions", worst(dangerous, output), `{}`, dangerous, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := judged(t.Context(), preflight.New(preflight.Options{}), middleware.Call{Tool: act(t, tt.tool, false), Arguments: json.RawMessage(tt.arguments)})
			o.check(t, tt.name, tt.want)
			if o.tool == nil || !strings.Contains(o.tool.Explain(), tt.why) {
				t.Errorf("the call is explained as\n%swant %q in it", o.tool.Explain(), tt.why)
			}
			if d := o.note.Last("preflight"); d.What != "condition" || !strings.Contains(`"filename" by the arguments: `+d.Why+" (an argument that writes a file)", tt.why) {
				t.Errorf("recorded as %+v", d)
			}
		})
	}
}

// What two readers could read differently ends here, as for a rule.
func TestConditionsNeedOneReading(t *testing.T) {
	t.Parallel()
	for _, arguments := range []string{`{"action":"list","action":"delete"}`, `{"action":"list","Action":"delete"}`, `[]`, `"list"`, `{"action":"list"`, `{"action":"list"} {}`} {
		o := judged(t.Context(), preflight.New(preflight.Options{}), middleware.Call{Tool: act(t, worst(dangerous, action), false), Arguments: json.RawMessage(arguments)})
		if o.ran || o.tool != nil || !middleware.NotSent(o.err) {
			t.Errorf("%s: ran %v, error %v", arguments, o.ran, o.err)
		}
	}
}

func TestWhoOutranksConditions(t *testing.T) {
	t.Parallel()
	list, remove := `{"action":"list"}`, `{"action":"delete"}`
	tool := worst(dangerous, action)
	verb := annotation.Annotations{ReadOnly: annotation.No, Destructive: annotation.No, Conditions: []annotation.Condition{{
		Argument: "/action", Absent: annotation.Moderate, Other: annotation.Moderate, Language: "verb",
	}}}
	rules := func(r preflight.Rule) preflight.Options {
		return preflight.Options{Rules: preflight.Rules{"files/act": r}}
	}
	answers := func(trusted bool, a annotation.Annotations) preflight.Options {
		return preflight.Options{Resolver: says(a), Trusted: func(string) bool { return trusted }}
	}
	for _, tt := range []struct {
		name      string
		o         preflight.Options
		tool      annotation.Annotations
		arguments string
		want      annotation.Safety
	}{
		{"a rule that forbids", rules(preflight.When("action", "list").Dangerous()), tool, list, dangerous},
		{"a rule that permits", rules(preflight.When("action", "delete").Safe()), tool, remove, safe},
		{"a rule that does not apply", rules(preflight.When("action", "add").Dangerous()), tool, list, safe},
		{"a host that counts the worst", preflight.Options{WorstCase: true}, tool, list, dangerous},
		{"a rule of that host", preflight.Options{WorstCase: true, Rules: preflight.Rules{"files/act": preflight.When("action", "list").Safe()}}, tool, list, safe},
		{"a verb", preflight.Options{}, verb, remove, dangerous},
		{"a verb that reads", preflight.Options{}, verb, list, annotation.Moderate},
		{"a verb in the worst case", preflight.Options{WorstCase: true}, verb, remove, dangerous},
		{"a verb that reads in the worst case", preflight.Options{WorstCase: true}, verb, list, annotation.Moderate},
		{"a verb that the host does not read", preflight.Options{Language: func(*middleware.Tool, string) string { return "" }}, verb, remove, annotation.Moderate},
		{"a trusted server that raises", answers(true, annotation.Destructive()), tool, list, dangerous},
		{"a trusted server that lowers", answers(true, annotation.ReadOnly()), tool, remove, safe},
		{"a stranger that raises", answers(false, annotation.Destructive()), tool, list, dangerous},
		{"a stranger that lowers", answers(false, annotation.ReadOnly()), tool, remove, dangerous},
		{"a stranger that agrees", answers(false, annotation.ReadOnly()), tool, list, safe},
		{"the host's word on the tool", preflight.Options{}, annotation.Merge(tool.Attribute(annotation.Inferred, ""), annotation.Destructive()), list, dangerous},
		{"the host's word that it reads", preflight.Options{}, annotation.Merge(tool.Attribute(annotation.Inferred, ""), annotation.ReadOnly()), remove, safe},
		{"a claim that it is destructive", preflight.Options{}, annotation.Raise(tool.Attribute(annotation.Inferred, ""),
			annotation.Annotations{RequiresConfirmation: annotation.Yes}.Attribute(annotation.Resolved, "a model")), list, dangerous},
		{"a stranger's conditions", preflight.Options{}, annotation.Raise(tool.Attribute(annotation.Inferred, ""), annotation.Annotations{
			Conditions: []annotation.Condition{{Argument: "/action", Absent: safe, Other: safe, Values: []annotation.Outcome{{Value: "delete", Class: safe}}}},
		}.Attribute(annotation.Declared, "files")), remove, dangerous},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			on := act(t, tt.tool, false)
			on.Annotations = tt.tool
			if tt.tool.Evidence == nil {
				on.Annotations = tt.tool.Attribute(annotation.Inferred, "")
			}
			judged(t.Context(), preflight.New(tt.o), middleware.Call{Tool: on, Arguments: json.RawMessage(tt.arguments)}).check(t, tt.name, tt.want)
		})
	}
}

// A person who edits the arguments is asked about the class that they have then.
func TestConditionsJudgeEdits(t *testing.T) {
	t.Parallel()
	j := preflight.New(preflight.Options{})
	call := middleware.Call{Tool: act(t, worst(dangerous, action), false)}
	for arguments, want := range map[string]annotation.Safety{`{"action":"list"}`: safe, `{"action":"add"}`: moderate, `{"action":"delete"}`: dangerous} {
		call.Arguments = json.RawMessage(arguments)
		tool, err := classify(t.Context(), j, call)
		if err != nil || tool.Safety() != want {
			t.Errorf("%s: %v, %v", arguments, tool, err)
		}
	}
}

// A probe of the host's judges a language, and one that is there in the place of another.
func TestProbesOfTheHost(t *testing.T) {
	t.Parallel()
	o := preflight.Options{Texts: map[string]preflight.Probe{
		"shell":      probe.AnyShell,
		"javascript": func(string) preflight.Verdict { panic("it is broken") },
		"sql":        func(string) preflight.Verdict { return preflight.Verdict{Why: "it does not know"} },
	}}
	mild := command
	mild.Other, mild.Absent = moderate, moderate
	for _, tt := range []struct {
		name      string
		c         annotation.Condition
		arguments string
		want      annotation.Safety
		why       string
	}{
		{"a command that reads", command, `{"command":"git log --oneline -5 | head -2"}`, safe, "command: git log, head"},
		{"a command that deletes", command, `{"command":"rm -rf x"}`, dangerous, `the command "rm"`},
		{"a verdict is stricter than the condition", mild, `{"command":"rm -rf x"}`, dangerous, `the command "rm"`},
		{"a probe that panics", script, `{"code":"1"}`, dangerous, "code: its probe panicked"},
		{"a probe that does not know", query, `{"sql":"SELECT 1"}`, dangerous, "sql: it does not know"},
	} {
		got := judged(t.Context(), preflight.New(o), middleware.Call{Tool: act(t, worst(tt.c.Worst(), tt.c), false), Arguments: json.RawMessage(tt.arguments)})
		got.check(t, tt.name, tt.want)
		if got.tool == nil || !strings.Contains(got.tool.Explain(), tt.why) {
			t.Errorf("%s: explained as %s", tt.name, got.tool.Explain())
		}
	}
}

// The reason of a probe may be a part of the text, and secrets are not shown.
func TestReasonOfAProbeHasNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	o := judged(t.Context(), preflight.New(preflight.Options{Texts: map[string]preflight.Probe{"shell": probe.AnyShell}}), middleware.Call{
		Tool: act(t, worst(dangerous, command), false), Arguments: json.RawMessage(`{"command":"` + secret + ` x"}`),
	})
	o.check(t, "a command", dangerous)
	if strings.Contains(o.tool.Explain()+o.note.Last("preflight").Why, secret) {
		t.Error(o.tool.Explain())
	}
}

func TestMildest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		tool annotation.Annotations
		want annotation.Safety
	}{
		{"no conditions", worst(dangerous), dangerous},
		{"an output file", worst(moderate, output), safe},
		{"a choice", worst(dangerous, action), safe},
		{"two that are safe together", worst(dangerous, action, output), safe},
		{"a text with a probe", worst(dangerous, query), safe},
		{"a text without one", worst(dangerous, script), dangerous},
		{"one that is never safe", worst(dangerous, action, annotation.Condition{Argument: "/to", Absent: moderate, Other: dangerous}), moderate},
		{"hints that are stricter", worst(dangerous, output), dangerous},
		{"safe in itself", worst(safe), safe},
	} {
		if got := (preflight.Options{}).Mildest(&middleware.Tool{Annotations: tt.tool}); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		if got := (preflight.Options{WorstCase: true}).Mildest(&middleware.Tool{Annotations: tt.tool}); got != tt.tool.Safety() {
			t.Errorf("%s: in the worst case %v", tt.name, got)
		}
	}
	if got := (preflight.Options{Texts: map[string]preflight.Probe{"javascript": probe.SQL}}).Mildest(&middleware.Tool{Annotations: worst(dangerous, script)}); got != safe {
		t.Errorf("a text with a probe of the host's: %v", got)
	}
}

// What the host sets for a language holds for its kinds.
func TestKindsOfALanguage(t *testing.T) {
	t.Parallel()
	posix := command
	posix.Language = "posix-shell"
	as := func(set map[string]string) preflight.Options {
		return preflight.Options{Language: func(_ *middleware.Tool, of string) string {
			if as, ok := set[of]; ok {
				return as
			}
			return of
		}}
	}
	const quoted = `{"command":"grep -c 'a;b' x"}` // a quote that only shells of Unix know
	for _, tt := range []struct {
		name string
		o    preflight.Options
		want annotation.Safety
	}{
		{"nothing is set", preflight.Options{}, safe},
		{"nothing is set of it", as(nil), safe},
		{"the language is off", as(map[string]string{"shell": ""}), dangerous},
		{"the language is another", as(map[string]string{"shell": "sql"}), dangerous},
		{"the kind is off", as(map[string]string{"posix-shell": ""}), dangerous},
		{"the kind is as any shell", as(map[string]string{"posix-shell": "shell"}), dangerous},
		{"a probe for the language", preflight.Options{Texts: map[string]preflight.Probe{"shell": probe.AnyShell}}, dangerous},
		{"a probe for the kind", preflight.Options{Texts: map[string]preflight.Probe{"shell": probe.AnyShell, "posix-shell": probe.Shell}}, safe},
	} {
		tool := act(t, worst(dangerous, posix), false)
		judged(t.Context(), preflight.New(tt.o), middleware.Call{Tool: tool, Arguments: json.RawMessage(quoted)}).check(t, tt.name, tt.want)
	}
}

// A host has the texts of one tool judged as of another language, or not at all.
func TestLanguageOfATool(t *testing.T) {
	t.Parallel()
	as := func(language string) preflight.Options {
		return preflight.Options{Language: func(tool *middleware.Tool, of string) string {
			if tool.String() == "files/act" && of == "command" {
				return language
			}
			return of
		}}
	}
	program := command
	program.Language = "command"
	for _, tt := range []struct {
		name      string
		o         preflight.Options
		c         annotation.Condition
		arguments string
		want      annotation.Safety
		mildest   annotation.Safety
	}{
		{"as it is named", preflight.Options{}, program, `{"command":"ls"}`, dangerous, dangerous},
		{"as of another language", as("shell"), program, `{"command":"ls"}`, safe, safe},
		{"a write of that language", as("shell"), program, `{"command":"rm x"}`, dangerous, safe},
		{"as of none", as(""), program, `{"command":"ls"}`, dangerous, dangerous},
		{"as of one without a probe", as("klingon"), program, `{"command":"ls"}`, dangerous, dangerous},
		{"another language of the tool", as(""), query, `{"sql":"SELECT 1"}`, safe, safe},
	} {
		tool := act(t, worst(dangerous, tt.c), false)
		judged(t.Context(), preflight.New(tt.o), middleware.Call{Tool: tool, Arguments: json.RawMessage(tt.arguments)}).check(t, tt.name, tt.want)
		if got := tt.o.Mildest(tool); got != tt.mildest {
			t.Errorf("%s: its mildest call is %v, want %v", tt.name, got, tt.mildest)
		}
	}
}
