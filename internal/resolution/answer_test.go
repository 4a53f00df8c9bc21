package resolution_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/resolution"
)

func brief(a annotation.Annotations) string {
	var b strings.Builder
	for _, h := range []annotation.Hint{a.ReadOnly, a.Destructive, a.Idempotent, a.OpenWorld} {
		b.WriteByte("-ny"[h])
	}
	return b.String()
}

// read reads an answer about act in one of the two forms.
func read(form, raw string) (annotation.Annotations, error) {
	f := map[string]resolution.Form{"annotations": resolution.Annotates, "extension": resolution.Extends}[form]
	var a resolution.Answer
	if err := a.UnmarshalJSON([]byte(raw)); err != nil {
		return annotation.Annotations{}, err
	}
	return a.Read(f, "act")
}

func TestAnswersAreReadStrictly(t *testing.T) {
	t.Parallel()
	const bad = "error"
	four := `{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}`
	for _, tt := range []struct{ name, form, raw, want string }{
		{"all four", "annotations", `{"annotations":` + four + `}`, "ynyn"},
		{"all four", "extension", `{"resultType":"complete","name":"act","annotations":` + four + `}`, "ynyn"},
		{"some", "annotations", `{"annotations":{"destructiveHint":false}}`, "-n--"},
		{"some", "extension", `{"name":"act","annotations":{"readOnlyHint":true}}`, "y---"},
		{"null does not count", "annotations", `{"annotations":{"readOnlyHint":null}}`, "----"},
		{"B101 {}", "annotations", `{}`, "----"},
		{"B101 {}", "extension", `{}`, "----"},
		{"annotations are null", "annotations", `{"annotations":null}`, "----"},
		{"no name, so about nothing", "extension", `{"annotations":` + four + `}`, "----"},
		{"title and more are ignored", "annotations", `{"annotations":{"title":"T","x":1,"readOnlyHint":true},"x":1}`, "y---"},
		{"_meta may be there", "extension", `{"name":"act","annotations":{},"_meta":{"a":1}}`, "----"},
		{"another tool", "extension", `{"name":"other","annotations":` + four + `}`, bad},
		{"another tool", "annotations", `{"name":"other","annotations":` + four + `}`, bad},
		{"a name that is a number", "extension", `{"name":1,"annotations":` + four + `}`, bad},
		{"a tool in the extension", "extension", `{"name":"act","tool":{},"annotations":` + four + `}`, bad},
		{"a schema in the extension", "extension", `{"name":"act","inputSchema":{},"annotations":` + four + `}`, bad},
		{"a title in the extension", "extension", `{"name":"act","annotations":{"title":"T"}}`, bad},
		{"not complete", "extension", `{"resultType":"input_required","name":"act","annotations":` + four + `}`, bad},
		{"a task", "annotations", `{"resultType":"task","annotations":` + four + `}`, bad},
		{"resultType of another type", "annotations", `{"resultType":1,"annotations":` + four + `}`, bad},
		{"a hint that is a number", "annotations", `{"annotations":{"readOnlyHint":1}}`, bad},
		{"a hint that is a text", "annotations", `{"annotations":{"readOnlyHint":"true"}}`, bad},
		{"a hint twice", "annotations", `{"annotations":{"readOnlyHint":false,"readOnlyHint":true}}`, bad},
		{"annotations twice", "annotations", `{"annotations":{"destructiveHint":true},"annotations":` + four + `}`, bad},
		{"a hint twice by an escape", "annotations", `{"annotations":{"readOnlyHint":false,"readOnly\u0048int":true}}`, bad},
		{"annotations are a list", "annotations", `{"annotations":[]}`, bad},
		{"annotations are a text", "annotations", `{"annotations":"read-only"}`, bad},
		{"a list", "annotations", `[]`, bad},
		{"null", "annotations", `null`, bad},
		{"a text", "annotations", `"x"`, bad},
		{"cut off", "annotations", `{"annotations":{`, bad},
		{"ill-formed UTF-8", "annotations", "{\"annotations\":{\"title\":\"\xff\"}}", bad},
	} {
		got, err := read(tt.form, tt.raw)
		word := brief(got)
		if err != nil {
			if word != "----" {
				t.Errorf("%s, %s: an error and %s", tt.form, tt.name, word)
			}
			word = bad
		}
		if word != tt.want {
			t.Errorf("%s, %s: %s (%v), want %s", tt.form, tt.name, word, err, tt.want)
		}
	}
	if _, err := read("annotations", `{"x":"`+strings.Repeat("a", resolution.MaxAnswer)+`"}`); err == nil {
		t.Error("an answer that was too long to keep was read")
	}
}

func FuzzRead(f *testing.F) {
	f.Add("extension", `{"resultType":"complete","name":"act","annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`)
	f.Add("annotations", `{"annotations":{"readOnlyHint":false,"destructiveHint":true}}`)
	f.Add("annotations", `{"annotations":{"readOnlyHint":null},"annotations":{}}`)
	f.Add("annotations", "")
	f.Fuzz(func(t *testing.T, form, raw string) {
		answer, err := read(form, raw)
		if err != nil {
			if answer.Summary() != (annotation.Annotations{}).Summary() {
				t.Errorf("an error and %s", answer.Summary())
			}
			return
		}
		// A member that counts as true must be in the text, by its plain name or by an escape.
		if answer.ReadOnly == annotation.Yes && !strings.Contains(raw, "true") {
			t.Errorf("read-only out of %q", raw)
		}
		var any map[string]any
		if json.Unmarshal([]byte(raw), &any) != nil {
			t.Errorf("%q is not an object", raw)
		}
	})
}
