package search_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/search"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// office is a catalog of two servers with tools of every class.
func office(tb testing.TB) *catalog.Catalog {
	tb.Helper()
	c := catalog.New(catalog.Options{})
	withArgument := mcptest.Tool("list_files", "")
	withArgument.InputSchema = map[string]any{"type": "object", "properties": map[string]any{"glob_pattern": map[string]any{"type": "string"}, "path": map[string]any{"type": "string"}}}
	withURL := mcptest.Tool("frobnicate", "")
	withURL.InputSchema = map[string]any{"type": "object", "properties": map[string]any{"url": map[string]any{"type": "string"}}}
	add(tb, c, "files", listing(
		withArgument,
		mcptest.Tool("create_file", "Creates a file; it fails where there is one."),
		mcptest.Tool("delete_file", "Deletes a file."),
		withURL,
	))
	add(tb, c, "acme", listing(
		mcptest.Tool("list_invoices", "Lists the invoices of a customer, the newest first."),
		mcptest.Tool("send_invoice", "Sends an invoice to the customer by email."),
		&mcp.Tool{Name: "getRefundStatus", Title: "Money back", InputSchema: map[string]any{"type": "object"}},
	))
	for tool, a := range map[string]annotation.Annotations{
		"list_invoices":   {Category: "Finance", Tags: []string{"money", "monthly"}},
		"send_invoice":    {Category: "finance", Tags: []string{"Money"}},
		"getRefundStatus": {Idempotent: annotation.Yes, OpenWorld: annotation.No},
	} {
		if err := c.Override("acme", tool, a); err != nil {
			tb.Fatal(err)
		}
	}
	return c
}

func find(tb testing.TB, in search.Lister, q search.Query) search.Page {
	tb.Helper()
	page, err := search.New(in).Search(q)
	if err != nil {
		tb.Fatal(err)
	}
	return page
}

func of(tools []*middleware.Tool) string {
	list := make([]string, len(tools))
	for i, t := range tools {
		list[i] = t.String()
	}
	return strings.Join(list, " ")
}

func TestSearchByTextCategoryTagsHintsAndClass(t *testing.T) {
	t.Parallel()
	c := office(t)
	for _, tt := range []struct {
		name string
		q    search.Query
		want string
	}{
		{"everything", search.Query{}, of(c.List())},
		{"a word of the name", search.Query{Text: "frobnicate"}, "files/frobnicate"},
		{"another form of it", search.Query{Text: "Invoicing"}, "acme/send_invoice acme/list_invoices"},
		{"a part of a camelCase name", search.Query{Text: "status"}, "acme/getRefundStatus"},
		{"the title", search.Query{Text: "money back"}, "acme/getRefundStatus acme/list_invoices acme/send_invoice"},
		{"the description", search.Query{Text: "newest"}, "acme/list_invoices"},
		{"the name of an argument", search.Query{Text: "glob"}, "files/list_files"},
		{"the category", search.Query{Text: "finance", Sort: search.ByName}, "acme/list_invoices acme/send_invoice"},
		{"a tag", search.Query{Text: "monthly"}, "acme/list_invoices"},
		{"the server", search.Query{Text: "acme", Sort: search.ByName}, "acme/getRefundStatus acme/list_invoices acme/send_invoice"},
		{"a synonym", search.Query{Text: "erase"}, "files/delete_file"},
		{"in camelCase what is two words", search.Query{Text: "globPattern"}, "files/list_files"},
		{"an address is not what it is made of", search.Query{Text: "bob@acme.com"}, "acme/send_invoice"},
		{"nor is a path", search.Query{Text: "/acme/refund"}, "files/list_files"},
		{"nor a URL", search.Query{Text: "https://acme.com/refund"}, "files/frobnicate"},
		{"but its scheme may be", search.Query{Text: "glob://acme.com/refund"}, "files/frobnicate files/list_files"},
		{"no tool has it", search.Query{Text: "zebra"}, ""},
		{"no word at all", search.Query{Text: " ?! "}, ""},
		{"a function word does not count", search.Query{Text: "the glob of a"}, "files/list_files"},
		{"unless there is nothing else", search.Query{Text: "there"}, "files/create_file"},

		{"by category, in any case", search.Query{Category: "FINANCE"}, "acme/list_invoices acme/send_invoice"},
		{"by a tag, in any case", search.Query{Tags: []string{"money"}}, "acme/list_invoices acme/send_invoice"},
		{"by all the tags", search.Query{Tags: []string{"money", "monthly"}}, "acme/list_invoices"},
		{"by class", search.Query{Safety: []annotation.Safety{annotation.Unknown}}, "files/frobnicate"},
		{"by classes", search.Query{Safety: []annotation.Safety{annotation.Moderate, annotation.Dangerous}}, "acme/send_invoice files/create_file files/delete_file"},
		{"by no class", search.Query{Safety: []annotation.Safety{}}, ""},
		{"by text and class", search.Query{Text: "invoice", Safety: []annotation.Safety{annotation.Safe}}, "acme/list_invoices"},
		{"by predicate", search.Query{Where: func(t *middleware.Tool) bool { return strings.HasSuffix(t.Name(), "e") }}, "acme/send_invoice files/create_file files/delete_file files/frobnicate"},
		{"idempotent", search.Query{Idempotent: annotation.Yes, ReadOnly: annotation.Yes, Text: "status"}, "acme/getRefundStatus"},
		{"closed world", search.Query{OpenWorld: annotation.No, Category: ""}, "acme/getRefundStatus"},
		{"confirmation required", search.Query{RequiresConfirmation: annotation.Yes, Text: "invoice"}, "acme/send_invoice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			page := find(t, c, tt.q)
			if got := of(page.Tools); got != tt.want || page.Total != len(page.Tools) || page.NextCursor != "" {
				t.Errorf("got %q (%d, %q), want %q", got, page.Total, page.NextCursor, tt.want)
			}
		})
	}
}

