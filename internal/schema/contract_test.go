package schema_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/fairlead-go/fairlead/internal/schema"
)

// Members that the schema of a contract names stay, required and fixed ones are reported, and a
// violation is identified by place and keyword and never by its content.
func TestContract(t *testing.T) {
	t.Parallel()
	c, err := schema.ReadContract(json.RawMessage(`{
		"type": "object", "required": ["id"], "$defs": {"node": {"properties": {"id": {}, "next": {"$ref": "#/$defs/node"}}}},
		"properties": {"id": {"type": "integer"}, "node": {"$ref": "#/$defs/node"}, "kind": {"enum": ["a"]}, "map": {"additionalProperties": {"properties": {"a": {}}}}},
		"patternProperties": {"^x-": {"items": {"properties": {"a": {}}}}}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal([]byte(`{
		"id": 1, "extra": 1, "kind": "a", "node": {"id": 1, "extra": 1, "next": {"next": {"extra": 1}}},
		"map": {"any": {"a": 1, "extra": 1}}, "x-list": [{"a": 1, "extra": 1}]
	}`), &v); err != nil {
		t.Fatal(err)
	}
	if got := c.Shape().Strip(v, func([]string) {}); got != 5 {
		t.Errorf("%d members were stripped, want 5", got)
	}
	got, err := json.Marshal(v)
	if want := `{"id":1,"kind":"a","map":{"any":{"a":1}},"node":{"id":1,"next":{"next":{}}},"x-list":[{"a":1}]}`; err != nil || string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !c.Shape().Requires("id") || c.Shape().Requires("node") || !c.Shape().Member("kind").IsFixed() || c.Shape().Member("id").IsFixed() {
		t.Error("the required or fixed members differ from the schema's")
	}
	if err := c.Check(v); err != nil {
		t.Error(err)
	}
	err = c.Check(map[string]any{"id": "hunter2"})
	if want := "/properties/id: type is not kept to"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestContractThatIsNotUsable(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"$ref":"#"}`, `{"patternProperties":{"(":{}}}`, `{"type":7}`} {
		if c, err := schema.ReadContract(json.RawMessage(text)); err == nil || c != nil {
			t.Errorf("%s was read", text)
		}
	}
}

func TestContractRefusesWhatCheckRefuses(t *testing.T) {
	t.Parallel()
	for _, hostile := range []string{`{"$ref":"#"}`, `{"$ref":"https://example.com"}`, `{"allOf":[{"$ref":"#/nowhere"}]}`, `{`} {
		if c, err := schema.ReadContract(json.RawMessage(hostile)); err == nil || c != nil {
			t.Errorf("%s was read", hostile)
		}
	}
	if c, err := schema.ReadContract(false); err != nil || c.Shape() != nil || c.Check(1) == nil {
		t.Errorf("false: %v", err)
	}
}

// multipleOf counts in decimals.
func TestMultipleInDecimals(t *testing.T) {
	t.Parallel()
	const price = `{"type":"object","properties":{"price":{"type":"number","multipleOf":0.01},"all":{"type":"array","items":{"multipleOf":0.1}}}}`
	for _, tt := range []struct {
		schema, value string
		want          bool
	}{
		{price, `{"price":19.99}`, true},
		{price, `{"price":1.1}`, true},
		{price, `{"price":-0.07}`, true},
		{price, `{"price":19.999}`, false},
		{price, `{"price":"19.99"}`, false},
		{price, `{"all":[0.3,0.7,1.1]}`, true},
		{price, `{"all":[0.3,0.75]}`, false},
		{`{"allOf":[{"properties":{"a":{"multipleOf":0.01}}}]}`, `{"a":4.35}`, true},
		{`{"allOf":[{"properties":{"a":{"multipleOf":0.01}}}]}`, `{"a":4.355}`, false},
		{`{"properties":{"multipleOf":{"multipleOf":0.01}}}`, `{"multipleOf":19.99}`, true},
		{`{"multipleOf":3}`, `7`, false},
		{`{"multipleOf":3}`, `9`, true},
	} {
		c, err := schema.ReadContract(json.RawMessage(tt.schema))
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal([]byte(tt.value), &v); err != nil {
			t.Fatal(err)
		}
		if err := c.Check(v); (err == nil) != tt.want {
			t.Errorf("%s, %s: %v", tt.schema, tt.value, err)
		}
	}
}

// A harmless schema that cannot be compiled is told apart from one that cannot be used.
func TestUncheckable(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"properties":{"email":{"type":"string","pattern":"^(?!\\.)[^@]+@[^@]+$"}}}`, `{"properties":{"email":{"pattern":"^[\\u4e00-\\u9fa5]+$"}}}`,
		`{"properties":{"email":{"pattern":"^\\p{Script=Han}+$"}}}`, `{"properties":{"email":{"pattern":"^.{1,4000}$"}}}`,
		`{"properties":{"email":{"pattern":"^(['\"]).*\\1$"}}}`, `{"properties":{"email":{"pattern":"^[^]*$"}}}`,
		`{"properties":{"n":{"type":"integer","minimum":0,"exclusiveMinimum":true}}}`,
	} {
		_, err := schema.ReadContract(json.RawMessage(text))
		if _, is := errors.AsType[*schema.UncheckableError](err); !is {
			t.Errorf("%s: %v", text, err)
		}
	}
	_, err := schema.ReadContract(json.RawMessage(`{"$ref":"#"}`))
	if _, is := errors.AsType[*schema.UncheckableError](err); err == nil || is {
		t.Errorf("a circle: %v", err)
	}
}
