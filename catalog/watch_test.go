package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const listChanged = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

// prepared connects a peer to a client that reports changes to the catalog.
func prepared(t *testing.T, c *catalog.Catalog, handle func(p *mcptest.Peer, r mcptest.Request)) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, mount.Options(c, nil))
	return mcptest.Dial(t, client, mount.Transport(mcptest.PeerTransport(t, handle)), mcptest.Legacy)
}

func written1(name string) string { return `{"name":"` + name + `","inputSchema":{"type":"object"}}` }

func TestStormOfChangesCostsFewLists(t *testing.T) {
	t.Run("B255 1,000 a second", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := catalog.New(catalog.Options{})
			defer c.Close()
			var lists, others atomic.Int32
			var peer atomic.Pointer[mcptest.Peer]
			cs := prepared(t, c, func(p *mcptest.Peer, r mcptest.Request) {
				peer.Store(p)
				p.Reply(r, mcptest.Tools("", written1(fmt.Sprintf("list_%d", lists.Add(1)))))
			})
			add(t, c, "noisy", cs)
			add(t, c, "quiet", prepared(t, c, func(p *mcptest.Peer, r mcptest.Request) {
				others.Add(1)
				p.Reply(r, mcptest.Tools("", written1("list_a")))
			}))
			for range 15_000 {
				peer.Load().Write(listChanged)
				time.Sleep(time.Millisecond)
			}
			time.Sleep(10 * time.Second)
			// One at once, one every five seconds, one after the last.
			if got := lists.Load() - 1; got < 3 || got > 5 {
				t.Errorf("%d lists in 15 seconds, want about 4", got)
			}
			if others.Load() != 1 {
				t.Errorf("the other server was listed %d times", others.Load())
			}
			lookup(t, c, "noisy", fmt.Sprintf("list_%d", lists.Load()))
			lookup(t, c, "quiet", "list_a")
		})
	})
	t.Run("a single change is seen soon", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := catalog.New(catalog.Options{})
			defer c.Close()
			var lists atomic.Int32
			var peer atomic.Pointer[mcptest.Peer]
			add(t, c, "srv", prepared(t, c, func(p *mcptest.Peer, r mcptest.Request) {
				peer.Store(p)
				p.Reply(r, mcptest.Tools("", written1(fmt.Sprintf("list_%d", lists.Add(1)))))
			}))
			peer.Load().Write(listChanged)
			time.Sleep(300 * time.Millisecond)
			lookup(t, c, "srv", "list_2")
		})
	})
}

func TestChangeDuringTheFirstListIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := catalog.New(catalog.Options{})
		defer c.Close()
		var lists atomic.Int32
		add(t, c, "srv", prepared(t, c, func(p *mcptest.Peer, r mcptest.Request) {
			n := lists.Add(1)
			if n == 1 {
				p.Write(listChanged)
			}
			p.Reply(r, mcptest.Tools("", written1(fmt.Sprintf("list_%d", n))))
		}))
		lookup(t, c, "srv", "list_1")
		time.Sleep(time.Second)
		lookup(t, c, "srv", "list_2")
	})
}

func TestChangeDuringARefreshIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := catalog.New(catalog.Options{})
		defer c.Close()
		var lists atomic.Int32
		var peer atomic.Pointer[mcptest.Peer]
		add(t, c, "srv", prepared(t, c, func(p *mcptest.Peer, r mcptest.Request) {
			peer.Store(p)
			n := lists.Add(1)
			if n == 2 {
				p.Write(listChanged) // while the refresh that another one began is under way
			}
			p.Reply(r, mcptest.Tools("", written1(fmt.Sprintf("list_%d", n))))
		}))
		peer.Load().Write(listChanged)
		time.Sleep(time.Minute)
		lookup(t, c, "srv", "list_3")
		if got := lists.Load(); got != 3 {
			t.Errorf("%d lists, want 3", got)
		}
	})
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestListIsReadAgainWhenItIsNoLongerFresh(t *testing.T) {
	for _, c := range []struct {
		name string
		ttl  []int // of its pages
		in   time.Duration
		want int
	}{
		{"two minutes", []int{120_000}, 11 * time.Minute, 5},
		{"the shortest of several pages", []int{600_000, 120_000, 0}, 11 * time.Minute, 5},
		{"a millisecond is a minute", []int{1}, 10*time.Minute + time.Second, 10},
		{"not said", []int{0}, 1000 * time.Hour, 0},
		{"negative", []int{-7}, 1000 * time.Hour, 0},
		{"past all bounds is a day", []int{math.MaxInt}, 49 * time.Hour, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var lists atomic.Int32
				s := &fake{list: func(_ context.Context, cursor string) (*mcp.ListToolsResult, error) {
					page := 0
					if _, err := fmt.Sscan(cursor, &page); err != nil {
						lists.Add(1)
					}
					res := &mcp.ListToolsResult{Cacheable: mcp.Cacheable{TTLMs: c.ttl[page]}}
					if page+1 < len(c.ttl) {
						res.NextCursor = fmt.Sprint(page + 1)
					}
					return res, nil
				}}
				tools := catalog.New(catalog.Options{})
				defer tools.Close()
				add(t, tools, "srv", s)
				time.Sleep(c.in)
				if got := int(lists.Load()) - 1; got != c.want {
					t.Errorf("%d lists in %v, want %d after the first", got, c.in, c.want)
				}
			})
		})
	}
}

