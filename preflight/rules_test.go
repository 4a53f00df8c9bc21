package preflight_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/fairlead-go/fairlead/preflight/probe"
)

const (
	unknown   = annotation.Unknown
	dangerous = annotation.Dangerous
	moderate  = annotation.Moderate
	safe      = annotation.Safe
)

func TestRuleHoldsForExactlyItsArguments(t *testing.T) {
	t.Parallel()
	get := preflight.When("method", "get", "list").Safe()
	dry := preflight.When("dry_run", true).Safe()
	both := preflight.When("method", "get").And("dry_run", true).Safe()
	several := preflight.Strictest(
		preflight.When("method", "get", "merge").Safe(),
		preflight.When("method", "comment").Moderate(),
		preflight.When("method", "merge").Moderate(),
		preflight.When("force", true).Dangerous(),
	)
	forbid := preflight.When("method", "delete").Dangerous()
	worst, write, read := annotation.Destructive(), annotation.Write(), annotation.ReadOnly()
	for _, tt := range []struct {
		name      string
		rule      preflight.Rule
		static    annotation.Annotations
		arguments string
		want      annotation.Safety
	}{
		{"a value of the rule's", get, worst, `{"method":"get"}`, safe},
		{"another of its values", get, worst, `{"method":"list"}`, safe},
		{"white space and order", get, worst, "\n{ \"z\" : 1 , \"method\" : \"get\" }", safe},
		{"written with escapes", get, worst, `{"m\u0065thod":"\u0067et"}`, safe},
		{"an unknown tool", get, annotation.Annotations{}, `{"method":"get"}`, safe},
		{"one that needs an approval", get, annotation.Annotations{ReadOnly: annotation.No, Destructive: annotation.No, RequiresConfirmation: annotation.Yes}, `{"method":"get"}`, safe},
		{"an unknown value", get, worst, `{"method":"delete"}`, dangerous},
		{"a longer value", get, worst, `{"method":"get_or_delete"}`, dangerous},
		{"the empty value", get, worst, `{"method":""}`, dangerous},
		{"the value in another case", get, worst, `{"method":"GET"}`, dangerous},
		{"the value with a space", get, worst, `{"method":"get "}`, dangerous},
		{"a look-alike", get, worst, `{"method":"gеt"}`, dangerous},
		{"missing", get, worst, `{}`, dangerous},
		{"no arguments", get, worst, ``, dangerous},
		{"null", get, worst, `{"method":null}`, dangerous},
		{"a number", get, worst, `{"method":1}`, dangerous},
		{"a list", get, worst, `{"method":["get"]}`, dangerous},
		{"an object", get, worst, `{"method":{"get":1}}`, dangerous},
		{"nested", get, worst, `{"options":{"method":"get"}}`, dangerous},
		{"the name in another case", get, worst, `{"Method":"get"}`, dangerous},
		{"a bool", dry, worst, `{"dry_run":true}`, safe},
		{"the other bool", dry, worst, `{"dry_run":false}`, dangerous},
		{"a bool as a text", dry, worst, `{"dry_run":"true"}`, dangerous},
		{"a bool as a number", dry, worst, `{"dry_run":1}`, dangerous},
		{"both", both, worst, `{"method":"get","dry_run":true}`, safe},
		{"only the first", both, worst, `{"method":"get"}`, dangerous},
		{"only the second", both, worst, `{"dry_run":true}`, dangerous},
		{"the second of several", several, worst, `{"method":"comment"}`, moderate},
		{"two that match", several, worst, `{"method":"merge"}`, moderate},
		{"a dangerous one beside a safe one", several, worst, `{"method":"get","force":true}`, dangerous},
		{"none of several: a safe tool stays safe", several, read, `{"method":"x"}`, safe},
		{"none of several: a write stays a write", several, write, `{"method":"x"}`, moderate},
		{"raised from a read", forbid, read, `{"method":"delete"}`, dangerous},
		{"raised from a write", forbid, write, `{"method":"delete"}`, dangerous},
		{"raised: in another case", forbid, write, `{"method":"DELETE"}`, dangerous},
		{"raised: with a space", forbid, write, `{"method":" delete"}`, dangerous},
		{"raised: the name in another case", forbid, write, `{"Method":"delete"}`, dangerous},
		{"raised: of another type", forbid, write, `{"method":["delete"]}`, dangerous},
		{"raised: a bool as a text", several, write, `{"method":"get","force":"true"}`, dangerous},
		{"not raised: another value", forbid, write, `{"method":"update"}`, moderate},
		{"not raised: missing", forbid, write, `{}`, moderate},
		{"not raised: the other bool", several, write, `{"force":false}`, moderate},
		{"lowered to a write", preflight.When("a", "b").Moderate(), worst, `{"a":"b"}`, moderate},
		{"not lowered to a write in another case", preflight.When("a", "b").Moderate(), worst, `{"a":"B"}`, dangerous},
		{"raised to a write", preflight.When("a", "b").Moderate(), read, `{"a":"b"}`, moderate},
		{"a func of the host's", func(a preflight.Arguments) (preflight.Verdict, bool) {
			raw, ok := a.Raw("n")
			return preflight.Verdict{Annotations: annotation.ReadOnly(), Why: "n"}, ok && string(raw) == "1"
		}, worst, `{"n":1}`, safe},
		{"a func without a verdict", func(preflight.Arguments) (preflight.Verdict, bool) {
			return preflight.Verdict{Annotations: annotation.ReadOnly()}, false
		}, worst, `{}`, dangerous},
		{"the zero verdict", func(preflight.Arguments) (preflight.Verdict, bool) { return preflight.Verdict{}, true }, read, `{}`, dangerous},
		{"a verdict of half a word", func(preflight.Arguments) (preflight.Verdict, bool) {
			return preflight.Verdict{Annotations: annotation.Annotations{ReadOnly: annotation.No}}, true
		}, read, `{}`, dangerous},
		{"a verdict against itself", func(preflight.Arguments) (preflight.Verdict, bool) {
			return preflight.Verdict{Annotations: hints("yy--")}, true
		}, read, `{}`, dangerous},
		{"an unknown hint", func(preflight.Arguments) (preflight.Verdict, bool) {
			return preflight.Verdict{Annotations: annotation.Annotations{ReadOnly: 7}}, true
		}, read, `{}`, unknown},
		{"a func that panics", func(preflight.Arguments) (preflight.Verdict, bool) { panic("boom") }, read, `{}`, dangerous},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := preflight.New(preflight.Options{Rules: preflight.Rules{"files/act": tt.rule}})
			call := middleware.Call{Tool: act(t, tt.static, true), Arguments: json.RawMessage(tt.arguments)}
			before := call.Tool.Annotations.Summary()
			o := judged(t.Context(), j, call)
			o.check(t, tt.arguments, tt.want)
			if after := call.Tool.Annotations.Summary(); after != before {
				t.Errorf("the tool was written to: %s, was %s", after, before)
			}
		})
	}
}

