package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-go/fairlead/catalog/gofunc"
	"github.com/fairlead-go/fairlead/catalog/internal/listing"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// AddTools adds tools that no MCP server lists, all called by the executor, under an id that the host chooses.
// They are inferred, merged and checked as those of a server; what they declare only raises until
// [Catalog.Trust]. The executor needs no guard, since the catalog has one. After an error, such as a
// declaration that contradicts itself, nothing was added.
func (c *Catalog) AddTools(id string, executor middleware.ToolCaller, tools ...*mcp.Tool) error {
	return c.addTools(id, executor, false, tools)
}

// AddFuncs adds Go funcs, made by gofunc.New, as the tools of one server, as [Catalog.AddTools] does. Their
// annotations are trusted. After an error, which names all faults, nothing was added.
func (c *Catalog) AddFuncs(id string, funcs ...gofunc.Func) error {
	tools, byName := make([]*mcp.Tool, 0, len(funcs)), make(functions, len(funcs))
	var errs []error
	for i, f := range funcs {
		tool, err := f.Tool()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", listing.Which(i, tool.Name), err))
		}
		tools, byName[tool.Name] = append(tools, tool), f
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("catalog: the funcs of %q: %w", id, err)
	}
	return c.addTools(id, byName, true, tools)
}

func (c *Catalog) addTools(id string, executor middleware.ToolCaller, own bool, tools []*mcp.Tool) error {
	if executor == nil {
		return fmt.Errorf("catalog: the tools of %q have no executor", id)
	}
	if err := listing.Check(tools); err != nil {
		return fmt.Errorf("catalog: the tools of %q: %w", id, err)
	}
	return c.add(context.Background(), id, local(tools), executor, own)
}

// functions execute the tools of one server by their names.
type functions map[string]gofunc.Func

func (fs functions) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return fs[call.Tool.Name()].CallTool(ctx, call) // the guard has found it among the tools of this list
}

// local is a session that lists tools of the host's own.
type local []*mcp.Tool

func (l local) ListTools(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	return &mcp.ListToolsResult{Tools: l}, nil
}

func (l local) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return nil, errors.New("catalog: these tools have an executor of their own")
}
