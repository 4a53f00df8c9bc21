package resolution

import (
	"context"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What the SDK's results cannot say by themselves. The embedded one keeps what makes it a result.
type (
	announcingInit struct {
		*mcp.InitializeResult

		Capabilities announcedCapabilities `json:"capabilities"`
	}
	announcingDiscovery struct {
		*mcp.DiscoverResult

		Capabilities announcedCapabilities `json:"capabilities"`
	}
	announcedCapabilities struct {
		*mcp.ServerCapabilities

		Tools map[string]bool `json:"tools"`
	}
	markedList struct {
		*mcp.ListToolsResult

		Tools []markedTool `json:"tools"`
	}
	markedTool struct {
		*mcp.Tool

		Dynamic bool `json:"dynamicAnnotations,omitempty"`
	}
)

// Announce declares in a server's capabilities and lists that it resolves the tools for which resolvable holds.
func Announce(resolvable func(listed *mcp.Tool) bool) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if err != nil {
				return res, err
			}
			switch res := res.(type) {
			case *mcp.InitializeResult:
				return &announcingInit{res, announced(res.Capabilities)}, nil
			case *mcp.DiscoverResult:
				return &announcingDiscovery{res, announced(res.Capabilities)}, nil
			case *mcp.ListToolsResult:
				return withMarks(res, resolvable), nil
			}
			return res, nil
		}
	}
}

func announced(caps *mcp.ServerCapabilities) announcedCapabilities {
	var own mcp.ServerCapabilities
	if caps != nil {
		own = *caps
	}
	own.Extensions = maps.Clone(own.Extensions)
	own.AddExtension(Extension, nil)
	listChanged := own.Tools != nil && own.Tools.ListChanged
	return announcedCapabilities{&own, map[string]bool{"listChanged": listChanged, FieldDynamic: true}}
}

func withMarks(list *mcp.ListToolsResult, resolvable func(*mcp.Tool) bool) mcp.Result {
	out := &markedList{ListToolsResult: list, Tools: make([]markedTool, len(list.Tools))}
	for i, t := range list.Tools {
		out.Tools[i].Tool = t
		if !resolvable(t) {
			continue
		}
		own := *t
		own.Meta = maps.Clone(t.Meta)
		if own.Meta == nil {
			own.Meta = mcp.Meta{}
		}
		own.Meta[Extension] = map[string]any{"resolvable": true}
		out.Tools[i] = markedTool{Tool: &own, Dynamic: true}
	}
	return out
}
