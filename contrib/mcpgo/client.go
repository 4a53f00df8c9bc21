// Package mcpgo connects a chain to mark3labs/mcp-go, another Go SDK for MCP: in front of
// one of its clients, and behind the tools of one of its servers. Its examples import it as
//
//	fairlead "github.com/fairlead-go/fairlead/contrib/mcpgo"
package mcpgo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/mark3labs/mcp-go/client"
	other "github.com/mark3labs/mcp-go/mcp"
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
		request.Params.Meta = other.NewMetaFromMap(maps.Clone(params.Meta)) // a detour by JSON would round its numbers
	}
	res, err := s.client.CallTool(ctx, request)
	if err != nil {
		return nil, coded(err)
	}
	out := new(mcp.CallToolResult)
	raw, err := converted(res, out)
	if err != nil {
		return nil, err
	}
	mount.KeepDigits(out, raw) // which mcp-go keeps beside what it has decoded
	return out, nil
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
	_, err := converted(from, to)
	return err
}

// converted is convert that also returns the JSON.
func converted(from, to any) ([]byte, error) {
	raw, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(raw, to)
	}
	if err != nil {
		return nil, fmt.Errorf("mcpgo: %T cannot be read as %T: %w", from, to, err)
	}
	return raw, nil
}
