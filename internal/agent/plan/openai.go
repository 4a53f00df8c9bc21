package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

type openAI struct {
	wire
	request struct {
		Model    string           `json:"model"`
		Messages []any            `json:"messages"`
		Tools    []map[string]any `json:"tools,omitempty"`
	}
	ids []string // of the calls that wait for their outcome
}

type openAIMessage struct {
	Role       string `json:"role"`
	Content    string `json:"content"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

func (o *openAI) Models(ctx context.Context) ([]string, error) { return o.wire.models(ctx, "/models") }

func (o *openAI) Begin(system string, turn Turn, model string) {
	o.request.Model = model
	o.request.Messages = []any{openAIMessage{Role: "system", Content: system}, openAIMessage{Role: "user", Content: turn.Goal}}
	for _, tool := range turn.Tools {
		o.request.Tools = append(o.request.Tools, map[string]any{"type": "function", "function": map[string]any{
			"name": tool.ModelName(), "description": tool.Definition.Description, "parameters": schema(tool.Definition.InputSchema),
		}})
	}
}

func (o *openAI) Answer(last []Outcome) {
	for i, out := range last {
		o.request.Messages = append(o.request.Messages, openAIMessage{Role: "tool", ToolCallID: o.ids[i], Content: clip(out.Text())})
	}
}

func (o *openAI) Reply(ctx context.Context) (string, []Request, error) {
	var out struct {
		Choices []struct {
			Message json.RawMessage `json:"message"`
		} `json:"choices"`
	}
	if err := o.do(ctx, http.MethodPost, "/chat/completions", o.request, &out); err != nil {
		return "", nil, err
	}
	var message struct {
		Content   string `json:"content"`
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	if len(out.Choices) == 0 {
		return "", nil, fmt.Errorf("%s answered without a choice; it may not know this model", o.base)
	}
	if err := json.Unmarshal(out.Choices[0].Message, &message); err != nil {
		return "", nil, fmt.Errorf("%s did not answer as this API does: %w", o.base, err)
	}
	// What the model said is sent back as it came, whatever else is in it.
	o.request.Messages = append(o.request.Messages, out.Choices[0].Message)
	o.ids = o.ids[:0]
	var calls []Request
	for _, c := range message.ToolCalls {
		o.ids = append(o.ids, c.ID)
		calls = append(calls, Request{ID: c.ID, Tool: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments), Why: message.Content})
	}
	return message.Content, calls, nil
}
