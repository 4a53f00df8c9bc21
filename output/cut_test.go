package output_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Members that a schema requires stay, and the others are cut for them.
func TestCutKeepsToTheSchema(t *testing.T) {
	t.Parallel()
	many := map[string]any{"zz_total": 5000}
	for i := range 5000 {
		many[fmt.Sprintf("key_%04d", i)] = "value"
	}
	needed, names := make(map[string]any), []string{}
	for i := range 500 {
		name := fmt.Sprintf("key_%04d", i)
		needed[name], names = strings.Repeat("n", 100), append(names, name)
	}
	deep := any("end")
	for range 9000 {
		deep = map[string]any{"d": deep}
	}
	for _, tt := range []struct {
		name, schema string
		answer       any
		want         func(got map[string]any) bool
	}{
		{
			"a text of a pattern is not cut", `{"properties":{"hash":{"type":"string","pattern":"^a+$"},"notes":{"type":"string"}},"required":["hash","notes"]}`,
			map[string]any{"hash": strings.Repeat("a", 15_000), "notes": strings.Repeat("n", 30_000)},
			func(got map[string]any) bool {
				return len(got["hash"].(string)) == 15_000 && strings.HasSuffix(got["notes"].(string), " characters cut]")
			},
		},
		{
			"nor is a list below what must be in it", `{"properties":{"pair":{"type":"array","minItems":2,"items":{"type":"string"}},"notes":{"type":"string"}},"required":["pair"]}`,
			map[string]any{"pair": []any{strings.Repeat("a", 5000), "b"}, "notes": strings.Repeat("n", 90_000)},
			func(got map[string]any) bool { return len(got["pair"].([]any)) == 2 },
		},
		{
			"a required member stays where others go", `{"additionalProperties":{"type":"string"},"properties":{"zz_total":{"type":"integer"}},"required":["zz_total"]}`,
			many,
			func(got map[string]any) bool { return got["zz_total"] == 5000.0 && len(got) > 300 },
		},
		{
			"many required members all stay, each a little shorter", `{"required":` + encoded(t, names) + `}`, needed,
			func(got map[string]any) bool { return len(got) == 500 },
		},
		{
			"two lists share the limit", "",
			map[string]any{"a": rows(100, 500), "b": rows(100, 500), "total": 200},
			func(got map[string]any) bool {
				return len(got["a"].([]any)) > 10 && len(got["b"].([]any)) > 10 && got["total"] == 200.0
			},
		},
		{
			"what is nested 9,000 deep goes, as a whole", "",
			map[string]any{"deep": deep, "note": "short"},
			func(got map[string]any) bool { return got["note"] == "short" },
		},
		{
			"meta.truncated has a place without a schema", "",
			map[string]any{"data": rows(300, 500)},
			func(got map[string]any) bool { return got["meta"].(map[string]any)["truncated"] == true },
		},
		{
			"and none where the schema has none", `{"properties":{"data":{"items":{}},"meta":{"properties":{"page":{}}}}}`,
			map[string]any{"data": rows(300, 500), "meta": map[string]any{"page": 1}},
			func(got map[string]any) bool { return len(got["meta"].(map[string]any)) == 1 },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res := show(t, output.Options{}, listing(t, tt.schema, annotation.ReadOnly()), answering(structured(t, tt.answer)))
			if res.IsError {
				t.Fatal(said(res))
			}
			if n := characters(res); n > limit || n < limit/4 && tt.name[:4] != "what" {
				t.Errorf("%d characters", n)
			}
			if !tt.want(decoded[map[string]any](t, texts(res)[0])) || !tt.want(res.StructuredContent.(map[string]any)) {
				t.Errorf("got %.300s … %.300s", texts(res)[0], texts(res)[len(res.Content)-1])
			}
		})
	}
	t.Run("what cannot be cut at all is withheld", func(t *testing.T) {
		t.Parallel()
		promises := listing(t, `{"properties":{"hash":{"type":"string","pattern":"^a+$"}},"required":["hash"]}`, annotation.ReadOnly())
		res := show(t, output.Options{}, promises, answering(structured(t, map[string]any{"hash": strings.Repeat("a", 26_000)})))
		if got, want := said(res), "crm__list answered, but its answer is too long, so it is withheld. Ask for less at a time."; !res.IsError || got != want {
			t.Errorf("got %.300s, want %s", got, want)
		}
	})
}

// A repeated text is cut once and left out once.
func TestTextThatIsThereTwiceIsShownOnce(t *testing.T) {
	t.Parallel()
	given := structured(t, map[string]any{"data": rows(300, 500)})
	given.Content = append(given.Content, given.Content[0])
	got := texts(show(t, output.Options{}, listing(t, "", annotation.ReadOnly()), answering(given)))
	if len(got) != 2 || len(got[0]) < limit*3/4 {
		t.Errorf("got %d texts, the first of %d bytes", len(got), len(got[0]))
	}
}

