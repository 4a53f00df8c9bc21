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
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
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
