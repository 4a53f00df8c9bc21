package annotation_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const (
	safe      = annotation.Safe
	moderate  = annotation.Moderate
	dangerous = annotation.Dangerous
	unknown   = annotation.Unknown
)

var (
	output = annotation.Condition{Argument: "/filename", Absent: safe, Other: moderate, Effect: "writes a file", Word: "filename"}
	action = annotation.Condition{
		Argument: "/action", Absent: dangerous, Other: dangerous, Effect: "chooses the deed", Word: "action",
		Values: []annotation.Outcome{{"list", safe, "list"}, {"add", moderate, "add"}, {"purge", dangerous, "purge"}},
	}
	dryRun = annotation.Condition{Argument: "/dry_run", Absent: dangerous, Other: dangerous, Values: []annotation.Outcome{{true, safe, "dry"}}}
	query  = annotation.Condition{Argument: "/sql", Absent: safe, Other: dangerous, Language: "sql"}
	method = annotation.Condition{Argument: "/method", Absent: safe, Other: safe, Language: "verb"}
	steps  = annotation.Condition{
		Argument: "/steps/*/op", Absent: dangerous, Other: dangerous, Values: []annotation.Outcome{{"get", safe, "get"}},
	}
)

// with returns inferred annotations of a class with conditions.
func with(class annotation.Safety, conditions ...annotation.Condition) annotation.Annotations {
	a := annotation.Annotations{Conditions: conditions}
	switch class {
	case safe:
		a.ReadOnly = yes
	case moderate:
		a.ReadOnly, a.Destructive = no, no
	case dangerous:
		a.ReadOnly, a.Destructive = no, yes
	}
	return a.Attribute(annotation.Inferred, "")
}

func reading(language, text string) (annotation.Safety, string) {
	if language == "sql" && strings.HasPrefix(text, "SELECT") {
		return safe, "it selects"
	}
	if language == "verb" && text == "delete" {
		return dangerous, "it deletes"
	}
	return unknown, ""
}

