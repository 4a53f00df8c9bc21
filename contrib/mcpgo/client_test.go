package mcpgo_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/chain/batch"
	"github.com/fairlead-go/fairlead/chain/batch/batchtest"
	fairlead "github.com/fairlead-go/fairlead/contrib/mcpgo"
	"github.com/fairlead-go/fairlead/middleware"
	other "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server's tools in a catalog, with their annotations, their schemas and their
// errors: the way in, and the way of a server that there is already.
func TestClientIsASession(t *testing.T) {
	t.Parallel()
	s := server.NewMCPServer("inner", "1")
	seen := make(chan other.CallToolRequest, 10)
	answer := func(_ context.Context, request other.CallToolRequest) (*other.CallToolResult, error) {
		seen <- request
		if request.GetString("id", "") == "burnt" {
			return nil, errors.New("no such note")
		}
		return other.NewToolResultStructured(map[string]any{"title": "fresh paint"}, "Read."), nil
	}
	s.AddTool(other.NewTool("get_note", other.WithDescription("Returns a note."), other.WithReadOnlyHintAnnotation(true), other.WithDestructiveHintAnnotation(false), other.WithString("id", other.Required())), answer)
	s.AddTool(other.NewTool("shred", other.WithDescription("Notes."), other.WithDestructiveHintAnnotation(true)), answer)
	tools := catalog.New(catalog.Options{})
	t.Cleanup(func() { _ = tools.Close() })
	tools.Trust("notes")
	if err := tools.Add(t.Context(), "notes", fairlead.Session(serve(t, s))); err != nil {
		t.Fatal(err)
	}
	get, _ := tools.Lookup("notes", "get_note")
	shred, _ := tools.Lookup("notes", "shred")
	if get.Safety() != annotation.Safe || shred.Safety() != annotation.Dangerous {
		t.Fatalf("%s%s", get.Explain(), shred.Explain())
	}
	caller := chain.Standard{}.Then(tools)
	res, err := caller.CallTool(t.Context(), middleware.Call{Tool: get, Arguments: json.RawMessage(`{"id":"a","n":9007199254740993}`), Meta: mcp.Meta{"trace": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	if raw, _ := json.Marshal(res.StructuredContent); string(raw) != batchtest.Structured {
		t.Errorf("got %s", raw)
	}
	request := <-seen
	if got := string(request.Params.RawArguments); got != `{"id":"a","n":9007199254740993}` || request.Params.Meta.AdditionalFields["trace"] != "x" {
		t.Errorf("the server got %s, %+v", got, request.Params.Meta)
	}
	if _, err := caller.CallTool(t.Context(), middleware.Call{Tool: shred}); !errors.Is(err, chain.ErrRefused) {
		t.Errorf("a dangerous call: %v", err)
	}
	if _, err := caller.CallTool(t.Context(), middleware.Call{Tool: get, Arguments: json.RawMessage(`{"id":"burnt"}`)}); err == nil || middleware.NotSent(err) {
		t.Errorf("an error of the tool: %v", err)
	}
	s.DeleteTools("get_note")
	if _, err := caller.CallTool(t.Context(), middleware.Call{Tool: get, Arguments: json.RawMessage(`{"id":"a"}`)}); !middleware.Permanent(err) {
		t.Errorf("a removed tool: %v", err)
	}
}

// Schemas are handed on as they are, whether mcp-go's own types have a place for them or not.
func TestSchemasAreHandedOnAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		`{"anyOf":[{"type":"object"},{"type":"null"}]}`, `{"type":["object","null"]}`, `true`, `{"oneOf":[{"required":["a"]}],"properties":{"a":{}},"type":"object"}`,
	} {
		desk, in := batchtest.New(t), `{"oneOf":[{"required":["a"]}],"required":null,"type":"object"}`
		tool := &mcp.Tool{Name: "get_any", InputSchema: json.RawMessage(in), OutputSchema: json.RawMessage(schema)}
		if err := desk.Tools.AddTools("any", middleware.ToolCallerFunc(desk.Tools.CallTool), tool); err != nil {
			t.Fatal(err)
		}
		s := server.NewMCPServer("guarded", "1")
		if err := fairlead.AddTools(s, batch.NewHost(desk.Tools, desk.Caller, batch.HostOptions{})); err != nil {
			t.Errorf("%s: %v", schema, err)
			continue
		}
		raw, err := json.Marshal(s.GetTool("any__get_any").Tool)
		if err != nil || !strings.Contains(string(raw), `"outputSchema":`+schema) || !strings.Contains(string(raw), `"inputSchema":`+in) {
			t.Errorf("%v: %s", err, raw)
		}
	}
}

func TestSessionPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if v, _ := recover().(string); !strings.HasPrefix(v, "mcpgo: ") {
			t.Errorf("got %q", v)
		}
	}()
	fairlead.Session(nil)
}

// Numbers of a result keep the digits that mcp-go keeps.
func TestNumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	s := server.NewMCPServer("shop", "1")
	s.AddTool(other.NewTool("get_order"), func(context.Context, other.CallToolRequest) (*other.CallToolResult, error) {
		return &other.CallToolResult{Content: []other.Content{}, RawStructuredContent: json.RawMessage(`{"id":9007199254740993,"price":1.10}`)}, nil
	})
	res, err := fairlead.Session(serve(t, s)).CallTool(t.Context(), &mcp.CallToolParams{Name: "get_order"})
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := json.Marshal(res.StructuredContent); err != nil || string(raw) != `{"id":9007199254740993,"price":1.10}` {
		t.Errorf("got %s, %v", raw, err)
	}
}
