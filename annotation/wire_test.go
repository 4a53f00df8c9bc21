package annotation_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// over sends a definition through JSON and the SDK's types, as a server and a
// client do.
func over(t *testing.T, tool *mcp.Tool) *mcp.Tool {
	t.Helper()
	raw, err := json.Marshal(tool)
	if err != nil {
		t.Fatal(err)
	}
	got := new(mcp.Tool)
	if err := json.Unmarshal(raw, got); err != nil {
		t.Fatal(err)
	}
	return got
}

func decode(t *testing.T, raw string) *mcp.Tool {
	t.Helper()
	tool := new(mcp.Tool)
	if err := json.Unmarshal([]byte(raw), tool); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return tool
}

// The schema output of the seed: four booleans. Our unset hints are absent; a server that wants
// all four on the wire declares the defaults.
func TestDeclareTheDefaultsGivesTheSeedsFourBooleans(t *testing.T) {
	t.Parallel()
	tool := &mcp.Tool{Name: "example.tool", Description: "Example", InputSchema: map[string]any{"type": "object"}}
	a := annotation.Annotations{ReadOnly: yes, Destructive: no}
	for _, c := range []struct {
		name string
		a    annotation.Annotations
		want string
	}{
		{"as it is", a, `{"destructiveHint":false,"idempotentHint":false,"readOnlyHint":true}`},
		{"with the defaults", a.Defaults(), `{"destructiveHint":false,"idempotentHint":false,"openWorldHint":true,"readOnlyHint":true}`},
	} {
		got, err := json.Marshal(annotation.Declare(tool, c.a).Annotations)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	titled := annotation.Declare(tool, annotation.Annotations{Title: "Run AI Workflow"})
	if titled.Annotations.Title != "Run AI Workflow" {
		t.Errorf("the title on the wire is %q", titled.Annotations.Title)
	}
	if tool.Annotations != nil || tool.Meta != nil {
		t.Error("Declare wrote to what it was handed")
	}
}

func TestDeclareKeepsOtherMeta(t *testing.T) {
	t.Parallel()
	tool := &mcp.Tool{Name: "t", Meta: mcp.Meta{"theirs": "1"}}
	got := annotation.Declare(tool, annotation.Write())
	if got.Meta["theirs"] != "1" || len(tool.Meta) != 1 {
		t.Errorf("declared meta %v, the original's %v", got.Meta, tool.Meta)
	}
}

// The seed's category and tags ride under our key, since MCP has none.
func TestDeclareRoundTripIsLossless(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	cases := []annotation.Annotations{
		{}, someFull(), annotation.ReadOnly(), annotation.Write(), annotation.Update(), annotation.Destructive(),
		{ReadOnly: no}, {Destructive: no}, {Destructive: yes}, {Idempotent: no}, {OpenWorld: no}, {RequiresConfirmation: no},
		{Title: "Search", ReadOnly: yes, Category: "web", Tags: []string{"search", "internet", "query"}},
		{EstimatedDuration: 3 * time.Nanosecond}, {EstimatedDuration: 1234567 * time.Nanosecond},
	}
	for range 2_000 {
		a := random(r)
		if a.ReadOnly == yes && a.Destructive == yes {
			continue // no tool of ours declares a conflict
		}
		cases = append(cases, a)
	}
	for _, a := range cases {
		a = annotation.Merge(a) // which sorts the tags
		want, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		got, err := annotation.FromTool(over(t, annotation.Declare(&mcp.Tool{Name: "t"}, a)))
		if err != nil {
			t.Fatalf("%s: %v", a.Summary(), err)
		}
		if back, _ := json.Marshal(got); string(back) != string(want) {
			t.Fatalf("declared %s, read %s", want, back)
		}
		var strict annotation.Annotations
		if err := json.Unmarshal(want, &strict); err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		if back, _ := json.Marshal(strict); string(back) != string(want) {
			t.Fatalf("wrote %s, read %s", want, back)
		}
	}
}

// The annotations on the wire, and their meaning. The tuples that SDKs write by default carry no
// information, with any title; a true destructive hint always counts; and any other explicit false
// is a declaration.
func TestFromTool(t *testing.T) {
	t.Parallel()
	type a = annotation.Annotations
	const key = `"_meta":{"` + annotation.MetaKey + `":`
	for _, c := range []struct {
		name, raw string
		want      a
		fault     string
	}{
		{"B085 absent", `{"name":"t"}`, a{}, ""},
		{"B085 null", `{"name":"t","annotations":null}`, a{}, ""},
		{"B085 empty", `{"name":"t","annotations":{}}`, a{}, ""},
		{"an SDK's silence", `{"name":"t","annotations":{"readOnlyHint":false,"idempotentHint":false}}`, a{}, ""},
		{"an SDK's silence with a title", `{"name":"t","annotations":{"title":"T","readOnlyHint":false,"idempotentHint":false}}`, a{Title: "T"}, ""},
		{"another SDK's silence", `{"name":"t","annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}}`,
			a{Destructive: yes, OpenWorld: yes}, ""},
		{"destructive yes", `{"name":"t","annotations":{"destructiveHint":true}}`, a{ReadOnly: no, Destructive: yes, Idempotent: no}, ""},
		{"destructive no", `{"name":"t","annotations":{"destructiveHint":false}}`, a{ReadOnly: no, Destructive: no, Idempotent: no}, ""},
		{"open world alone", `{"name":"t","annotations":{"openWorldHint":false}}`, a{ReadOnly: no, Idempotent: no, OpenWorld: no}, ""},
		{"idempotent yes", `{"name":"t","annotations":{"idempotentHint":true}}`, a{ReadOnly: no, Idempotent: yes}, ""},
		{"read-only yes", `{"name":"t","annotations":{"readOnlyHint":true}}`, a{ReadOnly: yes, Idempotent: no}, ""},
		{"a conflict", `{"name":"t","annotations":{"readOnlyHint":true,"destructiveHint":true}}`, a{ReadOnly: yes, Destructive: yes, Idempotent: no}, ""},
		{"the tool's title", `{"name":"t","title":"Tool"}`, a{Title: "Tool"}, ""},
		{"the annotations' title first", `{"name":"t","title":"Tool","annotations":{"title":"Annotations"}}`, a{Title: "Annotations"}, ""},
		{"our key distinguishes absent from false", `{"name":"t","annotations":{"readOnlyHint":false,"idempotentHint":false,"destructiveHint":false},` + key + `{"destructiveHint":false}}}`,
			a{Destructive: no}, ""},
		{"our key cannot take a destructive yes back", `{"name":"t","annotations":{"destructiveHint":true},` + key + `{"readOnlyHint":true}}}`,
			a{ReadOnly: no, Destructive: yes}, ""},
		{"our key without hints", `{"name":"t","annotations":{"readOnlyHint":true},` + key + `{"tags":["x"],"estimatedDuration":1500}}}`,
			a{ReadOnly: yes, Idempotent: no, Tags: []string{"x"}, EstimatedDuration: 1500 * time.Millisecond}, ""},
		{"our key with hints, and the tool's title", `{"name":"t","title":"Tool","annotations":{},` + key + `{"readOnlyHint":true}}}`,
			a{Title: "Tool", ReadOnly: yes}, ""},
		{"our key and no annotations", `{"name":"t",` + key + `{"readOnlyHint":true,"requiresConfirmation":true}}}`, a{ReadOnly: yes, RequiresConfirmation: yes}, ""},
		{"our key is a number", `{"name":"t","annotations":{"readOnlyHint":true},` + key + `7}}`, a{ReadOnly: yes, Idempotent: no}, "want a JSON object"},
		{"B095 in meta", `{"name":"t",` + key + `{"rateLimitHint":-5,"costHint":"9","category":"web"}}}`, a{Category: "web"}, "rateLimitHint"},
	} {
		got, err := annotation.FromTool(decode(t, c.raw))
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %s, want %s", c.name, got.Summary(), c.want.Summary())
		}
		if c.fault == "" && err != nil || c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)) {
			t.Errorf("%s: error %v, want one about %q", c.name, err, c.fault)
		}
	}
}

