package mcpgo_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/chain/batch"
	"github.com/fairlead-go/fairlead/chain/batch/batchtest"
	fairlead "github.com/fairlead-go/fairlead/contrib/mcpgo"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/mark3labs/mcp-go/client"
	other "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serve puts a server of mcp-go on a loopback socket and returns a client of it.
func serve(t *testing.T, s *server.MCPServer) *client.Client {
	t.Helper()
	socket := httptest.NewServer(server.NewStreamableHTTPServer(s, server.WithHTTPContextFunc(func(ctx context.Context, _ *http.Request) context.Context {
		return context.WithValue(ctx, userKey{}, "ada")
	})))
	t.Cleanup(socket.Close)
	c, err := client.NewStreamableHttpClient(socket.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var request other.InitializeRequest
	request.Params.ProtocolVersion = other.LATEST_PROTOCOL_VERSION
	request.Params.ClientInfo = other.Implementation{Name: "test", Version: "1"}
	if _, err := c.Initialize(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	return c
}

type userKey struct{}

func user(ctx context.Context) string { name, _ := ctx.Value(userKey{}).(string); return name }

// guarded returns a client of a server with the tools of the desk.
func guarded(t *testing.T, desk *batchtest.Desk) *client.Client {
	t.Helper()
	s := server.NewMCPServer("guarded", "1")
	if err := fairlead.AddTools(s, batch.NewHost(desk.Tools, desk.Caller, batch.HostOptions{Scope: user})); err != nil {
		t.Fatal(err)
	}
	return serve(t, s)
}

func call(t *testing.T, c *client.Client, name string) *other.CallToolResult {
	t.Helper()
	var request other.CallToolRequest
	request.Params.Name, request.Params.Arguments = name, map[string]any{"id": "1"}
	res, err := c.CallTool(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func text(res *other.CallToolResult) string {
	var all []string
	for _, content := range res.Content {
		if t, ok := content.(other.TextContent); ok {
			all = append(all, t.Text)
		}
	}
	return strings.Join(all, "\n")
}

func TestTwoIdenticalSafeCallsAreOneExecution(t *testing.T) {
	t.Parallel()
	desk := batchtest.New(t)
	c := guarded(t, desk)
	first, second := call(t, c, "notes__get_note"), call(t, c, "notes__get_note")
	if text(first) != batchtest.Text || text(second) != text(first) || len(desk.Calls()) != 1 {
		t.Errorf("got %q and %q, executed %v", text(first), text(second), desk.Calls())
	}
	if scope := desk.Calls()[0].Scope; scope != "ada" {
		t.Errorf("the scope is %q", scope)
	}
}

func TestBeforeADangerousCallThePersonIsAsked(t *testing.T) {
	t.Parallel()
	desk := batchtest.New(t)
	desk.Yes = true
	res := call(t, guarded(t, desk), "notes__delete_note")
	if asked := desk.Asked(); res.IsError || len(asked) != 1 || string(asked[0].Arguments) != `{"id":"1"}` || len(desk.Calls()) != 1 {
		t.Errorf("asked %v, executed %v", asked, desk.Calls())
	}
}

func TestCallerReadsTheDenial(t *testing.T) {
	t.Parallel()
	desk := batchtest.New(t)
	res := call(t, guarded(t, desk), "notes__delete_note")
	if !res.IsError || !strings.Contains(text(res), "The user said no: "+batchtest.Reason) || len(desk.Calls()) != 0 {
		t.Errorf("got %q, executed %v", text(res), desk.Calls())
	}
}

func TestCallerReadsStructuredContent(t *testing.T) {
	t.Parallel()
	c := guarded(t, batchtest.New(t))
	raw, err := json.Marshal(call(t, c, "notes__get_note").StructuredContent)
	if err != nil || string(raw) != batchtest.Structured {
		t.Errorf("got %s, %v", raw, err)
	}
	picture := call(t, c, "notes__get_picture").Content
	if image, ok := picture[1].(other.ImageContent); !ok || image.MIMEType != "image/png" {
		t.Errorf("the picture is %+v", picture)
	}
}

// The allocations that the adapter adds to a call, beyond the client's own and one conversion of
// the answer between the types of two SDKs.
func TestCallCostsThreeAllocationsMore(t *testing.T) {
	if batchtest.Race {
		t.Skip("the race detector allocates")
	}
	s := server.NewMCPServer("crm", "1")
	s.AddTool(other.NewTool("get_account"), func(context.Context, other.CallToolRequest) (*other.CallToolResult, error) {
		return other.NewToolResultText("an account"), nil
	})
	c, err := client.NewInProcessClient(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var hello other.InitializeRequest
	hello.Params.ProtocolVersion = other.LATEST_PROTOCOL_VERSION
	if _, err := c.Initialize(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	var request other.CallToolRequest
	request.Params.Name, request.Params.Arguments = "get_account", json.RawMessage(`{"id":"1"}`)
	bare := testing.AllocsPerRun(200, func() {
		res, err := c.CallTool(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(res)
		if err != nil || json.Unmarshal(raw, new(mcp.CallToolResult)) != nil {
			t.Fatal(err)
		}
	})
	session, params := fairlead.Session(c), &mcp.CallToolParams{Name: "get_account", Arguments: json.RawMessage(`{"id":"1"}`)}
	got := testing.AllocsPerRun(200, func() {
		if _, err := session.CallTool(t.Context(), params); err != nil {
			t.Fatal(err)
		}
	})
	if got > bare+3 {
		t.Errorf("a call allocates %v times, %v more than by hand", got, got-bare)
	}
	t.Logf("%v allocations, %v by hand", got, bare)
}

// A client of the guarded server exchanges numbers with the tool with all digits, in schemas too.
func TestServerKeepsDigits(t *testing.T) {
	t.Parallel()
	for _, number := range []string{"9007199254740993", "-9007199254740993", "18446744073709551616", "0.1000000000000000055", "1.10", "-0"} {
		desk, got := batchtest.New(t), ""
		object := `{"n":` + number + `,"deep":[{"n":` + number + `}]}`
		execute := func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			got = string(call.Arguments)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "found"}}, StructuredContent: json.RawMessage(object)}, nil
		}
		const schema = `{"properties":{"deep":{},"n":{"default":9007199254740993,"maximum":18446744073709551616}},"type":"object"}`
		tool := annotation.Declare(&mcp.Tool{Name: "find", InputSchema: json.RawMessage(schema), OutputSchema: json.RawMessage(schema)}, annotation.ReadOnly())
		if err := desk.Tools.AddTools("long", middleware.ToolCallerFunc(execute), tool); err != nil {
			t.Fatal(err)
		}
		desk.Tools.Trust("long")
		s := server.NewMCPServer("guarded", "1")
		if err := fairlead.AddTools(s, batch.NewHost(desk.Tools, desk.Caller, batch.HostOptions{Scope: user})); err != nil {
			t.Fatal(err)
		}
		var request other.CallToolRequest
		request.Params.Name, request.Params.Arguments = "long__find", json.RawMessage(object)
		res, err := serve(t, s).CallTool(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if got != object || string(res.RawStructuredContent) != object {
			t.Errorf("%s: the tool got %s, and the client %s", number, got, res.RawStructuredContent)
		}
		if list, err := json.Marshal(s.GetTool("long__find").Tool); err != nil || strings.Count(string(list), schema) != 2 {
			t.Errorf("%v: it is listed as %s", err, list)
		}
	}
}