// A row that cannot be cut gives no cursor that leads to it again and again.
func TestRowThatCannotBeCutGivesNoCursor(t *testing.T) {
	t.Parallel()
	opts := output.Options{Paging: map[string]output.Paging{"crm/list": {Rows: "/data", Next: "/next", Cursor: "cursor"}}}
	promises := listing(t, `{"properties":{"data":{"items":{"type":"string","pattern":"^a+$"}},"next":{}}}`, annotation.ReadOnly())
	answer := structured(t, map[string]any{"data": []any{strings.Repeat("a", 30_000), "a"}, "next": nil})
	res := show(t, opts, promises, answering(answer))
	if got, want := said(res), "crm__list answered, but its answer is too long, so it is withheld. Ask for less at a time."; !res.IsError || got != want {
		t.Errorf("got %.300s, want %s", got, want)
	}
}

// Blanks are given up before anything else is.
func TestBlanksGoFirst(t *testing.T) {
	t.Parallel()
	pretty := "[" + strings.Repeat("\n        1,", 4000) + "\n 2]"
	res := show(t, output.Options{}, listing(t, "", annotation.ReadOnly()), answering(&mcp.CallToolResult{Content: []mcp.Content{content(pretty)}}))
	if got, want := said(res), "["+strings.Repeat("1,", 4000)+"2]"; got != want || res.Meta != nil {
		t.Errorf("got %.100s… %.100s", got, got[max(0, len(got)-100):])
	}
}

// The limit counts characters.
func TestLimitCountsCharacters(t *testing.T) {
	t.Parallel()
	read := listing(t, "", annotation.ReadOnly())
	for _, tt := range []struct {
		name string
		opts output.Options
		unit string
		fits int
	}{
		{"25,000 characters", output.Options{}, "é", 25_000},
		{"the host's", output.Options{Limit: 2000}, "é", 2000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			whole := strings.Repeat(tt.unit, tt.fits)
			if got := said(show(t, tt.opts, read, answering(&mcp.CallToolResult{Content: []mcp.Content{content(whole)}}))); got != whole {
				t.Errorf("what just fits was cut: %.100s", got[len(got)-100:])
			}
			res := show(t, tt.opts, read, answering(&mcp.CallToolResult{Content: []mcp.Content{content(whole + tt.unit)}}))
			if all := texts(res); len(all) != 2 || !strings.HasPrefix(all[1], "[The answer was too long: texts shortened: 1. ") || !strings.HasSuffix(all[0], " characters cut]") {
				t.Errorf("what just does not fit was not cut: %d texts", len(all))
			}
		})
	}
}

// Many contents share the limit; short ones stay, the first ones before the last.
func TestPartsShareTheLimit(t *testing.T) {
	t.Parallel()
	read := listing(t, "", annotation.ReadOnly())
	long := strings.Repeat("long ", 10_000)
	got := texts(show(t, output.Options{}, read, answering(&mcp.CallToolResult{Content: []mcp.Content{
		content("first"), content(long), content("middle"), content(long), content("last"),
	}})))
	if len(got) != 6 || got[0] != "first" || got[2] != "middle" || got[4] != "last" || len(got[1]) < 10_000 || len(got[3]) < 10_000 {
		t.Errorf("got %d texts: %.200q", len(got), got)
	}
	var many []mcp.Content
	for i := range 10_000 {
		many = append(many, &mcp.ResourceLink{URI: fmt.Sprintf("doc:%d", i), Name: "a document"})
	}
	res := show(t, output.Options{}, read, answering(&mcp.CallToolResult{Content: many}))
	if n := len(res.Content); n < 1000 || n > 2000 || !strings.HasPrefix(said(res), "[The answer was too long: parts left out: ") {
		t.Errorf("%d contents, and %s", n, said(res))
	}
}

// A cut result is marked: in meta.truncated, in _meta and in words, with how to go on.
func TestCutAnswerIsMarked(t *testing.T) {
	t.Parallel()
	var calls int
	executor, listed := lister(t, rows(300, 1300), &calls)
	paging := output.Paging{Rows: "/data", Next: "/meta/cursor", Cursor: "cursor"}
	caller := chain.New(output.New(output.Options{Paging: map[string]output.Paging{"crm/list_customers": paging}})).Then(executor)
	res := ask(t, caller, middleware.Call{Tool: listed})
	page := fits(t, res)
	if !page.Meta.Truncated {
		t.Error("meta.truncated is not set")
	}
	about, _ := res.Meta["io.github.fairlead-go/output"].(mcp.Meta)
	next, _ := about["next"].(map[string]any)
	if about["truncated"] != true || about["shown"] != len(page.Data) || about["of"] != 300 || next["cursor"] != *page.Meta.Cursor {
		t.Errorf("_meta says %v", about)
	}
	all := texts(res)
	want := fmt.Sprintf("[The answer was too long: %d of 300 items are shown. For the rest, call crm__list_customers again with the same arguments and \"cursor\": %q.]",
		len(page.Data), *page.Meta.Cursor)
	if got := all[len(all)-1]; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	without := ask(t, chain.New(output.New(output.Options{})).Then(executor), middleware.Call{Tool: listed})
	page = fits(t, without)
	all = texts(without)
	want = fmt.Sprintf("[The answer was too long: %d of 300 items are shown. The rest cannot be had in this way; ask for less at a time if the tool allows it.]", len(page.Data))
	if got := all[len(all)-1]; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if page.Meta.HasNextPage || page.Meta.Cursor != nil {
		t.Errorf("a page of a tool with unknown paging got a cursor: %+v", page.Meta)
	}
}
