package eino_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"github.com/fairlead-go/fairlead/chain/batch"
	"github.com/fairlead-go/fairlead/chain/batch/batchtest"
	fairlead "github.com/fairlead-go/fairlead/contrib/eino"
	"github.com/fairlead-go/fairlead/output"
)

type call struct{ id, name, arguments string }

// A remote is a chat model of Eino with a fake API on a loopback socket: it asks for the calls of
// one turn, and then says "done".
type remote struct{ url string }

func (r remote) Generate(ctx context.Context, input []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	raw, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	message := new(schema.Message)
	return message, json.NewDecoder(res.Body).Decode(message)
}

func (r remote) Stream(ctx context.Context, input []*schema.Message, o ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	message, err := r.Generate(ctx, input, o...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{message}), nil
}

func (r remote) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return r, nil }

func assistant(turn []call) *schema.Message {
	var calls []schema.ToolCall
	for _, c := range turn {
		calls = append(calls, schema.ToolCall{ID: c.id, Type: "function", Function: schema.FunctionCall{Name: c.name, Arguments: c.arguments}})
	}
	return schema.AssistantMessage("", calls)
}

// talk runs Eino's ReAct agent against the fake model, and returns the results that the model
// read, by the id of the call.
func talk(t *testing.T, config *compose.ToolsNodeConfig, turn ...call) map[string]*schema.Message {
	t.Helper()
	told := map[string]*schema.Message{}
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var messages []*schema.Message
		if err := json.NewDecoder(r.Body).Decode(&messages); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for _, message := range messages {
			if message.Role == schema.Tool {
				told[message.ToolCallID] = message
			}
		}
		reply := assistant(turn)
		if len(told) > 0 {
			reply = schema.AssistantMessage("done", nil)
		}
		_ = json.NewEncoder(w).Encode(reply)
	}))
	t.Cleanup(server.Close)
	agent, err := react.NewAgent(t.Context(), &react.AgentConfig{ToolCallingModel: remote{server.URL}, ToolsConfig: *config})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Generate(t.Context(), []*schema.Message{schema.UserMessage("go")}); err != nil {
		t.Fatal(err)
	}
	if len(told) != len(turn) {
		t.Errorf("of %d calls, %d were answered", len(turn), len(told))
	}
	return told
}

