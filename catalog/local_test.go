package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/finding"
	"github.com/fairlead-go/fairlead/catalog/gofunc"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func echoes(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return mcptest.Text(call.Tool.Name() + string(call.Arguments)), nil
}

func declaring(name string, w mcp.ToolAnnotations) *mcp.Tool {
	t := mcptest.Tool(name, "")
	t.Annotations = &w
	return t
}

// A tool from a Go func or of a foreign definition is inferred, merged, checked and
// listed like any other, and guarded.
func TestToolsOfTheHostsOwn(t *testing.T) {
	t.Parallel()
	c := catalog.New(catalog.Options{})
	err := c.AddTools("local", middleware.ToolCallerFunc(echoes),
		mcptest.Tool("list_notes", ""), mcptest.Tool("delete_note", ""), declaring("frobnicate", mcp.ToolAnnotations{ReadOnlyHint: true}))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]annotation.Safety{"list_notes": annotation.Safe, "delete_note": annotation.Dangerous, "frobnicate": annotation.Unknown}
	for name, class := range want {
		tool, ok := c.Lookup("local", name)
		if !ok || tool.Safety() != class {
			t.Errorf("%s is %v, want %v", name, tool.Safety(), class)
		}
		_, err := chain.Standard{}.Then(c).CallTool(t.Context(), middleware.Call{Tool: tool})
		if class == annotation.Safe && err != nil || class != annotation.Safe && !errors.Is(err, chain.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c.Trust("local")
	if tool, _ := c.Lookup("local", "frobnicate"); tool.Safety() != annotation.Safe || !c.Trusted("local") || c.Trusted("other") {
		t.Errorf("trusted, it is %v", tool.Safety())
	}
	if err := c.Refresh(t.Context(), "local"); err != nil || len(c.List()) != 3 {
		t.Errorf("after a refresh: %v, %d tools", err, len(c.List()))
	}
	if f := c.Findings(); len(f) != 0 {
		t.Errorf("findings: %v", f)
	}
}

// The host's own contradiction is refused with the fault named; nothing was added.
func TestToolsOfTheHostsOwnAreChecked(t *testing.T) {
	t.Parallel()
	good := mcptest.Tool("list_notes", "")
	for want, tools := range map[string][]*mcp.Tool{
		"bad_tool: readOnlyHint and destructiveHint are both true": {good, declaring("bad_tool", mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: new(true)})},
		"number 1 is nil":                              {good, nil},
		`"list_notes" is there twice`:                  {good, good},
		"its input schema is not usable":               {{Name: "no_schema"}},
		`odd: annotation: want a JSON object, got "7"`: {{Name: "odd", InputSchema: good.InputSchema, Meta: mcp.Meta{annotation.MetaKey: 7}}},
		`the tools of "local": a*b: `:                  {mcptest.Tool("a*b", "")},
	} {
		c := catalog.New(catalog.Options{})
		err := c.AddTools("local", middleware.ToolCallerFunc(echoes), tools...)
		if err == nil || !strings.HasPrefix(err.Error(), "catalog: ") || !strings.Contains(err.Error(), want) || len(c.List()) != 0 {
			t.Errorf("got %v, want one that says %q", err, want)
		}
	}
	if err := catalog.New(catalog.Options{}).AddTools("local", nil, good); err == nil {
		t.Error("tools without an executor were added")
	}
	if err := catalog.New(catalog.Options{}).AddTools("a/b", middleware.ToolCallerFunc(echoes), good); err == nil {
		t.Error("a wrong id was taken")
	}
}

// A tool whose output schema cannot be compiled is listed, with a finding.
func TestOutputSchemaThatCannotBeCompiledIsAFinding(t *testing.T) {
	t.Parallel()
	tool := mcptest.Tool("find_person", "")
	tool.OutputSchema = map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"pattern": `^\p{Script=Han}+$`}}}
	c := catalog.New(catalog.Options{})
	defer c.Close()
	if err := c.AddTools("local", middleware.ToolCallerFunc(echoes), tool); err != nil {
		t.Fatal(err)
	}
	f := c.Findings()
	if _, listed := c.Lookup("local", "find_person"); !listed || len(f) != 1 || f[0].Kind != finding.Unchecked || f[0].Tool != "find_person" {
		t.Errorf("listed %v, findings %v", listed, f)
	}
}

