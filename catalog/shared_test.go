package catalog_test

import (
	"reflect"
	"runtime"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
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

// What catalogs show of a tool is once in a process as well, and each has its own if the host has set something else in it.
func TestEqualToolsAreShared(t *testing.T) {
	t.Parallel()
	shows := func(set func(c *catalog.Catalog)) *middleware.Tool {
		c := catalog.New(catalog.Options{})
		set(c)
		add(t, c, "s", listing(&mcp.Tool{Name: "update_shared_thing", InputSchema: map[string]any{"type": "object"}}))
		tool, ok := c.Lookup("s", "update_shared_thing")
		if !ok {
			t.Fatal("the tool is not there")
		}
		return tool
	}
	nothing := func(*catalog.Catalog) {}
	override := func(c *catalog.Catalog) {
		if err := c.Override("s", "update_shared_thing", annotation.Destructive()); err != nil {
			t.Fatal(err)
		}
	}
	one, same, other, again := shows(nothing), shows(nothing), shows(override), shows(override)
	if one != same || other != again {
		t.Error("two catalogs hold equal tools twice")
	}
	if one == other || one.Safety() != annotation.Moderate || other.Safety() != annotation.Dangerous {
		t.Errorf("the classes are %s and %s", one.Safety(), other.Safety())
	}
}

// A tool may be read in another way beside other tools, whose names begin alike: a list does not get what was inferred
// in another one.
func TestDefinitionsThatAreReadInAnotherWay(t *testing.T) {
	t.Parallel()
	list := []*mcp.Tool{{Name: "zephyr_get_thing", InputSchema: map[string]any{"type": "object"}}}
	for _, name := range []string{"zephyr_list_parts", "zephyr_delete_part", "zephyr_create_part", "zephyr_send_part"} {
		list = append(list, &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}})
	}
	var kept []*catalog.Catalog // or what the first has is not there any more
	inferred := func(tools []*mcp.Tool) (got, want annotation.Annotations) {
		c := catalog.New(catalog.Options{})
		kept = append(kept, c)
		add(t, c, "s", listing(tools...))
		tool, ok := c.Lookup("s", "zephyr_get_thing")
		if !ok {
			t.Fatal("the tool is not there")
		}
		_, got = c.Layers(tool)
		return got, infer.ToolsOf("s", tools)[0]
	}
	alone, wantAlone := inferred(list[:1])
	beside, wantBeside := inferred(list)
	runtime.KeepAlive(kept)
	if reflect.DeepEqual(wantAlone, wantBeside) {
		t.Fatal("the tool is read alike in both lists")
	}
	if !reflect.DeepEqual(alone, wantAlone) || !reflect.DeepEqual(beside, wantBeside) {
		t.Errorf("alone: got %+v, want %+v; beside others: got %+v, want %+v", alone, wantAlone, beside, wantBeside)
	}
}
