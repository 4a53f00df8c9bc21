package infer_test

import (
	"encoding/json"
	"testing"

	"github.com/fairlead-go/fairlead/infer"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A word that begins all names is not a verb, even if it is one elsewhere.
func TestBrandOfAServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		names []string
		want  []string
	}{
		{[]string{"firelight_list", "firelight_get", "firelight_delete"}, []string{"safe", "safe", "dangerous"}},
		{[]string{"mcp_lamp_list", "mcp_lamp_get", "mcp_lamp_delete"}, []string{"safe", "safe", "dangerous"}},
		{[]string{"delete_lamp", "delete_door", "delete_house"}, []string{"dangerous", "dangerous", "dangerous"}},
		{[]string{"post.list", "post.get", "post.delete", "other"}, []string{"safe", "safe", "dangerous", "unknown"}},
	} {
		defs := make([]*mcp.Tool, len(c.names))
		for i, name := range c.names {
			defs[i] = &mcp.Tool{Name: name}
		}
		for i, a := range infer.Tools(defs) {
			if got := a.Safety().String(); got != c.want[i] {
				t.Errorf("%s: got %s, want %s: %v", c.names[i], got, c.want[i], a.Evidence)
			}
		}
	}
}

// A text of a parameter that most tools have states nothing about one of them; a switch does.
func TestRepeatedTexts(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{"string": "safe", "boolean": "dangerous"} {
		schema := map[string]any{}
		text := `{"properties":{"x":{"type":"` + kind + `","description":"Older lamps will be deleted."}}}`
		if err := json.Unmarshal([]byte(text), &schema); err != nil {
			t.Fatal(err)
		}
		defs := make([]*mcp.Tool, 5)
		for i, name := range []string{"list_lamps", "list_doors", "list_keys", "list_cars", "list_men"} {
			defs[i] = &mcp.Tool{Name: name, InputSchema: schema}
		}
		if got := infer.Tools(defs)[0].Safety().String(); got != want {
			t.Errorf("%s: got %s, want %s", kind, got, want)
		}
		if got := infer.Tool(defs[0]).Safety().String(); got != "dangerous" {
			t.Errorf("%s, alone: got %s", kind, got)
		}
	}
}
