package middleware_test

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func newTool(t *testing.T, server string, definition *mcp.Tool, a annotation.Annotations) *middleware.Tool {
	t.Helper()
	tool, err := middleware.NewTool(server, definition, a)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func definition(t *testing.T, raw string) *mcp.Tool {
	t.Helper()
	d := new(mcp.Tool)
	if err := json.Unmarshal([]byte(raw), d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestNewToolHoldsAPrivateCopy(t *testing.T) {
	t.Parallel()
	schema := map[string]any{"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string"}}}
	d := &mcp.Tool{Name: "read_file", Description: "Read", InputSchema: schema, Meta: mcp.Meta{"k": "v"}, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
	tool := newTool(t, "files", d, annotation.ReadOnly())
	before, _ := json.Marshal(tool.Definition)
	digest := tool.Digest

	d.Name, d.Description, d.Meta["k"], d.Annotations.ReadOnlyHint = "evil", "evil", "evil", false
	schema["properties"] = "evil"

	if after, _ := json.Marshal(tool.Definition); string(after) != string(before) || tool.Digest != digest || tool.Name() != "read_file" {
		t.Errorf("the tool changed with the definition that it was made from: was %s, is %s", before, after)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	const base = `{"name":"t","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}}},"annotations":{"destructiveHint":true}}`
	of := func(raw string) middleware.Digest {
		return newTool(t, "s", definition(t, raw), annotation.Annotations{}).Digest
	}
	want := of(base)
	if want == (middleware.Digest{}) || len(want.String()) != 64 {
		t.Fatalf("the digest is %v", want)
	}
	for _, c := range []struct {
		name, raw string
		same      bool
	}{
		{"B049 the order of properties", `{"name":"t","inputSchema":{"properties":{"b":{"type":"integer"},"a":{"type":"string"}},"type":"object"},"annotations":{"destructiveHint":true},"description":"d"}`, true},
		{"B051 an annotation", strings.Replace(base, `"destructiveHint":true`, `"destructiveHint":false`, 1), false},
		{"B051 an annotation that is gone", strings.Replace(base, `,"annotations":{"destructiveHint":true}`, "", 1), false},
		{"the name", strings.Replace(base, `"t"`, `"u"`, 1), false},
		{"the description", strings.Replace(base, `"d"`, `"D"`, 1), false},
		{"the schema", strings.Replace(base, `"integer"`, `"number"`, 1), false},
		{"our own key", strings.Replace(base, `{"name"`, `{"_meta":{"`+annotation.MetaKey+`":{"readOnlyHint":true}},"name"`, 1), false},
	} {
		if got := of(c.raw); (got == want) != c.same {
			t.Errorf("%s: the same digest: %v, want %v", c.name, got == want, c.same)
		}
	}
	// A number that no float64 holds differs from its neighbour.
	big := func(n string) middleware.Digest {
		d := &mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object","const":` + n + `}`)}
		return newTool(t, "s", d, annotation.Annotations{}).Digest
	}
	if big("9007199254740993") == big("9007199254740992") {
		t.Error("two schemas that differ in a large number have one digest")
	}
	// The host's annotations of a tool are not part of its definition.
	if newTool(t, "s", definition(t, base), annotation.ReadOnly()).Digest != want {
		t.Error("the effective annotations moved the digest")
	}
}

func TestNewToolOfAnInvalidDefinition(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]*mcp.Tool{
		"no JSON":         {Name: "t", InputSchema: func() {}},
		"a member twice":  {Name: "t", InputSchema: json.RawMessage(`{"type":"object","type":"string"}`)},
		"half a pair":     {Name: "t", InputSchema: json.RawMessage(`{"title":"\ud800"}`)},
		"too deep":        {Name: "t", InputSchema: json.RawMessage(strings.Repeat("[", 600) + strings.Repeat("]", 600))},
		"B047 very large": {Name: "t", InputSchema: map[string]any{"title": strings.Repeat("x", 5<<20)}},
	} {
		tool, err := middleware.NewTool("files", d, annotation.Annotations{})
		if err == nil || tool != nil || !strings.Contains(err.Error(), "files/t") {
			t.Errorf("%s: got %v, %v", name, tool, err)
		}
	}
}

func TestNoTool(t *testing.T) {
	t.Parallel()
	var none *middleware.Tool
	if none.Name() != "" || none.String() != "no tool" || none.Safety() != annotation.Unknown || none.ModelName() == "" {
		t.Errorf("no tool is %q, %q, %v, %q", none.Name(), none, none.Safety(), none.ModelName())
	}
	if got := none.Explain(); got != "no tool: unknown\n" {
		t.Errorf("no tool explains itself as %q", got)
	}
	if got := (&middleware.Tool{Server: "files"}).String(); got != "files/" {
		t.Errorf("a tool without a definition is %q", got)
	}
}

func TestModelName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long_name_", 10)
	allowed := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	named := make(map[string]string)
	for _, c := range []struct{ server, name, want string }{
		{"files", "read_file", "files__read_file"},
		{"files", "read-file", "files__read-file"},
		{"a", "b__c", "a__b__c"},
		{"a__b", "c", ""}, // B013
		{"a_", "_b", ""},  // two server names that end and begin with an underscore
		{"a", "__b", ""},
		{"a__", "b", ""},
		{"a.b", "c", ""},
		{"a_b", "c", "a_b__c"},
		{"a/b", "c", ""},
		{"files", "read file", ""},
		{"files", "léger", ""},
		{"files", "leger", "files__leger"},
		{"files", long + "1", ""},
		{"files", long + "2", ""},
		{strings.Repeat("s", 80), "t", ""},
		{"", "t", "__t"},
		{"files", "\xff", ""},
		{"files", strings.Repeat("x", 57), "files__" + strings.Repeat("x", 57)},
		{"files", strings.Repeat("x", 58), ""},
	} {
		tool := &middleware.Tool{Server: c.server, Definition: &mcp.Tool{Name: c.name}}
		got := tool.ModelName()
		if called := (&middleware.Tool{Server: c.server, Definition: tool.Definition, Called: "its name"}).ModelName(); called != "its name" {
			t.Errorf("%s: got %q, want the name by which it was called", tool, called)
		}
		if c.want != "" && got != c.want {
			t.Errorf("%s: got %q, want %q", tool, got, c.want)
		}
		if !allowed.MatchString(got) {
			t.Errorf("%s: a model API refuses %q", tool, got)
		}
		if other, taken := named[got]; taken {
			t.Errorf("%s and %s are both called %s", tool, other, got)
		}
		named[got] = tool.String()
		if again := tool.ModelName(); again != got {
			t.Errorf("%s is called %s and %s", tool, got, again)
		}
	}
}

// A server's tool names never lead to another server, since the first two underscores in a row end
// the name of the server.
func TestNoServerCanTakeTheModelNamesOfAnother(t *testing.T) {
	t.Parallel()
	name := func(server, tool string) string {
		return (&middleware.Tool{Server: server, Definition: &mcp.Tool{Name: tool}}).ModelName()
	}
	long := strings.Repeat("a", 53)
	for _, c := range []struct{ victim, forger string }{
		{"a_", "a"}, {"a.b", "a_b"}, {"a..b", "a"}, {"a__b", "a"}, {"_", ""}, {"_", "_x"}, {"a.", "a"}, {".", "a"},
		{long + "_b", long}, {long + "b", long}, {long + ".b", long + "_b"}, {strings.Repeat("s", 64), strings.Repeat("s", 55)},
		{long[:43] + "_bbbbbbbbbbb", long[:43]},
	} {
		for _, tool := range []string{"x", "_x", "x.y", strings.Repeat("x", 60), strings.Repeat("_", 60)} {
			want := name(c.victim, tool)
			for at := range len(want) {
				for _, forged := range []string{want[at:], "_" + want[at:], "." + want[at:]} {
					if got := name(c.forger, forged); got == want {
						t.Errorf("%s/%s and %s/%s are both called %s", c.victim, tool, c.forger, forged, got)
					}
				}
			}
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		ids := rapid.StringMatching(`[ab_.-]{0,4}(a{50})?[ab_.-]{0,8}`)
		one, other := ids.Draw(r, "one"), ids.Draw(r, "other")
		tools := rapid.StringMatching(`[x_.-]{0,4}(x{60})?[0-9a-f_]{0,10}`)
		first, _, _ := strings.Cut(name(one, tools.Draw(r, "tool")), "__")
		second, _, _ := strings.Cut(name(other, tools.Draw(r, "other tool")), "__")
		if (first == second) != (one == other) {
			r.Errorf("%q begins with %q, and %q with %q", one, first, other, second)
		}
	})
}

func TestExplain(t *testing.T) {
	t.Parallel()
	evidence := []annotation.Evidence{
		{Field: annotation.DestructiveHint, Value: "yes", Source: annotation.Inferred, Word: "delete", Place: "leads the name"},
		{Field: annotation.DestructiveHint, Value: "yes", Source: annotation.Inferred, Word: "permanently", Place: "in the description"},
		{Field: annotation.ReadOnlyHint, Value: "no", Source: annotation.Declared, By: "files"},
	}
	var b strings.Builder
	for _, c := range []struct {
		name string
		a    annotation.Annotations
	}{
		{"delete_file", annotation.Annotations{ReadOnly: annotation.No, Destructive: annotation.Yes, Evidence: evidence}},
		{"read_file", annotation.ReadOnly()},
		{"send_mail", annotation.Annotations{
			RequiresConfirmation: annotation.Yes, OpenWorld: annotation.Yes,
			Evidence: []annotation.Evidence{{Field: annotation.RequiresConfirmation, Value: "yes", Source: annotation.Inferred, Word: "send", Place: "leads the name"}},
		}},
		{"xyzzy", annotation.Annotations{Title: "A title does not count"}},
	} {
		tool := &middleware.Tool{Server: "files", Definition: &mcp.Tool{Name: c.name}, Annotations: c.a}
		b.WriteString(tool.Explain() + "\n")
	}
	golden(t, "explain.golden", b.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (run with -update to rewrite it):\n got\n%s\nwant\n%s", path, got, want)
	}
}

func ExampleNewTool() {
	definition := &mcp.Tool{Name: "list_files", InputSchema: map[string]any{"type": "object"}}
	tool, err := middleware.NewTool("files", definition, annotation.ReadOnly())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tool, tool.ModelName(), tool.Safety())
	// Output: files/list_files files__list_files safe
}

