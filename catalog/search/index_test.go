package search_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/search"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A fake is a session with the lists that the test sets.
type fake struct{ tools []*mcp.Tool }

func (f *fake) ListTools(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	return &mcp.ListToolsResult{Tools: f.tools}, nil
}

func (*fake) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return mcptest.Text("done"), nil
}

func listing(tools ...*mcp.Tool) *fake { return &fake{tools} }

func add(t testing.TB, c *catalog.Catalog, id string, s catalog.Session) {
	t.Helper()
	if err := c.Add(mcptest.Context(t), id, s); err != nil {
		t.Fatal(err)
	}
}

func TestGroupsBySafetyAndThoseToConfirm(t *testing.T) {
	t.Parallel()
	c := office(t)
	groups := search.Classes(c)
	for class, want := range map[annotation.Safety]string{
		annotation.Safe:      "acme/getRefundStatus acme/list_invoices files/list_files",
		annotation.Moderate:  "files/create_file",
		annotation.Dangerous: "acme/send_invoice files/delete_file",
		annotation.Unknown:   "files/frobnicate",
	} {
		if got := of(groups[class]); got != want {
			t.Errorf("%s: got %q, want %q", class, got, want)
		}
	}
	if got, want := of(search.MustConfirm(c)), "acme/send_invoice files/delete_file files/frobnicate"; got != want {
		t.Errorf("to confirm: got %q, want %q", got, want)
	}
	if got := search.Classes(catalog.New(catalog.Options{})); len(got) != 0 {
		t.Errorf("an empty catalog: got %v", got)
	}
}

// A list that is what it was is not indexed again, and one that has changed is.
func TestIndexFollowsTheList(t *testing.T) { // not parallel: it counts allocations
	in := &counted{tools: office(t).List()}
	x := search.New(in)
	for _, tt := range []struct {
		tools []*middleware.Tool
		want  int
	}{{in.tools, 3}, {in.tools, 3}, {in.tools[1:], 2}, {nil, 0}, {in.tools, 3}} {
		in.tools = tt.tools
		page, err := x.Search(search.Query{Text: "acme"})
		if err != nil || page.Total != tt.want {
			t.Errorf("got %d of %d tools and error %v, want %d", page.Total, len(tt.tools), err, tt.want)
		}
	}
	if allocated := testing.AllocsPerRun(10, func() { _, _ = x.Search(search.Query{Text: "frobnicate"}) }); allocated > 100 {
		t.Errorf("a search of an unchanged list allocates %v times: it is indexed again", allocated)
	}
}

type counted struct{ tools []*middleware.Tool }

func (c *counted) List() []*middleware.Tool { return c.tools }

func ExampleNew() {
	tools := catalog.New(catalog.Options{Permission: func(tool *middleware.Tool) string { return tool.Server + ".use" }})
	for server, tool := range map[string]string{"files": "list_files", "acme": "list_invoices"} {
		if err := tools.Add(context.Background(), server, listing(mcptest.Tool(tool, ""))); err != nil {
			panic(err)
		}
	}
	view, err := tools.View(catalog.Scope{Permission: "acme.use"})
	if err != nil {
		panic(err)
	}
	for _, in := range []search.Lister{tools, view} {
		page, err := search.New(in).Search(search.Query{Text: "list"})
		fmt.Println(page.Total, err)
	}
	// Output:
	// 2 <nil>
	// 1 <nil>
}

func ExampleMustConfirm() {
	tools := catalog.New(catalog.Options{})
	session := listing(mcptest.Tool("list_files", ""), mcptest.Tool("delete_file", ""), mcptest.Tool("frobnicate", ""))
	if err := tools.Add(context.Background(), "files", session); err != nil {
		panic(err)
	}
	for _, tool := range search.MustConfirm(tools) {
		fmt.Println(tool, tool.Safety())
	}
	// Output:
	// files/delete_file dangerous
	// files/frobnicate unknown
}
