package output_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A field outside the output schema does not reach the model, at any depth.
func TestFieldsOutsideTheSchemaAreStripped(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, schema, answer, want string
	}{
		{
			"of an object", `{"type":"object","properties":{"id":{"type":"integer"}}}`,
			`{"id":1,"internalNotes":"x","stripeCustomerId":"y"}`, `{"id":1}`,
		},
		{
			"which the schema forbids", `{"type":"object","properties":{"id":{}},"additionalProperties":false}`,
			`{"id":1,"internalNotes":"x"}`, `{"id":1}`,
		},
		{
			"which the schema allows and does not name", `{"properties":{"id":{}},"additionalProperties":true}`,
			`{"id":1,"internalNotes":"x"}`, `{"id":1}`,
		},
		{
			"of the elements of a list", `{"properties":{"data":{"items":{"properties":{"id":{}}}}}}`,
			`{"data":[{"id":1,"n":2},{"id":3,"n":4}]}`, `{"data":[{"id":1},{"id":3}]}`,
		},
		{
			"of a list that is the answer", `{"type":"array","items":{"properties":{"id":{}}}}`,
			`[{"id":1,"n":2}]`, `[{"id":1}]`,
		},
		{
			"of a tuple", `{"prefixItems":[{"properties":{"a":{}}},{"properties":{"b":{}}}],"items":{"properties":{"c":{}}}}`,
			`[{"a":1,"n":1},{"b":1,"n":1},{"c":1,"n":1}]`, `[{"a":1},{"b":1},{"c":1}]`,
		},
		{
			"deep down", `{"properties":{"a":{"properties":{"b":{"properties":{"c":{"items":{"properties":{"d":{}}}}}}}}}}`,
			`{"n":1,"a":{"n":1,"b":{"n":1,"c":[{"n":1,"d":1}]}}}`, `{"a":{"b":{"c":[{"d":1}]}}}`,
		},
		{
			"behind a reference", `{"$defs":{"c":{"properties":{"id":{}}}},"properties":{"c":{"$ref":"#/$defs/c"}}}`,
			`{"c":{"id":1,"n":2}}`, `{"c":{"id":1}}`,
		},
		{
			"of a tree that refers to itself", `{"properties":{"id":{},"kids":{"items":{"$ref":"#"}}}}`,
			`{"id":1,"n":1,"kids":[{"id":2,"n":1,"kids":[{"id":3,"n":1}]}]}`, `{"id":1,"kids":[{"id":2,"kids":[{"id":3}]}]}`,
		},
		{
			"under allOf, which names together", `{"allOf":[{"properties":{"a":{}}},{"properties":{"b":{"properties":{"c":{}}}}}]}`,
			`{"a":1,"b":{"c":1,"n":1},"n":1}`, `{"a":1,"b":{"c":1}}`,
		},
		{
			"under anyOf and oneOf", `{"anyOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}]}`,
			`{"b":1,"n":1}`, `{"b":1}`,
		},
		{
			"under if, then and else", `{"properties":{"k":{}},"if":{"properties":{"k":{"const":1}}},"then":{"properties":{"a":{}}},"else":{"properties":{"b":{}}}}`,
			`{"k":1,"a":1,"n":1}`, `{"k":1,"a":1}`,
		},
		{
			"what a not names is not named", `{"properties":{"a":{}},"not":{"properties":{"n":{"const":7}},"required":["n"]}}`,
			`{"a":1,"n":1}`, `{"a":1}`,
		},
		{
			"by a pattern", `{"patternProperties":{"^x-":{"properties":{"a":{}}}}}`,
			`{"x-1":{"a":1,"n":1},"n":1}`, `{"x-1":{"a":1}}`,
		},
		{
			"of the values of a map", `{"additionalProperties":{"properties":{"id":{}},"type":"object"}}`,
			`{"k":{"id":1,"n":1}}`, `{"k":{"id":1}}`,
		},
		{"a place without a schema stays", `{"properties":{"any":{},"open":true,"o":{"type":"object"}}}`, `{"any":{"n":1},"open":[{"n":1}],"o":{"n":1}}`, ""},
		{"an object of anything stays", `{"type":"object","additionalProperties":true}`, `{"n":1}`, ""},
		{"a schema without names stays", `{"type":"object"}`, `{"n":{"m":1}}`, ""},
		{"a large number keeps its digits", `{"properties":{"id":{"type":"integer"}}}`, `{"id":12345678901234567890}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.want == "" {
				tt.want = tt.answer
			}
			given := &mcp.CallToolResult{Content: []mcp.Content{content(tt.answer)}, StructuredContent: json.RawMessage(tt.answer)}
			before := encoded(t, given)
			res := show(t, output.Options{}, listing(t, tt.schema, annotation.ReadOnly()), answering(given))
			for what, got := range map[string]string{"text": texts(res)[0], "structured content": encoded(t, res.StructuredContent)} {
				if res.IsError || !reflect.DeepEqual(decoded[any](t, got), decoded[any](t, tt.want)) {
					t.Errorf("%s: got %s, want %s", what, got, tt.want)
				}
			}
			if encoded(t, given) != before {
				t.Error("the result was written to")
			}
		})
	}
	t.Run("unless the host keeps what is allowed", func(t *testing.T) {
		t.Parallel()
		const answer = `{"id":1,"n":2}`
		opts := output.Options{KeepUnnamed: func(tool *middleware.Tool) bool { return tool.Name() == "list" }}
		open := listing(t, `{"properties":{"id":{}},"additionalProperties":true}`, annotation.ReadOnly())
		if got := said(show(t, opts, open, answering(&mcp.CallToolResult{Content: []mcp.Content{content(answer)}}))); got != `{"id":1,"n":2}` {
			t.Errorf("got %s", got)
		}
		closed := listing(t, `{"properties":{"id":{}},"additionalProperties":false}`, annotation.ReadOnly())
		if res := show(t, opts, closed, answering(&mcp.CallToolResult{Content: []mcp.Content{content(answer)}})); !res.IsError {
			t.Errorf("what the schema forbids was shown: %s", said(res))
		}
	})
}

// An answer passes if its schema cannot be compiled, unless the host withholds it.
func TestAnswerOfASchemaThatCannotBeCompiled(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		`{"type":"object","properties":{"email":{"type":"string","pattern":"^(?!\\.)[^@]+@[^@]+$"}}}`,
		`{"type":"object","properties":{"n":{"type":"integer","minimum":0,"exclusiveMinimum":true}}}`,
	} {
		var log bytes.Buffer
		opts := output.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
		tool := listing(t, schema, annotation.ReadOnly())
		if res := show(t, opts, tool, answering(structured(t, map[string]any{"email": "ann@example.com"}))); res.IsError || !strings.Contains(encoded(t, res), "ann@example.com") {
			t.Errorf("%s: got %s", schema, encoded(t, res))
		}
		if !strings.Contains(log.String(), "passed unchecked") {
			t.Errorf("%s: logged is %s", schema, log.String())
		}
		opts.WithholdUnchecked = func(of *middleware.Tool) bool { return of.Name() == tool.Name() }
		if res := show(t, opts, tool, answering(structured(t, map[string]any{"email": "ann@example.com"}))); !res.IsError {
			t.Errorf("%s: withheld is %s", schema, encoded(t, res))
		}
	}
}

// An answer that does not keep to its schema, or cannot be checked, is withheld.
func TestWhatCannotBeCheckedIsWithheld(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`
	withheld := "crm__list answered, but its answer "
	for _, tt := range []struct {
		name, schema string
		res          *mcp.CallToolResult
		want         string
	}{
		{"another type", schema, structured(t, map[string]any{"id": "hunter2"}), withheld + "is not what its output schema promises"},
		{"a missing member", schema, structured(t, map[string]any{"name": "hunter2"}), withheld + "is not what its output schema promises"},
		{"another kind of value", schema, structured(t, []any{"hunter2"}), withheld + "is not what its output schema promises"},
		{"prose alone", schema, &mcp.CallToolResult{Content: []mcp.Content{content("id 1, hunter2")}}, withheld + "is not what its output schema promises"},
		{"half a JSON text", schema, &mcp.CallToolResult{Content: []mcp.Content{content(`{"id":1,"hunter2":`)}}, withheld + "is not what its output schema promises"},
		{"nothing", schema, &mcp.CallToolResult{}, withheld + "is not what its output schema promises"},
		{"a number past all bounds", schema, &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"id":1e999999999}`)}, withheld + "cannot be read"},
		{"structured content that is not JSON", schema, &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"id":`)}, withheld + "cannot be read"},
		{"a schema that refers elsewhere", `{"$ref":"https://example.com/s.json"}`, structured(t, map[string]any{"id": 1}), withheld + "cannot be checked"},
		{"a schema that goes in a circle", `{"$ref":"#"}`, structured(t, map[string]any{"id": 1}), withheld + "cannot be checked"},
		{"a malformed schema", `{"type":"object","properties":7}`, structured(t, map[string]any{"id": 1}), withheld + "cannot be checked"},
		{"a malformed pattern", `{"patternProperties":{"(":{}}}`, structured(t, map[string]any{"id": 1}), withheld + "cannot be checked"},
		{"false", `false`, structured(t, map[string]any{"id": 1}), withheld + "is not what its output schema promises"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			opts := output.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), WithholdUnchecked: func(*middleware.Tool) bool { return true }}
			res := show(t, opts, listing(t, tt.schema, annotation.ReadOnly()), answering(tt.res))
			if !res.IsError || !strings.HasPrefix(said(res), tt.want) {
				t.Errorf("IsError %v\n got  %s\n want %s…", res.IsError, said(res), tt.want)
			}
			if all := encoded(t, res) + log.String(); strings.Contains(all, "hunter2") {
				t.Errorf("withheld content is shown: %s", all)
			}
		})
	}
	t.Run("and a write is not made again", func(t *testing.T) {
		t.Parallel()
		res := show(t, output.Options{}, listing(t, schema, annotation.Destructive()), answering(structured(t, map[string]any{"id": "x"})))
		if got, want := said(res), withheld+"is not what its output schema promises, so it is withheld. The call was made: do not make it again. Use another tool, or tell the user."; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	t.Run("a text beside the structured content", func(t *testing.T) {
		t.Parallel()
		res := show(t, output.Options{}, listing(t, schema, annotation.ReadOnly()), answering(&mcp.CallToolResult{
			StructuredContent: map[string]any{"id": 1.0},
			Content: []mcp.Content{
				content("One customer."), content(`{"id":2,"hunter2":1}`), content(`{"name":"hunter2"}`), content(`{"id":3,"hunter2"`),
				content(`{"id":{"hunter2":1},"id":1}`),
			},
		}))
		if got, want := texts(res), []string{"One customer.", `{"id":2}`, `{"id":1}`,
			"[Left out, since the output schema of the tool does not name them: hunter2. Parts withheld, since they do not keep to the output schema: 2.]"}; !reflect.DeepEqual(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
