// Package anthropic lets the tool runner of anthropic-sdk-go call tools through a chain. Its examples import it as
//
//	fairlead "github.com/fairlead-go/fairlead/contrib/anthropic"
package anthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	convert "github.com/anthropics/anthropic-sdk-go/mcp"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/fairlead-go/fairlead/chain/batch"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// NewRunner returns the SDK's tool runner with the tools of the host, each under its ModelName. The
// runner makes the calls of one turn at once and without their ids; here they go through the chain
// as one batch, each with its id. The error names a tool with a schema that the SDK rejects.
//
// Tools that are added to the runner afterwards (AddTools) are called as the SDK calls them.
func NewRunner(client anthropic.Client, host *batch.Host, params anthropic.BetaToolRunnerParams, opts ...option.RequestOption) (*anthropic.BetaToolRunner, error) {
	t, tools, err := turnsOf(host)
	if err != nil {
		return nil, err
	}
	runner := client.Beta.Messages.NewToolRunner(tools, params, opts...)
	t.last = runner.LastMessage
	return runner, nil
}

// NewRunnerStreaming is [NewRunner] for the runner that streams.
func NewRunnerStreaming(client anthropic.Client, host *batch.Host, params anthropic.BetaToolRunnerParams, opts ...option.RequestOption) (*anthropic.BetaToolRunnerStreaming, error) {
	t, tools, err := turnsOf(host)
	if err != nil {
		return nil, err
	}
	runner := client.Beta.Messages.NewToolRunnerStreaming(tools, params, opts...)
	t.last = runner.LastMessage
	return runner, nil
}

// turnsOf returns the turns of a host, with its tools as those of the SDK.
func turnsOf(host *batch.Host) (t *turns, all []anthropic.BetaTool, err error) {
	t = &turns{host: host, ours: make(map[string]bool)}
	for _, one := range host.Tools() {
		converted, err := converted(one)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, &tool{BetaTool: converted, turns: t})
		t.ours[converted.Name()] = true
	}
	return t, all, nil
}

// converted returns a tool of the SDK that cannot be called: it has no session.
func converted(tool *middleware.Tool) (anthropic.BetaTool, error) {
	definition := *tool.Definition
	definition.Name = tool.ModelName()
	if raw, err := json.Marshal(definition.InputSchema); err == nil && string(raw) == "{}" {
		definition.InputSchema = map[string]any{"type": "object"} // an empty one would not be sent, and the API requires one
	}
	out, err := convert.NewBetaTool(&definition, nil)
	if err != nil {
		return nil, fmt.Errorf("anthropic: the schema of %s: %w", tool, err)
	}
	return out, nil
}

// Tools returns the tools as a request takes them, for a loop without the SDK's runner. The error
// names a tool with a schema that the SDK rejects.
func Tools(tools []*middleware.Tool) ([]anthropic.BetaToolUnionParam, error) {
	out := make([]anthropic.BetaToolUnionParam, len(tools))
	for i, one := range tools {
		tool, err := converted(one)
		if err != nil {
			return nil, err
		}
		out[i].OfTool = &anthropic.BetaToolParam{Name: tool.Name(), InputSchema: tool.InputSchema()}
		if text := tool.Description(); text != "" {
			out[i].OfTool.Description = anthropic.String(text)
		}
	}
	return out, nil
}

// A tool is one of the host's tools, for one runner.
type tool struct {
	anthropic.BetaTool

	turns *turns
}

// Execute implements anthropic.BetaTool. The runner gives the text of an error to the model.
func (t *tool) Execute(ctx context.Context, input json.RawMessage) ([]anthropic.BetaToolResultBlockParamContentUnion, error) {
	res, err := t.turns.answer(ctx, t.Name(), input)
	if err == nil {
		err = batch.ResultError(res)
	}
	if err != nil {
		return nil, err
	}
	return Blocks(res), nil
}

// Blocks returns what the model sees of a result: texts, images and documents as such, structured
// content as text unless a text repeats it, and a name in brackets for anything else. Blank texts,
// which the API rejects, are left out.
func Blocks(res *mcp.CallToolResult) []anthropic.BetaToolResultBlockParamContentUnion {
	blocks := make([]anthropic.BetaToolResultBlockParamContentUnion, 0, len(res.Content)+1)
	for _, content := range res.Content {
		block, err := convert.ToBlock(content)
		if err != nil || hollow(content) {
			block = text(output.ContentText(content))
		}
		if block.OfText == nil || strings.TrimSpace(block.OfText.Text) != "" {
			blocks = append(blocks, block)
		}
	}
	if structured := output.StructuredText(res); structured != "" {
		blocks = append(blocks, text(structured))
	}
	return blocks
}

// hollow reports whether an image or a document is empty.
func hollow(content mcp.Content) bool {
	switch c := content.(type) {
	case *mcp.ImageContent:
		return len(c.Data) == 0
	case *mcp.EmbeddedResource:
		return c.Resource != nil && len(c.Resource.Blob) == 0 && strings.TrimSpace(c.Resource.Text) == ""
	}
	return false
}

func text(s string) anthropic.BetaToolResultBlockParamContentUnion {
	return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: s}}
}
