package catalog_test

import (
	"testing"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Catalogs of one process have equal definitions once, and each its own of what differs.
func TestEqualDefinitionsAreShared(t *testing.T) {
	t.Parallel()
	define := func(description string) *mcp.Tool {
		return &mcp.Tool{Name: "shared_thing", Description: description, InputSchema: map[string]any{"type": "object"}}
	}
	found := func(description string) *mcp.Tool {
		c := catalog.New(catalog.Options{})
		add(t, c, "s", listing(define(description)))
		tool, ok := c.Lookup("s", "shared_thing")
		if !ok {
			t.Fatal("the tool is not there")
		}
		return tool.Definition
	}
	one, same, other := found("Reads it."), found("Reads it."), found("Reads all of it.")
	if one != same {
		t.Error("two catalogs hold equal definitions twice")
	}
	if one == other || other.Description != "Reads all of it." {
		t.Errorf("a definition that differs is %q", other.Description)
	}
}