// Each hint that is asked for finds what is known, in every state that a tool can
// be in.
func TestSearchFindsWhatIsKnownNotToBeDestructive(t *testing.T) {
	t.Parallel()
	const unset, no, yes = annotation.Unset, annotation.No, annotation.Yes
	for _, tt := range []struct {
		readOnly, destructive annotation.Hint
		found                 string
	}{
		{unset, unset, ""},
		{unset, no, "D-"},
		{unset, yes, "R- D+"},
		{no, unset, "R-"}, // an absent hint is not evidence
		{no, no, "R- D-"},
		{no, yes, "R- D+"},
		{yes, unset, "R+ D-"}, // what only reads destroys nothing
		{yes, no, "R+ D-"},
		{yes, yes, "R- D+"}, // the more dangerous of two that conflict
	} {
		c := catalog.New(catalog.Options{})
		c.Trust("srv")
		add(t, c, "srv", listing(mcptest.Tool("frobnicate", "")))
		if tt.readOnly != yes || tt.destructive != yes {
			if err := c.Override("srv", "frobnicate", annotation.Annotations{ReadOnly: tt.readOnly, Destructive: tt.destructive}); err != nil {
				t.Fatal(err)
			}
		} else {
			tool := mcptest.Tool("frobnicate", "")
			destructive := true
			tool.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &destructive}
			c = catalog.New(catalog.Options{})
			c.Trust("srv")
			add(t, c, "srv", listing(tool))
		}
		var found []string
		for _, q := range []struct {
			name string
			q    search.Query
		}{
			{"R+", search.Query{ReadOnly: yes}}, {"R-", search.Query{ReadOnly: no}},
			{"D+", search.Query{Destructive: yes}}, {"D-", search.Query{Destructive: no}},
		} {
			if find(t, c, q.q).Total == 1 {
				found = append(found, q.name)
			}
		}
		if got := strings.Join(found, " "); got != tt.found {
			t.Errorf("read-only %s, destructive %s: found by %q, want %q", tt.readOnly, tt.destructive, got, tt.found)
		}
	}
}

func TestSearchSorts(t *testing.T) {
	t.Parallel()
	c := office(t)
	for sort, want := range map[search.Sort]string{
		search.ByRelevance: "files/delete_file files/create_file files/list_files",
		search.ByName:      "files/create_file files/delete_file files/list_files",
		search.ByServer:    "files/create_file files/delete_file files/list_files",
		search.BySafety:    "files/delete_file files/create_file files/list_files",
	} {
		q := search.Query{Text: "delete file", Sort: sort, Where: func(t *middleware.Tool) bool { return t.Name() != "frobnicate" }}
		if got := of(find(t, c, q).Tools); got != want {
			t.Errorf("order %d: got %q, want %q", sort, got, want)
		}
	}
	for sort, want := range map[search.Sort]string{
		search.ByRelevance: of(c.List()), // of nothing: as listed
		search.ByServer:    of(c.List()),
		search.ByName:      "files/create_file files/delete_file files/frobnicate acme/getRefundStatus files/list_files acme/list_invoices acme/send_invoice",
		search.BySafety:    "files/frobnicate acme/send_invoice files/delete_file files/create_file acme/getRefundStatus acme/list_invoices files/list_files",
	} {
		if got := of(find(t, c, search.Query{Sort: sort}).Tools); got != want {
			t.Errorf("order %d of all: got %q, want %q", sort, got, want)
		}
	}
}

