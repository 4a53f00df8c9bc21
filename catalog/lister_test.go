package catalog_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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

// A cursor that comes again ends the list. What was listed until then counts, with a finding.
func TestListWhoseCursorComesAgain(t *testing.T) {
	t.Parallel()
	tool := func(n int) *mcp.Tool { return mcptest.Tool(fmt.Sprintf("list_%d", n), "") }
	for _, c := range []struct {
		name  string
		pages func(cursor string) *mcp.ListToolsResult
		want  []string
	}{
		{"the same page", func(string) *mcp.ListToolsResult {
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{tool(1)}, NextCursor: "again"}
		}, []string{"bad/list_1"}},
		{"another page, and the same again", func(cursor string) *mcp.ListToolsResult {
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{tool(len(cursor))}, NextCursor: "again"}
		}, []string{"bad/list_0", "bad/list_5"}},
		{"in a circle", func(cursor string) *mcp.ListToolsResult {
			next := map[string]string{"": "a", "a": "bb", "bb": "a"}[cursor]
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{tool(len(cursor))}, NextCursor: next}
		}, []string{"bad/list_0", "bad/list_1", "bad/list_2"}},
		{"a huge cursor", func(string) *mcp.ListToolsResult {
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{tool(1)}, NextCursor: strings.Repeat("x", 1<<20)}
		}, []string{"bad/list_1"}},
	} {
		tools := catalog.New(catalog.Options{})
		t.Cleanup(func() { _ = tools.Close() })
		list := func(_ context.Context, cursor string) (*mcp.ListToolsResult, error) { return c.pages(cursor), nil }
		if err := tools.Add(t.Context(), "bad", &fake{list: list}); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := names(tools); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
		if got := fmt.Sprint(tools.Findings()); !strings.Contains(got, "lists without end") || len(got) > 500 {
			t.Errorf("%s: the findings are %.600s", c.name, got)
		}
	}
}

