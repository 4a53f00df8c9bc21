package schema_test

import (
	"encoding/json"
	"testing"

	"github.com/fairlead-go/fairlead/internal/schema"
	"github.com/google/go-cmp/cmp"
)

func normal(t *testing.T, text string) *schema.Parameter {
	t.Helper()
	var decoded any
	if err := json.Unmarshal([]byte(text), &decoded); err != nil {
		t.Fatal(text, err)
	}
	return schema.Normal(decoded)
}

// Each group has schemas that allow the same values.
func TestNormalOfOtherSpellings(t *testing.T) {
	t.Parallel()
	for _, group := range [][]string{
		{`{"type":"boolean"}`, `{"anyOf":[{"type":"boolean"},{"type":"null"}]}`, `{"type":["boolean","null"]}`,
			`{"oneOf":[{"type":"null"},{"type":"boolean"}]}`, `{"allOf":[{"type":"boolean"}]}`, `{"enum":[true,false,null],"type":["boolean","null"]}`},
		{`{"enum":["a","b"]}`, `{"type":"string","enum":["a","b"]}`, `{"anyOf":[{"const":"a"},{"const":"b"}]}`,
			`{"oneOf":[{"type":"string","const":"a"},{"type":"string","enum":["b"]}]}`, `{"anyOf":[{"enum":["a","b"]},{"type":"null"}]}`},
		{`{"type":"object","properties":{"op":{"enum":["a","b"]},"x":{"type":"string"}},"required":["op"]}`,
			`{"oneOf":[{"properties":{"op":{"const":"a"}},"required":["op"]},{"properties":{"op":{"const":"b"},"x":{"type":"string"}},"required":["op"]}]}`,
			`{"type":"object","allOf":[{"properties":{"op":{"enum":["a","b"]}},"required":["op"]},{"properties":{"x":{"type":["string","null"]}}}]}`},
		{`{"type":"array","items":{"enum":["a","b"]}}`, `{"items":{"anyOf":[{"const":"a"},{"const":"b"}]}}`,
			`{"anyOf":[{"type":"array","items":{"const":"a"}},{"type":"array","items":{"const":"b"}}]}`},
		{`{"type":"string"}`, `{"$ref":"#/$defs/s","$defs":{"s":{"type":"string"}}}`, `{"anyOf":[{"$ref":"#/$defs/s"},{"type":"null"}],"$defs":{"s":{"type":"string"}}}`},
	} {
		want := normal(t, group[0])
		for _, text := range group[1:] {
			got := normal(t, text)
			if want.Only(schema.Bool) { // naming both values is allowing all
				got.Values, got.Open = want.Values, want.Open
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s and %s differ: %s", group[0], text, d)
			}
		}
	}
}

func TestNormalOfOtherValues(t *testing.T) {
	t.Parallel()
	open := normal(t, `{"anyOf":[{"const":"a"},{"type":"string"}]}`)
	if !open.Open || len(open.Values) != 1 {
		t.Errorf("one branch allows every text: %+v", open)
	}
	either := normal(t, `{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}`)
	if !either.May(schema.Text) || !either.May(schema.List) || either.Only(schema.Text) || either.Elements == nil {
		t.Errorf("a text or a list: %+v", either)
	}
	some := normal(t, `{"anyOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}]}`)
	if len(some.Members) != 2 || some.Members[0].Required || some.Members[1].Required {
		t.Errorf("neither is always required: %+v", some)
	}
	for _, hostile := range []string{`{"$ref":"#"}`, `{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`, `{"type":7,"enum":{},"properties":[],"anyOf":[],"items":3}`} {
		normal(t, hostile)
	}
}