func TestCursorVisitsEveryToolOnce(t *testing.T) {
	t.Parallel()
	c := catalog.New(catalog.Options{})
	var tools []*mcp.Tool
	for i := range 95 {
		tools = append(tools, mcptest.Tool(fmt.Sprintf("list_%s_%d", []string{"files", "pages"}[i%2], i), strings.Repeat("file ", i%5)))
	}
	add(t, c, "srv", listing(tools...))
	for _, text := range []string{"", "files"} {
		for sort := search.ByRelevance; sort <= search.BySafety; sort++ {
			q := search.Query{Text: text, Sort: sort, Limit: 1000}
			all := find(t, c, q)
			for _, limit := range []int{0, 1, 7, 94, 95} {
				q.Limit, q.Cursor = limit, ""
				var got []*middleware.Tool
				for {
					page := find(t, c, q)
					got = append(got, page.Tools...)
					if page.Total != all.Total || limit > 0 && len(page.Tools) > limit || limit == 0 && len(page.Tools) > 20 {
						t.Fatalf("got %d tools of %d, want at most %d of %d", len(page.Tools), page.Total, limit, all.Total)
					}
					if q.Cursor = page.NextCursor; q.Cursor == "" {
						break
					}
				}
				if of(got) != of(all.Tools) {
					t.Errorf("%q in order %d by %d: got\n%s\nwant\n%s", text, sort, limit, of(got), of(all.Tools))
				}
			}
		}
	}
}

// As many as there are, from where the first page ended.
func TestLimitOfALaterPageMayBeAnyNumber(t *testing.T) {
	t.Parallel()
	c := catalog.New(catalog.Options{})
	add(t, c, "srv", listing(mcptest.Tool("list_a", ""), mcptest.Tool("list_b", "")))
	first := find(t, c, search.Query{Limit: 1})
	if rest := find(t, c, search.Query{Limit: math.MaxInt, Cursor: first.NextCursor}); of(rest.Tools) != "srv/list_b" || rest.NextCursor != "" {
		t.Errorf("got %s and the cursor %q, want the other one and none", of(rest.Tools), rest.NextCursor)
	}
}

func TestCursorOfAChangedListIsAClearError(t *testing.T) {
	t.Parallel()
	two := []*mcp.Tool{mcptest.Tool("list_a", "One file."), mcptest.Tool("list_b", "One file.")}
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, c *catalog.Catalog, s *fake, q *search.Query)
		good   bool
	}{
		{"nothing changed", func(*testing.T, *catalog.Catalog, *fake, *search.Query) {}, true},
		{"the same list again", func(t *testing.T, c *catalog.Catalog, _ *fake, _ *search.Query) { relist(t, c) }, true},
		{"another size of page", func(_ *testing.T, _ *catalog.Catalog, _ *fake, q *search.Query) { q.Limit = 5 }, true},
		{"a tool more that is not found", func(t *testing.T, c *catalog.Catalog, s *fake, _ *search.Query) {
			s.tools = listing(append(slices.Clone(two), mcptest.Tool("get_c", "Another thing."))...).tools
			relist(t, c)
		}, false},
		{"a tool less", func(t *testing.T, c *catalog.Catalog, s *fake, _ *search.Query) {
			s.tools = listing(two[:1]...).tools
			relist(t, c)
		}, false},
		{"another definition", func(t *testing.T, c *catalog.Catalog, s *fake, _ *search.Query) {
			s.tools = listing(two[0], mcptest.Tool("list_b", "One file or two.")).tools
			relist(t, c)
		}, false},
		{"the host's word on a category", func(t *testing.T, c *catalog.Catalog, _ *fake, _ *search.Query) {
			if err := c.Override("srv", "list_b", annotation.Annotations{Category: "new"}); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"another text", func(_ *testing.T, _ *catalog.Catalog, _ *fake, q *search.Query) { q.Text = "files" }, false},
		{"another order", func(_ *testing.T, _ *catalog.Catalog, _ *fake, q *search.Query) { q.Sort = search.ByName }, false},
		{"another predicate", func(_ *testing.T, _ *catalog.Catalog, _ *fake, q *search.Query) {
			q.Where = func(t *middleware.Tool) bool { return t.Name() == "list_a" }
		}, false},
		{"no cursor", func(_ *testing.T, _ *catalog.Catalog, _ *fake, q *search.Query) { q.Cursor = "?" }, false},
		{"half a cursor", func(_ *testing.T, _ *catalog.Catalog, _ *fake, q *search.Query) { q.Cursor = q.Cursor[:8] }, false},
		{"a cursor from elsewhere", func(_ *testing.T, _ *catalog.Catalog, _ *fake, q *search.Query) {
			q.Cursor = "_____" + q.Cursor[5:]
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, s := catalog.New(catalog.Options{}), listing(two...)
			add(t, c, "srv", s)
			q := search.Query{Text: "file", Limit: 1}
			q.Cursor = find(t, c, q).NextCursor
			tt.change(t, c, s, &q)
			page, err := search.New(c).Search(q)
			if tt.good {
				if err != nil || of(page.Tools) != "srv/list_b" {
					t.Errorf("got %q and error %v, want srv/list_b", of(page.Tools), err)
				}
				return
			}
			if !errors.Is(err, search.ErrCursor) || !strings.Contains(err.Error(), "without a cursor") || page.Tools != nil {
				t.Errorf("got %v and error %v, want ErrCursor", page, err)
			}
		})
	}
}

