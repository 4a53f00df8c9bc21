package proxy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Two servers with the same tools stand behind one proxy as one.
func TestSeveralServers(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, version string) {
		one, two := child(t, "features"), child(t, "features")
		one.Name, two.Name = "one", "two"
		things := child(t, "things")
		f := connect(t, version, proxy.Options{Servers: []proxy.Server{one, two, things}}, nil)
		ctx := mcptest.Context(t)
		if got := f.InitializeResult().Instructions; !strings.Contains(got, "one:\nLook") || !strings.Contains(got, "two:\nLook") {
			t.Errorf("the instructions are %q", got)
		}
		got := names(t, f.ClientSession)
		for _, want := range []string{"one__get_sum", "two__get_sum", "things__list_things"} {
			if !slices.Contains(got, want) {
				t.Errorf("there is no %s among %v", want, got)
			}
		}
		if got := text(t, f.call(t, "things__list_things", nil)); got != "a, b" {
			t.Errorf("got %q", got)
		}
		if res := f.call(t, "two__get_sum", map[string]any{"a": 1, "b": 2}); res.IsError {
			t.Error(text(t, res))
		}
		if res := f.call(t, "things__delete_thing", nil); !res.IsError || !strings.Contains(text(t, res), "things__delete_thing was not called") {
			t.Errorf("got %q", text(t, res))
		}
		if _, err := f.CallTool(ctx, &mcp.CallToolParams{Name: "list_things"}); err == nil {
			t.Error("a name without its server was called")
		}
		prompts, err := f.ListPrompts(ctx, nil)
		if err != nil || len(prompts.Prompts) != 6 || prompts.Prompts[3].Name != "two__p0" {
			t.Fatalf("got %v, %v", prompts, err)
		}
		prompt, err := f.GetPrompt(ctx, &mcp.GetPromptParams{Name: "two__p1", Arguments: map[string]string{"who": "Ada"}})
		if err != nil || prompt.Description != "Ada" {
			t.Errorf("got %v, %v", prompt, err)
		}
		if _, err := f.GetPrompt(ctx, &mcp.GetPromptParams{Name: "p1"}); err == nil {
			t.Error("a prompt without its server was there")
		}
		read, err := f.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test://r/1"})
		if err != nil || read.Contents[0].Text != "text of test://r/1" {
			t.Errorf("got %v, %v", read, err)
		}
		done, err := f.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "one__p1"}, Argument: mcp.CompleteParamsArgument{Name: "who", Value: "friend"}})
		if err != nil || !slices.Equal(done.Completion.Values, []string{"friendly"}) {
			t.Errorf("got %v, %v", done, err)
		}
	})
}

// A list has ended where the server says so, in whichever of the ways there are.
func TestEndOfAList(t *testing.T) {
	t.Parallel()
	for _, end := range []string{``, `,"nextCursor":null`, `,"nextCursor":""`} {
		a, dir := moody(t, "a", `
			*'"cursor":"2"'*) answer '"result":{"resources":[{"uri":"b","name":"b"}]`+end+`}';;
			*resources/list*) echo page >> pages; answer '"result":{"resources":[{"uri":"a","name":"a"}],"nextCursor":"2"}';;`)
		r := connectRaw(t, proxy.Options{Servers: []proxy.Server{a, child(t, "things")}})
		r.initialize("{}")
		for id, params := range map[string]string{"1": "{}", "2": `{"cursor":null}`} {
			r.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"resources/list","params":` + params + `}`)
			if got := r.answer(id); strings.Count(string(got["result"]), `"uri"`) != 2 {
				t.Errorf("with the end %q: got %s %s", end, got["result"], got["error"])
			}
		}
		if got := ledgerOf(t, dir+"/pages"); len(got) != 2 {
			t.Errorf("with the end %q the first page was asked for %d times", end, len(got))
		}
		r.send(`{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":null}}`)
		if got := r.answer("3"); got["result"] == nil {
			t.Errorf("a cursor of null: got %s", got["error"])
		}
	}
}
