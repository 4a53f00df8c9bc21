package catalog_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestRefresh(t *testing.T) {
	t.Run("of a server that is not there", func(t *testing.T) {
		c := catalog.New(catalog.Options{})
		c.Trust("known") // and not added
		for _, id := range []string{"none", "known"} {
			if err := c.Refresh(t.Context(), id); err == nil || !strings.Contains(err.Error(), id) {
				t.Errorf("got %v", err)
			}
		}
	})
	t.Run("brings and takes tools", func(t *testing.T) {
		l := newLedger(mcptest.Tool("list_a", ""), mcptest.Tool("list_b", ""))
		c := catalog.New(catalog.Options{})
		add(t, c, "srv", mcptest.Connect(t, l.server, nil))
		gone := lookup(t, c, "srv", "list_a")
		l.server.RemoveTools("list_a")
		l.set(mcptest.Tool("list_c", ""))
		if err := c.Refresh(mcptest.Context(t), "srv"); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(names(c), " "); got != "srv/list_b srv/list_c" {
			t.Errorf("got %s", got)
		}
		if _, err := c.CallTool(mcptest.Context(t), middleware.Call{Tool: gone}); !errors.Is(err, catalog.ErrUnknownTool) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("that fails changes nothing", func(t *testing.T) {
		s := listing(mcptest.Tool("list_a", ""))
		c := catalog.New(catalog.Options{})
		add(t, c, "srv", s)
		before := lookup(t, c, "srv", "list_a")
		s.list = func(context.Context, string) (*mcp.ListToolsResult, error) { return nil, errors.New("it broke") }
		if err := c.Refresh(t.Context(), "srv"); err == nil {
			t.Error("got no error")
		}
		if lookup(t, c, "srv", "list_a") != before {
			t.Error("something has changed")
		}
	})
	t.Run("of several at once, the one that was asked for last counts", func(t *testing.T) {
		first, release := make(chan struct{}), make(chan struct{})
		var lists atomic.Int32
		s := &fake{list: func(context.Context, string) (*mcp.ListToolsResult, error) {
			description := "new"
			if lists.Add(1) == 2 { // after the one of Add
				description = "old"
				close(first)
				<-release
			}
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{mcptest.Tool("list_a", description)}}, nil
		}}
		c := catalog.New(catalog.Options{})
		add(t, c, "srv", s)
		slow := make(chan error, 1)
		go func() { slow <- c.Refresh(context.Background(), "srv") }()
		mcptest.Wait(t, "the first refresh", first)
		if err := c.Refresh(t.Context(), "srv"); err != nil {
			t.Fatal(err)
		}
		close(release)
		if err := mcptest.Wait(t, "the slow refresh", slow); err != nil {
			t.Fatal(err)
		}
		if got := lookup(t, c, "srv", "list_a").Definition.Description; got != "new" {
			t.Errorf("got the %s definition", got)
		}
	})
}

func TestRefreshThatFailsKeepsWhatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan catalog.Event, 10)
		c := catalog.New(catalog.Options{OnEvent: func(e catalog.Event) {
			if e.Kind == catalog.EventRefreshFailed {
				events <- e
			}
		}})
		defer c.Close()
		var broken atomic.Bool
		s := &fake{list: func(context.Context, string) (*mcp.ListToolsResult, error) {
			if broken.Load() {
				return nil, errors.New("it\nbroke")
			}
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{mcptest.Tool("list_a", "")}, Cacheable: mcp.Cacheable{TTLMs: 120_000}}, nil
		}}
		add(t, c, "srv", s)
		broken.Store(true)
		if err := c.Refresh(t.Context(), "srv"); err == nil {
			t.Error("no error")
		}
		lookup(t, c, "srv", "list_a")
		if got, want := found(t, c, "srv:", "refresh"), `srv: the last refresh failed, so what was known before counts: it could not list its tools: it; broke`; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if e := <-events; e.Server != "srv" || e.Err == nil || !strings.Contains(e.String(), "srv: refresh failed: ") {
			t.Errorf("got %v", e)
		}
		if err := c.Refresh(canceled(), "srv"); err == nil {
			t.Error("no error")
		}

		time.Sleep(121 * time.Second) // its list is stale, and cannot be read again
		<-events
		broken.Store(false)
		time.Sleep(61 * time.Second)
		if got := c.Findings(); len(got) != 0 || len(events) != 0 {
			t.Errorf("got %v and %d events", got, len(events))
		}
	})
}

// A call that has begun sees the state that it began with.
func TestRefreshDuringACall(t *testing.T) {
	l := newLedger(mcptest.Tool("list_a", ""), mcptest.Tool("list_b", ""))
	c := catalog.New(catalog.Options{})
	defer c.Close()
	add(t, c, "srv", mcptest.Connect(t, l.server, nil))
	before := lookup(t, c, "srv", "list_a")
	if err := c.Refresh(t.Context(), "srv"); err != nil {
		t.Fatal(err)
	}
	if got := lookup(t, c, "srv", "list_a"); got != before {
		t.Error("a tool that has not changed became another")
	}
	l.set(mcptest.Tool("list_a", "Now something else."))
	if err := c.Refresh(t.Context(), "srv"); err != nil {
		t.Fatal(err)
	}
	if before.Definition.Description != "" {
		t.Error("a tool was written to")
	}
	if _, err := c.CallTool(t.Context(), middleware.Call{Tool: before}); !middleware.NotSent(err) {
		t.Errorf("got %v", err)
	}
}

// A session that is closed stays so: it is not asked again and again.
func TestClosedSessionIsNotListedAgain(t *testing.T) {
	for _, version := range mcptest.Versions {
		for name, end := range map[string]func(cs *mcp.ClientSession, p *mcptest.Peer){
			"by the host":   func(cs *mcp.ClientSession, _ *mcptest.Peer) { _ = cs.Close() },
			"by the server": func(_ *mcp.ClientSession, p *mcptest.Peer) { p.Hangup() },
		} {
			t.Run(name+" "+version, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					failed := make(chan catalog.Event, 100)
					c := catalog.New(catalog.Options{OnEvent: func(e catalog.Event) {
						if e.Kind == catalog.EventRefreshFailed {
							failed <- e
						}
					}})
					defer c.Close()
					var peer *mcptest.Peer
					cs := mcptest.ConnectPeer(t, nil, version, func(p *mcptest.Peer, r mcptest.Request) {
						peer = p
						p.Reply(r, strings.Replace(mcptest.Tools("", `{"name":"list_a","inputSchema":{"type":"object"}}`), `"ttlMs":0`, `"ttlMs":60000`, 1))
					})
					add(t, c, "srv", cs)
					end(cs, peer)
					synctest.Wait()
					time.Sleep(time.Hour)
					synctest.Wait()
					lookup(t, c, "srv", "list_a")
					found(t, c, "srv:", "the server is gone: connect to it again")
					if n := len(failed); n != 1 {
						t.Errorf("%d lists failed in an hour, want one: %v", n, <-failed)
					}
				})
			})
		}
	}
}