func relist(t testing.TB, c *catalog.Catalog) {
	t.Helper()
	if err := c.Refresh(mcptest.Context(t), "srv"); err != nil {
		t.Fatal(err)
	}
}

func TestSearchRefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	for field, q := range map[string]search.Query{"Query.Limit": {Limit: -1}, "Query.Sort": {Sort: 4}} {
		if _, err := search.New(office(t)).Search(q); err == nil || !strings.HasPrefix(err.Error(), "search: "+field) {
			t.Errorf("got error %v, want one about %s", err, field)
		}
	}
	if page := find(t, catalog.New(catalog.Options{}), search.Query{Text: "a"}); page.Total != 0 {
		t.Errorf("an empty catalog: got %v", page)
	}
}

// A server cannot be found first by writing a word often, and neither a long
// description nor a long text keeps the search busy.
func TestSearchIsNotForStuffing(t *testing.T) {
	t.Parallel()
	c := catalog.New(catalog.Options{})
	add(t, c, "honest", listing(mcptest.Tool("list_invoices", "Lists invoices.")))
	add(t, c, "stuffed", listing(mcptest.Tool("frobnicate", strings.Repeat("invoice invoices ", 500))))
	add(t, c, "vast", listing(mcptest.Tool("twiddle", strings.Repeat("x ", 10_000)+"invoice")))
	if got, want := of(find(t, c, search.Query{Text: "invoices"}).Tools), "honest/list_invoices stuffed/frobnicate"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, text := range []string{strings.Repeat("invoices", 1<<17), strings.Repeat("aB", 1<<19), strings.Repeat("invoices ", 1<<17)} {
		if _, err := search.New(c).Search(search.Query{Text: text}); err != nil {
			t.Error(err)
		}
	}
}

// Searches go on while the list changes; each sees one state of it.
func TestSearchWhileTheListChanges(t *testing.T) {
	t.Parallel()
	c := catalog.New(catalog.Options{})
	add(t, c, "srv", listing(mcptest.Tool("list_a", "A file."), mcptest.Tool("list_b", "A file.")))
	x := search.New(c)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if got, err := x.Search(search.Query{Text: "file"}); err != nil || got.Total != 2 {
					t.Errorf("found %d and error %v, want 2", got.Total, err)
				}
			}
		})
	}
	for range 50 {
		c.Trust("srv")
	}
	wg.Wait()
}

func ExampleIndex_Search() {
	tools := catalog.New(catalog.Options{})
	// A program has a session of the MCP Go SDK here.
	session := listing(
		mcptest.Tool("list_invoices", "Lists the invoices of a customer."),
		mcptest.Tool("create_invoice", "Creates a draft invoice."),
		mcptest.Tool("delete_invoice", "Deletes a draft."),
	)
	if err := tools.Add(context.Background(), "billing", session); err != nil {
		panic(err)
	}
	page, err := search.New(tools).Search(search.Query{Text: "the bills of a customer", Destructive: annotation.No, Limit: 1})
	if err != nil {
		panic(err)
	}
	fmt.Println(page.Tools[0], "is the first of", page.Total)
	// Output:
	// billing/list_invoices is the first of 2
}