func TestDecide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		tool      annotation.Annotations
		arguments string
		want      annotation.Safety
		why       string
	}{
		{"no condition", with(dangerous), `{}`, dangerous, ""},
		{"absent", with(moderate, output), `{}`, safe, "filename is not given"},
		{"no arguments", with(moderate, output), ``, safe, "filename is not given"},
		{"given", with(moderate, output), `{"filename":"a"}`, moderate, "filename is given"},
		{"null", with(moderate, output), `{"filename":null}`, moderate, "filename is given"},
		{"empty", with(moderate, output), `{"filename":""}`, moderate, "filename is given"},
		{"another type", with(moderate, output), `{"filename":[]}`, moderate, "filename is given"},
		{"another case", with(moderate, output), `{"fileName":"a"}`, moderate, "filename is given twice or in another case"},
		{"twice", with(moderate, output), `{"filename":"a","filename":"b"}`, moderate, "filename is given twice or in another case"},
		{"no object", with(moderate, output), `[]`, moderate, "filename cannot be read"},
		{"no JSON", with(moderate, output), `{"filename"`, moderate, "filename cannot be read"},

		{"a mild choice", with(dangerous, action), `{"action":"list"}`, safe, `action is "list"`},
		{"a middle choice", with(dangerous, action), `{"action":"add"}`, moderate, `action is "add"`},
		{"a grave choice", with(dangerous, action), `{"action":"purge"}`, dangerous, `action is "purge"`},
		{"a missing choice", with(dangerous, action), `{}`, dangerous, "action is not given"},
		{"an unknown choice", with(dangerous, action), `{"action":"LIST"}`, dangerous, "action is not one of the known values"},
		{"a choice of another type", with(dangerous, action), `{"action":["list"]}`, dangerous, "action is not one of the known values"},

		{"a switch on", with(dangerous, dryRun), `{"dry_run":true}`, safe, "dry_run is true"},
		{"a switch off", with(dangerous, dryRun), `{"dry_run":false}`, dangerous, "dry_run is false"},
		{"a switch as text", with(dangerous, dryRun), `{"dry_run":"true"}`, dangerous, "dry_run is not one of the known values"},
		{"a switch missing", with(dangerous, dryRun), `{}`, dangerous, "dry_run is not given"},

		{"a text that is judged", with(dangerous, query), `{"sql":"SELECT 1"}`, safe, "sql: it selects"},
		{"a text that is not understood", with(dangerous, query), `{"sql":"COMMIT; DROP TABLE x"}`, dangerous, "the sql in sql is not judged"},
		{"no text", with(dangerous, query), `{"sql":7}`, dangerous, "the sql in sql is not judged"},

		{"each element", with(dangerous, steps), `{"steps":[{"op":"get"},{"op":"get"}]}`, safe, `steps[].op is "get"`},
		{"one element", with(dangerous, steps), `{"steps":[{"op":"get"},{"op":"cut"}]}`, dangerous, "steps[].op is not one of the known values"},
		{"no list", with(dangerous, steps), `{"steps":{"op":"get"}}`, dangerous, "steps[].op is not a list"},
		{"a null list", with(dangerous, steps), `{"steps":null}`, dangerous, "steps[].op is not a list"},
		{"no elements", with(dangerous, steps), `{"steps":[]}`, dangerous, "steps[].op is empty"},

		{"the strictest counts", with(dangerous, action, output), `{"action":"list","filename":"a"}`, moderate, "filename is given"},
		{"both mild", with(dangerous, action, output), `{"action":"list"}`, safe, `action is "list"`},
		{"hints that the conditions do not account for", with(dangerous, output), `{}`, dangerous, ""},
		{"nothing known", with(unknown, output), `{}`, unknown, ""},
	} {
		got := c.tool.Decide(json.RawMessage(c.arguments), reading)
		if got.Class != c.want || got.Why != c.why || (got.Condition != nil) != (c.why != "") {
			t.Errorf("%s: got %v, %q, want %v, %q", c.name, got.Class, got.Why, c.want, c.why)
		}
		a, _ := c.tool.For(json.RawMessage(c.arguments), reading)
		if a.Safety() != c.want || len(a.Conditions) > 0 {
			t.Errorf("%s: the call is %s, want %v and no conditions", c.name, a.Summary(), c.want)
		}
		if e, ok := a.EvidenceOf(annotation.ReadOnlyHint); c.want != c.tool.Safety() && (!ok || e.Source != annotation.Inferred || !strings.Contains(e.Place, c.why)) {
			t.Errorf("%s: the evidence is %v", c.name, a.Evidence)
		}
	}
	if got := with(dangerous, query).Decide(json.RawMessage(`{"sql":"SELECT 1"}`), nil).Class; got != dangerous {
		t.Errorf("without a judge: got %v", got)
	}
}

// Whatever the arguments are, a call is never stricter than the tool, and with every condition at its worst it is as strict.
func TestDecideStaysBelowTheWorstCase(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tool := with(dangerous, action, output, query)
		value := rapid.SampledFrom([]string{`null`, `""`, `"list"`, `"purge"`, `true`, `[]`, `{}`, `7`, `"SELECT"`})
		members := make(map[string]json.RawMessage)
		for _, name := range []string{"action", "Action", "filename", "sql", "SQL", "other"} {
			if rapid.Bool().Draw(t, name) {
				members[name] = json.RawMessage(value.Draw(t, name+" value"))
			}
		}
		arguments, _ := json.Marshal(members)
		got := tool.Decide(arguments, reading)
		listed := string(members["action"]) == `"list"` && members["Action"] == nil
		if got.Class < dangerous || got.Class > dangerous && !listed && string(members["action"]) != `"add"` {
			t.Fatalf("%s: %v, %s", arguments, got.Class, got.Why)
		}
	})
}

