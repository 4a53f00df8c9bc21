package mcpgo

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fairlead-go/fairlead/chain/batch"
	"github.com/fairlead-go/fairlead/middleware"
	other "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// AddTools adds the tools of a host to a server of mcp-go, each under its ModelName and with its annotations.
// Calls go through the chain, and an error is a result with its text. mcp-go has no users: if the server has
// several, batch.HostOptions.Scope must return the identity from the context (server.WithHTTPContextFunc).
//
// To guard an existing server, put a client in front of it (client.NewInProcessClient), its
// [Session] into a catalog, and the catalog's tools onto a second server for the outside.
func AddTools(s *server.MCPServer, host *batch.Host) error {
	var all []server.ServerTool
	for _, tool := range host.Tools() {
		// The schemas are sent unchanged, with members that mcp-go's own types lack.
		var out json.RawMessage
		in, err := json.Marshal(tool.Definition.InputSchema)
		if err == nil && tool.Definition.OutputSchema != nil {
			out, err = json.Marshal(tool.Definition.OutputSchema)
		}
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
