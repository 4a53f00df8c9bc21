package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/finding"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// raw returns a catalog of one server that lists the tools, written as they
// are, beside a good one.
func raw(t testing.TB, tools ...string) *catalog.Catalog {
	t.Helper()
	c := catalog.New(catalog.Options{})
	list := mcptest.Tools("", append(tools, `{"name":"list_good","inputSchema":{"type":"object"}}`)...)
	add(t, c, "srv", mcptest.ConnectPeer(t, nil, mcptest.Legacy, func(p *mcptest.Peer, r mcptest.Request) { p.Reply(r, list) }))
	lookup(t, c, "srv", "list_good")
	return c
}

func TestToolWithABadNameIsLeftOut(t *testing.T) {
	for _, c := range []struct {
		name, tool string
		want       []string
	}{
		{"B001 empty", `""`, []string{"srv: tool number 0", "no name"}},
		{"B003 NUL", `"a\u0000b"`, []string{`"a\x00b"`, "characters that cannot be seen"}},
		{"B005 zero width", `"delete\u200Bfile"`, []string{`"delete\u200bfile"`}},
		{"B007 looks like another", `"\u0440ead_file"`, []string{`"\u0440ead_file"`}},
		{"B009 129 letters", `"` + strings.Repeat("x", 129) + `"`, []string{"129 characters"}},
		{"B017 lone surrogate", `"x\ud800"`, []string{`"x\ufffd"`}},
		{"newline at the end", `"list\n"`, []string{`"list\n"`}},
		{"pattern", `"list_*"`, []string{"a *"}},
		{"blanks in a row", `"list  files"`, []string{"blanks"}},
		{"1 MB", `"` + strings.Repeat("x", 1<<20) + `"`, []string{"1048576 characters"}},
		{"right to left", `"\u202etset"`, []string{`"\u202etset"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tools := raw(t, `{"name":`+c.tool+`,"inputSchema":{"type":"object"}}`)
			if got := names(tools); len(got) != 1 {
				t.Errorf("got %.200q, want the good one", got)
			}
			if got := found(t, tools, append(c.want, "left out")...); len(got) > 300 || strings.ContainsAny(got, "\n\x00\u200b\u202e") {
				t.Errorf("got %.400q, want one short line", got)
			}
		})
	}
	t.Run("128 letters are a name", func(t *testing.T) {
		lookup(t, raw(t, `{"name":"`+strings.Repeat("x", 128)+`","inputSchema":{"type":"object"}}`), "srv", strings.Repeat("x", 128))
	})
	t.Run("B001 a tool that is null", func(t *testing.T) {
		c := catalog.New(catalog.Options{})
		add(t, c, "srv", listing(nil, mcptest.Tool("list_good", "")))
		lookup(t, c, "srv", "list_good")
		found(t, c, "tool number 0", "null")
	})
}

func TestOfTwoToolsWithOneNameNeitherIsTaken(t *testing.T) {
	const search = `{"name":"search","inputSchema":{"type":"object"}}`
	for name, tools := range map[string][]string{
		"B011 two":            {search, `{"name":"search","inputSchema":{"type":"object","required":["q"]}}`},
		"B011 three":          {search, search, search},
		"B011 one unusable":   {search, `{"name":"search","inputSchema":null}`},
		"B011 the other way":  {`{"name":"search","inputSchema":null}`, search},
		"B011 not together":   {search, `{"name":"list_b","inputSchema":{"type":"object"}}`, search},
		"B011 the same twice": {search, search},
	} {
		t.Run(name, func(t *testing.T) {
			c := raw(t, tools...)
			if tool, ok := c.Lookup("srv", "search"); ok {
				t.Errorf("got %v", tool)
			}
			found(t, c, "srv/search", fmt.Sprintf("%d tools of this name", strings.Count(strings.Join(tools, ""), `"search"`)))
		})
	}
	t.Run("B011 two on different pages", func(t *testing.T) {
		c := catalog.New(catalog.Options{})
		add(t, c, "srv", mcptest.ConnectPeer(t, nil, mcptest.Modern, func(p *mcptest.Peer, r mcptest.Request) {
			next := ""
			if !strings.Contains(string(r.Params), `"cursor"`) {
				next = "2"
			}
			p.Reply(r, mcptest.Tools(next, search))
		}))
		if got := names(c); len(got) != 0 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("B015 names that differ by case are two", func(t *testing.T) {
		c := raw(t, `{"name":"Delete","inputSchema":{"type":"object"}}`, `{"name":"delete","inputSchema":{"type":"object"}}`)
		if err := c.Override("srv", "delete", annotation.ReadOnly()); err != nil {
			t.Fatal(err)
		}
		if got := lookup(t, c, "srv", "Delete").Safety(); !got.MustConfirm() {
			t.Errorf("the word on one lowered the other: %s", got)
		}
	})
}

func TestNamesTowardsAModelNeverCollide(t *testing.T) {
	tool := func(name string) string { return `{"name":"` + name + `","inputSchema":{"type":"object"}}` }
	t.Run("B013 underscores at the seam", func(t *testing.T) {
		c := catalog.New(catalog.Options{})
		add(t, c, "a_", listing(mcptest.Tool("c", "")))
		add(t, c, "a", listing(mcptest.Tool("_c", ""), mcptest.Tool("b__c", "")))
		for _, want := range c.List() {
			if got, err := c.Find(want.ModelName()); err != nil || got != want {
				t.Errorf("%s is %s, and that is %s", want, want.ModelName(), got)
			}
		}
		if got := len(c.List()); got != 3 {
			t.Errorf("got %v, want all three", names(c))
		}
	})
	t.Run("B013 a name made to collide with another server's", func(t *testing.T) {
		for _, order := range [][]string{{"a", "a_"}, {"a_", "a"}, {"a_b", "a.b"}, {"a.b", "a_b"}} {
			c := catalog.New(catalog.Options{})
			for _, id := range order {
				add(t, c, id, listing(mcptest.Tool("x", "")))
			}
			for _, victim := range order {
				before := lookup(t, c, victim, "x")
				name := before.ModelName()
				for _, id := range order {
					if id == victim {
						continue
					}
					var forged []*mcp.Tool
					for at := range len(name) {
						forged = append(forged, mcptest.Tool(name[at:], ""))
					}
					c.Remove(id)
					add(t, c, id, listing(forged...))
				}
				if tool, err := c.Find(name); err != nil || tool.String() != victim+"/x" {
					t.Errorf("%v: %s of %s is %s now", order, name, victim, tool)
				}
				for _, f := range c.Findings() {
					if f.Server == victim {
						t.Errorf("%v: %s", order, f)
					}
				}
				for _, id := range order {
					c.Remove(id)
					add(t, c, id, listing(mcptest.Tool("x", "")))
				}
			}
		}
	})
	t.Run("B013 a name made to collide", func(t *testing.T) {
		// The model's name of "a.b" ends in a hash, which another tool can take for
		// its own name.
		victim := lookup(t, raw(t, tool("a.b")), "srv", "a.b").ModelName()
		c := raw(t, tool("a.b"), tool(strings.TrimPrefix(victim, "srv__")))
		got := found(t, c, "left out", "srv/a.b", strings.TrimPrefix(victim, "srv__"))
		if tool, _ := c.Find(victim); tool.String() != "srv/a.b" {
			t.Errorf("%s is %s; %s", victim, tool, got)
		}
	})
}

func TestToolWithAnUnusableSchemaIsLeftOut(t *testing.T) {
	var fan strings.Builder
	for i := range 25 {
		fmt.Fprintf(&fan, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	parts := new(strings.Builder)
	for i := range 30_000 {
		fmt.Fprintf(parts, `"%d":{},`, i)
	}
	nested := func(open, shut string, n int) string { return strings.Repeat(open, n) + `{}` + strings.Repeat(shut, n) }
	for _, c := range []struct {
		name, schema, want string
	}{
		{"B035 a circle at the root", `{"type":"object","allOf":[{"$ref":"#"},{"$ref":"#"}]}`, "circle"},
		{"B035 a circle of two", `{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"anyOf":[{"$ref":"#/$defs/a"}]}}}`, "circle"},
		{"B035 a circle that nothing leads to", `{"type":"object","$defs":{"a":{"not":{"$ref":"#/$defs/a"}}}}`, "circle"},
		{"B035 a circle by if", `{"type":"object","if":{"$ref":"#"}}`, "circle"},
		{"B035 a circle by then", `{"type":"object","if":{},"then":{"$ref":"#"}}`, "circle"},
		{"B035 a circle by else", `{"type":"object","if":{},"else":{"$ref":"#"}}`, "circle"},
		{"B035 a circle by oneOf", `{"type":"object","oneOf":[{"$ref":"#"}]}`, "circle"},
		{"B035 a circle by a dependent schema", `{"type":"object","dependentSchemas":{"a":{"$ref":"#"}}}`, "circle"},
		{"B035 a circle by a dependency", `{"type":"object","dependencies":{"a":{"$ref":"#"}}}`, "circle"},
		{"B035 a circle by $dynamicRef", `{"type":"object","allOf":[{"$dynamicRef":"#"}]}`, "circle"},
		{"B035 a circle by $recursiveRef", `{"type":"object","allOf":[{"$recursiveRef":"#"}]}`, "circle"},
		{"B035 a circle behind an escape", `{"type":"object","$defs":{"a":{"allOf":[{"$ref":"#/%24defs/a"}]}},"%24defs":{"a":{}}}`, "circle"},
		{"B035 a circle behind an empty name", `{"type":"object","$defs":{"":{"a":{"allOf":[{"$ref":"#/$defs//a"}]}},"a":{}}}`, "circle"},
		{"B035 a circle behind an anchor", `{"type":"object","$defs":{"a":{"$anchor":"x","allOf":[{"$ref":"#x"}]}},"x":{}}`, "want a path from the root, not a name"},
		{"B035 a circle behind a broken escape", `{"type":"object","$defs":{"%zz":{"allOf":[{"$ref":"#/$defs/%zz"}]}}}`, "want a path from the root, not a name"},
		{"B035 a circle behind a part with an id", `{"type":"object","$defs":{"a":{"$id":"http://h/a","allOf":[{"$ref":"#"}]}}}`, "calls itself"},
		{"B035 a long name in the text", `{"type":"object","$defs":{"` + strings.Repeat("x", 5000) + `":{"$id":"` + strings.Repeat("y", 5000) + `"}}}`, "calls itself"},
		{"B037 a fan", `{"type":"object","$ref":"#/$defs/d0","$defs":{` + fan.String() + `"d25":{}}}`, "past all bounds"},
		{"B037 a long chain", `{"type":"object","$ref":"#/$defs/d0","$defs":{` + chained(20_000) + `"d20000":{}}}`, "past all bounds"},
		{"B037 a chain of 200", `{"type":"object","$ref":"#/$defs/d0","$defs":{` + chained(200) + `"d200":{}}}`, "past all bounds"},
		{"B037 a wide choice", `{"type":"object","anyOf":[` + strings.Repeat(`{},`, 10_000) + `{}]}`, "past all bounds"},
		{"B039 240 levels of properties", `{"type":"object","properties":` + nested(`{"a":{"properties":`, `}}`, 240) + `}`, "deeper"},
		{"B039 900 levels of lists", `{"type":"object","enum":` + nested(`[`, `]`, 900) + `}`, "deeper"},
		{"B041 another document", `{"type":"object","properties":{"a":{"$ref":"http://169.254.169.254/latest/meta-data"}}}`, "never fetched"},
		{"B041 a file", `{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`, "never fetched"},
		{"B041 beside it", `{"type":"object","properties":{"a":{"$ref":"other.json#/a"}}}`, "never fetched"},
		{"B041 by $dynamicRef", `{"type":"object","properties":{"a":{"$dynamicRef":"http://h/"}}}`, "never fetched"},
		{"B041 a long one", `{"type":"object","properties":{"a":{"$ref":"http://` + strings.Repeat("h", 5000) + `"}}}`, "never fetched"},
		{"B045 null", `null`, "null"},
		{"B047 thousands of parts beneath a long name", `{"type":"object","properties":{"` + strings.Repeat("x", 500_000) + `":{` + parts.String() + `"z":{"$ref":"#/none"}}}}`, "not there"},
		{"over a megabyte", `{"type":"object","description":"` + strings.Repeat("x", 1<<20) + `"}`, "bytes, more than"},
		{"a reference to nothing", `{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`, "not there"},
		{"a reference past a list", `{"type":"object","allOf":[{}],"properties":{"a":{"$ref":"#/allOf/1"}}}`, "not there"},
		{"a reference through text", `{"type":"object","title":"x","properties":{"a":{"$ref":"#/title/x"}}}`, "not there"},
		{"a list", `[]`, "it is [] and"},
		{"text", `"object"`, `it is "object" and`},
		{"a boolean", `true`, "it is true and"},
		{"a number", `1`, "it is 1 and"},
		{"arguments that are a list", `{"type":"array"}`, `its type is "array"`},
		{"several types", `{"type":["object","null"]}`, "its type is"},
		{"a type of any length", `{"type":"` + strings.Repeat("x", 5000) + `"}`, "its type is"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tools := raw(t, `{"name":"hostile","inputSchema":`+c.schema+`}`)
			// A walk without bounds would not end within the life of this test.
			if tool, ok := tools.Lookup("srv", "hostile"); ok {
				t.Errorf("got %v", tool)
			}
			if got := found(t, tools, `"hostile"`, "left out", c.want); len(got) > 400 {
				t.Errorf("got a finding of %d bytes: %.500s", len(got), got)
			}
		})
	}
	t.Run("B047 5 MB of 50,000 properties", func(t *testing.T) {
		properties := make(map[string]any)
		for i := range 50_000 {
			properties[fmt.Sprintf("p%d", i)] = map[string]any{"type": "string", "description": strings.Repeat("x", 60)}
		}
		c := catalog.New(catalog.Options{})
		add(t, c, "srv", listing(
			&mcp.Tool{Name: "hostile", InputSchema: map[string]any{"type": "object", "properties": properties}}, mcptest.Tool("list_good", "")))
		lookup(t, c, "srv", "list_good")
		found(t, c, `"hostile"`, "bytes, more than")
	})
	// The SDK itself refuses a message of more than 1,000 levels, and with it the
	// whole list.
	t.Run("B039 2,000 levels of properties", func(t *testing.T) {
		for _, version := range mcptest.Versions {
			c := catalog.New(catalog.Options{})
			list := mcptest.Tools("", `{"name":"hostile","inputSchema":`+nested(`{"properties":{"a":`, `}}`, 2000)+`}`)
			err := c.Add(mcptest.Context(t), "bad", mcptest.ConnectPeer(t, nil, version, func(p *mcptest.Peer, r mcptest.Request) { p.Reply(r, list) }))
			if err == nil || !strings.Contains(err.Error(), `"bad"`) {
				t.Errorf("got %v", err)
			}
			add(t, c, "good", listing(mcptest.Tool("list_good", "")))
		}
	})
	t.Run("B039 2,000 levels from a session of another kind", func(t *testing.T) {
		var deep any = map[string]any{}
		for range 2000 {
			deep = map[string]any{"properties": map[string]any{"a": deep}}
		}
		c := catalog.New(catalog.Options{})
		add(t, c, "srv", listing(&mcp.Tool{Name: "hostile", InputSchema: deep}, mcptest.Tool("list_good", "")))
		lookup(t, c, "srv", "list_good")
		found(t, c, `"hostile"`, "deeper")
	})
	t.Run("no schema at all", func(t *testing.T) {
		found(t, raw(t, `{"name":"hostile"}`), `"hostile"`, "null")
	})
	t.Run("B035 in the output schema", func(t *testing.T) {
		found(t, raw(t, `{"name":"hostile","inputSchema":{"type":"object"},"outputSchema":{"allOf":[{"$ref":"#"}]}}`), "output schema", "circle")
	})
	t.Run("a definition of 3 MB", func(t *testing.T) {
		found(t, raw(t, `{"name":"hostile","description":"`+strings.Repeat("x", 3<<20)+`","inputSchema":{"type":"object"}}`), `"hostile"`, "bytes, more than")
	})
	t.Run("a _meta of 600 levels", func(t *testing.T) {
		found(t, raw(t, `{"name":"hostile","inputSchema":{"type":"object"},"_meta":{"a":`+nested(`[`, `]`, 600)+`}}`), `"hostile"`, "left out")
	})
}

// chained returns n definitions; each refers to the next.
func chained(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
	}
	return b.String()
}

func TestUsualSchemasAreTaken(t *testing.T) {
	for name, schema := range map[string]string{
		"no type":                `{}`,
		"a tree":                 `{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}}}`,
		"a list that is linked":  `{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}},"$defs":{"n":{"properties":{"next":{"$ref":"#/$defs/n"}}}}}`,
		"shared definitions":     `{"type":"object","properties":{"a":{"$ref":"#/$defs/s"},"b":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"string"}}}`,
		"escapes in a pointer":   `{"type":"object","properties":{"a":{"$ref":"#/$defs/x~1y~0z"}},"$defs":{"x/y~z":{}}}`,
		"true as a schema":       `{"type":"object","properties":{"a":{"$ref":"#/$defs/any"}},"$defs":{"any":true}}`,
		"an id at the root":      `{"$id":"http://h/schema","type":"object","properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{}}}`,
		"names that are words":   `{"type":"object","properties":{"$ref":{"type":"string"},"$id":{},"not":{},"allOf":{"type":"array"},"if":{"type":"string"}}}`,
		"a reference by a list":  `{"type":"object","allOf":[{"title":"x"}],"properties":{"a":{"$ref":"#/allOf/0"}}}`,
		"a thousand properties":  `{"type":"object","properties":{` + strings.Repeat(`"p":{"type":"string"},`, 999) + `"z":{}}}`,
		"a chain of 50":          `{"type":"object","$ref":"#/$defs/d0","$defs":{` + chained(50) + `"d50":{}}}`,
		"a dependency of names":  `{"type":"object","dependencies":{"a":["b"]}}`,
		"a dependent schema":     `{"type":"object","dependentSchemas":{"a":{"required":["b"]}}}`,
		"nested as people do it": `{"type":"object","properties":{"a":` + strings.Repeat(`{"properties":{"a":`, 20) + `{}` + strings.Repeat(`}}`, 20) + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			c := raw(t, `{"name":"usual","inputSchema":`+schema+`}`)
			if _, ok := c.Lookup("srv", "usual"); !ok {
				t.Errorf("left out: %v", c.Findings())
			}
		})
	}
	t.Run("an output of any type", func(t *testing.T) {
		lookup(t, raw(t, `{"name":"usual","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}`), "srv", "usual")
	})
}