func ExampleCatalog_AddTools() {
	tools := catalog.New(catalog.Options{})
	err := tools.AddTools("notes", middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		fmt.Println("called", call.Tool.Name())
		return new(mcp.CallToolResult), nil
	}), &mcp.Tool{Name: "list_notes", InputSchema: map[string]any{"type": "object"}})
	tool, _ := tools.Find("list_notes")
	fmt.Println(err, tool.Safety())
	_, err = tools.CallTool(context.Background(), middleware.Call{Tool: tool})
	fmt.Println(err)
	// Output:
	// <nil> safe
	// called list_notes
	// <nil>
}

// Trust in funcs does not follow from the host's trust in a server.
func TestServerInThePlaceOfFuncsIsNotTrusted(t *testing.T) {
	t.Parallel()
	c := catalog.New(catalog.Options{})
	if err := c.AddFuncs("shop", gofunc.New("get_price", "", annotation.ReadOnly(), price)); err != nil {
		t.Fatal(err)
	}
	c.Remove("shop")
	claims := &mcp.Tool{Name: "frobnicate", InputSchema: map[string]any{"type": "object"}, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
	add(t, c, "shop", listing(claims))
	if tool := lookup(t, c, "shop", "frobnicate"); tool.Safety() != annotation.Unknown || c.Trusted("shop") {
		t.Errorf("it is %s, and trusted: %t", tool.Safety(), c.Trusted("shop"))
	}
}

func TestFuncThatCannotBeAToolIsNamed(t *testing.T) {
	t.Parallel()
	good := gofunc.New("good_tool", "", annotation.ReadOnly(), price)
	bad := annotation.ReadOnly()
	bad.Destructive = annotation.Yes
	for want, funcs := range map[string][]gofunc.Func{
		"no_struct: its argument is string": {good, gofunc.New("no_struct", "", annotation.ReadOnly(), func(context.Context, string) (string, error) { return "", nil })},
		"no_schema:":                        {good, gofunc.New("no_schema", "", annotation.ReadOnly(), func(context.Context, struct{ C chan int }) (string, error) { return "", nil })},
		"no_func: it has no func":           {good, gofunc.New[order, total]("no_func", "", annotation.ReadOnly(), nil)},
		"contradicts:":                      {good, gofunc.New("contradicts", "", bad, price)},
		`"good_tool" is there twice`:        {good, good},
		"the zero Func":                     {good, {}},
		"tool number 1: it has no name":     {good, gofunc.New("", "", annotation.ReadOnly(), price)},
		"tool number 2: it has no func":     {good, good, gofunc.New[order, total]("", "", annotation.ReadOnly(), nil)},
	} {
		c := catalog.New(catalog.Options{})
		err := c.AddFuncs("shop", funcs...)
		if err == nil || !strings.HasPrefix(err.Error(), "catalog: ") || !strings.Contains(err.Error(), want) || len(c.List()) > 0 || c.Trusted("shop") {
			t.Errorf("got %v, want one that says %q", err, want)
		}
	}
	c := catalog.New(catalog.Options{})
	if err := c.AddTools("crm", middleware.ToolCallerFunc(echoes), &mcp.Tool{Name: "x", InputSchema: map[string]any{"type": "object"}}); err != nil {
		t.Fatal(err)
	}
	if err := c.AddFuncs("crm", good); err == nil || c.Trusted("crm") {
		t.Errorf("an id that is another's: %v, trusted %v", err, c.Trusted("crm"))
	}
}

type order struct {
	ID string `json:"id"`
}

type total struct{ Sum int }

func price(context.Context, order) (total, error) { return total{}, nil }

func ExampleCatalog_AddFuncs() {
	tools := catalog.New(catalog.Options{})
	defer tools.Close()
	err := tools.AddFuncs("shop", gofunc.New("get_price", "Returns the price of an order.", annotation.ReadOnly(), price))
	fmt.Println(tools.List(), err)
	// Output:
	// [shop/get_price] <nil>
}
