package main

import (
	"context"
	"encoding/json"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// minMatch is the length of the shortest value that match asks about.
const minMatch = 4

// match is the crude guard that flow is measured against: a call that changes something is asked about if one of its texts
// occurs in an earlier result, and not in the user's words.
func (s *session) match(next middleware.ToolCaller) middleware.ToolCaller {
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		if call.Tool.Safety() != annotation.Safe && s.occurs(call.Arguments) {
			tool := *call.Tool
			tool.Annotations = annotation.Raise(tool.Annotations, annotation.Annotations{RequiresConfirmation: annotation.Yes})
			call.Tool = &tool
		}
		res, err := next.CallTool(ctx, call)
		s.heard += "\n" + s.out
		return res, err
	})
}

func (s *session) occurs(arguments json.RawMessage) bool {
	for _, value := range values([]call{{Args: arguments}}) {
		if len(value) >= minMatch && contains(s.heard, value) && !contains(s.prompt, value) {
			return true
		}
	}
	return false
}
