package proxy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/mcptest"
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

// A server's question reaches the client under an ID of ours, which no server can know:
// it cannot have its answer taken for one to a question of the proxy's.
func TestServersQuestionIsNotOurs(t *testing.T) {
	t.Parallel()
	r := connectRaw(t, proxy.Options{Servers: []proxy.Server{child(t, "features")}})
	r.initialize(`{"elicitation":{}}`)
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_form","arguments":{}}}`)
	m := r.next()
	if string(m["method"]) != `"elicitation/create"` || !strings.HasPrefix(string(m["id"]), `"fairlead-`) {
		t.Fatalf("got %s %s", m["method"], m["id"])
	}
	r.send(`{"jsonrpc":"2.0","id":` + string(m["id"]) + `,"result":{"action":"accept","content":{"name":"Ada"}}}`)
	if got := r.answer("1"); !strings.Contains(string(got["result"]), "acceptAda") {
		t.Errorf("got %s", got["result"])
	}
}

// Bytes on a server's output that are no MCP are left out, and said.
func TestBytesThatAreNoMessage(t *testing.T) {
	t.Parallel()
	exe, key := mcptest.Child(t, "things")
	noise := `echo 'Welcome to the server!'; printf '\033[2Jhello\n'; echo '{"half": '; echo '[]'; echo '{"jsonrpc":"2.0"}'; exec env "$1" "$2"`
	f := connect(t, mcptest.Legacy, proxy.Options{Servers: []proxy.Server{{Name: "things", Command: []string{"sh", "-c", noise, "sh", key, exe}}}}, nil)
	if got := text(t, f.call(t, "list_things", nil)); got != "a, b" {
		t.Errorf("got %q", got)
	}
	log := f.log.String()
	if got := strings.Count(log, "is no message"); got != 5 {
		t.Errorf("%d lines were said to be no message, want 5", got)
	}
	if strings.Contains(log, "\x1b") {
		t.Error("the log has a control character of the server's")
	}
}

// What the chain does not know of a call's params reaches the server, and such a call is
// not answered from memory.
func TestUnknownParams(t *testing.T) {
	t.Parallel()
	ledger := t.TempDir() + "/ledger"
	r := connectRaw(t, proxy.Options{Servers: []proxy.Server{child(t, "things", ledgerKey+"="+ledger)}, Policy: decided(t, `{"cache": {"*": "1m"}}`)})
	r.initialize("{}")
	for _, id := range []string{"1", "2"} {
		r.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"list_things","arguments":{},"task":{"ttl":1}}}`)
		r.answer(id)
	}
	for _, id := range []string{"3", "4"} {
		r.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"list_things","arguments":{}}}`)
		r.answer(id)
	}
	if got := ledgerOf(t, ledger); len(got) != 3 {
		t.Errorf("the server did %v, want two and one that was remembered", got)
	}
}

// A method in another case, or twice, is what the proxy took it for when it is sent on.
func TestNoMessageIsReadInTwoWays(t *testing.T) {
	t.Parallel()
	ledger := t.TempDir() + "/ledger"
	r := connectRaw(t, proxy.Options{Servers: []proxy.Server{child(t, "things", ledgerKey+"="+ledger)}})
	r.initialize("{}")
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","Method":"ping","params":{"name":"delete_thing"}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","method":"ping","params":{"name":"delete_thing"}}`,
		`{"jsonrpc":"2.0","id":3,"METHOD":"tools/call","params":{"name":"delete_thing"}}`,
		`[{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"delete_thing"}}]`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"list_things","Name":"delete_thing"}}`,
		`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"delete_thing","name":"list_things"}}`,
	} {
		r.send(text)
		r.next()
	}
	for _, line := range ledgerOf(t, ledger) {
		if strings.HasPrefix(line, "delete") {
			t.Errorf("the server did %q", line)
		}
	}
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
