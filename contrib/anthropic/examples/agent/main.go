// Command agent is the example agent with a model that anthropic-sdk-go speaks to:
//
//	ANTHROPIC_API_KEY=… go -C contrib/anthropic run ./examples/agent
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	fairlead "github.com/fairlead-go/fairlead/contrib/anthropic"
	"github.com/fairlead-go/fairlead/internal/agent"
	"github.com/fairlead-go/fairlead/internal/agent/plan"
)

func main() { os.Exit(agent.Main(newModel())) }

// maxTokens bounds one reply; the API wants a bound.
const maxTokens = 8192

// A model plans by messages.
type model struct {
	client anthropic.Client
	params anthropic.BetaMessageNewParams
	ids    []string // of the calls that wait for their outcome
	err    error
}

func newModel(o ...option.RequestOption) *model { return &model{client: anthropic.NewClient(o...)} }

// Service says where the model is.
func (*model) Service() string { return "anthropic-sdk-go" }

// Models returns the one that is named, or what the service lists.
func (m *model) Models(ctx context.Context) ([]string, error) {
	if name := os.Getenv("ANTHROPIC_MODEL"); name != "" {
		return []string{name}, nil
	}
	page, err := m.client.Models.List(ctx, anthropic.ModelListParams{})
	if err != nil {
		return nil, fmt.Errorf("the models cannot be listed: %w; check ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL, or set ANTHROPIC_MODEL", err)
	}
	var names []string
	for _, one := range page.Data {
		names = append(names, one.ID)
	}
	return names, nil
}

// Begin starts a talk.
func (m *model) Begin(system string, turn plan.Turn, name string) {
	m.params = anthropic.BetaMessageNewParams{
		Model: name, MaxTokens: maxTokens, System: []anthropic.BetaTextBlockParam{{Text: system}},
		Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(turn.Goal))},
	}
	m.params.Tools, m.err = fairlead.Tools(turn.Tools)
}

// Answer adds how the calls came out.
func (m *model) Answer(last []plan.Outcome) {
	blocks := make([]anthropic.BetaContentBlockParamUnion, len(last))
	for i, o := range last {
		result := anthropic.NewBetaToolResultTextBlockParam(m.ids[i], o.Text(), o.State != plan.Done)
		blocks[i] = anthropic.BetaContentBlockParamUnion{OfToolResult: &result}
	}
	m.params.Messages = append(m.params.Messages, anthropic.NewBetaUserMessage(blocks...))
}

// Reply asks the model.
func (m *model) Reply(ctx context.Context) (string, []plan.Request, error) {
	if m.err != nil {
		return "", nil, m.err
	}
	message, err := m.client.Beta.Messages.New(ctx, m.params)
	if err != nil {
		return "", nil, fmt.Errorf("the model does not answer: %w; check ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL", err)
	}
	if message.StopReason == anthropic.BetaStopReasonMaxTokens {
		return "", nil, fmt.Errorf("the model's reply was longer than %d tokens and was cut off; give it a smaller goal", maxTokens)
	}
	m.params.Messages, m.ids = append(m.params.Messages, message.ToParam()), nil
	var said []string
	var calls []plan.Request
	for _, block := range message.Content {
		switch block.Type {
		case "text":
			said = append(said, block.Text)
		case "tool_use":
			use := block.AsToolUse()
			input, err := json.Marshal(use.Input)
			if err != nil {
				return "", nil, err
			}
			m.ids = append(m.ids, use.ID)
			calls = append(calls, plan.Request{ID: use.ID, Tool: use.Name, Arguments: input})
		}
	}
	say := strings.Join(said, "\n")
	for i := range calls {
		calls[i].Why = say
	}
	return say, calls, nil
}