func config(t *testing.T, desk *batchtest.Desk) *compose.ToolsNodeConfig {
	t.Helper()
	c, err := fairlead.Config(batch.NewHost(desk.Tools, desk.Caller, batch.HostOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTwoIdenticalSafeCallsAreOneExecution(t *testing.T) {
	t.Parallel()
	desk := batchtest.New(t)
	told := talk(t, config(t, desk), call{"a", "notes__get_note", `{"id":"1"}`}, call{"b", "notes__get_note", `{"id":"1"}`})
	if calls := desk.Calls(); len(calls) != 1 || calls[0].ID != "a" || told["a"].Content == "" || told["a"].Content != told["b"].Content {
		t.Errorf("executed %v, results %v", calls, told)
	}
}

func TestBeforeADangerousCallThePersonIsAsked(t *testing.T) {
	t.Parallel()
	desk := batchtest.New(t)
	desk.Yes = true
	talk(t, config(t, desk), call{"a", "notes__delete_note", `{"id":"1"}`})
	if asked := desk.Asked(); len(asked) != 1 || asked[0].CallID != "a" || string(asked[0].Arguments) != `{"id":"1"}` || len(desk.Calls()) != 1 {
		t.Errorf("asked %v, executed %v", asked, desk.Calls())
	}
}

func TestModelReadsTheDenial(t *testing.T) {
	t.Parallel()
	desk := batchtest.New(t)
	told := talk(t, config(t, desk), call{"a", "notes__delete_note", `{"id":"1"}`}, call{"b", "notes__get_note", `{"id":"1"}`})
	if !strings.Contains(told["a"].Content, "The user said no: "+batchtest.Reason) || !strings.Contains(told["b"].Content, batchtest.Text) || len(desk.Calls()) != 1 {
		t.Errorf("results %v, executed %v", told, desk.Calls())
	}
}

func TestModelReadsStructuredContent(t *testing.T) {
	t.Parallel()
	desk := batchtest.New(t)
	if got, want := talk(t, config(t, desk), call{"a", "notes__get_note", `{"id":"1"}`})["a"].Content, batchtest.Text+"\n"+batchtest.Structured; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	tools, err := fairlead.MultimodalTools(batch.NewHost(desk.Tools, desk.Caller, batch.HostOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range tools {
		if info, _ := one.Info(t.Context()); info.Name != "notes__get_picture" {
			continue
		}
		res, err := one.(tool.EnhancedInvokableTool).InvokableRun(t.Context(), &schema.ToolArgument{Text: `{"id":"1"}`})
		if err != nil || len(res.Parts) != 2 || *res.Parts[1].Image.Base64Data != base64.StdEncoding.EncodeToString([]byte(batchtest.Picture)) {
			t.Errorf("the picture is %+v, %v", res, err)
		}
	}
}

func TestModelReadsItsMistakes(t *testing.T) {
	t.Parallel()
	desk := batchtest.New(t)
	told := talk(t, config(t, desk), call{"a", "notes__fly", `{}`}, call{"b", "notes__get_note", `{"id":`}, call{"c", "notes__create_note", `{"id":"2"}`})
	for id, want := range map[string]string{"a": "There is no such tool", "b": "are refused", "c": batchtest.Text} {
		if !strings.Contains(told[id].Content, want) {
			t.Errorf("%s: the model reads %q", id, told[id].Content)
		}
	}
}

// The allocations that the adapter adds to a call by hand.
func TestCallCostsThreeAllocationsMore(t *testing.T) {
	if batchtest.Race {
		t.Skip("the race detector allocates")
	}
	desk := batchtest.New(t)
	host := batch.NewHost(desk.Tools, desk.Caller, batch.HostOptions{})
	picture, _ := desk.Tools.Lookup("notes", "get_picture")
	tools, err := fairlead.Tools(host)
	if err != nil {
		t.Fatal(err)
	}
	var run tool.InvokableTool
	for _, one := range tools {
		if info, _ := one.Info(t.Context()); info.Name == picture.ModelName() {
			run = one.(tool.InvokableTool)
		}
	}
	arguments := `{"id":"1"}`
	// With the text that the model reads, the only kind of answer in Eino.
	bare := testing.AllocsPerRun(100, func() { output.Text(host.Call(t.Context(), picture, "", json.RawMessage(arguments))) })
	got := testing.AllocsPerRun(100, func() { _, _ = run.InvokableRun(t.Context(), arguments) })
	if got > bare+3 {
		t.Errorf("a run allocates %v times, %v more than a call by hand", got, got-bare)
	}
}

// longDigits are numbers that no float64 holds, or that it writes otherwise.
var longDigits = []string{"9007199254740993", "-9007199254740993", "18446744073709551616", "0.1000000000000000055", "1.10", "-0"}

// Numbers reach the tool, and the person who is asked, with all digits that the model wrote.
func TestNumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	for _, number := range longDigits {
		desk := batchtest.New(t)
		desk.Yes = true
		input := `{"id":"1","n":` + number + `,"deep":[{"n":` + number + `}]}`
		talk(t, config(t, desk), call{"a", "notes__delete_note", input}, call{"b", "notes__get_note", input})
		asked, calls := desk.Asked(), desk.Calls()
		if len(asked) != 1 || string(asked[0].Arguments) != input || len(calls) != 2 {
			t.Fatalf("%s: asked %v, executed %v", number, asked, calls)
		}
		for _, c := range calls {
			if string(c.Arguments) != input {
				t.Errorf("%s: executed with %s", number, c.Arguments)
			}
		}
	}
}
