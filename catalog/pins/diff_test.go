package pins_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// changed returns the change from one definition to another, each as JSON.
func changed(t testing.TB, was, is string) pins.Change {
	t.Helper()
	current := was
	s := &fake{func() []*mcp.Tool {
		tool := new(mcp.Tool)
		if err := json.Unmarshal([]byte(current), tool); err != nil {
			t.Fatal(err)
		}
		return []*mcp.Tool{tool}
	}}
	c := locked()
	add(t, c, "srv", s)
	accept(t, c)
	current = is
	refresh(t, c, "srv")
	return change(t, c)
}

func TestDiffShowsWhatChanged(t *testing.T) {
	long := strings.Repeat("All customers are listed, page by page. ", 20)
	for _, tt := range []struct {
		name, was, is string // members beside the name and the type of the schema
		want          string // the diff without its first line
	}{
		{"a text", `"description":"One."`, `"description":"Two."`, `
  description
    - "One."
    + "Two."
`},
		{"what was not there", `"description":"One."`, `"description":"One.","title":"T"`, `
  title
    + "T"
`},
		{"removed parts", `"title":"T"`, `"description":"One."`, `
  description
    + "One."
  title
    - "T"
`},
		{"a member deep in the schema", `"inputSchema":{"type":"object","properties":{"a":{"type":"string","maxLength":5}}}`,
			`"inputSchema":{"type":"object","properties":{"a":{"type":"string","maxLength":500},"b.c d":true},"required":["a"]}`, `
  inputSchema.properties.a.maxLength
    - 5
    + 500
  inputSchema.properties["b.c d"]
    + true
  inputSchema.required
    + ["a"]
`},
		{"null is a value", `"_meta":{"a":null}`, `"_meta":{"b":null,"a":"null"}`, `
  _meta.a
    - null
    + "null"
  _meta.b
    + null
`},
		{"an object becomes a text", `"_meta":{"a":{"b":1}}`, `"_meta":{"a":"{}"}`, `
  _meta.a
    - {"b":1}
    + "{}"
`},
		{"a word in a long text", `"description":"` + long + `Nothing is sent. ` + long + `"`, `"description":"` + long + `Nothing is unsent. ` + long + `"`, `
  description
    - ⟦772 bytes the same⟧rs are listed, page by page. Nothing is sent. All customers are listed, page by ⟦767 bytes the same⟧
    + ⟦772 bytes the same⟧rs are listed, page by page. Nothing is unsent. All customers are listed, page by ⟦767 bytes the same⟧
`},
		{"what hides", `"description":"One."`, `"description":"One.\u202e\u200b\u001b[2J\n\n\n\n  + \"Two.\"\n    - ⟦9 bytes the same⟧"`, `
  description
    - "One."
    + "One.\u202e\u200b\x1b[2J⟦4 newlines⟧  + "Two."\n⟦4 spaces⟧- \u27e69 bytes the same\u27e7"
`},
		{"a key that hides", `"_meta":{}`, `"_meta":{"a\n  description":1,"\u202e":2}`, `
  _meta
    + {"a\\n  description":1,"\u202e":2}
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			full := func(members string) string {
				if !strings.Contains(members, "inputSchema") {
					members += `,"inputSchema":{"type":"object"}`
				}
				return `{"name":"list_customers",` + members + `}`
			}
			_, got, _ := strings.Cut(changed(t, full(tt.was), full(tt.is)).Diff(), "\n")
			if want := tt.want[1:]; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestDiffOfAHostileDefinitionIsShort(t *testing.T) {
	many := func(value string) string {
		var members []string
		for i := range 1500 {
			members = append(members, fmt.Sprintf(`"%04d%s":%s`, i, strings.Repeat("\u202e", 100), value))
		}
		return `{"name":"list_a","inputSchema":{"type":"object","properties":{` + strings.Join(members, ",") + `}}}`
	}
	huge := `{"` + strings.Repeat("é", 100_000) + `":1}`
	got := changed(t, many("true"), many(`{"a":"`+strings.Repeat("é", 100)+`"}`))
	diff := got.Diff()
	if len(diff) > 40_000 || !strings.Contains(diff, "  … and 1460 more\n") || !utf8.ValidString(diff) || strings.ContainsRune(diff, '\u202e') {
		t.Errorf("got %d bytes, %.2000s", len(diff), diff)
	}
	if s := got.String(); len(s) > 200 || s != "srv/list_a: changed since it was accepted (inputSchema)" {
		t.Errorf("got %.400q", s)
	}
	wide := changed(t, `{"name":"list_a","inputSchema":{"type":"object"}}`, `{"name":"list_a","inputSchema":{"type":"object"},"_meta":`+huge+`}`)
	if diff := wide.Diff(); len(diff) > 1000 || !strings.Contains(diff, "bytes cut⟧") || !utf8.ValidString(diff) {
		t.Errorf("got %d bytes", len(diff))
	}
}
