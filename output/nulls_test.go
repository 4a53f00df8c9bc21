package output_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Null for an optional member whose schema takes none is read as no member: the rest of the answer reaches the model.
func TestNullForAnOptionalMember(t *testing.T) {
	t.Parallel()
	const (
		schema = `{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"desc":{"type":"string"},
			"note":{"type":["string","null"]},"any":{},"kind":{"anyOf":[{"type":"string"},{"type":"null"}]},
			"rows":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"at":{"type":"string"}}}}}}`
		note = "[Left out, since they are null and the output schema of the tool takes no null there: "
	)
	for _, tt := range []struct {
		name, answer, shown, members string // shown is "" for an answer that is withheld
	}{
		{"one", `{"name":"n","desc":null}`, `{"name":"n"}`, "desc"},
		{"deep down, beside those that may be null", `{"name":"n","note":null,"any":null,"kind":null,"rows":[{"id":1,"at":null},{"id":null}]}`,
			`{"name":"n","note":null,"any":null,"kind":null,"rows":[{"id":1},{}]}`, "rows[].at, rows[].id"},
		{"only such as may be null", `{"name":"n","note":null}`, `{"name":"n","note":null}`, ""},
		{"one that is required", `{"name":null}`, "", ""},
		{"beside another fault", `{"name":"n","desc":null,"rows":7}`, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res := show(t, output.Options{}, listing(t, schema, annotation.ReadOnly()), answering(&mcp.CallToolResult{
				Content: []mcp.Content{content("n")}, StructuredContent: json.RawMessage(tt.answer),
			}))
			if res.IsError != (tt.shown == "") {
				t.Fatalf("got %s", encoded(t, res))
			}
			if tt.shown == "" {
				return
			}
			want := []string{"n"}
			if tt.members != "" {
				want = append(want, note+tt.members+".]")
			}
			if got := texts(res); !slices.Equal(got, want) || encoded(t, decoded[any](t, tt.shown)) != encoded(t, decoded[any](t, encoded(t, res.StructuredContent))) {
				t.Errorf("got %q and %s, want %q and %s", got, encoded(t, res.StructuredContent), want, tt.shown)
			}
		})
	}
}
