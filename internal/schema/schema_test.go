package schema_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/schema"
)

// The schemas of a value are found through every keyword that applies in place, once each, and not
// through a not.
func TestApplying(t *testing.T) {
	t.Parallel()
	var root map[string]any
	err := json.Unmarshal([]byte(`{
		"title": "root", "$ref": "#/$defs/ref",
		"allOf": [{"title": "allOf"}, {"title": "again", "$ref": "#/$defs/ref"}, true],
		"anyOf": [{"title": "anyOf"}], "oneOf": [{"title": "oneOf"}],
		"if": {"title": "if"}, "then": {"title": "then"}, "else": {"title": "else"},
		"dependentSchemas": {"a": {"title": "dependent"}},
		"not": {"title": "not"}, "properties": {"a": {"title": "a member"}},
		"$defs": {"ref": {"title": "ref"}}
	}`), &root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	all, ok := schema.Applying(root, 100, root)
	if !ok {
		t.Fatal("it cannot be followed")
	}
	for _, sub := range all {
		got = append(got, fmt.Sprint(sub["title"]))
	}
	slices.Sort(got)
	if got, want := strings.Join(got, " "), "again allOf anyOf dependent else if oneOf ref root then"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// An unchecked document is followed as far as it leads, and no further.
func TestApplyingInAnUncheckedDocument(t *testing.T) {
	t.Parallel()
	wide := `{"anyOf":[` + strings.Repeat(`{},`, 10) + `{}]}`
	deep := strings.Repeat(`{"allOf":[`, 11) + `{}` + strings.Repeat(`]}`, 11)
	for _, tt := range []struct {
		name, document string
		want           int // -1 if it cannot be followed
	}{
		{"nothing in place", `{"properties":{"a":{"$ref":"#"}}}`, 1},
		{"references that lead nowhere", `{"$ref":"#/nowhere","allOf":[{"$ref":"https://example.com"},{"$ref":"#name"},{"$ref":"#/%zz"}]}`, 4},
		{"the same part twice", `{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}],"$defs":{"a":{}}}`, 4},
		{"a reference to itself", `{"$ref":"#"}`, -1},
		{"a circle of two", `{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"$ref":"#/$defs/a"}}}`, -1},
		{"more than the bound side by side", wide, -1},
		{"more than the bound within each other", deep, -1},
		{"not a list", `{"allOf":7,"anyOf":{"a":{}},"if":true,"dependentSchemas":[{}]}`, 1},
	} {
		var root map[string]any
		if err := json.Unmarshal([]byte(tt.document), &root); err != nil {
			t.Fatal(err)
		}
		all, ok := schema.Applying(root, 10, root)
		if got := len(all); ok != (tt.want >= 0) || ok && got != tt.want {
			t.Errorf("%s: %d, %v; want %d", tt.name, got, ok, tt.want)
		}
	}
	if all, ok := schema.Applying(nil, 10); !ok || len(all) != 0 {
		t.Errorf("no schemas: %v, %v", all, ok)
	}
}