func TestClose(t *testing.T) {
	t.Run("ends what the catalog does by itself", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var events atomic.Int32
			c := catalog.New(catalog.Options{OnEvent: func(catalog.Event) { events.Add(1) }})
			var lists atomic.Int32
			var peer atomic.Pointer[mcptest.Peer]
			cs := prepared(t, c, func(p *mcptest.Peer, r mcptest.Request) {
				peer.Store(p)
				lists.Add(1)
				p.Reply(r, strings.Replace(mcptest.Tools("", written1("list_a")), `"ttlMs":0`, `"ttlMs":60000`, 1))
			})
			add(t, c, "srv", cs)
			time.Sleep(61 * time.Second)
			if lists.Load() != 2 {
				t.Fatalf("%d lists, want 2", lists.Load())
			}
			peer.Load().Write(listChanged) // one is due
			synctest.Wait()
			for range 2 {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
			told := events.Load()
			peer.Load().Write(listChanged)
			time.Sleep(time.Hour)
			if lists.Load() != 2 || events.Load() != told {
				t.Errorf("%d lists and %d events after Close", lists.Load()-2, events.Load()-told)
			}
			if err := c.Refresh(t.Context(), "srv"); !errors.Is(err, catalog.ErrClosed) || !strings.HasPrefix(err.Error(), "catalog: ") {
				t.Errorf("Refresh: got %v", err)
			}
			if err := c.Add(t.Context(), "other", cs); !errors.Is(err, catalog.ErrClosed) {
				t.Errorf("Add: got %v", err)
			}
			_ = cs.Close() // as a host does that closes everything
			if err := c.Add(t.Context(), "other", cs); !errors.Is(err, catalog.ErrClosed) {
				t.Errorf("Add of a closed session: got %v", err)
			}
			c.Trust("srv")
			synctest.Wait()
			if events.Load() != told {
				t.Error("Trust sent an event after Close")
			}
			lookup(t, c, "srv", "list_a")
		})
	})
	t.Run("while a list hangs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var lists atomic.Int32
			s := &fake{list: func(ctx context.Context, _ string) (*mcp.ListToolsResult, error) {
				if lists.Add(1) > 1 {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return &mcp.ListToolsResult{Tools: []*mcp.Tool{mcptest.Tool("list_a", "")}, Cacheable: mcp.Cacheable{TTLMs: 60_000}}, nil
			}}
			c := catalog.New(catalog.Options{})
			add(t, c, "srv", s)
			time.Sleep(61 * time.Second)
			start := time.Now()
			_ = c.Close()
			if took := time.Since(start); took != 0 || lists.Load() != 2 {
				t.Errorf("it took %v, %d lists", took, lists.Load())
			}
			if got := c.Findings(); len(got) != 0 {
				t.Errorf("got %v", got)
			}
		})
	})
	t.Run("of an empty one", func(t *testing.T) {
		if err := catalog.New(catalog.Options{}).Close(); err != nil {
			t.Error(err)
		}
	})
}

// If a server's process died, the server is added again with the session of the next one.
func TestServerThatIsRemovedMayComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []catalog.EventKind
		c := catalog.New(catalog.Options{OnEvent: func(e catalog.Event) { got = append(got, e.Kind) }})
		defer c.Close()
		c.Trust("srv")
		c.Remove("srv")
		c.Remove("other")
		var lists atomic.Int32
		entered, hang := make(chan struct{}), make(chan struct{})
		old := &fake{list: func(context.Context, string) (*mcp.ListToolsResult, error) {
			if lists.Add(1) == 2 {
				close(entered)
				<-hang
			}
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{mcptest.Tool("list_old", "")}, Cacheable: mcp.Cacheable{TTLMs: 60_000}}, nil
		}}
		add(t, c, "srv", old)
		late := make(chan error, 1)
		go func() { late <- c.Refresh(context.Background(), "srv") }()
		<-entered
		c.Remove("srv")
		if got := names(c); len(got) != 0 {
			t.Errorf("got %v", got)
		}
		lying := mcptest.Tool("frobnicate", "")
		lying.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true}
		add(t, c, "srv", listing(lying))
		close(hang)
		if err := <-late; err == nil || !strings.Contains(err.Error(), "removed") {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Hour)
		if lists.Load() != 2 {
			t.Errorf("the old session was listed %d times", lists.Load())
		}
		if tool := lookup(t, c, "srv", "frobnicate"); tool.Safety().MustConfirm() || len(c.List()) != 1 {
			t.Errorf("the server is not trusted any more: %v", tool.Explain())
		}
		synctest.Wait()
		if want := fmt.Sprint([]catalog.EventKind{catalog.EventDiscovered, catalog.EventRemoved, catalog.EventDiscovered}); fmt.Sprint(got) != want {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