// A rule is for one tool of one server.
func TestRuleIsForOneTool(t *testing.T) {
	t.Parallel()
	rule := preflight.When("method", "get").Safe()
	for name, want := range map[string]annotation.Safety{"files/act": safe, "files/other": dangerous, "else/act": dangerous} {
		j := preflight.New(preflight.Options{Rules: preflight.Rules{name: rule}})
		judged(t.Context(), j, middleware.Call{Tool: act(t, annotation.Destructive(), true), Arguments: json.RawMessage(`{"method":"get"}`)}).check(t, name, want)
	}
}

// Arguments that two readers could read differently end the call, where they matter.
func TestAmbiguousArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	rules := preflight.Rules{"files/act": preflight.When("method", "get").Safe()}
	for _, arguments := range []string{
		`{"method":"get","method":"delete"}`, `{"method":"get","m\u0065thod":"delete"}`, `["get"]`, `"get"`, `null`, `{"method":"get"} {}`,
		`{"method":"get"`, "{\"method\":\"\xff\"}", `{"a":{"b":1,"b":2}}`,
	} {
		resolver := says(annotation.ReadOnly())
		for name, o := range map[string]preflight.Options{
			"a rule": {Rules: rules}, "a resolver": {Resolver: resolver, Trusted: everyone},
		} {
			got := judged(t.Context(), preflight.New(o), middleware.Call{Tool: act(t, annotation.Destructive(), true), Arguments: json.RawMessage(arguments)})
			var fault *canonical.Error
			if got.tool != nil || !errors.As(got.err, &fault) || !middleware.NotSent(got.err) || !middleware.Permanent(got.err) {
				t.Errorf("%s, %s: went on %v, %v", name, arguments, got.tool != nil, got.err)
			}
		}
		if resolver.asked != 0 {
			t.Errorf("%s: the server was asked", arguments)
		}
	}
	// Arguments that no rule reads are the executor's concern.
	judged(t.Context(), preflight.New(preflight.Options{}), middleware.Call{Tool: act(t, annotation.ReadOnly(), true), Arguments: json.RawMessage(`[1]`)}).check(t, "no rule", safe)
}

