package search_test

import (
	"context"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/search"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
)

// A caller finds and is given nothing that its scopes do not cover, whatever it
// asks for.
func TestSearchAndSelectOfAViewStayWithinItsScopes(t *testing.T) {
	t.Parallel()
	c := catalog.New(catalog.Options{Permission: func(tool *middleware.Tool) string { return tool.Server + ".use" }})
	add(t, c, "files", listing(mcptest.Tool("list_files", ""), mcptest.Tool("delete_file", "")))
	add(t, c, "acme", listing(mcptest.Tool("list_bills", ""), mcptest.Tool("list_secrets", "")))
	v, err := c.View(catalog.Scope{Permission: "acme.use"})
	if err != nil {
		t.Fatal(err)
	}
	x := search.New(v)
	notSecret := func(t *middleware.Tool) bool { return !strings.Contains(t.Name(), "secret") }
	for _, tt := range []struct {
		q    search.Query
		want string
	}{
		{search.Query{}, "acme/list_bills acme/list_secrets"},
		{search.Query{Text: "list files"}, "acme/list_bills acme/list_secrets"},
		{search.Query{Text: "files"}, ""},
		{search.Query{Where: notSecret}, "acme/list_bills"},
	} {
		page, err := x.Search(tt.q)
		if got := of(page.Tools); err != nil || got != tt.want || page.Total != len(page.Tools) {
			t.Errorf("%q: got %q of %d and error %v, want %q", tt.q.Text, got, page.Total, err, tt.want)
		}
	}
	all := func(_ context.Context, _ string, tools []*middleware.Tool) ([]float64, error) {
		scores := make([]float64, len(tools))
		for i := range scores {
			scores[i] = 1
		}
		return scores, nil
	}
	for _, tt := range []struct {
		o    search.SelectOptions
		want string
	}{
		{search.SelectOptions{}, "acme/list_bills acme/list_secrets"},
		{search.SelectOptions{Rank: all, WithDangerous: true}, "acme/list_bills acme/list_secrets"},
		{search.SelectOptions{Named: []string{"files/delete_file"}, Always: []string{"files/list_files"}}, "acme/list_bills acme/list_secrets"},
		{search.SelectOptions{Where: notSecret}, "acme/list_bills"},
	} {
		tools, err := x.Select(t.Context(), "list the files", tt.o)
		if got := of(tools); err != nil || got != tt.want {
			t.Errorf("got %q and error %v, want %q", got, err, tt.want)
		}
	}
}
