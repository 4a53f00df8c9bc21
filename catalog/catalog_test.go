package catalog_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/finding"
	"github.com/fairlead-go/fairlead/mcptest"
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

func TestEveryPageIsListed(t *testing.T) {
	for _, version := range mcptest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{PageSize: 3})
			var want []string
			for i := range 10 {
				name := fmt.Sprintf("list_%d", i)
				mcptest.Add(s, mcptest.Tool(name, ""), nothing)
				want = append(want, "srv/"+name)
			}
			c := catalog.New(catalog.Options{MaxTools: 10})
			add(t, c, "srv", mcptest.ConnectVersion(t, s, nil, version))
			if got := names(c); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestEveryTransportWorks(t *testing.T) {
	for _, version := range mcptest.Versions {
		for name, connect := range map[string]func(t *testing.T) *mcp.ClientSession{
			"stdio": func(t *testing.T) *mcp.ClientSession {
				return mcptest.Dial(t, nil, mcptest.ChildTransport(t, "files"), version)
			},
			"HTTP": func(t *testing.T) *mcp.ClientSession {
				cs, _ := mcptest.ConnectHTTP(t, files(), nil, version)
				return cs
			},
		} {
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				c := catalog.New(catalog.Options{})
				add(t, c, "files", connect(t))
				for tool, want := range map[string]annotation.Safety{
					"list_files": annotation.Safe, "delete_file": annotation.Dangerous,
					"update_file": annotation.Moderate, "frobnicate": annotation.Unknown,
				} {
					got := lookup(t, c, "files", tool)
					if got.Safety() != want {
						t.Errorf("%s is %s, want %s", got, got.Safety(), want)
					}
					_, err := c.CallTool(mcptest.Context(t), middleware.Call{Tool: got})
					if refused := err != nil; refused != want.MustConfirm() {
						t.Errorf("%s: got %v", got, err)
					}
				}
			})
		}
	}
}

func TestListsThatDoNotEndWellAddNothing(t *testing.T) {
	one := []*mcp.Tool{mcptest.Tool("list_a", "")}
	many := make([]*mcp.Tool, 11)
	for i := range many {
		many[i] = mcptest.Tool(fmt.Sprintf("list_%d", i), "")
	}
	pages := 0
	for _, c := range []struct {
		name string
		list func(ctx context.Context, cursor string) (*mcp.ListToolsResult, error)
		want string
	}{
		{"a cursor that comes again", func(context.Context, string) (*mcp.ListToolsResult, error) {
			return &mcp.ListToolsResult{Tools: one, NextCursor: "again"}, nil
		}, `gave the cursor "again" twice`},
		{"a huge cursor that comes again", func(context.Context, string) (*mcp.ListToolsResult, error) {
			return &mcp.ListToolsResult{NextCursor: strings.Repeat("x", 1<<20)}, nil
		}, "twice"},
		{"a list without end", func(context.Context, string) (*mcp.ListToolsResult, error) {
			pages++
			return &mcp.ListToolsResult{NextCursor: fmt.Sprint(pages)}, nil
		}, "more than 1000 pages"},
		{"too many tools on one page", func(context.Context, string) (*mcp.ListToolsResult, error) {
			return &mcp.ListToolsResult{Tools: many}, nil
		}, "more than 10 tools"},
		{"too many tools on two pages", func(_ context.Context, cursor string) (*mcp.ListToolsResult, error) {
			if cursor == "" {
				return &mcp.ListToolsResult{Tools: many[:10], NextCursor: "2"}, nil
			}
			return &mcp.ListToolsResult{Tools: many[10:]}, nil
		}, "more than 10 tools"},
		{"neither page nor error", func(context.Context, string) (*mcp.ListToolsResult, error) { return nil, nil }, "nothing at all"},
		{"an error", func(context.Context, string) (*mcp.ListToolsResult, error) { return nil, errors.New("it broke") }, "it broke"},
		{"an error on the second page", func(_ context.Context, cursor string) (*mcp.ListToolsResult, error) {
			if cursor == "" {
				return &mcp.ListToolsResult{Tools: one, NextCursor: "2"}, nil
			}
			return nil, errors.New("it broke")
		}, "it broke"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tools := catalog.New(catalog.Options{MaxTools: 10})
			add(t, tools, "good", listing(one...))
			err := tools.Add(t.Context(), "bad", &fake{list: c.list})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `"bad"`) || len(err.Error()) > 300 {
				t.Errorf("got %.400v, want a short text with %q and the server's id", err, c.want)
			}
			if got, want := names(tools), []string{"good/list_a"}; !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			add(t, tools, "bad", listing(one...)) // it may be tried again
		})
	}
	t.Run("ten tools are not too many", func(t *testing.T) {
		add(t, catalog.New(catalog.Options{MaxTools: 10}), "good", listing(many[:10]...))
	})
}