func TestConditionsUnderOtherLayers(t *testing.T) {
	t.Parallel()
	inferred := with(dangerous, action)
	said := func(a annotation.Annotations, by annotation.Source) annotation.Annotations {
		return a.Attribute(by, "x")
	}
	mine := annotation.Condition{Argument: "/mine", Absent: safe, Other: dangerous}
	for _, c := range []struct {
		name string
		got  annotation.Annotations
		want []annotation.Condition
	}{
		{"a title", annotation.Merge(inferred, annotation.Annotations{Title: "T"}), []annotation.Condition{action}},
		{"the host calls it destructive", annotation.Merge(inferred, annotation.Destructive()), nil},
		{"the host calls it read-only", annotation.Merge(inferred, annotation.ReadOnly()), nil},
		{"a host's rule", annotation.Merge(inferred, said(annotation.Annotations{RequiresConfirmation: yes}, annotation.Rule)), nil},
		{"the host's own conditions", annotation.Merge(inferred, annotation.Annotations{Destructive: yes, Conditions: []annotation.Condition{mine}}), []annotation.Condition{mine}},
		{"a trusted server repeats the worst case", annotation.Merge(inferred, said(annotation.Destructive(), annotation.Declared)), []annotation.Condition{action}},
		{"a trusted server calls it read-only", annotation.Merge(inferred, said(annotation.ReadOnly(), annotation.Declared)), nil},

		{"an untrusted claim repeats the worst case", annotation.Raise(inferred, said(annotation.Destructive(), annotation.Declared)), []annotation.Condition{action}},
		{"an untrusted claim is milder", annotation.Raise(inferred, said(annotation.ReadOnly(), annotation.Declared)), []annotation.Condition{action}},
		{"the host raises", annotation.Raise(inferred, annotation.Annotations{RequiresConfirmation: yes}), nil},
		{"the host raises what is raised", annotation.Raise(inferred, annotation.Destructive()), nil},
		{"a claim's condition beside others", annotation.Raise(inferred, said(annotation.Annotations{Conditions: []annotation.Condition{mine}}, annotation.Declared)), []annotation.Condition{action, mine}},
		{"a claim's condition alone", annotation.Raise(with(dangerous), said(annotation.Annotations{Conditions: []annotation.Condition{mine}}, annotation.Declared)), nil},
		{"a claim's condition of a read", annotation.Raise(with(safe), said(annotation.Annotations{Conditions: []annotation.Condition{mine}}, annotation.Declared)), []annotation.Condition{mine}},
		{"taken away", inferred.Without(annotation.Conditions), nil},
	} {
		if d := cmp.Diff(c.want, c.got.Conditions); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
		if _, ok := c.got.EvidenceOf(annotation.Conditions); len(c.want) == 0 && ok {
			t.Errorf("%s: evidence is left: %v", c.name, c.got.Evidence)
		}
	}
	raised := annotation.Raise(with(moderate, output), said(annotation.Destructive(), annotation.Declared))
	if got := raised.Decide(nil, nil).Class; got != dangerous {
		t.Errorf("a claim above the conditions: got %v", got)
	}
	read := annotation.Raise(with(safe), said(annotation.Annotations{Conditions: []annotation.Condition{output}}, annotation.Declared))
	if read.Safety() != safe || read.Decide(json.RawMessage(`{"filename":"a"}`), nil).Class != moderate {
		t.Errorf("a claim's condition of a read: %s", read.Summary())
	}
}

// Raising by any claim lowers no call.
func TestRaisedConditionsLowerNoCall(t *testing.T) {
	t.Parallel()
	any := []annotation.Condition{output, action, dryRun, query, steps, method}
	rapid.Check(t, func(t *rapid.T) {
		some := func(name string) []annotation.Condition {
			return slices.Clone(rapid.SliceOfN(rapid.SampledFrom(any), 0, 2).Draw(t, name))
		}
		a, claim := drawn(t, "tool", annotation.Inferred), drawn(t, "claim", annotation.Declared)
		a.Conditions, claim.Conditions = some("conditions"), some("claimed")
		arguments := json.RawMessage(rapid.SampledFrom([]string{
			`{}`, `{"filename":"a"}`, `{"action":"list"}`, `{"action":"list","dry_run":true}`, `{"steps":[{"op":"get"}],"action":"add"}`, `{"method":"delete"}`, `{"method":"delete","filename":"a"}`,
		}).Draw(t, "arguments"))
		before, after := a.Decide(arguments, reading).Class, annotation.Raise(a, claim).Decide(arguments, reading).Class
		if strictness(after) < strictness(before) {
			t.Fatalf("%s: %v, and with %s it is %v", a.Summary(), before, claim.Summary(), after)
		}
	})
}

// A condition whose other class nobody stated judges its text as one whose other class is dangerous.
func TestConditionWithoutAnOtherClass(t *testing.T) {
	t.Parallel()
	bare := annotation.Condition{Argument: "/sql", Language: "sql"}
	a := with(annotation.Unknown, bare)
	if bare.OnlyRaises() || bare.Worst() != annotation.Unknown {
		t.Errorf("it only raises: %v, at worst it is %v", bare.OnlyRaises(), bare.Worst())
	}
	if got := a.Decide(json.RawMessage(`{"sql":"SELECT 1"}`), reading).Class; got != safe {
		t.Errorf("a text that was found a read: got %v", got)
	}
	if got := a.Decide(json.RawMessage(`{"sql":"COMMIT; DROP TABLE x"}`), reading).Class; got.MustConfirm() != true {
		t.Errorf("a text that nobody understands: got %v", got)
	}
}

