package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/finding"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestMain(m *testing.M) {
	mcptest.Main(m, map[string]func() *mcp.Server{
		"files": files,
		"dying": func() *mcp.Server { // on its second page
			s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{PageSize: 1})
			for _, name := range []string{"list_a", "list_b"} {
				mcptest.Add(s, mcptest.Tool(name, ""), nothing)
			}
			s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					if p, ok := req.GetParams().(*mcp.ListToolsParams); ok && p.Cursor != "" {
						os.Exit(3)
					}
					return next(ctx, method, req)
				}
			})
			return s
		},
	})
}

func nothing(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return mcptest.Text("done"), nil
}

func files() *mcp.Server {
	s := mcptest.New()
	for _, name := range []string{"list_files", "delete_file", "update_file", "frobnicate"} {
		mcptest.Add(s, mcptest.Tool(name, ""), nothing)
	}
	return s
}

// A fake is a session with the lists that the test sets, a page for each call.
type fake struct {
	list func(ctx context.Context, cursor string) (*mcp.ListToolsResult, error)
	call func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error)
}

func (f *fake) ListTools(ctx context.Context, p *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	return f.list(ctx, p.Cursor)
}

func (f *fake) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if f.call == nil {
		return mcptest.Text("done"), nil
	}
	return f.call(ctx, p)
}

func listing(tools ...*mcp.Tool) *fake {
	return &fake{list: func(context.Context, string) (*mcp.ListToolsResult, error) {
		return &mcp.ListToolsResult{Tools: tools}, nil
	}}
}

func add(t testing.TB, c *catalog.Catalog, id string, s catalog.Session) {
	t.Helper()
	if err := c.Add(mcptest.Context(t), id, s); err != nil {
		t.Fatal(err)
	}
}

func names(c *catalog.Catalog) []string {
	got := make([]string, 0, len(c.List()))
	for _, tool := range c.List() {
		got = append(got, tool.String())
	}
	return got
}

func lookup(t testing.TB, c *catalog.Catalog, server, tool string) *middleware.Tool {
	t.Helper()
	got, ok := c.Lookup(server, tool)
	if !ok {
		t.Fatalf("there is no %s/%s among %v", server, tool, names(c))
	}
	return got
}

// found returns the text of the one finding that contains all the words.
func found(t testing.TB, c *catalog.Catalog, words ...string) string {
	t.Helper()
	var found []string
	for _, f := range c.Findings() {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(f.String(), w) }) {
			found = append(found, f.String())
		}
	}
	if len(found) != 1 {
		t.Errorf("got %d findings with %q, want 1; all: %v", len(found), words, c.Findings())
		return ""
	}
	return found[0]
}

// notable returns the findings, without those about sessions that the tests connect
// as they come.
func notable(c *catalog.Catalog) []finding.Finding {
	return slices.DeleteFunc(c.Findings(), func(f finding.Finding) bool { return strings.HasPrefix(f.Text, "its session was not prepared") })
}

func Example() {
	files := &fake{list: func(context.Context, string) (*mcp.ListToolsResult, error) {
		return &mcp.ListToolsResult{Tools: []*mcp.Tool{
			{Name: "list_files", InputSchema: map[string]any{"type": "object"}},
			{Name: "delete_file", InputSchema: map[string]any{"type": "object"}, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
			{Name: "reset_view", InputSchema: map[string]any{"type": "object"}},
		}}, nil
	}} // an *mcp.ClientSession is a Session too

	ctx := context.Background()
	tools := catalog.New(catalog.Options{})
	if err := tools.Add(ctx, "files", files); err != nil {
		panic(err)
	}
	if err := tools.Override("files", "reset_view", annotation.Annotations{ReadOnly: annotation.Yes}); err != nil {
		panic(err)
	}
	for _, tool := range tools.List() {
		fmt.Println(tool, tool.Safety())
	}
	remove, _ := tools.Lookup("files", "delete_file")
	_, err := tools.CallTool(ctx, middleware.Call{Tool: remove})
	fmt.Println(err)
	// Output:
	// files/delete_file dangerous
	// files/list_files safe
	// files/reset_view safe
	// fairlead: files/delete_file was refused: it is dangerous and nobody approved it; put hitl.New in the chain's Confirm slot, or choose a tool that only reads
}

// The hints of a trusted server count, in both directions.
func ExampleCatalog_Trust() {
	tools := catalog.New(catalog.Options{})
	server := listing(&mcp.Tool{
		Name: "reset_view", InputSchema: map[string]any{"type": "object"},
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	})
	if err := tools.Add(context.Background(), "maps", server); err != nil {
		panic(err)
	}
	class := func() annotation.Safety {
		tool, _ := tools.Lookup("maps", "reset_view")
		return tool.Safety()
	}
	fmt.Println(class())
	tools.Trust("maps")
	fmt.Println(class())
	// Output:
	// dangerous
	// safe
}

func TestNewRefusesNegativeNumbers(t *testing.T) {
	for name, o := range map[string]catalog.Options{"Timeout": {Timeout: -1}, "MaxTools": {MaxTools: -1}} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, "catalog: Options."+name) {
					t.Errorf("got the panic %q", got)
				}
			}()
			catalog.New(o)
		})
	}
}