// deaf is the way to a server that answers the handshake and reads nothing after it.
func deaf(t *testing.T, version string) (_ mcp.Transport, hangUp func()) {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	go func() {
		const about = `"capabilities":{"tools":{}},"serverInfo":{"name":"deaf","version":"1"}`
		lines := bufio.NewScanner(fromClient)
		var r mcptest.Request
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &r) != nil {
			return
		}
		if version == mcptest.Legacy {
			_, _ = fmt.Fprintf(toClient, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"%s",%s}}`+"\n", r.ID, version, about)
			lines.Scan() // that it is initialized
			return
		}
		_, _ = fmt.Fprintf(toClient, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["%s"],"ttlMs":0,"cacheScope":"private",%s}}`+"\n", r.ID, version, about)
	}()
	return &mcp.IOTransport{Reader: fromServer, Writer: toServer}, func() {
		_ = fromClient.Close()
		_ = toClient.Close()
	}
}

func TestServerThatHangsIsGivenUp(t *testing.T) {
	t.Run("B257 after the time of the options", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := catalog.New(catalog.Options{})
			start := time.Now()
			err := c.Add(t.Context(), "slow", &fake{list: func(ctx context.Context, _ string) (*mcp.ListToolsResult, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}})
			if took := time.Since(start); took != 10*time.Second {
				t.Errorf("it took %v, want 10s", took)
			}
			if err == nil || !strings.Contains(err.Error(), "no answer within 10s") || !strings.Contains(err.Error(), "slow") {
				t.Errorf("got %v", err)
			}
		})
	})
	t.Run("B257 the time is for all pages", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			page := 0
			err := catalog.New(catalog.Options{Timeout: time.Second}).Add(t.Context(), "slow", &fake{list: func(ctx context.Context, _ string) (*mcp.ListToolsResult, error) {
				page++
				select {
				case <-ctx.Done():
					return nil, ctx.Err()
				case <-time.After(300 * time.Millisecond):
					return &mcp.ListToolsResult{NextCursor: fmt.Sprint(page)}, nil
				}
			}})
			if err == nil || page != 4 {
				t.Errorf("got %v after %d pages, want an error on the fourth", err, page)
			}
		})
	})
	t.Run("B257 although the session looks at no context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			released := make(chan struct{})
			var hanging atomic.Int32
			c := catalog.New(catalog.Options{})
			s := listing(mcptest.Tool("list_a", ""))
			works := s.list
			add(t, c, "deaf", s)
			s.list = func(context.Context, string) (*mcp.ListToolsResult, error) {
				hanging.Add(1)
				<-released
				return works(nil, "")
			}
			for range 20 {
				start := time.Now()
				if err := c.Refresh(t.Context(), "deaf"); err == nil || time.Since(start) > 11*time.Second {
					t.Fatalf("after %v: %v, want an error after 10s, or soon", time.Since(start), err)
				}
			}
			if n := hanging.Load(); n > 4 {
				t.Errorf("%d lists hang, want no more than 4", n)
			}
			lookup(t, c, "deaf", "list_a")
			close(released)
			synctest.Wait()
			if err := c.Refresh(t.Context(), "deaf"); err != nil {
				t.Error(err)
			}
			_ = c.Close()
		})
	})
	t.Run("B257 although no reader takes the SDK's output", func(t *testing.T) {
		for _, version := range mcptest.Versions {
			transport, hangUp := deaf(t, version)
			cs := mcptest.Dial(t, nil, transport, version)
			c := catalog.New(catalog.Options{Timeout: 50 * time.Millisecond})
			if err := c.Add(mcptest.Context(t), "deaf", cs); err == nil || !strings.Contains(err.Error(), "no answer within 50ms") {
				t.Errorf("%s: got %v", version, err)
			}
			hangUp()
		}
	})
	t.Run("B257 when the caller leaves", func(t *testing.T) {
		for _, version := range mcptest.Versions {
			arrived := make(chan struct{}, 1)
			cs := mcptest.ConnectPeer(t, nil, version, func(*mcptest.Peer, mcptest.Request) { arrived <- struct{}{} })
			why := errors.New("the host shuts down")
			ctx, cancel := context.WithCancelCause(context.Background())
			go func() { <-arrived; cancel(why) }()
			c := catalog.New(catalog.Options{})
			if err := c.Add(ctx, "slow", cs); !errors.Is(err, why) {
				t.Errorf("%s: got %v, want %v", version, err, why)
			}
			add(t, c, "good", listing(mcptest.Tool("list_a", ""))) // the others go on
		}
	})
}

