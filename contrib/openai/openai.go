// Package openai lets a loop over openai-go's chat completions call tools through a chain: it
// converts tools to parameters, and the results of the calls of one turn to messages. Ollama,
// vLLM, LM Studio and OpenRouter speak the same API. Its examples import it as
//
//	fairlead "github.com/fairlead-go/fairlead/contrib/openai"
package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/fairlead-go/fairlead/chain/batch"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/openai/openai-go/v3"
)

// Tools returns the tools as a request for a completion takes them, each under its ModelName. The
// error names a tool with a schema that is not a JSON object.
func Tools(tools []*middleware.Tool) ([]openai.ChatCompletionToolUnionParam, error) {
	out := make([]openai.ChatCompletionToolUnionParam, len(tools))
	for i, tool := range tools {
		raw, err := json.Marshal(tool.Definition.InputSchema)
		var parameters openai.FunctionParameters
		if err == nil {
			digits := json.NewDecoder(bytes.NewReader(raw))
			digits.UseNumber()
			err = digits.Decode(&parameters)
		}
		if err != nil {
			return nil, fmt.Errorf("openai: the schema of %s: %w", tool, err)
		}
		function := openai.FunctionDefinitionParam{Name: tool.ModelName(), Parameters: parameters}
		if text := tool.Definition.Description; text != "" {
			function.Description = openai.String(text)
		}
		out[i] = openai.ChatCompletionFunctionTool(function)
	}
	return out, nil
}

// Answer makes the calls that a message of the model asks for, as one batch, and returns the messages
// that answer them. This API takes text alone: structured content is text, anything else is named.
func Answer(ctx context.Context, host *batch.Host, calls []openai.ChatCompletionMessageToolCallUnion) []openai.ChatCompletionMessageParamUnion {
	if len(calls) == 0 {
		return nil
	}
	requests := make([]batch.ToolCall, len(calls))
	for i, c := range calls {
		// A custom call has other fields. Its input is refused unless it is a JSON object.
		requests[i] = batch.ToolCall{ID: c.ID, Name: cmp.Or(c.Function.Name, c.Custom.Name), Arguments: json.RawMessage(cmp.Or(c.Function.Arguments, c.Custom.Input))}
	}
	messages := make([]openai.ChatCompletionMessageParamUnion, len(calls))
	for i, res := range host.Answer(ctx, requests...) {
		messages[i] = openai.ToolMessage(output.Text(res), calls[i].ID)
	}
	return messages
}
