// Command agent is the example agent with a model that openai-go speaks to:
//
//	OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_MODEL=qwen3 go -C contrib/openai run ./examples/agent
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	fairlead "github.com/fairlead-go/fairlead/contrib/openai"
	"github.com/fairlead-go/fairlead/internal/agent"
	"github.com/fairlead-go/fairlead/internal/agent/plan"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func main() { os.Exit(agent.Main(newModel())) }

// A model plans by chat completions.
type model struct {
	client openai.Client
	params openai.ChatCompletionNewParams
	ids    []string // of the calls that wait for their outcome
	err    error
}

func newModel(o ...option.RequestOption) *model { return &model{client: openai.NewClient(o...)} }

// Service says where the model is.
func (*model) Service() string { return "openai-go" }

// Models returns the one that is named, or what the service lists.
func (m *model) Models(ctx context.Context) ([]string, error) {
	if name := os.Getenv("OPENAI_MODEL"); name != "" {
		return []string{name}, nil
	}
	page, err := m.client.Models.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("the models cannot be listed: %w; check OPENAI_BASE_URL and OPENAI_API_KEY, or set OPENAI_MODEL", err)
	}
	var names []string
	for _, one := range page.Data {
		names = append(names, one.ID)
	}
	return names, nil
}

// Begin starts a talk.
func (m *model) Begin(system string, turn plan.Turn, name string) {
	m.params = openai.ChatCompletionNewParams{Model: name, Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(system), openai.UserMessage(turn.Goal)}}
	m.params.Tools, m.err = fairlead.Tools(turn.Tools)
}

// Answer adds how the calls came out.
func (m *model) Answer(last []plan.Outcome) {
	for i, o := range last {
		m.params.Messages = append(m.params.Messages, openai.ToolMessage(o.Text(), m.ids[i]))
	}
}

// Reply asks the model.
func (m *model) Reply(ctx context.Context) (string, []plan.Request, error) {
	if m.err != nil {
		return "", nil, m.err
	}
	reply, err := m.client.Chat.Completions.New(ctx, m.params)
	if err != nil {
		return "", nil, fmt.Errorf("the model does not answer: %w; check OPENAI_BASE_URL and OPENAI_API_KEY", err)
	}
	if len(reply.Choices) == 0 {
		return "", nil, fmt.Errorf("the model %s answered without a choice", m.params.Model)
	}
	message := reply.Choices[0].Message
	m.params.Messages, m.ids = append(m.params.Messages, message.ToParam()), nil
	var calls []plan.Request
	for _, c := range message.ToolCalls {
		m.ids = append(m.ids, c.ID)
		calls = append(calls, plan.Request{ID: c.ID, Tool: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments), Why: message.Content})
	}
	return message.Content, calls, nil
}
