package serve

import (
	"context"
	"fmt"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/resolution"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// own refuses the calls of a tool that stands in the place of one of ours and was not
// added by [AddTool]: it is not what we know of that one. The SDK tells nobody of it, so
// its list is looked at before each call.
func (s *Server) own(next mcp.MethodHandler) mcp.MethodHandler {
	if s.o.Chain == nil && s.o.Permission == nil {
		return next
	}
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if r, ok := req.(*mcp.CallToolRequest); ok && method == methodCallTool && r.Params != nil {
			if err := s.checkOwn(ctx, next, r); err != nil {
				return nil, err
			}
		}
		return next(ctx, method, req)
	}
}

func (s *Server) checkOwn(ctx context.Context, next mcp.MethodHandler, r *mcp.CallToolRequest) error {
	name := r.Params.Name
	for mark := s.mark(name); mark != nil; {
		listed, there, err := find(ctx, next, r, name)
		if err != nil {
			return refuse("the call of %s/%s was refused: %w", s.id, name, err)
		}
		if !there || marked(listed, mark) { // what is not there is for the SDK to answer
			return nil
		}
		now := s.mark(name)
		if now == mark {
			return refuse("the call of %s/%s was refused: another tool was put in its place past this server; add it with serve.AddTool, or under another name", s.id, name)
		}
		mark = now // AddTool has replaced it meanwhile
	}
	return nil
}

// find returns a tool as the SDK lists it.
func find(ctx context.Context, next mcp.MethodHandler, r *mcp.CallToolRequest, name string) (t *mcp.Tool, there bool, err error) {
	for cursor := ""; ; {
		res, err := next(ctx, methodListTools, &mcp.ListToolsRequest{Session: r.Session, Params: &mcp.ListToolsParams{Cursor: cursor}, Extra: r.Extra})
		if err != nil {
			return nil, false, fmt.Errorf("the server's tools could not be listed: %w", err)
		}
		page, ok := resolution.Listed(res)
		if !ok {
			return nil, false, fmt.Errorf("a middleware of the server's makes a %T of the list of tools; add it after serve.New", res)
		}
		for _, t := range page.Tools {
			if t.Name == name {
				return t, true, nil
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			return nil, false, nil
		}
	}
}

// marked reports whether a tool is the one that was added with this mark.
func marked(t *mcp.Tool, mark *annotation.Annotations) bool {
	return t.Meta[annotation.MetaKey] == any(mark)
}

func (s *Server) mark(name string) *annotation.Annotations {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.marks[name]
}
