package eino

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"
	"github.com/fairlead-go/fairlead/chain/batch"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Config returns a tools node with the tools of the host. It makes the calls of one message one after
// the other, since Eino otherwise starts them in any order. A missing tool answers its call.
func Config(host *batch.Host) (*compose.ToolsNodeConfig, error) {
	tools, err := Tools(host)
	if err != nil {
		return nil, err
	}
	return &compose.ToolsNodeConfig{
		Tools: tools, ExecuteSequentially: true,
		UnknownToolsHandler: func(ctx context.Context, name, arguments string) (string, error) {
			request := batch.ToolCall{ID: compose.GetToolCallID(ctx), Name: name, Arguments: json.RawMessage(arguments)}
			return output.Text(host.Answer(ctx, request)[0]), nil
		},
	}, nil
}

// Tools returns the host's tools as those of Eino, each under its ModelName. Answers are text, errors
// too, since an error would end the graph. The error names a tool with a schema that Eino rejects.
func Tools(host *batch.Host) ([]tool.BaseTool, error) {
	return convert(host, func(b base) tool.BaseTool { return invokable{b} })
}

// MultimodalTools is [Tools] with answers in parts, such as images, which the chat model must accept.
func MultimodalTools(host *batch.Host) ([]tool.BaseTool, error) {
	return convert(host, func(b base) tool.BaseTool { return multimodal{b} })
}

func convert(host *batch.Host, as func(base) tool.BaseTool) ([]tool.BaseTool, error) {
	var all []tool.BaseTool
	for _, one := range host.Tools() {
		raw, err := json.Marshal(one.Definition.InputSchema)
		if string(raw) == "{}" {
			raw = []byte(`{"type":"object"}`) // Eino converts an empty schema to true, which APIs reject
		}
		parameters := new(jsonschema.Schema)
		if err == nil {
			if err = json.Unmarshal(raw, parameters); err == nil {
				keepDigits(parameters, raw)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("eino: the schema of %s: %w", one, err)
		}
		all = append(all, as(base{host: host, tool: one, info: &schema.ToolInfo{
			Name: one.ModelName(), Desc: one.Definition.Description, ParamsOneOf: schema.NewParamsOneOfByJSONSchema(parameters),
		}}))
	}
	return all, nil
}

// base is the common part of the two kinds of tools.
type base struct {
	host *batch.Host
	tool *middleware.Tool
	info *schema.ToolInfo
}

func (b base) Info(context.Context) (*schema.ToolInfo, error) { return b.info, nil }

func (b base) call(ctx context.Context, arguments string) *mcp.CallToolResult {
	return b.host.Call(ctx, b.tool, compose.GetToolCallID(ctx), json.RawMessage(arguments))
}

type invokable struct{ base }

func (t invokable) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	return output.Text(t.call(ctx, arguments)), nil
}

type multimodal struct{ base }

func (t multimodal) InvokableRun(ctx context.Context, argument *schema.ToolArgument, _ ...tool.Option) (*schema.ToolResult, error) {
	return &schema.ToolResult{Parts: parts(t.call(ctx, argument.Text))}, nil
}

func parts(res *mcp.CallToolResult) []schema.ToolOutputPart {
	out := make([]schema.ToolOutputPart, 0, len(res.Content)+1)
	for _, content := range res.Content {
		switch c := content.(type) {
		case *mcp.ImageContent:
			out = append(out, schema.ToolOutputPart{Type: schema.ToolPartTypeImage, Image: &schema.ToolOutputImage{MessagePartCommon: data(c.MIMEType, c.Data)}})
		case *mcp.AudioContent:
			out = append(out, schema.ToolOutputPart{Type: schema.ToolPartTypeAudio, Audio: &schema.ToolOutputAudio{MessagePartCommon: data(c.MIMEType, c.Data)}})
		default:
			out = append(out, schema.ToolOutputPart{Type: schema.ToolPartTypeText, Text: output.ContentText(content)})
		}
	}
	if text := output.StructuredText(res); text != "" {
		out = append(out, schema.ToolOutputPart{Type: schema.ToolPartTypeText, Text: text})
	}
	return out
}

func data(kind string, b []byte) schema.MessagePartCommon {
	return schema.MessagePartCommon{MIMEType: kind, Base64Data: new(base64.StdEncoding.EncodeToString(b))}
}
