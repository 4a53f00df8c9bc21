package serve

// With Options.Permission, a request sees and calls only what its scopes cover. Both are checked against the tool as it
// was added; a call whose arguments make it more than its tool is checked once more, behind preflight.

import (
	"context"
	"fmt"
	"slices"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/internal/incoming"
	"github.com/fairlead-go/fairlead/internal/resolution"
	"github.com/fairlead-go/fairlead/internal/scope"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// granted are the scopes of the request's bearer token, which say nothing of levels.
func granted(extra *mcp.RequestExtra) []catalog.Scope {
	if extra == nil || extra.TokenInfo == nil {
		return nil
	}
	scopes := make([]catalog.Scope, len(extra.TokenInfo.Scopes))
	for i, s := range extra.TokenInfo.Scopes {
		scopes[i] = catalog.Scope{Permission: s}
	}
	return scopes
}

// filter shows and calls for each caller only what its scopes cover, and keeps nothing between requests.
func (s *Server) filter(next mcp.MethodHandler) mcp.MethodHandler {
	if s.o.Permission == nil {
		return next
	}
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case methodCallTool:
			r, ok := req.(*mcp.CallToolRequest)
			if !ok || r.Params == nil || !s.covers(s.scopes(r.Extra), r.Params.Name) {
				return nil, unknownTool(r)
			}
		case resolution.MethodResolve, resolution.MethodAnnotations:
			p, ok := req.GetParams().(*resolution.Params)
			if !ok || p == nil || !s.covers(s.scopes(req.GetExtra()), p.Name) {
				return nil, unresolvable(p)
			}
		case methodListTools:
			res, err := next(ctx, method, req)
			if err != nil {
				return nil, err
			}
			page, ok := res.(*mcp.ListToolsResult)
			if !ok { // what cannot be read is not shown to everybody
				return nil, fmt.Errorf("serve: the tools of %s cannot be listed by permission, since a middleware of the server's makes a %T of the list; add it, or call Resolve, after serve.New", s.id, res)
			}
			scopes := s.scopes(req.GetExtra())
			seen := *page
			seen.CacheScope = "private" // nobody on the way may give it to others
			seen.Tools = slices.DeleteFunc(slices.Clone(page.Tools), func(t *mcp.Tool) bool { return !s.covers(scopes, t.Name) })
			return &seen, nil
		}
		return next(ctx, method, req)
	}
}

// scopes reads one after the other, so that an invalid one takes nothing away from the rest.
func (s *Server) scopes(extra *mcp.RequestExtra) []scope.Set {
	var sets []scope.Set
	for _, one := range s.o.Scopes(extra) {
		if set, err := scope.New(scope.Scope(one)); err == nil {
			sets = append(sets, set)
		}
	}
	return sets
}

// covers reports whether the scopes cover a tool by its name.
func (s *Server) covers(sets []scope.Set, name string) bool { return s.coversTool(sets, s.tool(name)) }

// coversTool reports whether the scopes cover a tool; nil is an unknown one.
func (s *Server) coversTool(sets []scope.Set, tool *middleware.Tool) bool {
	permission := ""
	if tool == nil {
		tool = new(middleware.Tool)
	} else {
		permission = s.o.Permission(tool)
	}
	return slices.ContainsFunc(sets, func(set scope.Set) bool { return set.Covers(permission, tool.Annotations.SecurityLevel) })
}

// coversArguments refuses a call that preflight found to be more than its tool and than the request's scopes cover.
func (s *Server) coversArguments(ctx context.Context, call middleware.Call) error {
	came := incoming.Of(ctx)
	if s.o.Permission == nil || came == nil { // nothing is called without its request
		return nil
	}
	scopes := s.scopes(came.Extra)
	more := scope.Uncovered(ctx, call, func(tool *middleware.Tool) bool { return s.coversTool(scopes, tool) })
	if more != nil {
		return &catalog.NotCoveredError{Tool: more}
	}
	return nil
}

// unknownTool is the SDK's error for a tool that is not there, so that a client does not learn which tools there are.
func unknownTool(r *mcp.CallToolRequest) error {
	name := ""
	if r != nil && r.Params != nil {
		name = r.Params.Name
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", name)}
}
