package mcpgo

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fairlead-go/fairlead/batch"
	"github.com/fairlead-go/fairlead/middleware"
	other "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// AddTools adds the tools of a host to a server of mcp-go, each under its ModelName and
// with its annotations: whoever calls them there calls through the chain. A call that
// ends in an error is answered with a result that says so. Where a server has more
// users than one, batch.HostOptions.Scope has to say whose call it is, by what the host put
// into the context (server.WithHTTPContextFunc): mcp-go has no user, and since
// revision 2026-07-28 no session either.
//
// A server that there is already is guarded in the same way: put a client in front of
// it (client.NewInProcessClient), its [Session] into a catalogue, and the catalogue's
// tools onto a second server, which is the one that is reached from outside.
func AddTools(s *server.MCPServer, host *batch.Host) error {
	var all []server.ServerTool
	for _, tool := range host.Tools() {
		in, out, err := schemas(tool.Definition)
		if err != nil {
			return fmt.Errorf("mcpgo: a schema of %s: %w", tool, err)
		}
		definition := *tool.Definition
		definition.Name, definition.InputSchema, definition.OutputSchema = tool.ModelName(), nil, nil
		added := server.ServerTool{Handler: handler(host, tool)}
		if err := convert(&definition, &added.Tool); err != nil {
			return err
		}
		added.Tool.InputSchema, added.Tool.RawInputSchema, added.Tool.RawOutputSchema = other.ToolInputSchema{}, in, out
		all = append(all, added)
	}
	s.AddTools(all...)
	return nil
}

// schemas returns a tool's schemas as they are, with what mcp-go's own types have no place for.
func schemas(t *mcp.Tool) (in, out json.RawMessage, err error) {
	if in, err = json.Marshal(t.InputSchema); err == nil && t.OutputSchema != nil {
		out, err = json.Marshal(t.OutputSchema)
	}
	return in, out, err
}

func handler(host *batch.Host, tool *middleware.Tool) server.ToolHandlerFunc {
	return func(ctx context.Context, request other.CallToolRequest) (*other.CallToolResult, error) {
		arguments := request.Params.RawArguments
		if arguments == nil && request.Params.Arguments != nil {
			raw, err := json.Marshal(request.Params.Arguments)
			if err != nil {
				return nil, fmt.Errorf("mcpgo: the arguments of %s: %w", tool, err)
			}
			arguments = raw
		}
		out := new(other.CallToolResult)
		return out, convert(host.Call(ctx, tool, "", arguments), out)
	}
}
