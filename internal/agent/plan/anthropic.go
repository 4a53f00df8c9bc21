package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// maxTokens bounds one reply; the API wants a bound.
const maxTokens = 8192

type anthropic struct {
	wire
	request struct {
		Model     string           `json:"model"`
		MaxTokens int              `json:"max_tokens"`
		System    string           `json:"system"`
		Messages  []any            `json:"messages"`
		Tools     []map[string]any `json:"tools,omitempty"`
	}
	ids []string // of the calls that wait for their outcome
}

type anthropicMessage struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

func (a *anthropic) Models(ctx context.Context) ([]string, error) {
	return a.wire.models(ctx, "/v1/models")
}

func (a *anthropic) Begin(system string, turn Turn, model string) {
	a.request.Model, a.request.MaxTokens, a.request.System = model, maxTokens, system
	a.request.Messages = []any{anthropicMessage{Role: "user", Content: turn.Goal}}
	for _, tool := range turn.Tools {
		a.request.Tools = append(a.request.Tools, map[string]any{
			"name": tool.ModelName(), "description": tool.Definition.Description, "input_schema": schema(tool.Definition.InputSchema),
		})
	}
}

func (a *anthropic) Answer(last []Outcome) {
	blocks := make([]map[string]any, 0, len(last))
	for i, out := range last {
		blocks = append(blocks, map[string]any{
			"type": "tool_result", "tool_use_id": a.ids[i], "content": clip(out.Text()), "is_error": out.State != Done,
		})
	}
	a.request.Messages = append(a.request.Messages, anthropicMessage{Role: "user", Content: blocks})
}

func (a *anthropic) Reply(ctx context.Context) (string, []Request, error) {
	var out struct {
		Content    json.RawMessage `json:"content"`
		StopReason string          `json:"stop_reason"`
	}
	if err := a.do(ctx, http.MethodPost, "/v1/messages", a.request, &out); err != nil {
		return "", nil, err
	}
	var blocks []struct {
		Type  string          `json:"type"`
		Text  string          `json:"text"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(out.Content, &blocks); err != nil {
		return "", nil, fmt.Errorf("%s did not answer as this API does: %w", a.base, err)
	}
	if out.StopReason == "max_tokens" {
		return "", nil, fmt.Errorf("the model's reply was longer than %d tokens and was cut off; give it a smaller goal", maxTokens)
	}
	// What the model said is sent back as it came, whatever else is in it.
	a.request.Messages = append(a.request.Messages, anthropicMessage{Role: "assistant", Content: out.Content})
	a.ids = a.ids[:0]
	var said []string
	var calls []Request
	for _, b := range blocks {
		switch b.Type {
		case "text":
			said = append(said, b.Text)
		case "tool_use":
			a.ids = append(a.ids, b.ID)
			calls = append(calls, Request{ID: b.ID, Tool: b.Name, Arguments: b.Input})
		}
	}
	say := strings.Join(said, "\n")
	for i := range calls {
		calls[i].Why = say
	}
	return say, calls, nil
}
