package anthropic_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/fairlead-go/fairlead/chain/batch"
	"github.com/fairlead-go/fairlead/chain/batch/batchtest"
	fairlead "github.com/fairlead-go/fairlead/contrib/anthropic"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A call is a call of the fake model.
type call struct{ id, name, input string }

// A model is a fake of the API on a loopback socket: it asks for the calls of each turn, and then
// says "done".
type model struct {
	turns [][]call

	mu    sync.Mutex
	asked []json.RawMessage // the bodies of the requests
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, body)
	content, stop := []any{map[string]any{"type": "text", "text": "done"}}, "end_turn"
	if n := len(m.asked) - 1; n < len(m.turns) {
		content, stop = nil, "tool_use"
		for _, c := range m.turns[n] {
			if c.name == "fallback" {
				content = append(content, map[string]any{"type": "fallback"})
				continue
			}
			content = append(content, map[string]any{"type": "tool_use", "id": c.id, "name": c.name, "input": json.RawMessage(c.input)})
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": stop, "usage": map[string]any{"input_tokens": 1, "output_tokens": 1},
	})
}

// A reply is the result that the model read of one call.
type reply struct {
	ID      string `json:"tool_use_id"`
	IsError bool   `json:"is_error"`
	Content []struct {
		Type, Text string
		Source     struct{ Data string }
	}
}

func (r reply) text() string {
	var all []string
	for _, c := range r.Content {
		all = append(all, c.Text)
	}
	return strings.Join(all, "\n")
}

// talk runs a runner against the fake model.
func talk(t *testing.T, desk *batchtest.Desk, turns ...[]call) map[string]reply {
	t.Helper()
	m := &model{turns: turns}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	client := anthropic.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("none"), option.WithMaxRetries(0))
	params := anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model: "m", MaxTokens: 100, Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("go"))},
	}}
	runner, err := fairlead.NewRunner(client, batch.NewHost(desk.Tools, desk.Caller, batch.HostOptions{}), params)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := runner.RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	var last struct {
		Messages []struct {
			Role    string
			Content []reply
		}
		Tools []struct {
			Name, Description string
			Schema            struct{ Required []string } `json:"input_schema"`
		}
	}
	if err := json.Unmarshal(m.asked[len(m.asked)-1], &last); err != nil {
		t.Fatal(err)
	}
	if len(last.Tools) != 4 || last.Tools[0].Name != "notes__create_note" || last.Tools[0].Description == "" || !slices.Equal(last.Tools[0].Schema.Required, []string{"id"}) {
		t.Errorf("the model got %+v", last.Tools)
	}
	told := map[string]reply{}
	for _, message := range last.Messages {
		for _, r := range message.Content {
			if r.ID != "" && message.Role == "user" {
				told[r.ID] = r
			}
		}
	}
	return told
}

func TestTwoIdenticalSafeCallsAreOneExecution(t *testing.T) {
	t.Parallel()
	desk := batchtest.New(t)
	told := talk(t, desk, []call{{"a", "notes__get_note", `{"id":"1"}`}, {"b", "notes__get_note", `{"id":"1"}`}})
	// They run side by side, so that either may be the one.
	if calls := desk.Calls(); len(calls) != 1 || !slices.Contains([]string{"a", "b"}, calls[0].ID) || told["a"].text() == "" || told["a"].text() != told["b"].text() {
		t.Errorf("executed %v, results %v", calls, told)
	}
}

func TestBeforeADangerousCallThePersonIsAsked(t *testing.T) {
	t.Parallel()
	desk := batchtest.New(t)
	desk.Yes = true
	talk(t, desk, []call{{"a", "notes__delete_note", `{"id":"1"}`}})
	if asked, calls := desk.Asked(), desk.Calls(); len(asked) != 1 || asked[0].CallID != "a" || string(asked[0].Arguments) != `{"id":"1"}` || len(calls) != 1 {
		t.Errorf("asked %v, executed %v", asked, calls)
	}
}

func TestModelReadsTheDenial(t *testing.T) {
	t.Parallel()
	desk := batchtest.New(t)
	told := talk(t, desk, []call{{"a", "notes__delete_note", `{"id":"1"}`}, {"b", "notes__get_note", `{"id":"1"}`}})
	if r := told["a"]; !r.IsError || !strings.Contains(r.text(), "The user said no: "+batchtest.Reason) {
		t.Errorf("the model reads %+v", r)
	}
	if r := told["b"]; r.IsError || len(desk.Calls()) != 1 {
		t.Errorf("the other call: %+v, executed %v", r, desk.Calls())
	}
}