func TestArgumentHasAProbeReadIt(t *testing.T) {
	t.Parallel()
	probe := func(text string) preflight.Verdict {
		if word, _, _ := strings.Cut(text, " "); word == "SELECT" {
			return preflight.Verdict{Annotations: annotation.ReadOnly(), Why: word}
		}
		return preflight.Verdict{Why: "not a SELECT"}
	}
	j := preflight.New(preflight.Options{Rules: preflight.Rules{"files/act": preflight.Argument("sql", probe)}})
	for arguments, want := range map[string]struct {
		class annotation.Safety
		why   string
	}{
		`{"sql":"SELECT 1"}`:     {safe, `host rule: "sql: SELECT" among the arguments`},
		`{"sql":"DROP TABLE t"}`: {dangerous, `host rule: "sql: not a SELECT" among the arguments`},
		`{}`:                     {moderate, ""},
		`{"sql":null}`:           {moderate, ""},
		`{"x":"DROP TABLE t"}`:   {moderate, ""},
		`{"sql":1}`:              {dangerous, `"sql: not a string, or its name in another case"`},
		`{"sql":["DROP"]}`:       {dangerous, "not a string"},
		`{"SQL":"DROP"}`:         {dangerous, "another case"},
		`{"SQL":null}`:           {dangerous, "another case"},
	} {
		o := judged(t.Context(), j, middleware.Call{Tool: act(t, annotation.Write(), true), Arguments: json.RawMessage(arguments)})
		o.check(t, arguments, want.class)
		if !strings.Contains(o.tool.Explain(), want.why) {
			t.Errorf("%s: the reason is missing:\n%s", arguments, o.tool.Explain())
		}
	}
}

// Two members with names that differ only in case are equal for some servers, so a rule may read
// another one than the server: the call is refused.
func TestMembersThatDifferInCaseAreRefused(t *testing.T) {
	t.Parallel()
	j := preflight.New(preflight.Options{Rules: preflight.Rules{"files/act": preflight.When("method", "get").Safe()}})
	for _, arguments := range []string{
		`{"method":"get","path":"safe","Path":"/etc"}`, `{"method":"get","METHOD":"delete"}`, `{"method":"get","o":[{"path":"safe","Path":"/etc"}]}`,
	} {
		o := judged(t.Context(), j, middleware.Call{Tool: act(t, annotation.ReadOnly(), true), Arguments: json.RawMessage(arguments)})
		if o.err == nil || !middleware.NotSent(o.err) || !strings.Contains(o.err.Error(), "differ only in case") {
			t.Errorf("%s: got %v", arguments, o.err)
		}
	}
}

func TestOurProbesAsRules(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		probe preflight.Probe
		text  string
		want  annotation.Safety
	}{
		{probe.SQL, "SELECT name FROM users", safe}, {probe.SQL, "DELETE FROM users", dangerous}, {probe.SQL, "", dangerous},
		{probe.Shell, "ls -l", safe}, {probe.Shell, "rm -rf /", dangerous}, {probe.Shell, "", dangerous},
		{probe.HTTP, "GET https://example.com/users", safe}, {probe.HTTP, "DELETE /users/1", dangerous}, {probe.HTTP, "", dangerous},
	} {
		j := preflight.New(preflight.Options{Rules: preflight.Rules{"files/act": preflight.Argument("text", tt.probe)}})
		arguments, err := json.Marshal(map[string]string{"text": tt.text})
		if err != nil {
			t.Fatal(err)
		}
		judged(t.Context(), j, middleware.Call{Tool: act(t, annotation.Annotations{}, false), Arguments: arguments}).check(t, tt.text, tt.want)
	}
}