func TestFromToolOfMetaThatIsNotJSON(t *testing.T) {
	t.Parallel()
	tool := &mcp.Tool{Name: "t", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}, Meta: mcp.Meta{annotation.MetaKey: func() {}}}
	got, err := annotation.FromTool(tool)
	if err == nil || !strings.Contains(err.Error(), annotation.MetaKey) || got.ReadOnly != yes {
		t.Errorf("got %s and %v", got.Summary(), err)
	}
}

// Rows of what a server may get wrong: readable fields count, the rest is reported, and no fault
// lowers the class of a tool.
func TestParse(t *testing.T) {
	t.Parallel()
	type a = annotation.Annotations
	for _, c := range []struct {
		name, raw string
		want      a
		faults    []string
	}{
		{"B077 a conflict", `{"readOnlyHint":true,"destructiveHint":true}`, a{ReadOnly: yes, Destructive: yes}, nil},
		{"B079 a text is not true", `{"readOnlyHint":"true","title":"T"}`, a{Title: "T"}, []string{`readOnlyHint: want a boolean, got "true"`}},
		{"B079 nor is a number", `{"readOnlyHint":1}`, a{}, []string{"readOnlyHint: want a boolean, got 1"}},
		{"B081 another case is another member", `{"readonlyHint":true}`, a{}, nil},
		{"B081 in Go's case too", `{"ReadOnlyHint":true}`, a{}, nil},
		{"B083 twice", `{"readOnlyHint":true,"readOnlyHint":false}`, a{ReadOnly: no}, []string{"readOnlyHint is given twice"}},
		{"B083 in the other order", `{"readOnlyHint":false,"readOnlyHint":true}`, a{ReadOnly: no}, []string{"readOnlyHint is given twice"}},
		{"B083 destructive", `{"destructiveHint":true,"destructiveHint":false}`, a{Destructive: yes}, []string{"destructiveHint is given twice"}},
		{"B083 by another escape", `{"readOnlyHint":false,"\u0072eadOnlyHint":true}`, a{ReadOnly: no}, []string{"twice"}},
		{"B083 three times", `{"destructiveHint":false,"destructiveHint":true,"destructiveHint":false}`, a{Destructive: yes}, []string{"twice", "twice"}},
		{"B085 null", `null`, a{}, nil},
		{"B085 empty", ` {} `, a{}, nil},
		{"B085 members of null", `{"readOnlyHint":null,"costHint":null,"title":null,"tags":null,"estimatedDuration":null}`, a{}, nil},
		{"B095 a negative rate", `{"rateLimitHint":-5}`, a{}, []string{"rateLimitHint: want a finite number of at least 0, got -5"}},
		{"B095 an infinite duration", `{"estimatedDuration":1e999}`, a{}, []string{"estimatedDuration: want a finite number of at least 0, got 1e999"}},
		{"B095 no JSON number", `{"costHint":1,"estimatedDuration":Infinity}`, a{}, []string{"want a JSON object"}},
		{"B095 a text as cost", `{"costHint":"9"}`, a{}, []string{`costHint: want a finite number of at least 0, got "9"`}},
		{"B095 a duration past what can be held", `{"estimatedDuration":1e300}`, a{}, nil},
		{"unknown words", `{"complexity":"extreme","securityLevel":"secret","freshness":"forever"}`, a{}, []string{`complexity: `, `securityLevel: `, `freshness: `}},
		{"an empty tag", `{"tags":["a",""]}`, a{}, []string{"tags"}},
		{"malformed tags", `{"tags":"a","category":7}`, a{}, []string{"tags", "category: want a string, got 7"}},
		{"unknown members", `{"x":{"readOnlyHint":true},"idempotentHint":true}`, a{Idempotent: yes}, nil},
		{"no object", `[true]`, a{}, []string{"want a JSON object"}},
		{"nothing", ``, a{}, []string{"want a JSON object"}},
		{"cut off", `{"readOnlyHint":true`, a{}, []string{"want a JSON object"}},
		{"cut off in a value", `{"readOnlyHint":`, a{}, []string{"want a JSON object"}},
		{"more behind it", `{"destructiveHint":false}{"destructiveHint":true}`, a{}, []string{"want a JSON object"}},
	} {
		got, err := annotation.Parse([]byte(c.raw))
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %s, want %s", c.name, got.Summary(), c.want.Summary())
		}
		var lines []string
		if err != nil {
			lines = strings.Split(err.Error(), "\n")
		}
		if len(lines) != len(c.faults) {
			t.Errorf("%s: %d faults, want %d: %v", c.name, len(lines), len(c.faults), err)
			continue
		}
		for i, want := range c.faults {
			if !strings.Contains(lines[i], want) {
				t.Errorf("%s: fault %q, want %q", c.name, lines[i], want)
			}
		}
	}
}