func TestModelReadsStructuredContent(t *testing.T) {
	t.Parallel()
	told := talk(t, batchtest.New(t), []call{{"a", "notes__get_note", `{"id":"1"}`}, {"b", "notes__get_picture", `{"id":"1"}`}})
	if want := batchtest.Text + "\n" + batchtest.Structured; told["a"].text() != want {
		t.Errorf("got %q, want %q", told["a"].text(), want)
	}
	picture := told["b"].Content
	if len(picture) != 2 || picture[1].Type != "image" || picture[1].Source.Data != base64.StdEncoding.EncodeToString([]byte(batchtest.Picture)) {
		t.Errorf("the picture is %+v", picture)
	}
}

func TestBlocksNameWhatTheAPIDoesNotTake(t *testing.T) {
	t.Parallel()
	res := &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.AudioContent{MIMEType: "audio/wav"}, &mcp.ResourceLink{URI: "file:///a"},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b", MIMEType: "text/plain", Text: "in it"}},
	}}
	raw, err := json.Marshal(fairlead.Blocks(res))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"[a sound, audio/wav", "[a resource: file:///a]", `"document"`, "in it"} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("no %s in %s", want, raw)
		}
	}
}

// The API refuses a conversation with a text that is blank or an image that is empty,
// and with it everything that comes after.
func TestBlocksLeaveOutWhatTheAPIRefuses(t *testing.T) {
	t.Parallel()
	res := &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: ""}, &mcp.TextContent{Text: " \n"}, &mcp.TextContent{Text: " said "}, &mcp.ImageContent{MIMEType: "image/png"},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a", MIMEType: "text/plain"}},
	}}
	raw, err := json.Marshal(fairlead.Blocks(res))
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"text":" said ","type":"text"},{"text":"[an image, image/png, 0 bytes; it is not shown]","type":"text"}]`
	if string(raw) != want {
		t.Errorf("got %s, want %s", raw, want)
	}
}

// A tool that takes anything has a schema too: the API refuses a request with one that has none.
func TestEachToolHasASchema(t *testing.T) {
	t.Parallel()
	desk := batchtest.New(t)
	caller := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		return nil, errors.New("it is not called")
	})
	if err := desk.Tools.AddTools("any", caller, &mcp.Tool{Name: "list_all", InputSchema: json.RawMessage(`{ }`)}); err != nil {
		t.Fatal(err)
	}
	tools, err := fairlead.Tools(desk.Tools.List())
	if err != nil {
		t.Fatal(err)
	}
	ours, err := fairlead.ToolsFor(batch.NewHost(desk.Tools, desk.Caller, batch.HostOptions{}), func() *anthropic.BetaMessage { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for i := range tools {
		raw, err := json.Marshal([]any{tools[i], anthropic.BetaToolParam{InputSchema: ours[i].InputSchema()}})
		if err != nil || strings.Count(string(raw), `"type":"object"`) != 2 {
			t.Errorf("%v: %s", err, raw)
		}
	}
}

// The allocations that the adapter adds to a call by hand and the SDK's own blocks.
func TestCallCostsThreeAllocationsMore(t *testing.T) {
	if batchtest.Race {
		t.Skip("the race detector allocates")
	}
	desk := batchtest.New(t)
	host := batch.NewHost(desk.Tools, desk.Caller, batch.HostOptions{})
	tool, _ := desk.Tools.Lookup("notes", "get_note")
	var message anthropic.BetaMessage
	if err := json.Unmarshal([]byte(`{"content":[{"type":"tool_use","id":"a","name":"notes__get_note","input":{"id":"1"}}]}`), &message); err != nil {
		t.Fatal(err)
	}
	input := json.RawMessage(`{"id":"1"}`)
	tools, err := fairlead.ToolsFor(host, func() *anthropic.BetaMessage { m := message; return &m })
	if err != nil {
		t.Fatal(err)
	}
	byHand := func() []anthropic.BetaToolResultBlockParamContentUnion {
		m := message // what a turn of the SDK costs: its message, and the call taken out of it
		use := (&m).Content[0].AsToolUse()
		raw, _ := json.Marshal(use.Input)
		res := host.Call(t.Context(), tool, use.ID, raw)
		return []anthropic.BetaToolResultBlockParamContentUnion{
			{OfText: &anthropic.BetaTextBlockParam{Text: res.Content[0].(*mcp.TextContent).Text}}, {OfText: &anthropic.BetaTextBlockParam{Text: output.StructuredText(res)}},
		}
	}
	bare := testing.AllocsPerRun(100, func() { byHand() })
	got := testing.AllocsPerRun(100, func() {
		_, err = tools[slices.IndexFunc(tools, func(t anthropic.BetaTool) bool { return t.Name() == "notes__get_note" })].Execute(t.Context(), input)
	})
	if err != nil || got > bare+3 {
		t.Errorf("%v; Execute allocates %v times, %v more than a call and its blocks by hand", err, got, got-bare)
	}
}
