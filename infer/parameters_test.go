package infer_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func enum(parameter string, values ...any) map[string]any {
	return map[string]any{"type": "object", "properties": map[string]any{parameter: map[string]any{"type": "string", "enum": values}}}
}

func stringParameter(name string) map[string]any {
	return map[string]any{"type": "object", "properties": map[string]any{name: map[string]any{"type": "string"}}}
}

func boolParameter(name string) map[string]any {
	return map[string]any{"type": "object", "properties": map[string]any{name: map[string]any{"type": "boolean"}}}
}

func TestSchemaCues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, description string
		schema            any
		want              string
	}{
		{"manage_items", "", enum("action", "list", "get"), "safe"},
		{"manage_items", "", enum("action", "list", "create"), "moderate"},
		{"manage_items", "", enum("action", "list", "delete"), "dangerous"},
		{"manage_items", "Manage items", nil, "dangerous"},
		{"manage_items", "Manage items: list, create or update them", nil, "moderate"},
		{"manage_items", "Manage items: list, create or delete them", nil, "dangerous"},
		{"items", "", enum("operation", "read", "delete"), "dangerous"},
		{"items", "Lists items", enum("operation", "createItem", "deleteItem"), "dangerous"},
		{"get_items", "", enum("action", "list", "delete"), "dangerous"},
		{"query_items", "", enum("action", "list", "createItem"), "moderate"},
		{"query_items", "", enum("action", "listItems", "getItem"), "safe"},
		{"call_api", "", enum("method", "GET", "POST", "DELETE"), "dangerous"},
		{"create_mock", "", enum("method", "GET", "POST", "DELETE"), "moderate"},
		{"list_items", "", enum("type", "deleted", "created"), "safe"},
		{"list_items", "", enum("sort", "update", "create"), "safe"},
		{"list_items", "", enum("mode", "fast", 3, nil), "safe"},
		{"run_query", "", stringParameter("sql"), "dangerous"},
		{"query_database", "", stringParameter("sql"), "dangerous"},
		{"query_database", "Runs a read-only query", stringParameter("sql"), "dangerous"},
		{"query_database", "Runs queries. They are not read-only.", stringParameter("sql"), "dangerous"},
		{"database", "Reads from the database", stringParameter("sql"), "dangerous"},
		{"device", "Gets the output of a device", stringParameter("command"), "dangerous"},
		{"explain_query", "", stringParameter("sql"), "safe"},
		{"validate_script", "", stringParameter("script"), "safe"},
		{"get_country", "", stringParameter("code"), "safe"},
		{"get_country", "", stringParameter("country_code"), "safe"},
		{"create_function", "", stringParameter("code"), "moderate"},
		{"copy_file", "", boolParameter("overwrite"), "dangerous"},
		{"copy_file", "", stringParameter("overwrite"), "moderate"},
		{"copy_file", "", nil, "moderate"},
		{"list_files", "", boolParameter("overwrite"), "safe"},
		{"list_files", "", boolParameter("recursive"), "safe"},
		{"delete_file", "", boolParameter("dry_run"), "dangerous"},
		{"get_counters", "Get the counters", boolParameter("reset"), "dangerous"},
		{"get_counters", "Get the counters", stringParameter("reset"), "safe"},
		{"get_counters", "Get the counters", boolParameter("deleted"), "safe"},
		{"get_counters", "Get the counters", boolParameter("include_trash"), "safe"},
	} {
		if got := infer.Tool(&mcp.Tool{Name: c.name, Description: c.description, InputSchema: c.schema}).Safety().String(); got != c.want {
			t.Errorf("%s %q %v: got %s, want %s", c.name, c.description, c.schema, got, c.want)
		}
	}
}

// panics is a schema whose author made a mistake.
type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("no") }

