package catalog_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/mcptest"
	"github.com/fairlead-go/fairlead/mount"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Five servers at once; three misbehave: what is usable, and what a person reads of the rest.
func TestFiveServersAtOnce(t *testing.T) {
	for _, version := range mcptest.Versions {
		t.Run(version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				big := mcp.NewServer(&mcp.Implementation{Name: "big", Version: "1"}, &mcp.ServerOptions{PageSize: 100})
				for i := range 3000 {
					mcptest.Add(big, mcptest.Tool(fmt.Sprintf("get_%04d", i), ""), nothing)
				}
				peer := func(handle func(p *mcptest.Peer, r mcptest.Request)) mcp.Transport {
					return mcptest.PeerTransport(t, handle)
				}
				servers := map[string]mcp.Transport{
					"big":   mcptest.MemoryTransport(t, big),
					"files": mcptest.MemoryTransport(t, files()),
					"gone":  peer(func(p *mcptest.Peer, _ mcptest.Request) { p.Hangup() }),
					"hangs": peer(func(*mcptest.Peer, mcptest.Request) {}),
					"odd": peer(func(p *mcptest.Peer, r mcptest.Request) {
						p.Reply(r, mcptest.Tools("",
							`{"name":"list_notes","inputSchema":{"type":"object"}}`,
							`{"name":"delete_note","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"true"}}`,
							`{"name":"create_note","inputSchema":{"type":"array"}}`))
					}),
				}
				tools := catalog.New(catalog.Options{})
				defer tools.Close()
				client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, mount.Options(tools, nil))
				var out strings.Builder
				var mu sync.Mutex
				var failed []string
				var wg sync.WaitGroup
				start := time.Now()
				for id, transport := range servers {
					session := mcptest.Dial(t, client, mount.Transport(transport), version)
					wg.Go(func() {
						if err := tools.Add(t.Context(), id, session); err != nil {
							mu.Lock()
							defer mu.Unlock()
							failed = append(failed, err.Error())
						}
					})
				}
				wg.Wait()
				fmt.Fprintf(&out, "after %v\n\n", time.Since(start))
				usable := make(map[string]int)
				for _, tool := range tools.List() {
					usable[tool.Server]++
				}
				for _, id := range []string{"big", "files", "gone", "hangs", "odd"} {
					fmt.Fprintf(&out, "%s: %d tools\n", id, usable[id])
				}
				slices.Sort(failed)
				fmt.Fprintf(&out, "\nerrors\n%s\n\nfindings\n", strings.Join(failed, "\n"))
				for _, f := range tools.Findings() {
					fmt.Fprintln(&out, f)
				}
				golden(t, "five_servers.txt", out.String())
			})
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Several servers at once: each on a goroutine of its own, so that one that hangs
// holds up none of the others.
func ExampleCatalog_Add() {
	sessions := map[string]catalog.Session{ // from client.Connect, as a rule
		"files": listing(&mcp.Tool{Name: "list_files", InputSchema: map[string]any{"type": "object"}}),
		"notes": listing(&mcp.Tool{Name: "delete_note", InputSchema: map[string]any{"type": "object"}}),
		"slow": &fake{list: func(ctx context.Context, _ string) (*mcp.ListToolsResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
	}
	tools := catalog.New(catalog.Options{Timeout: time.Second})
	defer tools.Close()
	var wg sync.WaitGroup
	for id, session := range sessions {
		wg.Go(func() {
			if err := tools.Add(context.Background(), id, session); err != nil {
				fmt.Println(err)
			}
		})
	}
	wg.Wait()
	for _, tool := range tools.List() {
		fmt.Println(tool, tool.Safety())
	}
	// Output:
	// catalog: server "slow" could not list its tools: no answer within 1s; see whether it works, or raise catalog.Options.Timeout
	// files/list_files safe
	// notes/delete_note dangerous
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
		bad[i] = mcptest.Tool(fmt.Sprintf("bad name %d", i), "")
	}
	c := catalog.New(catalog.Options{})
	add(t, c, "srv", listing(bad...))
	if got := len(c.Findings()); got != 101 {
		t.Errorf("got %d findings, want 100 and one that counts the others", got)
	}
	found(t, c, "srv: 4900 more tools were left out")
}

// A child process, over every page and with its own errors.
func TestChildProcessIsDiscovered(t *testing.T) {
	for _, version := range mcptest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			tools := catalog.New(catalog.Options{})
			defer tools.Close()
			client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, mount.Options(tools, nil))
			add(t, tools, "files", mcptest.Dial(t, client, mount.Transport(mcptest.ChildTransport(t, "files")), version))
			if got := len(tools.List()); got != 4 || len(tools.Findings()) > 0 {
				t.Errorf("got %v, %v", names(tools), tools.Findings())
			}
			err := tools.Add(mcptest.Context(t), "dying", mcptest.Dial(t, client, mount.Transport(mcptest.ChildTransport(t, "dying")), version))
			if err == nil || len(tools.List()) != 4 {
				t.Errorf("got %v, %v", err, names(tools))
			}
		})
	}
}

// The capabilities of a host's own session are unknown.
func TestSessionOfTheHostsOwnHasNoFinding(t *testing.T) {
	c := catalog.New(catalog.Options{})
	add(t, c, "srv", listing(mcptest.Tool("list_a", "")))
	if got := c.Findings(); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
