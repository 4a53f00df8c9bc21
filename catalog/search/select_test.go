package search_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/search"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func choose(tb testing.TB, c *catalog.Catalog, message string, o search.SelectOptions) string {
	tb.Helper()
	tools, err := search.New(c).Select(mcptest.Context(tb), message, o)
	if err != nil {
		tb.Fatal(err)
	}
	return of(tools)
}

func TestSelect(t *testing.T) {
	t.Parallel()
	c := office(t)
	for _, tt := range []struct {
		name, message string
		o             search.SelectOptions
		want          string
	}{
		{"what fits, the best first", "List the invoices of customer 7", search.SelectOptions{}, "acme/list_invoices files/list_files"},
		{"at most so many", "List the invoices of customer 7", search.SelectOptions{Max: 1}, "acme/list_invoices"},
		{"nothing fits", "zebra", search.SelectOptions{}, ""},
		{"no message", "", search.SelectOptions{Always: []string{"files/list_files"}}, "files/list_files"},

		{"the dangerous is kept out", "delete the file", search.SelectOptions{}, "files/create_file files/list_files"},
		{"the unknown is kept out", "frobnicate", search.SelectOptions{}, ""},
		{"it is let in for all", "frobnicate", search.SelectOptions{WithDangerous: true}, "files/frobnicate"},
		{"it is let in by name", "hello", search.SelectOptions{Named: []string{"files/delete_file"}}, "files/delete_file"},
		{"named for one, the others stay out", "frobnicate", search.SelectOptions{Named: []string{"files/delete_file"}}, "files/delete_file"},

		{"always there", "zebra", search.SelectOptions{Always: []string{"files/list_files", "acme/list_invoices"}}, "files/list_files acme/list_invoices"},
		{"always there counts", "invoices", search.SelectOptions{Always: []string{"files/list_files"}, Max: 1}, "files/list_files"},
		{"always there and fitting", "a new file", search.SelectOptions{Always: []string{"files/list_files"}, Max: 2}, "files/list_files files/create_file"},
		{"what is always there cannot bring back the dangerous", "delete the file", search.SelectOptions{Always: []string{"files/delete_file", "files/frobnicate"}}, "files/create_file files/list_files"},
		{"unless it is named", "zebra", search.SelectOptions{Always: []string{"files/delete_file"}, Named: []string{"files/delete_file"}, Max: 1}, "files/delete_file"},
		{"named and always there is one tool", "zebra", search.SelectOptions{Always: []string{"files/list_files"}, Named: []string{"files/list_files"}, Max: 1}, "files/list_files"},
		{"what Where keeps out does not come back", "zebra", search.SelectOptions{
			Always: []string{"files/list_files"}, Named: []string{"files/list_files", "files/delete_file"},
			Where: func(t *middleware.Tool) bool { return t.Name() != "list_files" },
		}, "files/delete_file"},
		{"nor by fitting", "list files", search.SelectOptions{Where: func(t *middleware.Tool) bool { return t.Server != "files" }}, "acme/list_invoices"},
		{"what is not there is passed over", "zebra", search.SelectOptions{Always: []string{"gone/list_a", "files/gone"}, Named: []string{"gone/list_a"}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for range 5 { // it is deterministic
				if got := choose(t, c, tt.message, tt.o); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			}
		})
	}
}

func TestSelectHasADefault(t *testing.T) {
	t.Parallel()
	c := catalog.New(catalog.Options{})
	var tools []*mcp.Tool
	for i := range 30 {
		tools = append(tools, mcptest.Tool(fmt.Sprintf("list_%d", i), ""))
	}
	add(t, c, "srv", listing(tools...))
	if got := strings.Fields(choose(t, c, "list the customers", search.SelectOptions{})); len(got) != 20 {
		t.Errorf("got %d tools, want 20", len(got))
	}
}