func TestServerThatDiesOrTalksRubbishAddsNothing(t *testing.T) {
	for _, version := range mcptest.Versions {
		peer := func(handle func(p *mcptest.Peer, r mcptest.Request)) func(t *testing.T) *mcp.ClientSession {
			return func(t *testing.T) *mcp.ClientSession { return mcptest.ConnectPeer(t, nil, version, handle) }
		}
		reply := func(result string) func(t *testing.T) *mcp.ClientSession {
			return peer(func(p *mcptest.Peer, r mcptest.Request) { p.Reply(r, result) })
		}
		good := `{"name":"list_a","inputSchema":{"type":"object"}}`
		for name, connect := range map[string]func(t *testing.T) *mcp.ClientSession{
			"process dies on the second page": func(t *testing.T) *mcp.ClientSession {
				return mcptest.Dial(t, nil, mcptest.ChildTransport(t, "dying"), version)
			},
			"hangs up on the second page": peer(func(p *mcptest.Peer, r mcptest.Request) {
				if strings.Contains(string(r.Params), `"cursor"`) {
					p.Hangup()
					return
				}
				p.Reply(r, mcptest.Tools("2", good))
			}),
			"hangs up in the middle of a line": peer(func(p *mcptest.Peer, r mcptest.Request) {
				p.Write(`{"jsonrpc":"2.0","id":` + string(r.ID) + `,"result":{"tools":[`)
				p.Hangup()
			}),
			"is no JSON":      peer(func(p *mcptest.Peer, _ mcptest.Request) { p.Write("<html>no</html>") }),
			"a list of lists": reply(`{"tools":[[1,2]]}`),
			"text for tools":  reply(`{"tools":"none"}`),
			"text for a name": reply(`{"tools":[{"name":{},"inputSchema":{"type":"object"}}]}`),
			"B079 a hint that is text": reply(mcptest.Tools("", good,
				`{"name":"delete_a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"true"}}`)),
			"a hint that is text, and a megabyte after it": reply(mcptest.Tools("",
				`{"name":"delete_a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"true"}}`, `{"name":"`+strings.Repeat("\u001b", 200_000)+`"}`)),
			"says no": peer(func(p *mcptest.Peer, r mcptest.Request) {
				p.Fail(r, `{"code":-32601,"message":"no such method"}`)
			}),
		} {
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				c := catalog.New(catalog.Options{})
				err := c.Add(mcptest.Context(t), "bad", connect(t))
				if err == nil || !strings.Contains(err.Error(), `"bad"`) || len(c.List()) != 0 || len(err.Error()) > 300 || strings.ContainsAny(err.Error(), "\n\x1b") {
					t.Errorf("got %.1000v and %v, want an error that names the server and no tools", err, names(c))
				}
				add(t, c, "good", mcptest.ConnectVersion(t, files(), nil, version))
				if got := len(c.List()); got != 4 {
					t.Errorf("got %d tools of the other server, want 4", got)
				}
			})
		}
	}
}

func TestEmptyAndOddListsAreTaken(t *testing.T) {
	for name, result := range map[string]string{
		"no tools": `{"tools":[]}`, "null": `{"tools":null}`, "nothing": `{}`, "null among them": `{"tools":[null]}`,
	} {
		t.Run(name, func(t *testing.T) {
			c := catalog.New(catalog.Options{})
			add(t, c, "odd", mcptest.ConnectPeer(t, nil, mcptest.Legacy, func(p *mcptest.Peer, r mcptest.Request) { p.Reply(r, result) }))
			if got := names(c); len(got) != 0 {
				t.Errorf("got %v", got)
			}
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
	add(t, c, "srv", listing(mcptest.Tool("bad name", "")))
	add(t, c, "other", listing(mcptest.Tool("list_a", "")))
	if got := strings.Count(out.String(), "catalog: finding"); got != 1 || !strings.Contains(out.String(), "bad name") {
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

func TestRefreshOfAServerThatIsJustBeingAdded(t *testing.T) {
	c := catalog.New(catalog.Options{})
	s := listing(mcptest.Tool("list_a", ""))
	c.Trust("srv") // known, not added
	var wg sync.WaitGroup
	wg.Go(func() { _ = c.Add(context.Background(), "srv", s) })
	for range 20 {
		wg.Go(func() { _ = c.Refresh(context.Background(), "srv") })
	}
	wg.Wait()
	lookup(t, c, "srv", "list_a")
}
