package mount

import (
	"context"
	"maps"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/resolution"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// wireHints are the four hints, all of them written.
type wireHints struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

func written(a annotation.Annotations) *wireHints {
	return &wireHints{a.ReadOnly == annotation.Yes, a.Destructive == annotation.Yes, a.Idempotent == annotation.Yes, a.OpenWorld == annotation.Yes}
}

// The three results.
type (
	annotationsResult struct {
		mcp.ResultBase

		ResultType  string     `json:"resultType"`
		Annotations *wireHints `json:"annotations"`
	}
	extensionResult struct {
		mcp.ResultBase

		ResultType  string     `json:"resultType"`
		Name        string     `json:"name"`
		Annotations *wireHints `json:"annotations"`
	}
	toolResult struct {
		mcp.ResultBase

		ResultType string       `json:"resultType"`
		Tool       resolvedTool `json:"tool"`
	}
	resolvedTool struct {
		*mcp.Tool

		Annotations *wireHints `json:"annotations"`
		Resolve     bool       `json:"resolve"`
	}
)

// What the SDK's results cannot say by themselves. The embedded one keeps what makes
// it a result.
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

		Tools announcedTools `json:"tools"`
	}
	announcedTools struct {
		ListChanged bool `json:"listChanged,omitempty"`
		Dynamic     bool `json:"dynamicAnnotations"`
		Resolve     bool `json:"resolve"`
	}
	markedList struct {
		*mcp.ListToolsResult

		Tools []markedTool `json:"tools"`
	}
	markedTool struct {
		*mcp.Tool

		Dynamic bool `json:"dynamicAnnotations,omitempty"`
		Resolve bool `json:"resolve,omitempty"`
	}
)

// announce says in the server's capabilities that it resolves, and of which tools in
// its lists.
func (s *resolvables) announce(next mcp.MethodHandler) mcp.MethodHandler {
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
			return s.marked(res), nil
		}
		return res, nil
	}
}

func announced(caps *mcp.ServerCapabilities) announcedCapabilities {
	var own mcp.ServerCapabilities
	if caps != nil {
		own = *caps
	}
	own.Extensions = maps.Clone(own.Extensions)
	own.AddExtension(resolution.Extension, nil)
	return announcedCapabilities{&own, announcedTools{
		ListChanged: own.Tools != nil && own.Tools.ListChanged, Dynamic: true, Resolve: true,
	}}
}

// marked returns a list in which each tool that can be resolved says so. One that was
// replaced by a definition that does not bound its answers does not.
func (s *resolvables) marked(list *mcp.ListToolsResult) mcp.Result {
	out := &markedList{ListToolsResult: list, Tools: make([]markedTool, len(list.Tools))}
	for i, t := range list.Tools {
		out.Tools[i].Tool = t
		r := s.tools[t.Name]
		if r == nil || !r.bounds(t) {
			continue
		}
		own := *t
		own.Meta = maps.Clone(t.Meta)
		if own.Meta == nil {
			own.Meta = mcp.Meta{}
		}
		own.Meta[resolution.Extension] = map[string]any{"resolvable": true}
		out.Tools[i] = markedTool{Tool: &own, Dynamic: true, Resolve: true}
	}
	return out
}
