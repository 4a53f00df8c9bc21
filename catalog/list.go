package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits on one server's list.
const (
	maxPages      = 1000
	maxDefinition = 2 << 20 // bytes of one tool's definition as JSON
)

// toolName is MCP's rule for the name of a tool.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// list reads every page of a server's tools and sorts out what cannot be taken.
func (c *Catalog) list(ctx context.Context, id string, s Session) ([]*mcp.Tool, []Finding, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no answer within %v", c.timeout))
	defer cancel()
	var all []*mcp.Tool
	seen := make(map[string]bool)
	for cursor := ""; ; {
		page, err := s.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, nil, fmt.Errorf("catalog: server %q could not list its tools: %w", id, err)
		}
		all = append(all, page.Tools...)
		cursor = page.NextCursor
		switch {
		case cursor == "":
			accepted, refused := sift(id, all)
			return accepted, refused, nil
		case seen[cursor]:
			return nil, nil, fmt.Errorf("catalog: server %q lists without end: it gave the cursor %.40q twice", id, cursor)
		case len(seen) == maxPages:
			return nil, nil, fmt.Errorf("catalog: server %q lists more than %d pages of tools", id, maxPages)
		case len(all) > c.maxTools:
			return nil, nil, fmt.Errorf("catalog: server %q lists more than %d tools; raise catalog.Options.MaxTools if that is right", id, c.maxTools)
		}
		seen[cursor] = true
	}
}

// sift returns the definitions that can be taken, and says of the others why not.
// Of two tools with one name neither is taken: nobody could say which is meant.
func sift(id string, all []*mcp.Tool) (accepted []*mcp.Tool, refused []Finding) {
	count := make(map[string]int)
	for _, def := range all {
		if def != nil {
			count[def.Name]++
		}
	}
	for i, def := range all {
		if err := check(def); err != nil {
			shown := fmt.Sprintf("tool number %d", i)
			if def != nil && def.Name != "" {
				shown = strconv.QuoteToASCII(def.Name)
			}
			refused = append(refused, Finding{Server: id, Text: fmt.Sprintf("%s was left out: %v", shown, err)})
			continue
		}
		if count[def.Name] > 1 {
			refused = append(refused, Finding{Server: id, Tool: def.Name, Text: fmt.Sprintf("left out: the server lists %d tools of this name", count[def.Name])})
			count[def.Name] = -1 // say it once
		}
		if count[def.Name] == 1 {
			accepted = append(accepted, def)
		}
	}
	return accepted, refused
}

// check says what keeps a definition from being taken.
func check(def *mcp.Tool) error {
	switch {
	case def == nil:
		return fmt.Errorf("it is null")
	case def.Name == "":
		return fmt.Errorf("it has no name")
	case len(def.Name) > 128:
		return fmt.Errorf("its name has %d characters, more than the 128 that MCP allows", len(def.Name))
	case !toolName.MatchString(def.Name):
		return fmt.Errorf("its name has characters other than A-Z, a-z, 0-9, '_', '-' and '.'")
	}
	raw, err := json.Marshal(def)
	if err != nil {
		return fmt.Errorf("it cannot be written as JSON: %w", err)
	}
	if len(raw) > maxDefinition {
		return fmt.Errorf("its definition has %d bytes, more than %d", len(raw), maxDefinition)
	}
	if err := checkSchema(def.InputSchema); err != nil {
		return fmt.Errorf("its input schema is not usable: %w", err)
	}
	if def.OutputSchema != nil {
		if err := checkReferences(def.OutputSchema); err != nil {
			return fmt.Errorf("its output schema is not usable: %w", err)
		}
	}
	return nil
}

// isLocal reports whether a reference stays within its own schema.
func isLocal(ref string) bool { return strings.HasPrefix(ref, "#") }
