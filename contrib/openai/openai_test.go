package openai_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/chain/batch"
	"github.com/fairlead-go/fairlead/chain/batch/batchtest"
	fairlead "github.com/fairlead-go/fairlead/contrib/openai"
	"github.com/fairlead-go/fairlead/output"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// A call is a call of the fake model.
type call struct{ id, name, arguments string }

// A model is a fake of the API on a loopback socket: it asks for the calls of one turn, and then
// says "done".
type model struct {
	turn []call

	mu    sync.Mutex
	asked []string // the bodies of the requests
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, string(body))
	message := map[string]any{"role": "assistant", "content": "done"}
	if len(m.asked) == 1 {
		calls := []any{}
		for _, c := range m.turn {
			calls = append(calls, map[string]any{"id": c.id, "type": "function", "function": map[string]any{"name": c.name, "arguments": c.arguments}})
		}
		message = map[string]any{"role": "assistant", "content": nil, "tool_calls": calls}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"id": "1", "object": "chat.completion", "choices": []any{map[string]any{"index": 0, "message": message}}})
}

// talk runs the loop of the README against the fake model, and returns what the model read: the
// content of the tool messages by the id of their call.
func talk(t *testing.T, desk *batchtest.Desk, turn ...call) map[string]string {
	t.Helper()
	m := &model{turn: turn}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	client := openai.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("none"))
	host := batch.NewHost(desk.Tools, desk.Caller, batch.HostOptions{})
	tools, err := fairlead.Tools(host.Tools())
	if err != nil {
		t.Fatal(err)
	}
	params := openai.ChatCompletionNewParams{Model: "m", Tools: tools, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("go")}}
	for {
		reply, err := client.Chat.Completions.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		message := reply.Choices[0].Message
		if len(message.ToolCalls) == 0 {
			break
		}
		params.Messages = append(append(params.Messages, message.ToParam()), fairlead.Answer(t.Context(), host, message.ToolCalls)...)
	}
	var last struct {
		Messages []struct {
			Role, Content string
			ID            string `json:"tool_call_id"`
		}
		Tools []struct {
			Function struct {
				Name, Description string
				Parameters        struct{ Required []string }
			}
		}
	}
	if err := json.Unmarshal([]byte(m.asked[len(m.asked)-1]), &last); err != nil {
		t.Fatal(err)
	}
	if len(last.Tools) != 4 || last.Tools[0].Function.Name != "notes__create_note" || last.Tools[0].Function.Description == "" || !slices.Equal(last.Tools[0].Function.Parameters.Required, []string{"id"}) {
		t.Errorf("the model was given %+v", last.Tools)
	}
	told := map[string]string{}
	for _, message := range last.Messages {
		if message.Role == "tool" {
			told[message.ID] = message.Content
		}
	}
	if len(told) != len(turn) {
		t.Errorf("of %d calls, %d were answered", len(turn), len(told))
	}
	return told
}

func TestTwoIdenticalSafeCallsAreOneExecution(t *testing.T) {
	t.Parallel()
	desk := batchtest.New(t)
	told := talk(t, desk, call{"a", "notes__get_note", `{"id":"1"}`}, call{"b", "notes__get_note", `{"id":"1"}`})
	// They run side by side, so that either may be the one.
	if calls := desk.Calls(); len(calls) != 1 || !slices.Contains([]string{"a", "b"}, calls[0].ID) || told["a"] == "" || told["a"] != told["b"] {
		t.Errorf("executed %v, results %v", calls, told)
	}
}

func TestBeforeADangerousCallThePersonIsAsked(t *testing.T) {
	t.Parallel()
	desk := batchtest.New(t)
	desk.Yes = true
	talk(t, desk, call{"a", "notes__delete_note", `{"id":"1"}`})
	if asked, calls := desk.Asked(), desk.Calls(); len(asked) != 1 || asked[0].CallID != "a" || string(asked[0].Arguments) != `{"id":"1"}` || len(calls) != 1 {
		t.Errorf("asked %v, executed %v", asked, calls)
	}
}

