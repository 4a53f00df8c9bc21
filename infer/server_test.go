package infer_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
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
		{[]string{"protect_list_lamps", "protect_get_lamp", "protect_delete_lamp"}, []string{"safe", "safe", "dangerous"}},
		{[]string{"protect_get_lamp", "protect_get_table", "protect_get_house"}, []string{"moderate", "moderate", "moderate"}},
		{[]string{"protect_list_lamps", "protect_query_tables", "protect_search_houses"}, []string{"moderate", "moderate", "moderate"}},
		{[]string{"protect_list_lamps", "protect_get_lamp", "protect_lamp"}, []string{"moderate", "moderate", "moderate"}},
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

func TestBadInputBrandThatIsGrave(t *testing.T) {
	t.Parallel()
	t.Run("B390: names that begin with a deed and then a read", func(t *testing.T) {
		t.Parallel()
		defs := []*mcp.Tool{{Name: "wipe_get_lamp"}, {Name: "wipe_list_lamps"}, {Name: "wipe_find_lamp"}}
		for i, a := range infer.Tools(defs) {
			if a.Safety() != annotation.Dangerous {
				t.Errorf("%s: got %v: %v", defs[i].Name, a.Safety(), a.Evidence)
			}
		}
	})
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

func conditionsOf(a annotation.Annotations) string {
	var all []string
	for _, c := range a.Conditions {
		all = append(all, c.String())
	}
	return strings.Join(all, "; ")
}

// A query that no word of the tool names the language of is in the one of the server that the host named, unless the tool
// names another one.
func TestLanguageByTheNameOfTheServer(t *testing.T) {
	t.Parallel()
	const query = `{"properties":{"query":{"type":"string"}}}`
	for _, c := range []struct{ server, description, schema, want string }{
		{"sqlite", "Run a query", query, "by the sql in query (is carried out): judged by its text, unjudged dangerous"},
		{"orders-postgres", "Run a query", query, "by the sql in query (is carried out): judged by its text, unjudged dangerous"},
		{"MySQL prod", "Run a query", query, "by the sql in query (is carried out): judged by its text, unjudged dangerous"},
		{"prometheus", "Run a query", query, "by the promql in query (is carried out): judged by its text, unjudged dangerous"},
		{"mongodb", "Run a query", query, "by the mongodb in query (is carried out): judged by its text, unjudged dangerous"},
		{"my_neo4j", "Run a query", query, "by the cypher in query (is carried out): judged by its text, unjudged dangerous"},
		{"mongodb", "Run a query on the database", query, "by the mongodb in query (is carried out): judged by its text, unjudged dangerous"},
		{"postgres", "Run a Cypher query", query, "by the cypher in query (is carried out): judged by its text, unjudged dangerous"},
		{"sqlite", "Run a query of MongoDB", query, "by the mongodb in query (is carried out): judged by its text, unjudged dangerous"},
		{"postgres-to-mongodb", "Run a query", query, "by the query in query (is carried out): judged by its text, unjudged dangerous"},
		{"", "Run a query", query, "by the query in query (is carried out): judged by its text, unjudged dangerous"},
		{"lamps", "Run a query", query, "by the query in query (is carried out): judged by its text, unjudged dangerous"},
		{"flux", "Run a query", query, "by the query in query (is carried out): judged by its text, unjudged dangerous"},
		{"sqlite", "Run a command", `{"properties":{"command":{"type":"string"}}}`, "by the command in command (is carried out): judged by its text, unjudged dangerous"},
	} {
		def := &mcp.Tool{Name: "run_query", Description: c.description}
		if err := json.Unmarshal([]byte(c.schema), &def.InputSchema); err != nil {
			t.Fatal(err)
		}
		a := infer.ToolsOf(c.server, []*mcp.Tool{def})[0]
		if got := conditionsOf(a); a.Safety() != annotation.Dangerous || got != c.want {
			t.Errorf("%q, %s: got %s, %s, want dangerous, %s", c.server, c.description, a.Safety(), got, c.want)
		}
	}
}

// The name of a server lowers no class, and a filter of a server named for MongoDB may hold code.
func TestNameOfTheServerOnlyRaises(t *testing.T) {
	t.Parallel()
	const filter = `{"properties":{"filter":{"type":"object"},"query":{"type":"string"},"command":{"type":"string"}}}`
	for _, server := range []string{"sqlite", "postgres", "mongodb", "prometheus", "neo4j", "graphql"} {
		for _, name := range []string{"find", "get_rows", "search", "list_tables", "delete_rows", "add_row", "frobnicate", "query", "execute", "explain_query"} {
			def := &mcp.Tool{Name: name}
			if err := json.Unmarshal([]byte(filter), &def.InputSchema); err != nil {
				t.Fatal(err)
			}
			alone, of := infer.Tool(def).Safety(), infer.ToolsOf(server, []*mcp.Tool{def})[0].Safety()
			if of > alone && of > annotation.Dangerous {
				t.Errorf("%s of %s: %s alone, %s with the server's name", name, server, alone, of)
			}
		}
	}
	def := &mcp.Tool{Name: "find_documents", Description: "Finds documents", InputSchema: map[string]any{"properties": map[string]any{"filter": map[string]any{"type": "object"}}}}
	if got := conditionsOf(infer.ToolsOf("mongodb", []*mcp.Tool{def})[0]); got == "" {
		t.Error("a filter of MongoDB may hold code, and no condition says so")
	}
}
