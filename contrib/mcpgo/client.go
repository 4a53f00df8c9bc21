// Package mcpgo connects a chain to mark3labs/mcp-go, another Go SDK for MCP: in front of
// one of its clients, and behind the tools of one of its servers.
//
//	fairlead "github.com/fairlead-go/fairlead/contrib/mcpgo"
package mcpgo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fairlead-go/fairlead/batch"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/mark3labs/mcp-go/client"
	other "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Session makes an initialized client of mcp-go a session for catalog.Catalog.Add or mount.Session. It keeps
// every part of a definition or an answer that mcp-go reads. It panics on a nil client.
func Session(c *client.Client) catalog.Session {
	if c == nil {
		panic("mcpgo: Session was given a nil client")
	}
	return session{c}
}

type session struct{ client *client.Client }

func (s session) ListTools(ctx context.Context, params *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	var request other.ListToolsRequest
	if params != nil {
		request.Params.Cursor = other.Cursor(params.Cursor)
	}
	page, err := s.client.ListToolsByPage(ctx, request)
	if err != nil {
		return nil, err
	}
	out := new(mcp.ListToolsResult)
	return out, convert(page, out)
}

func (s session) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	var request other.CallToolRequest
	request.Params.Name, request.Params.Arguments = params.Name, params.Arguments
	if len(params.Meta) > 0 {
		request.Params.Meta = new(other.Meta)
		if err := convert(params.Meta, request.Params.Meta); err != nil {
			return nil, err
		}
	}
	res, err := s.client.CallTool(ctx, request)
	if err != nil {
		return nil, coded(err)
	}
	out := new(mcp.CallToolResult)
	return out, convert(res, out)
}

// coded returns a server's error with its code, which shows whether it is final.
func coded(err error) error {
	for sentinel, code := range map[error]int64{
		other.ErrParseError: jsonrpc.CodeParseError, other.ErrInvalidRequest: jsonrpc.CodeInvalidRequest,
		other.ErrMethodNotFound: jsonrpc.CodeMethodNotFound, other.ErrInvalidParams: jsonrpc.CodeInvalidParams,
	} {
		if errors.Is(err, sentinel) {
			return &jsonrpc.Error{Code: code, Message: err.Error()}
		}
	}
	return err
}

// convert converts a value of one SDK to that of the other, by JSON.
func convert(from, to any) error {
	raw, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(raw, to)
	}
	if err != nil {
		return fmt.Errorf("mcpgo: %T cannot be read as %T: %w", from, to, err)
	}
	return nil
}

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