func TestModelReadsTheDenial(t *testing.T) {
	t.Parallel()
	desk := batchtest.New(t)
	told := talk(t, desk, call{"a", "notes__delete_note", `{"id":"1"}`}, call{"b", "notes__get_note", `{"id":"1"}`})
	if calls := desk.Calls(); len(calls) != 1 || !strings.Contains(told["a"], "The user said no: "+batchtest.Reason) || !strings.Contains(told["b"], batchtest.Text) {
		t.Errorf("executed %v, results %v", calls, told)
	}
}

func TestModelReadsStructuredContent(t *testing.T) {
	t.Parallel()
	told := talk(t, batchtest.New(t), call{"a", "notes__get_note", `{"id":"1"}`}, call{"b", "notes__get_picture", `{"id":"1"}`})
	if want := batchtest.Text + "\n" + batchtest.Structured; told["a"] != want {
		t.Errorf("got %q, want %q", told["a"], want)
	}
	if want := "A picture:\n[an image, image/png, 11 bytes; it is not shown]"; told["b"] != want {
		t.Errorf("got %q, want %q", told["b"], want)
	}
}

func TestModelReadsItsMistakes(t *testing.T) {
	t.Parallel()
	desk := batchtest.New(t)
	told := talk(t, desk,
		call{"a", "notes__fly", `{}`}, call{"b", "notes__get_note", `{"id":`}, call{"c", "notes__get_note", ``}, call{"d", "notes__create_note", `{"id":"2"}`})
	for id, want := range map[string]string{"a": "There is no such tool", "b": "are refused", "c": batchtest.Text, "d": batchtest.Text} {
		if !strings.Contains(told[id], want) {
			t.Errorf("%s: the model reads %q", id, told[id])
		}
	}
	if calls := desk.Calls(); len(calls) != 2 {
		t.Errorf("executed %v", calls)
	}
}

// The input of a custom call is not dropped.
func TestCustomCallIsNotMadeWithoutItsInput(t *testing.T) {
	t.Parallel()
	desk := batchtest.New(t)
	custom := openai.ChatCompletionMessageToolCallUnion{ID: "a", Type: "custom", Custom: openai.ChatCompletionMessageCustomToolCallCustom{Name: "notes__create_note", Input: "a note"}}
	messages := fairlead.Answer(t.Context(), batch.NewHost(desk.Tools, desk.Caller, batch.HostOptions{}), []openai.ChatCompletionMessageToolCallUnion{custom})
	if told := messages[0].OfTool.Content.OfString.Value; len(desk.Calls()) > 0 || !strings.Contains(told, "are refused") {
		t.Errorf("executed %v, results %q", desk.Calls(), told)
	}
}

// The allocations that the adapter adds to a call by hand and the SDK's own message.
func TestAnswerCostsThreeAllocationsMore(t *testing.T) {
	if batchtest.Race {
		t.Skip("the race detector allocates")
	}
	desk := batchtest.New(t)
	host := batch.NewHost(desk.Tools, desk.Caller, batch.HostOptions{})
	tool, _ := desk.Tools.Lookup("notes", "get_picture")
	calls := []openai.ChatCompletionMessageToolCallUnion{{ID: "a", Function: openai.ChatCompletionMessageFunctionToolCallFunction{Name: tool.ModelName(), Arguments: `{"id":"1"}`}}}
	byHand := func() []openai.ChatCompletionMessageParamUnion {
		res := host.Call(t.Context(), tool, calls[0].ID, json.RawMessage(calls[0].Function.Arguments))
		return []openai.ChatCompletionMessageParamUnion{openai.ToolMessage(output.Text(res), calls[0].ID)}
	}
	bare := testing.AllocsPerRun(100, func() { byHand() })
	got := testing.AllocsPerRun(100, func() { fairlead.Answer(t.Context(), host, calls) })
	if got > bare+3 {
		t.Errorf("Answer allocates %v times, %v more than a call and a message by hand", got, got-bare)
	}
}