// A text whose other class is not dangerous can only raise, and goes on to do so when the tool is raised.
func TestConditionThatOnlyRaises(t *testing.T) {
	t.Parallel()
	judge := func(class annotation.Safety) annotation.Judge {
		return func(string, string) (annotation.Safety, string) { return class, "" }
	}
	write := method
	write.Absent, write.Other = moderate, moderate
	said := func(a annotation.Annotations, by annotation.Source) annotation.Annotations {
		return a.Attribute(by, "x")
	}
	adds := said(annotation.Annotations{ReadOnly: no, Destructive: no}, annotation.Declared)
	for _, c := range []struct {
		name  string
		tool  annotation.Annotations
		judge annotation.Judge
		want  annotation.Safety
	}{
		{"a grave verb of a write", with(moderate, write), judge(dangerous), dangerous},
		{"a grave verb of a read", with(safe, method), judge(dangerous), dangerous},
		{"a write of a read", with(safe, method), judge(moderate), moderate},
		{"a read of a write", with(moderate, write), judge(safe), moderate},
		{"a text that is not known", with(moderate, write), judge(unknown), moderate},
		{"no judge", with(moderate, write), nil, moderate},
		{"a grave verb of a read that a claim makes a write", annotation.Raise(with(safe, method), adds), judge(dangerous), dangerous},
		{"another one of the same", annotation.Raise(with(safe, method), adds), judge(unknown), moderate},
		{"any of a tool that is raised", annotation.Raise(with(moderate, write), said(annotation.Destructive(), annotation.Declared)), judge(safe), dangerous},
		{"any of a tool that the host calls a write", annotation.Merge(with(moderate, write), said(annotation.Write(), annotation.Host)), judge(dangerous), moderate},
		{"beside a file that is not written", with(dangerous, annotation.Condition{Argument: "/file", Absent: safe, Other: dangerous}, method), judge(moderate), moderate},
	} {
		if got := c.tool.Decide(json.RawMessage(`{"method":"x"}`), c.judge).Class; got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	if got := write.String(); got != "moderate, or stricter by the verb in method" {
		t.Error(got)
	}
	if known, _ := with(moderate, write).For(json.RawMessage(`{"method":"x"}`), judge(dangerous)); known.Evidence[len(known.Evidence)-1].Language != "" {
		t.Errorf("the text is said to be carried out: %v", known.Evidence)
	}
}

func TestConditionsTravel(t *testing.T) {
	t.Parallel()
	want := with(dangerous, output, action, dryRun, query, steps)
	want.Evidence = nil
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got annotation.Annotations
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{
		`{"conditions":[{"argument":"x","absent":"safe","other":"safe"}]}`,
		`{"conditions":[{"argument":"/x","absent":"harmless","other":"safe"}]}`,
		`{"conditions":[{"argument":"/x","absent":"safe","other":"safe","unless":"y"}]}`,
		`{"conditions":[{"argument":"/x","absent":"safe","other":"safe","values":[{"value":1,"class":"safe"}]}]}`,
		`{"conditions":{}}`,
	} {
		a, err := annotation.Parse([]byte(bad))
		if err == nil || len(a.Conditions) > 0 {
			t.Errorf("%s: %v, %v", bad, a.Conditions, err)
		}
	}
}

func TestConditionsAreValidated(t *testing.T) {
	t.Parallel()
	many := make([]annotation.Condition, 65)
	for i := range many {
		many[i] = output
	}
	for _, c := range []struct {
		bad  []annotation.Condition
		want string
	}{
		{[]annotation.Condition{{Argument: "x"}}, `conditions: want a pointer to an argument, such as /action, got "x"`},
		{[]annotation.Condition{{Argument: "/x", Other: 9}}, "conditions: /x: the classes of an absent and of another value are unknown and unknown"},
		{[]annotation.Condition{{Argument: "/x", Absent: safe, Other: safe, Values: []annotation.Outcome{{Value: 1.0}}}}, "value number 1: want a string or a boolean"},
		{[]annotation.Condition{{Argument: "/x", Absent: safe, Other: safe, Values: []annotation.Outcome{{Value: "y"}}}}, "the class of value number 1"},
		{many, "65 conditions are more than 64"},
	} {
		if err := (annotation.Annotations{ReadOnly: yes, Conditions: c.bad}).Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	if err := with(dangerous, output, action, dryRun, query, steps).Validate(); err != nil {
		t.Error(err)
	}
}

func TestConditionText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		condition annotation.Condition
		want      string
	}{
		{output, "moderate if filename is given (writes a file), otherwise safe"},
		{action, `by action (chooses the deed): "list" safe; "add" moderate; "purge" dangerous, otherwise dangerous`},
		{dryRun, "by dry_run: true safe, otherwise dangerous"},
		{query, "by the sql in sql: judged by its text, unjudged dangerous"},
		{annotation.Condition{Argument: "/a~1b/*", Absent: safe, Other: dangerous, Values: []annotation.Outcome{{true, safe, ""}}},
			"by a/b[]: true safe, otherwise dangerous, absent safe"},
	} {
		if got := c.condition.String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if p, ok := annotation.Pointer("a/b", "~"); p != "/a~1b/~0" || !ok {
		t.Errorf("got %s, %v", p, ok)
	}
	if _, ok := annotation.Pointer("*"); ok {
		t.Error("a member called * cannot be told from every element")
	}
}

// A text of several arguments is judged as one, and one part that two readers could read differently leaves it unjudged.
func TestDecideByTextsWithParts(t *testing.T) {
	t.Parallel()
	request := annotation.Condition{
		Argument: "/url", Absent: dangerous, Other: dangerous, Language: "http", With: map[string]string{"method": "/method", "body": "/a~1b"},
	}
	pipeline := annotation.Condition{Argument: "/pipeline", Absent: safe, Other: dangerous, Language: "mongodb"}
	read := func(language, text string) (annotation.Safety, string) { return safe, language + " " + text }
	for _, c := range []struct {
		name, arguments string
		condition       annotation.Condition
		want            annotation.Safety
		why             string
	}{
		{"alone", `{"url":"x","other":1}`, request, safe, `url: http {"text":"x"}`},
		{"with a part", `{"url":"x","method":"GET"}`, request, safe, `url: http {"method":"GET","text":"x"}`},
		{"with a part of any type", `{"a/b":{"c":[1]},"url":"x"}`, request, safe, `url: http {"body":{"c":[1]},"text":"x"}`},
		{"a part in another case", `{"url":"x","Method":"POST"}`, request, dangerous, "the http in url, with body, method is not judged"},
		{"a part twice", `{"url":"x","method":"GET","method":"POST"}`, request, dangerous, "the http in url, with body, method is not judged"},
		{"no text", `{"url":7,"method":"GET"}`, request, dangerous, "the http in url, with body, method is not judged"},
		{"without the text", `{"method":"GET"}`, request, dangerous, "url is not given"},
		{"a list", `{"pipeline": [{"$match":{}}]}`, pipeline, safe, `pipeline: mongodb [{"$match":{}}]`},
		{"an object", `{"pipeline":{"a":1}}`, pipeline, safe, `pipeline: mongodb {"a":1}`},
		{"a text", `{"pipeline":"[]"}`, pipeline, safe, `pipeline: mongodb []`},
		{"a number", `{"pipeline":1}`, pipeline, dangerous, "the mongodb in pipeline is not judged"},
		{"null", `{"pipeline":null}`, pipeline, dangerous, "the mongodb in pipeline is not judged"},
	} {
		got := with(dangerous, c.condition).Decide(json.RawMessage(c.arguments), read)
		if got.Class != c.want || got.Why != c.why {
			t.Errorf("%s: got %v, %q, want %v, %q", c.name, got.Class, got.Why, c.want, c.why)
		}
	}
	bad := request
	for _, with := range []map[string]string{{"a": ""}, {"a": "/"}, {"a": "/b/c"}, {"a": "/*"}, {"": "/a"}, {"text": "/a"}, {"a": "b"}} {
		bad.With = with
		if err := (annotation.Annotations{ReadOnly: no, Destructive: yes, Conditions: []annotation.Condition{bad}}).Validate(); err == nil {
			t.Errorf("with %v: no error", with)
		}
	}
	if got, want := request.String(), "by the http in url, with body, method: judged by its text, unjudged dangerous"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