// TestSchemaTypes: a schema may be anything, and what can be read states the same
// in every type.
func TestSchemaTypes(t *testing.T) {
	t.Parallel()
	const text = `{"type":"object","properties":{"action":{"type":"string","enum":["list","delete"]}}}`
	var typed jsonschema.Schema
	if err := json.Unmarshal([]byte(text), &typed); err != nil {
		t.Fatal(err)
	}
	var decoded map[string]any
	if err := json.Unmarshal([]byte(text), &decoded); err != nil {
		t.Fatal(err)
	}
	for _, schema := range []any{json.RawMessage(text), &typed, decoded} {
		if got := infer.Tool(&mcp.Tool{Name: "get_items", InputSchema: schema}).Safety(); got != annotation.Dangerous {
			t.Errorf("%T: got %v", schema, got)
		}
	}
	cyclic := map[string]any{}
	cyclic["properties"] = map[string]any{"a": cyclic, "b": cyclic}
	for _, schema := range []any{
		nil, true, 3, "text", []any{1}, panics{}, func() {}, make(chan int), json.RawMessage("{"), json.RawMessage("null"), cyclic,
		map[string]any{"properties": 7}, map[string]any{"properties": map[string]any{"": nil, "action": 3}},
		map[string]any{"properties": map[string]any{"action": map[string]any{"enum": "delete"}}},
		map[string]any{"allOf": []any{map[string]any{"$ref": "#"}, 3, nil}},
		(*jsonschema.Schema)(nil),
	} {
		if got := infer.Tool(&mcp.Tool{Name: "get_items", InputSchema: schema}).Safety(); got != annotation.Safe {
			t.Errorf("%T: got %v", schema, got)
		}
	}
}

// TestBounds: whatever the size of a definition, an answer comes soon.
func TestBounds(t *testing.T) {
	t.Parallel()
	nested := `{"type":"object"}`
	for range 2000 {
		nested = `{"type":"object","properties":{"p":` + nested + `}}`
	}
	many := make(map[string]any)
	for i := range 50_000 {
		many["p"+strings.Repeat("x", i%90)+string(rune('a'+i%26))+string(rune(0x4e00+i))] = map[string]any{"type": "string", "enum": []any{"list", "get"}}
	}
	for name, def := range map[string]*mcp.Tool{
		"long description": {Name: "get_it", Description: strings.Repeat("Deletes nothing at all, ever, and so on. ", 1<<20/41)},
		"one long word":    {Name: "get_it", Description: strings.Repeat("a", 1<<20)},
		"no letters":       {Name: "get_it", Description: strings.Repeat("-`\"", 1<<19)},
		"new lines":        {Name: "get_it", Description: strings.Repeat("\n \t", 1<<19)},
		"other script":     {Name: "get_it", Description: strings.Repeat("界", 1<<18)},
		"broken text":      {Name: "get_it", Description: strings.Repeat("\xff\xc0", 1<<19)},
		"escapes":          {Name: "get_it", Description: strings.Repeat("\x1b[", 1<<19)},
		"long name":        {Name: strings.Repeat("get_it_", 1<<17)},
		"one long token":   {Name: "get_" + strings.Repeat("delete", 1<<17)},
		"long title":       {Name: "get_it", Title: strings.Repeat("get it ", 1<<17)},
		"deep schema":      {Name: "get_it", InputSchema: json.RawMessage(nested)},
		"wide schema":      {Name: "get_it", InputSchema: map[string]any{"properties": many}},
	} {
		start := time.Now()
		infer.Tool(def)
		if d := time.Since(start); d > time.Minute { // what looks at each letter again for each would take longer
			t.Errorf("%s: %v", name, d)
		}
	}
}

// TestWholeTextIsRead: a danger at the end of a long description counts.
func TestWholeTextIsRead(t *testing.T) {
	t.Parallel()
	for _, between := range []string{strings.Repeat("\n", 300), strings.Repeat("It is a fine day. ", 60_000)} {
		def := &mcp.Tool{Name: "get_weather", Description: "Get the weather." + between + "\nAlso deletes all forecasts."}
		if got := infer.Tool(def).Safety(); got != annotation.Dangerous {
			t.Errorf("after %d bytes: got %v", len(between), got)
		}
	}
}