// A Session of the host's own can hand in what no wire carries.
func TestDefinitionThatIsNotJSONIsLeftOut(t *testing.T) {
	bad := mcptest.Tool("bad", "")
	bad.Meta = mcp.Meta{"x": make(chan int)}
	worse := mcptest.Tool("worse", "")
	worse.InputSchema = func() {}
	worst := mcptest.Tool("worst", "")
	worst.InputSchema = failing{}
	c := catalog.New(catalog.Options{})
	add(t, c, "srv", listing(bad, worse, worst, mcptest.Tool("list_good", "")))
	lookup(t, c, "srv", "list_good")
	if got := found(t, c, `"worst"`, "JSON"); len(got) > 400 {
		t.Errorf("got a finding of %d bytes", len(got))
	}
	found(t, c, `"bad"`, "JSON")
	found(t, c, `"worse"`, "JSON")
}

type failing struct{}

func (failing) MarshalJSON() ([]byte, error) { return nil, errors.New(strings.Repeat("x", 10_000)) }

// The SDK returns its cached list to every caller.
func TestCatalogKeepsACopy(t *testing.T) {
	t.Run("of what a session of any kind lists", func(t *testing.T) {
		theirs := mcptest.Tool("delete_a", "Deletes.")
		theirs.Meta = mcp.Meta{"k": map[string]any{"v": "old"}}
		theirs.Annotations = &mcp.ToolAnnotations{Title: "old"}
		c := catalog.New(catalog.Options{})
		add(t, c, "srv", listing(theirs))
		before := lookup(t, c, "srv", "delete_a")
		was, _ := json.Marshal(before.Definition)

		theirs.Description = "Lists."
		theirs.Name = "list_a"
		theirs.Annotations.Title = "new"
		theirs.Meta["k"].(map[string]any)["v"] = "new"
		c.Trust("other") // works everything out again
		after := lookup(t, c, "srv", "delete_a")
		if is, _ := json.Marshal(after.Definition); string(is) != string(was) || after.Digest != before.Digest {
			t.Errorf("got %s, want %s", is, was)
		}
	})
	t.Run("of what a server in the same process declares", func(t *testing.T) {
		tags, rate := []string{"a"}, 5.0
		theirs := annotation.Declare(mcptest.Tool("list_a", ""), annotation.Annotations{Tags: tags, RateLimitHint: &rate})
		c := catalog.New(catalog.Options{})
		add(t, c, "srv", listing(theirs))
		tags[0], rate = "b", 1
		c.Trust("srv")
		if got := lookup(t, c, "srv", "list_a").Annotations; got.Tags[0] != "a" || *got.RateLimitHint != 5 {
			t.Errorf("got %v and %v", got.Tags, *got.RateLimitHint)
		}
	})
	t.Run("of what the SDK remembers", func(t *testing.T) {
		s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{
			SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.TTLMs, c.CacheScope = 600_000, "private" },
		})
		mcptest.Add(s, mcptest.Tool("delete_a", "Deletes."), nothing)
		cs := mcptest.Connect(t, s, nil)
		page, err := cs.ListTools(mcptest.Context(t), &mcp.ListToolsParams{})
		if err != nil {
			t.Fatal(err)
		}
		c := catalog.New(catalog.Options{})
		add(t, c, "srv", cs)
		page.Tools[0].Description = "Lists."
		if page, _ := cs.ListTools(mcptest.Context(t), &mcp.ListToolsParams{}); page.Tools[0].Description != "Lists." {
			t.Skip("the SDK no longer shares its list")
		}
		if got := lookup(t, c, "srv", "delete_a").Definition.Description; got != "Deletes." {
			t.Errorf("got %q", got)
		}
		c.Trust("other")
		if got := lookup(t, c, "srv", "delete_a").Definition.Description; got != "Deletes." {
			t.Errorf("after another server was trusted: got %q", got)
		}
	})
	t.Run("and hands out copies of its lists", func(t *testing.T) {
		c := raw(t, `{"name":""}`)
		c.List()[0], c.Findings()[0] = nil, finding.Finding{}
		if c.List()[0] == nil || c.Findings()[0] == (finding.Finding{}) {
			t.Error("a caller's slice is the catalog's")
		}
	})
}

// MCP recommends characters for names and requires none: a client decides itself which names it can call.
func TestToolWithAnUncommonNameIsCallable(t *testing.T) {
	for _, name := range []string{"calendar/respond", "Disk report", "查询", "files:read", "lire_café", "a.b/c d"} {
		t.Run(name, func(t *testing.T) {
			c := catalog.New(catalog.Options{})
			add(t, c, "srv", listing(mcptest.Tool(name, "Read a note.")))
			tool := lookup(t, c, "srv", name)
			if got := tool.ModelName(); !regexp.MustCompile(`^srv__[a-zA-Z0-9_-]{1,59}$`).MatchString(got) {
				t.Errorf("got the name %q for models", got)
			}
			if found, err := c.Find(tool.ModelName()); err != nil || found.Name() != name {
				t.Errorf("got %v, %v", found, err)
			}
			if len(c.Findings()) > 1 {
				t.Errorf("got %v", c.Findings())
			}
		})
	}
}