func ExampleTool_Explain() {
	tool := &middleware.Tool{Server: "files", Definition: &mcp.Tool{Name: "delete_file"}, Annotations: annotation.Annotations{
		Destructive: annotation.Yes,
		Evidence: []annotation.Evidence{{
			Field: annotation.DestructiveHint, Value: "yes", Source: annotation.Inferred, Word: "delete", Place: "leads the name",
		}},
	}}
	fmt.Print(tool.Explain())
	// Output:
	// files/delete_file: dangerous
	//   destructive   yes   inferred: "delete" leads the name
}

// The digest is over the JSON that the definition has on the wire, so another
// program can compute it: canonical, with the members in order.
func TestDigestIsOverTheJSON(t *testing.T) {
	t.Parallel()
	d := definition(t, `{"name":"t\u00e9","title":"T","description":"<&>\n","inputSchema":{"type":"object","properties":{"b":{"minimum":0.5},"a":{}}},
		"outputSchema":{"type":"object"},"annotations":{"title":"A","readOnlyHint":true},"icons":[{"src":"x","sizes":["1x1"]}],"_meta":{"z":1,"k":[null,true]}}`)
	raw, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	form, err := canonical.Append(nil, raw)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := newTool(t, "s", d, annotation.Annotations{}).Digest, middleware.Digest(sha256.Sum256(form)); got != want {
		t.Errorf("got %s, want that of %s", got, form)
	}
}