// A host's annotations are read strictly.
func TestUnmarshalJSONIsStrict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ raw, want string }{
		{`{"readOnlyHint":true,"estimatedDuration":250}`, ""},
		{`{"readonlyHint":true}`, `unknown annotation "readonlyHint"`},
		{`{"readOnlyHint":true,"readOnlyHint":true}`, "readOnlyHint is given twice"},
		{`{"readOnlyHint":"yes"}`, "want a boolean"},
		{`{"rateLimitHint":-1}`, "rateLimitHint: want a finite number of at least 0, got -1"},
		{`[]`, "want a JSON object"},
	} {
		a := annotation.Annotations{Title: "before"}
		err := json.Unmarshal([]byte(c.raw), &a)
		switch {
		case c.want == "" && (err != nil || a.ReadOnly != yes || a.EstimatedDuration != 250*time.Millisecond || a.Title != ""):
			t.Errorf("%s: %s, %v", c.raw, a.Summary(), err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want %q", c.raw, err, c.want)
		case c.want != "" && a.Title != "before":
			t.Errorf("%s: an error, and the value was changed", c.raw)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"readOnlyHint":true,"readOnlyHint":false}`, `{"estimatedDuration":250,"tags":["a","b"],"costHint":1e3}`,
		`{"rateLimitHint":-5,"complexity":"simple"}`, `{"title":"\ud800"}`, `{"a":[[[]]]}`, `{"readOnlyHint":true`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := annotation.Parse(data)
		faults := a.Validate()
		if a.ReadOnly == yes && a.Destructive == yes {
			faults = a.Without(annotation.ReadOnlyHint).Validate() // a conflict is for the host to see
		}
		if faults != nil {
			t.Fatalf("%q was read as %s, which is not valid: %v", data, a.Summary(), faults)
		}
		raw, marshalErr := json.Marshal(a)
		if marshalErr != nil {
			t.Fatalf("%q was read as %+v, which cannot be written: %v", data, a, marshalErr)
		}
		var back annotation.Annotations
		if strictErr := back.UnmarshalJSON(raw); strictErr != nil {
			t.Fatalf("%q was read and written as %s, which the strict reading refuses: %v", data, raw, strictErr)
		}
		if !json.Valid(data) && err == nil {
			t.Fatalf("%q is not JSON, and nothing was reported", data)
		}
		var strict annotation.Annotations
		if strictErr := json.Unmarshal(data, &strict); strictErr == nil {
			if got, _ := json.Marshal(strict); string(got) != string(raw) {
				t.Fatalf("%q: the lenient reading is %s, the strict one %s", data, raw, got)
			}
		}
	})
}

func ExampleParse() {
	a, err := annotation.Parse([]byte(`{"readOnlyHint":"true","destructiveHint":true,"category":"files"}`))
	fmt.Println(a.Summary())
	fmt.Println(err)
	// Output:
	// [DESTRUCTIVE | category: files]
	// annotation: readOnlyHint: want a boolean, got "true"
}

func ExampleDeclare() {
	tool := annotation.Declare(&mcp.Tool{Name: "memory.show"}, annotation.ReadOnly())
	raw, err := json.Marshal(tool.Annotations)
	fmt.Println(string(raw), err)
	// Output: {"destructiveHint":false,"idempotentHint":true,"readOnlyHint":true} <nil>
}

func ExampleFromTool() {
	sdkSilence := &mcp.Tool{Name: "wipe", Annotations: &mcp.ToolAnnotations{}}
	a, err := annotation.FromTool(sdkSilence)
	fmt.Println(a.Summary(), err)
	// Output: [no annotations] <nil>
}

func TestTrueUnderOurKeyAloneDoesNotCount(t *testing.T) {
	t.Parallel()
	tool := &mcp.Tool{
		Name:        "x",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: new(false)},
		Meta:        mcp.Meta{annotation.MetaKey: map[string]any{"readOnlyHint": true, "idempotentHint": true}},
	}
	got, err := annotation.FromTool(tool)
	if err != nil || got.ReadOnly != annotation.No || got.Idempotent != annotation.No {
		t.Errorf("read-only %v, idempotent %v, error %v; want no, no and none", got.ReadOnly, got.Idempotent, err)
	}
}

func TestFromRawDistinguishesAbsentFromFalse(t *testing.T) {
	t.Parallel()
	own := func(fields string) *mcp.Tool {
		return &mcp.Tool{Title: "T", Meta: mcp.Meta{annotation.MetaKey: json.RawMessage(fields)}}
	}
	for _, c := range []struct {
		name, raw string
		tool      *mcp.Tool
		want      string
		fault     string
	}{
		{"nothing", "", &mcp.Tool{Title: "T"}, "[T]", ""},
		{"empty", "{}", &mcp.Tool{}, "[no annotations]", ""},
		{"absent", `{"openWorldHint":true}`, &mcp.Tool{}, "[open world]", ""},
		{"false", `{"readOnlyHint":false}`, &mcp.Tool{}, "[not read-only]", ""},
		{"both falses of an SDK", `{"readOnlyHint":false,"idempotentHint":false}`, &mcp.Tool{}, "[no annotations]", ""},
		{"all four of another", `{"readOnlyHint":false,"idempotentHint":false,"destructiveHint":true,"openWorldHint":true}`, &mcp.Tool{}, "[DESTRUCTIVE | open world]", ""},
		{"B083 twice", `{"readOnlyHint":false,"readOnlyHint":true}`, &mcp.Tool{}, "[not read-only]", "given twice"},
		{"B079 no boolean", `{"readOnlyHint":"true","destructiveHint":true}`, &mcp.Tool{}, "[DESTRUCTIVE]", "want a boolean"},
		{"a field that is not MCP's", `{"title":"A","requiresConfirmation":true}`, &mcp.Tool{Title: "T"}, "[A | requires confirmation]", ""},
		{"our key replaces", `{"destructiveHint":false}`, own(`{"readOnlyHint":true}`), "[T | read-only]", ""},
		{"and takes back no admission", `{"destructiveHint":true,"requiresConfirmation":true,"auditRequired":true}`,
			own(`{"destructiveHint":false,"requiresConfirmation":false,"auditRequired":false}`), "[T | DESTRUCTIVE | requires confirmation | audit required]", ""},
		{"a plain no speaks against it", `{"readOnlyHint":false}`, own(`{"readOnlyHint":true}`), "[T | not read-only]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var raw json.RawMessage
			if c.raw != "" {
				raw = json.RawMessage(c.raw)
			}
			got, err := annotation.FromRaw(c.tool, raw)
			if got.Summary() != c.want || (err != nil) != (c.fault != "") || err != nil && !strings.Contains(err.Error(), c.fault) {
				t.Errorf("got %s, %v, want %s, %q", got.Summary(), err, c.want, c.fault)
			}
		})
	}
}