func TestAddRefusesBadIDsAndNilSessions(t *testing.T) {
	var none *mcp.ClientSession
	good := listing(mcptest.Tool("list_a", ""))
	for _, c := range []struct {
		name, id string
		session  catalog.Session
		want     string
	}{
		{"nil session", "srv", nil, "session is nil"},
		{"session of a connect that failed", "srv", none, "session is nil"},
		{"empty", "", good, "server's id"},
		{"slash", "a/b", good, "server's id"},
		{"B013 two underscores", "a__b", good, "server's id"},
		{"space", "a b", good, "server's id"},
		{"newline", "a\n", good, "server's id"},
		{"not ASCII", "fil\u0435s", good, "server's id"},
		{"65 characters", strings.Repeat("x", 65), good, "server's id"},
		{"B251 a second time", "taken", good, `server "taken" already`},
	} {
		t.Run(c.name, func(t *testing.T) {
			tools := catalog.New(catalog.Options{})
			add(t, tools, "taken", good)
			err := tools.Add(t.Context(), c.id, c.session)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if got := names(tools); !slices.Equal(got, []string{"taken/list_a"}) {
				t.Errorf("got %v", got)
			}
		})
	}
	t.Run("B251 a second time, before it is listed", func(t *testing.T) {
		lists := 0
		s := &fake{list: func(context.Context, string) (*mcp.ListToolsResult, error) {
			lists++
			return &mcp.ListToolsResult{}, nil
		}}
		tools := catalog.New(catalog.Options{})
		add(t, tools, "srv", s)
		if err := tools.Add(t.Context(), "srv", s); err == nil || lists != 1 {
			t.Errorf("got %v after %d lists, want an error after the first", err, lists)
		}
	})
	t.Run("64 characters are an id", func(t *testing.T) {
		add(t, catalog.New(catalog.Options{}), strings.Repeat("x", 64), good)
	})
}

func TestOfTwoAddsAtOnceOneWins(t *testing.T) { // B251
	t.Run("B251", func(t *testing.T) {
		c := catalog.New(catalog.Options{})
		both := make(chan struct{})
		var listed atomic.Int32
		s := &fake{list: func(context.Context, string) (*mcp.ListToolsResult, error) {
			if listed.Add(1) == 2 {
				close(both)
			}
			<-both
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{mcptest.Tool("list_a", "")}}, nil
		}}
		errs := make(chan error, 2)
		for range 2 {
			go func() { errs <- c.Add(context.Background(), "srv", s) }()
		}
		first, second := mcptest.Wait(t, "an Add", errs), mcptest.Wait(t, "an Add", errs)
		if (first == nil) == (second == nil) {
			t.Errorf("got %v and %v, want one error", first, second)
		}
	})
}

func TestServersOwnNameIsNotItsID(t *testing.T) {
	t.Run("B261", func(t *testing.T) {
		c := catalog.New(catalog.Options{})
		for _, id := range []string{"test", "other"} { // both call themselves "test"
			add(t, c, id, mcptest.Connect(t, files(), nil))
		}
		if got := lookup(t, c, "other", "list_files").Server; got != "other" || len(c.List()) != 8 {
			t.Errorf("got %s among %v", got, names(c))
		}
	})
}

func TestFindingsAreLogged(t *testing.T) {
	var out strings.Builder
	c := catalog.New(catalog.Options{Logger: slog.New(slog.NewTextHandler(&out, nil))})
	add(t, c, "srv", listing(mcptest.Tool("bad*name", "")))
	add(t, c, "other", listing(mcptest.Tool("list_a", "")))
	if got := strings.Count(out.String(), "catalog: finding"); got != 1 || !strings.Contains(out.String(), "bad*name") {
		t.Errorf("got %s, want one line", out.String())
	}
}

func TestLookupAllocatesNothing(t *testing.T) {
	c := catalog.New(catalog.Options{})
	add(t, c, "srv", listing(mcptest.Tool("list_a", "")))
	if got := testing.AllocsPerRun(100, func() {
		if _, ok := c.Lookup("srv", "list_a"); !ok {
			t.Error("not there")
		}
	}); got != 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}

func TestConcurrentUse(t *testing.T) {
	ctx := mcptest.Context(t)
	c := catalog.New(catalog.Options{})
	cs := mcptest.Connect(t, files(), nil)
	add(t, c, "files", cs)
	var wg sync.WaitGroup
	for i := range 4 {
		for name, do := range map[string]func() error{
			"refresh":  func() error { return c.Refresh(ctx, "files") },
			"trust":    func() error { c.Trust("files"); return nil },
			"override": func() error { return c.Override("files", "frobnicate", annotation.ReadOnly()) },
			"rules":    func() error { _, err := c.OverrideMatching("*/list_*", annotation.ReadOnly()); return err },
			"add":      func() error { return c.Add(ctx, fmt.Sprintf("files%d", i), cs) },
			"read": func() error {
				for _, tool := range c.List() {
					c.Layers(tool)
					_, _ = c.Find(tool.ModelName())
				}
				c.Findings()
				return nil
			},
			"call": func() error {
				tool, ok := c.Lookup("files", "list_files")
				if !ok {
					return errors.New("the tool was gone for a moment")
				}
				_, err := c.CallTool(ctx, middleware.Call{Tool: tool})
				return err
			},
		} {
			wg.Go(func() {
				if err := do(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
	}
	wg.Wait()
	if got := len(c.List()); got != 20 {
		t.Errorf("got %d tools, want 20", got)
	}
}
