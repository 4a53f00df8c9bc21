package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/catalog/mount/serve"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// acts is a tool that declares what is given, as bad as it gets for nil.
func acts(declared *mcp.ToolAnnotations) *mcp.Tool {
	return &mcp.Tool{Name: "act", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`), Annotations: declared}
}

func first(json.RawMessage) string { return "first" }

// hints reads read-only, destructive, idempotent and open-world, each y or n.
func hints(word string) annotation.Annotations {
	of := func(i int) annotation.Hint { return annotation.HintOf(word[i] == 'y') }
	return annotation.Annotations{ReadOnly: of(0), Destructive: of(1), Idempotent: of(2), OpenWorld: of(3)}
}

// same reports whether the four hints of an answer are these.
func same(a annotation.Annotations, word string) bool {
	a.Evidence = nil
	return a.Summary() == hints(word).Summary()
}

func announcing() *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, mount.ResolverOptions(nil))
}

// asker connects a client that announces the extension. It returns a func that asks
// the server about a call of one of its tools.
func asker(t *testing.T, server *mcp.Server, version string) func(name, arguments string) (annotation.Annotations, bool, error) {
	t.Helper()
	client := announcing()
	cs := mcptest.Dial(t, client, mount.Transport(mcptest.MemoryTransport(t, server)), version)
	resolver := mount.Resolver(func(string) *mcp.ClientSession { return cs }, client)
	list, err := cs.ListTools(mcptest.Context(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(name, arguments string) (annotation.Annotations, bool, error) {
		at := slices.IndexFunc(list.Tools, func(definition *mcp.Tool) bool { return definition.Name == name })
		if at < 0 {
			t.Fatalf("there is no tool %q", name)
		}
		tool, err := middleware.NewTool("files", list.Tools[at], annotation.Annotations{})
		if err != nil {
			t.Fatal(err)
		}
		return resolver.Resolve(mcptest.Context(t), middleware.Call{Tool: tool, Arguments: json.RawMessage(arguments)})
	}
}

// A tool that could say worse of a call than it declares of all is not taken.
func TestResolveTakesNoToolThatMayExceedItsHints(t *testing.T) {
	t.Parallel()
	no := new(false)
	answer := func(a annotation.Annotations) map[string]annotation.Annotations {
		return map[string]annotation.Annotations{"good": annotation.ReadOnly(), "first": a}
	}
	adds := &mcp.ToolAnnotations{DestructiveHint: no, OpenWorldHint: no, IdempotentHint: true}
	for _, tt := range []struct {
		name string
		r    serve.Resolvable
		want string // "" is taken
	}{
		{"everything is within the worst", serve.Resolvable{Tool: acts(nil), Answers: answer(annotation.Destructive()), Choose: first}, ""},
		{"a write within an addition", serve.Resolvable{Tool: acts(adds), Answers: answer(hints("nnyn")), Choose: first}, ""},
		{"a read is within anything", serve.Resolvable{Tool: acts(adds), Answers: answer(hints("ynnn")), Choose: first}, ""},
		{"what is unset is as declared", serve.Resolvable{Tool: acts(adds), Answers: answer(annotation.Annotations{}), Choose: first}, ""},
		{"worse: it writes", serve.Resolvable{Tool: acts(&mcp.ToolAnnotations{ReadOnlyHint: true}), Answers: answer(annotation.Write()), Choose: first}, "readOnlyHint"},
		{"worse: it destroys", serve.Resolvable{Tool: acts(adds), Answers: answer(hints("nyyn")), Choose: first}, "destructiveHint"},
		{"worse: twice is not once", serve.Resolvable{Tool: acts(adds), Answers: answer(annotation.Write()), Choose: first}, "idempotentHint"},
		{"worse: the open world", serve.Resolvable{Tool: acts(adds), Answers: answer(hints("ynyy")), Choose: first}, "openWorldHint"},
		{"an answer against itself", serve.Resolvable{Tool: acts(nil), Answers: answer(hints("yyyy")), Choose: first}, "both yes"},
		{"more than travels", serve.Resolvable{Tool: acts(nil), Answers: answer(annotation.Annotations{RequiresConfirmation: annotation.Yes}), Choose: first}, "four hints"},
		{"no tool", serve.Resolvable{Answers: answer(annotation.ReadOnly()), Choose: first}, "needs a Tool"},
		{"no answers", serve.Resolvable{Tool: acts(nil), Choose: first}, "needs Answers"},
		{"no func", serve.Resolvable{Tool: acts(nil), Answers: answer(annotation.ReadOnly())}, "needs Answers"},
		{"no schema", serve.Resolvable{Tool: &mcp.Tool{Name: "act"}, Answers: answer(annotation.ReadOnly()), Choose: first}, "InputSchema"},
		{"an invalid schema", serve.Resolvable{Tool: &mcp.Tool{Name: "act", InputSchema: json.RawMessage(`{"type":7}`)}, Answers: answer(annotation.ReadOnly()), Choose: first}, "InputSchema"},
		{"annotations that cannot be read", serve.Resolvable{Tool: &mcp.Tool{Name: "act", InputSchema: json.RawMessage(`{}`), Meta: mcp.Meta{annotation.MetaKey: 7}}, Answers: answer(annotation.ReadOnly()), Choose: first}, "cannot be read"},
	} {
		err := serve.Resolve(mcptest.New(), tt.r)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "serve: ")):
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	twice := serve.Resolvable{Tool: acts(nil), Answers: answer(annotation.ReadOnly()), Choose: first}
	if err := serve.Resolve(mcptest.New(), twice, twice); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("got %v", err)
	}
}

// asking returns a server of ours with the tool, and how to ask it.
func asking(t *testing.T, choose func(json.RawMessage) string, calls *int) func(arguments string) (annotation.Annotations, error) {
	t.Helper()
	server := mcptest.New()
	tool := acts(nil)
	mcptest.Add(server, tool, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		*calls++
		return mcptest.Text("done"), nil
	})
	err := serve.Resolve(server, serve.Resolvable{
		Tool: tool, Answers: map[string]annotation.Annotations{"first": annotation.ReadOnly()}, Choose: choose,
	})
	if err != nil {
		t.Fatal(err)
	}
	ask := asker(t, server, mcptest.Modern)
	return func(arguments string) (annotation.Annotations, error) {
		a, _, err := ask("act", arguments)
		return a, err
	}
}

func TestArgumentsThatBreakTheSchemaAreInvalid(t *testing.T) {
	t.Parallel()
	asked, calls := 0, 0
	ask := asking(t, func(json.RawMessage) string { asked++; return "first" }, &calls)
	for _, tt := range []struct {
		arguments string
		valid     bool
	}{
		{`{}`, true}, {``, true}, {`{"n":1}`, true}, {`{"n":"1"}`, false}, {`{"n":1.5}`, false},
		{`{"n":1,"n":2}`, false}, {`{"n":null}`, false},
	} {
		before := asked
		_, err := ask(tt.arguments)
		reply, _ := errors.AsType[*jsonrpc.Error](err)
		if tt.valid != (err == nil) || !tt.valid && (reply == nil || reply.Code != jsonrpc.CodeInvalidParams) {
			t.Errorf("%s: %v", tt.arguments, err)
		}
		if tt.valid != (asked > before) {
			t.Errorf("%s: the author's func was asked %d times", tt.arguments, asked-before)
		}
	}
	if calls != 0 {
		t.Errorf("the tool was called %d times", calls)
	}
}

// The author's func has nothing to call the tool with, cannot change what the server
// goes on with, and cannot end the process.
func TestToAnswerHasNoEffect(t *testing.T) {
	t.Parallel()
	calls := 0
	ask := asking(t, func(arguments json.RawMessage) string {
		switch {
		case strings.Contains(string(arguments), "1"):
			clear(arguments)
			return "first"
		case strings.Contains(string(arguments), "2"):
			panic("boom")
		}
		return "no such answer"
	}, &calls)
	if a, err := ask(`{"n":1}`); err != nil || !same(a, "ynyy") {
		t.Errorf("a func that writes: %s %v", a.Summary(), err)
	}
	_, err := ask(`{"n":2}`)
	if reply, _ := errors.AsType[*jsonrpc.Error](err); reply == nil || reply.Code != jsonrpc.CodeInternalError || strings.Contains(err.Error(), "boom") {
		t.Errorf("a func that panics: %v", err)
	}
	if a, err := ask(`{"n":3}`); err != nil || !same(a, "nyny") {
		t.Errorf("an answer that is not there: %s %v", a.Summary(), err)
	}
	if calls != 0 {
		t.Errorf("the tool was called %d times", calls)
	}
}

// A tool that was replaced by one whose hints are too kind is not marked, and the
// others stay as they were.
func TestOnlyABoundedToolIsMarked(t *testing.T) {
	t.Parallel()
	for _, kind := range []bool{false, true} {
		server := mcptest.New()
		tool := acts(nil)
		if kind {
			tool = acts(&mcp.ToolAnnotations{ReadOnlyHint: true})
		}
		handle := func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return mcptest.Text("done"), nil
		}
		tool.Meta = mcp.Meta{"x": 1}
		mcptest.Add(server, tool, handle)
		mcptest.Add(server, mcptest.Tool("other", "is not resolved"), handle)
		err := serve.Resolve(server, serve.Resolvable{
			Tool: acts(nil), Answers: map[string]annotation.Annotations{"first": annotation.Destructive()}, Choose: first,
		})
		if err != nil {
			t.Fatal(err)
		}
		ask := asker(t, server, mcptest.Legacy)
		for name, want := range map[string]bool{"act": !kind, "other": false} {
			if _, ok, err := ask(name, ""); ok != want || err != nil {
				t.Errorf("kind %v, %s: %v %v", kind, name, ok, err)
			}
		}
		if len(tool.Meta) != 1 {
			t.Error("the server's own definition was written to")
		}
	}
}

func TestResolveAnswersInTheFormOfTheMethod(t *testing.T) {
	t.Parallel()
	server := mcptest.New()
	err := serve.Resolve(server, serve.Resolvable{
		Tool: acts(nil), Answers: map[string]annotation.Annotations{"first": annotation.ReadOnly()}, Choose: first,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range mcptest.Versions {
		for method, want := range map[string]string{"tools/resolve": "annotations name resultType", "tools/annotations": "annotations resultType"} {
			client := announcing()
			if err := mcp.AddSendingCustomMethod[*params, *anything](client, method); err != nil {
				t.Fatal(err)
			}
			cs := mcptest.ConnectVersion(t, server, client, version)
			res, err := mcp.CallCustomMethod[*params, *anything](mcptest.Context(t), cs, method,
				&params{Name: "act", Arguments: json.RawMessage(`{"n":1}`)})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(slices.Sorted(maps.Keys(res.members)), " "); !strings.Contains(got, want) {
				t.Errorf("%s, %s: got the members %s, want %s", version, method, got, want)
			}
		}
	}
}

type params struct {
	mcp.ParamsBase
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type anything struct {
	mcp.ResultBase
	members map[string]any
}

func (a *anything) UnmarshalJSON(raw []byte) error { return json.Unmarshal(raw, &a.members) }