func TestRankerTakesThePlaceOfTheWords(t *testing.T) {
	t.Parallel()
	c := office(t)
	var asked []string
	scores := map[string]float64{"files/list_files": 0.1, "acme/list_invoices": 0.9, "files/create_file": -1, "files/delete_file": 5, "acme/getRefundStatus": math.NaN()}
	rank := func(_ context.Context, message string, tools []*middleware.Tool) ([]float64, error) {
		asked = append(asked, message, of(tools))
		got := make([]float64, len(tools))
		for i, t := range tools {
			got[i] = scores[t.String()]
			tools[i] = nil // the slice is the ranker's own
		}
		return got, nil
	}
	got := choose(t, c, "hello", search.SelectOptions{Rank: rank, Always: []string{"files/create_file"}})
	if want := "files/create_file acme/list_invoices files/list_files"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// It is not asked about what may not be selected, nor about what is already.
	if want := []string{"hello", "acme/getRefundStatus acme/list_invoices files/list_files"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

func TestSelectErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("no connection")
	for _, tt := range []struct {
		want string
		o    search.SelectOptions
	}{
		{"SelectOptions.Max is -1", search.SelectOptions{Max: -1}},
		{`SelectOptions.Always has "list_files"; write "server/tool"`, search.SelectOptions{Always: []string{"list_files"}}},
		{`SelectOptions.Named has ""`, search.SelectOptions{Named: []string{""}}},
		{"2 tools are named or always selected and SelectOptions.Max is 1", search.SelectOptions{Max: 1, Always: []string{"files/list_files", "files/create_file"}}},
		{"no connection", search.SelectOptions{Rank: func(context.Context, string, []*middleware.Tool) ([]float64, error) { return nil, broken }}},
		{"returned 1 scores for 4 tools", search.SelectOptions{Rank: func(context.Context, string, []*middleware.Tool) ([]float64, error) { return []float64{1}, nil }}},
	} {
		tools, err := search.New(office(t)).Select(t.Context(), "a", tt.o)
		if err == nil || !strings.HasPrefix(err.Error(), "search: ") || !strings.Contains(err.Error(), tt.want) || tools != nil {
			t.Errorf("got %v and error %v, want %q", tools, err, tt.want)
		}
		if strings.Contains(tt.want, "connection") && !errors.Is(err, broken) {
			t.Errorf("got %v, want the ranker's error in it", err)
		}
	}
}

func ExampleIndex_Select() {
	tools := catalog.New(catalog.Options{})
	// A program has a session of the MCP Go SDK here.
	session := listing(
		mcptest.Tool("list_invoices", "Lists the invoices of a customer."),
		mcptest.Tool("create_invoice", "Creates a draft invoice."),
		mcptest.Tool("delete_invoice", "Deletes a draft invoice."),
		mcptest.Tool("get_weather", "Says what the weather will be."),
		mcptest.Tool("get_time", "Says what time it is."),
	)
	if err := tools.Add(context.Background(), "acme", session); err != nil {
		panic(err)
	}
	selected, err := search.New(tools).Select(context.Background(), "Remove the bill for Bob", search.SelectOptions{
		Max:    3,
		Always: []string{"acme/get_time"},
	})
	if err != nil {
		panic(err)
	}
	for _, tool := range selected {
		fmt.Println(tool, tool.Safety())
	}
	// Output:
	// acme/get_time safe
	// acme/create_invoice moderate
	// acme/list_invoices safe
}

func ExampleRanker() {
	tools := catalog.New(catalog.Options{})
	session := listing(mcptest.Tool("list_invoices", ""), mcptest.Tool("get_weather", ""))
	if err := tools.Add(context.Background(), "acme", session); err != nil {
		panic(err)
	}
	// An embedding model places two texts near each other although they share no word.
	nearness := func(_ context.Context, _ string, tools []*middleware.Tool) ([]float64, error) {
		scores := make([]float64, len(tools))
		for i, t := range tools {
			if t.Name() == "get_weather" {
				scores[i] = 0.83
			}
		}
		return scores, nil
	}
	selected, err := search.New(tools).Select(context.Background(), "Do I need an umbrella?", search.SelectOptions{Rank: nearness})
	if err != nil {
		panic(err)
	}
	fmt.Println(selected[0])
	// Output:
	// acme/get_weather
}
