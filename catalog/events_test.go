package catalog_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// shelf is a session with tools that the test changes.
type shelf struct {
	fake
	tools []*mcp.Tool
}

func newShelf(tools ...*mcp.Tool) *shelf {
	s := &shelf{tools: tools}
	s.list = func(context.Context, string) (*mcp.ListToolsResult, error) {
		return &mcp.ListToolsResult{Tools: s.tools}, nil
	}
	return s
}

func TestEventsTellWhatChangedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		c := catalog.New(catalog.Options{OnEvent: func(e catalog.Event) { got = append(got, e.String()) }})
		defer c.Close()
		want := func(events ...string) {
			t.Helper()
			synctest.Wait()
			if strings.Join(got, "\n") != strings.Join(events, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(events, "\n"))
			}
			got = nil
		}
		s := newShelf(mcptest.Tool("list_b", ""), mcptest.Tool("delete_a", ""))
		add(t, c, "srv", s)
		want("srv/delete_a: tool discovered, dangerous", "srv/list_b: tool discovered, safe")

		if err := c.Refresh(t.Context(), "srv"); err != nil {
			t.Fatal(err)
		}
		want()

		s.tools = []*mcp.Tool{mcptest.Tool("list_b", "It also deletes everything."), mcptest.Tool("list_c", "")}
		if err := c.Refresh(t.Context(), "srv"); err != nil {
			t.Fatal(err)
		}
		want("srv/list_b: tool changed, safe → dangerous", "srv/list_c: tool discovered, safe", "srv/delete_a: tool removed")

		if err := c.Override("srv", "list_b", annotation.ReadOnly()); err != nil {
			t.Fatal(err)
		}
		want("srv/list_b: annotations updated, dangerous → safe")
		if _, err := c.OverrideMatching("*/list_c", annotation.Annotations{Title: "List"}); err != nil {
			t.Fatal(err)
		}
		want("srv/list_c: annotations updated, safe")
		c.Trust("srv")
		want()
	})
}

// A tool that the lock holds back is reported once it is accepted, and reported as gone when it
// changes.
func TestEventsTellWhatCanBeCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		lock := new(pins.Lock)
		c := catalog.New(catalog.Options{Lock: lock, OnEvent: func(e catalog.Event) { got = append(got, e.String()) }})
		defer c.Close()
		s := newShelf(mcptest.Tool("list_a", ""))
		add(t, c, "srv", s)
		synctest.Wait()
		if len(got) != 0 {
			t.Errorf("got %v of a tool that was not accepted", got)
		}
		if err := lock.Accept(c, lock.Changes(c)...); err != nil {
			t.Fatal(err)
		}
		s.tools = []*mcp.Tool{mcptest.Tool("list_a", "Now something else.")}
		if err := c.Refresh(t.Context(), "srv"); err != nil {
			t.Fatal(err)
		}
		if err := lock.Accept(c, lock.Changes(c)...); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if want := []string{"srv/list_a: tool discovered, safe", "srv/list_a: tool removed", "srv/list_a: tool discovered, safe"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestListenerDoesNoHarm(t *testing.T) {
	many := func(n int) *shelf {
		tools := make([]*mcp.Tool, n)
		for i := range tools {
			tools[i] = mcptest.Tool(fmt.Sprintf("list_%d", i), "")
		}
		return newShelf(tools...)
	}
	t.Run("that panics", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var log strings.Builder
			told := 0
			c := catalog.New(catalog.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), OnEvent: func(catalog.Event) {
				told++
				panic("no")
			}})
			defer c.Close()
			add(t, c, "srv", many(3))
			synctest.Wait()
			if told != 3 || strings.Count(log.String(), "OnEvent panicked") != 3 {
				t.Errorf("got %d events, log %s", told, log.String())
			}
		})
	})
	t.Run("that ends its goroutine", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			told := 0
			c := catalog.New(catalog.Options{OnEvent: func(catalog.Event) {
				told++
				runtime.Goexit()
			}})
			defer c.Close()
			add(t, c, "srv", many(3))
			synctest.Wait()
			if told != 3 {
				t.Errorf("got %d events, want 3", told)
			}
		})
	})
	t.Run("that hangs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var kinds []catalog.EventKind
			dropped, hang := 0, make(chan struct{})
			c := catalog.New(catalog.Options{OnEvent: func(e catalog.Event) {
				<-hang
				kinds = append(kinds, e.Kind)
				dropped += e.Dropped
			}})
			catalog.LimitEvents(c, 500)
			s := many(600)
			add(t, c, "srv", s)
			if got := len(c.List()); got != 600 {
				t.Fatalf("%d tools", got)
			}
			close(hang)
			synctest.Wait()
			// The first may have been taken out before the queue was full, or when it was; then the number
			// dropped until there is reported in between.
			told := 0
			for _, kind := range kinds {
				if kind == catalog.EventDiscovered {
					told++
				}
			}
			if told+dropped != 600 || dropped < 98 {
				t.Errorf("got %d, dropped %d, %d events in all", told, dropped, len(kinds))
			}
			s.tools = s.tools[1:]
			if err := c.Refresh(t.Context(), "srv"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if kinds[len(kinds)-1] != catalog.EventRemoved {
				t.Errorf("the last is %q", kinds[len(kinds)-1])
			}
			_ = c.Close()
		})
	})
	t.Run("that hangs, and after one event again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			told, hang := 0, make(chan struct{})
			c := catalog.New(catalog.Options{OnEvent: func(catalog.Event) {
				<-hang
				told++
			}})
			catalog.LimitEvents(c, 10)
			s := many(20)
			add(t, c, "srv", s) // ten wait, and then one of them is delivered
			synctest.Wait()
			s.tools = many(500).tools
			if err := c.Refresh(t.Context(), "srv"); err != nil {
				t.Fatal(err)
			}
			close(hang)
			synctest.Wait()
			if told > 15 {
				t.Errorf("%d events waited, and ten may", told)
			}
			_ = c.Close()
		})
	})
	t.Run("that hangs beyond Close", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			told, hang := 0, make(chan struct{})
			c := catalog.New(catalog.Options{OnEvent: func(catalog.Event) {
				told++
				<-hang
			}})
			add(t, c, "srv", many(3))
			synctest.Wait()
			_ = c.Close()
			close(hang)
			synctest.Wait()
			if told != 1 {
				t.Errorf("got %d events, want the one that was being delivered", told)
			}
		})
	})
	t.Run("that calls the catalog", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var c *catalog.Catalog
			told := 0
			c = catalog.New(catalog.Options{OnEvent: func(e catalog.Event) {
				if told++; e.Kind == catalog.EventDiscovered {
					_ = c.Override(e.Server, e.After.Name(), annotation.Destructive())
				}
				if told == 6 {
					_ = c.Close()
				}
			}})
			add(t, c, "srv", many(3))
			synctest.Wait()
			if told != 6 {
				t.Errorf("got %d events, want 6", told)
			}
		})
	})
}