// A server without tools is one without a fault, whether it declares that or does not know the method.
func TestServerWithoutTools(t *testing.T) {
	t.Parallel()
	tools := catalog.New(catalog.Options{})
	t.Cleanup(func() { _ = tools.Close() })
	unknown := func(context.Context, string) (*mcp.ListToolsResult, error) {
		return nil, fmt.Errorf("calling: %w", &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found"})
	}
	if err := tools.Add(t.Context(), "prompts", &fake{list: unknown}); err != nil || len(names(tools)) > 0 {
		t.Errorf("got %v, %v", names(tools), err)
	}
	other := func(context.Context, string) (*mcp.ListToolsResult, error) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "it broke"}
	}
	if err := tools.Add(t.Context(), "broken", &fake{list: other}); err == nil {
		t.Error("any error counts as a list without tools")
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
			"is not JSON":     peer(func(p *mcptest.Peer, _ mcptest.Request) { p.Write("<html>no</html>") }),
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

func TestListIsBounded(t *testing.T) {
	const patient = 5 * time.Minute // how busy the machine is does not count
	big := strings.Repeat("x", 1<<20)
	heavy := func(n int) *fake { // n pages of a megabyte each
		return &fake{list: func(_ context.Context, cursor string) (*mcp.ListToolsResult, error) {
			page := 0
			_, _ = fmt.Sscan(cursor, &page)
			res := &mcp.ListToolsResult{Tools: []*mcp.Tool{mcptest.Tool(fmt.Sprintf("list_%d", page), big)}}
			if page+1 < n {
				res.NextCursor = fmt.Sprint(page + 1)
			}
			return res, nil
		}}
	}
	for _, c := range []struct {
		name    string
		options catalog.Options
		session catalog.Session
		want    string // "" for none
	}{
		{"100,000 tools", catalog.Options{}, shelfOf(100_000, tiny()), "more than 10000 tools; raise catalog.Options.MaxTools"},
		{"as many as are allowed", catalog.Options{MaxTools: 2000}, shelfOf(2000, tiny()), ""},
		{"gigabytes", catalog.Options{}, heavy(1 << 30), "more than 67108864 bytes of tools; raise catalog.Options.MaxBytes"},
		{"more than the host allows", catalog.Options{MaxBytes: 3 << 20}, heavy(4), "more than 3145728 bytes"},
		{"less", catalog.Options{MaxBytes: 5 << 20}, heavy(4), ""},
		{"what cannot be taken counts", catalog.Options{MaxBytes: 5 << 20}, &fake{list: func(_ context.Context, cursor string) (*mcp.ListToolsResult, error) {
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{mcptest.Tool("bad name", big)}, NextCursor: cursor + "x"}, nil
		}}, "more than 5242880 bytes"},
		{"cursors count", catalog.Options{MaxBytes: 5 << 20}, &fake{list: func(_ context.Context, cursor string) (*mcp.ListToolsResult, error) {
			return &mcp.ListToolsResult{NextCursor: big + cursor}, nil
		}}, "more than 5242880 bytes"},
		{"the annotations' title counts", catalog.Options{MaxBytes: 5 << 20}, &fake{list: func(_ context.Context, cursor string) (*mcp.ListToolsResult, error) {
			tool := mcptest.Tool("list_"+cursor, "")
			tool.Annotations = &mcp.ToolAnnotations{Title: big}
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{tool}, NextCursor: cursor + "x"}, nil
		}}, "more than 5242880 bytes"},
		{"icons count", catalog.Options{MaxBytes: 5 << 20}, &fake{list: func(_ context.Context, cursor string) (*mcp.ListToolsResult, error) {
			tool := mcptest.Tool("list_"+cursor, "")
			tool.Icons = []mcp.Icon{{Sizes: []string{big}}}
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{tool}, NextCursor: cursor + "x"}, nil
		}}, "more than 5242880 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.options.Timeout = patient
			tools := catalog.New(c.options)
			err := tools.Add(mcptest.Context(t), "srv", c.session)
			if c.want == "" && (err != nil || len(tools.Findings()) > 0) {
				t.Errorf("got %v, %v", err, tools.Findings())
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || len(tools.List()) > 0) {
				t.Errorf("got %v and %d tools, want %q", err, len(tools.List()), c.want)
			}
		})
	}
	t.Run("what the SDK drops counts", func(t *testing.T) {
		for _, annotations := range []string{`{"category":%q}`, `{"tags":["x",%q]}`, `{"other":%q}`} {
			tools := catalog.New(catalog.Options{Timeout: patient})
			add(t, tools, "srv", prepared(t, tools, func(p *mcptest.Peer, r mcptest.Request) {
				p.Reply(r, mcptest.Tools("", written1("list_a"),
					`{"name":"list_b","inputSchema":{"type":"object"},"annotations":`+fmt.Sprintf(annotations, strings.Repeat("x", 3<<20))+`}`))
			}))
			found(t, tools, `"list_b" was left out: its definition has 31`, "more than 2097152")
			lookup(t, tools, "srv", "list_a")
		}
	})
	t.Run("names of what is malformed count", func(t *testing.T) {
		tools, pages := catalog.New(catalog.Options{MaxBytes: 5 << 20, Timeout: patient}), 0
		err := tools.Add(mcptest.Context(t), "srv", prepared(t, tools, func(p *mcptest.Peer, r mcptest.Request) {
			pages++
			p.Reply(r, mcptest.Tools(fmt.Sprint(pages), fmt.Sprintf(`{"name":"%d%s","title":7}`, pages, big)))
		}))
		if err == nil || !strings.Contains(err.Error(), "more than 5242880 bytes") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("B047 one huge definition", func(t *testing.T) {
		tools := catalog.New(catalog.Options{})
		add(t, tools, "srv", listing(mcptest.Tool("list_a", ""), mcptest.Tool("list_b", strings.Repeat("x", 3<<20))))
		found(t, tools, `"list_b" was left out: its definition has 31`, "more than 2097152")
		lookup(t, tools, "srv", "list_a")
	})
}

// A server that lists nothing but rubbish does not fill the findings.
func TestFindingsOfOneListAreBounded(t *testing.T) {
	bad := make([]*mcp.Tool, 5000)
	for i := range bad {
		bad[i] = mcptest.Tool(fmt.Sprintf("bad*name %d", i), "")
	}
	c := catalog.New(catalog.Options{})
	add(t, c, "srv", listing(bad...))
	if got := len(c.Findings()); got != 101 {
		t.Errorf("got %d findings, want 100 and one that counts the others", got)
	}
	found(t, c, "srv: 4900 more tools were left out")
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