// The host's and the server's other hints remain those of the tool.
func TestVerdictLeavesTheOtherFieldsAlone(t *testing.T) {
	t.Parallel()
	a := annotation.Destructive()
	a.Title, a.AuditRequired, a.OpenWorld, a.Tags = "Act", annotation.Yes, annotation.No, []string{"x"}
	j := preflight.New(preflight.Options{Rules: preflight.Rules{"files/act": preflight.When("m", "get").Safe()}})
	tool, err := classify(t.Context(), j, middleware.Call{Tool: act(t, a, true), Arguments: json.RawMessage(`{"m":"get"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tool.Annotations.Summary(), "[Act | read-only | not destructive | idempotent | closed world | audit required | tags: x]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestArgumentsAreReadWithoutGuessing(t *testing.T) {
	t.Parallel()
	var got preflight.Arguments
	j := preflight.New(preflight.Options{Rules: preflight.Rules{"files/act": func(a preflight.Arguments) (preflight.Verdict, bool) {
		got = a
		return preflight.Verdict{}, false
	}}})
	judged(t.Context(), j, middleware.Call{Tool: act(t, annotation.ReadOnly(), true), Arguments: json.RawMessage(
		`{"text":"a\u0062","yes":true,"no":false,"n":12345678901234567890,"o":{"b":1, "a":2},"null":null}`)})
	for _, tt := range []struct {
		name, text string
		isText     bool
		flag       bool
		isFlag     bool
		raw        string
	}{
		{"text", "ab", true, false, false, `"ab"`},
		{"yes", "", false, true, true, "true"},
		{"no", "", false, false, true, "false"},
		{"n", "", false, false, false, "12345678901234567890"},
		{"o", "", false, false, false, `{"a":2,"b":1}`},
		{"null", "", false, false, false, "null"},
		{"TEXT", "", false, false, false, ""},
		{"missing", "", false, false, false, ""},
	} {
		text, isText := got.Text(tt.name)
		flag, isFlag := got.Bool(tt.name)
		raw, isRaw := got.Raw(tt.name)
		if text != tt.text || isText != tt.isText || flag != tt.flag || isFlag != tt.isFlag || string(raw) != tt.raw || isRaw != (tt.raw != "") {
			t.Errorf("%s: text %q %v, bool %v %v, raw %s %v", tt.name, text, isText, flag, isFlag, raw, isRaw)
		}
		clear(raw)
		if again, _ := got.Raw(tt.name); string(again) != tt.raw {
			t.Errorf("%s: the arguments can be written to", tt.name)
		}
	}
}

// A condition on a present argument is met by any value but null.
func TestConditionOnAPresentArgument(t *testing.T) {
	t.Parallel()
	writes := preflight.Present("filename").Dangerous()
	both := preflight.When("mode", "r").AndPresent("id").Safe()
	for _, tt := range []struct {
		rule      preflight.Rule
		static    annotation.Annotations
		arguments string
		want      annotation.Safety
	}{
		{writes, annotation.ReadOnly(), `{}`, safe}, {writes, annotation.ReadOnly(), `{"filename":null}`, safe},
		{writes, annotation.ReadOnly(), `{"filename":"a"}`, dangerous}, {writes, annotation.ReadOnly(), `{"filename":""}`, dangerous},
		{writes, annotation.ReadOnly(), `{"filename":["a"]}`, dangerous}, {writes, annotation.ReadOnly(), `{"FileName":"a"}`, dangerous},
		{both, annotation.Destructive(), `{"mode":"r","id":0}`, safe}, {both, annotation.Destructive(), `{"mode":"r"}`, dangerous},
		{both, annotation.Destructive(), `{"mode":"r","ID":0}`, dangerous},
	} {
		j := preflight.New(preflight.Options{Rules: preflight.Rules{"files/act": tt.rule}})
		judged(t.Context(), j, middleware.Call{Tool: act(t, tt.static, true), Arguments: json.RawMessage(tt.arguments)}).check(t, tt.arguments, tt.want)
	}
}

// A rule that is made from another one leaves that as it was.
func TestConditionsAreValues(t *testing.T) {
	t.Parallel()
	base := preflight.When("a", "1")
	one, two := base.And("b", "1").Safe(), base.And("c", "1").Safe()
	for _, tt := range []struct {
		rule      preflight.Rule
		arguments string
		want      annotation.Safety
	}{
		{one, `{"a":"1","b":"1"}`, safe}, {one, `{"a":"1","c":"1"}`, dangerous},
		{two, `{"a":"1","c":"1"}`, safe}, {two, `{"a":"1","b":"1"}`, dangerous}, {base.Safe(), `{"a":"1"}`, safe},
	} {
		j := preflight.New(preflight.Options{Rules: preflight.Rules{"files/act": tt.rule}})
		judged(t.Context(), j, middleware.Call{Tool: act(t, annotation.Destructive(), true), Arguments: json.RawMessage(tt.arguments)}).check(t, tt.arguments, tt.want)
	}
}

func TestZeroVerdictAsks(t *testing.T) {
	t.Parallel()
	if got := (preflight.Verdict{}).Annotations; !got.MustConfirm() {
		t.Errorf("the zero verdict is %v", got.Safety())
	}
}
