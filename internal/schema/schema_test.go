package schema_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/schema"
)

// What applies to a value is found through every keyword that applies in place, once
// each, and not through a not.
func TestApplying(t *testing.T) {
	t.Parallel()
	s, err := schema.Open(json.RawMessage(`{
		"title": "root", "$ref": "#/$defs/ref",
		"allOf": [{"title": "allOf"}, {"title": "again", "$ref": "#/$defs/ref"}, true],
		"anyOf": [{"title": "anyOf"}], "oneOf": [{"title": "oneOf"}],
		"if": {"title": "if"}, "then": {"title": "then"}, "else": {"title": "else"},
		"dependentSchemas": {"a": {"title": "dependent"}},
		"not": {"title": "not"}, "properties": {"a": {"title": "a member"}},
		"$defs": {"ref": {"title": "ref"}}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, sub := range s.Applying(s.Root().(map[string]any)) {
		got = append(got, fmt.Sprint(sub["title"]))
	}
	slices.Sort(got)
	if got, want := strings.Join(got, " "), "again allOf anyOf dependent else if oneOf ref root then"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestOpenRefusesWhatCheckRefuses(t *testing.T) {
	t.Parallel()
	for _, hostile := range []string{`{"$ref":"#"}`, `{"$ref":"https://example.com"}`, `{"allOf":[{"$ref":"#/nowhere"}]}`, `{`} {
		if s, err := schema.Open(json.RawMessage(hostile)); err == nil || s != nil {
			t.Errorf("%s was opened", hostile)
		}
	}
	if s, err := schema.Open(false); err != nil || s.Root() != false {
		t.Errorf("false: %v", err)
	}
}
