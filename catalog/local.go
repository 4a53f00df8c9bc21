package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// AddTools adds tools that no MCP server lists: funcs of the host's own, or
// definitions from elsewhere, all called by the executor. They are inferred, merged
// and checked as those of a server are, under the id that the host chooses; what
// they declare only raises until [Catalog.Trust]. The executor is not to be guarded,
// since the catalogue is. An error names what is wrong, a declaration that
// contradicts itself included, and then nothing was added.
func (c *Catalog) AddTools(id string, executor middleware.ToolCaller, tools ...*mcp.Tool) error {
	return c.addTools(id, executor, false, tools)
}

func (c *Catalog) addTools(id string, executor middleware.ToolCaller, own bool, tools []*mcp.Tool) error {
	if executor == nil {
		return fmt.Errorf("catalog: the tools of %q have no executor", id)
	}
	if err := errors.Join(faults(tools)...); err != nil {
		return fmt.Errorf("catalog: the tools of %q: %w", id, err)
	}
	return c.add(context.Background(), id, local(tools), executor, own)
}

// faults says what a host cannot have meant. Of a server it would be a finding.
func faults(tools []*mcp.Tool) []error {
	var errs []error
	seen := make(map[string]bool, len(tools))
	for i, t := range tools {
		if t == nil {
			errs = append(errs, fmt.Errorf("number %d is nil", i))
			continue
		}
		if seen[t.Name] {
			errs = append(errs, fmt.Errorf("%q is there twice", t.Name))
		}
		seen[t.Name] = true
		who := which(i, t.Name)
		if w := t.Annotations; w != nil && w.ReadOnlyHint && w.DestructiveHint != nil && *w.DestructiveHint {
			errs = append(errs, fmt.Errorf("%s: readOnlyHint and destructiveHint are both true: a tool that changes nothing cannot destroy", who))
		}
		if _, err := annotation.FromTool(t); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", who, err))
		}
		if _, err := take("", t, measure(t)); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", who, err))
		}
	}
	return errs
}

// which names a tool of the host's, which may have left the name out.
func which(i int, name string) string {
	if name == "" {
		return named(i, name)
	}
	return name
}

// local lists what it was given, again and again.
type local []*mcp.Tool

func (l local) ListTools(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	return &mcp.ListToolsResult{Tools: l}, nil
}

// CallTool is not the way to them; their executor is.
func (l local) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return nil, errors.New("catalog: these tools have an executor of their own")
}
