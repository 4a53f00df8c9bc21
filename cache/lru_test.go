package cache_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func slowTool(t *testing.T, took time.Duration) *middleware.Tool {
	t.Helper()
	a := annotation.ReadOnly()
	a.EstimatedDuration = took
	return tool(t, "slow", a)
}

func TestSlowResultsAreEvictedLast(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		took     time.Duration
		slow     time.Duration // in Options
		survives bool
	}{
		{"above the threshold", 501 * time.Millisecond, 0, true},
		{"at the threshold", 500 * time.Millisecond, 0, false},
		{"nobody estimated", 0, 0, false},
		{"above the host's threshold", 20 * time.Millisecond, 10 * time.Millisecond, true},
		{"below the host's threshold", time.Minute, time.Hour, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e, slow, quick := new(executor), slowTool(t, tt.took), reader(t)
				c := cache.New(cache.Options{Entries: 10, Slow: tt.slow})(e)
				call(t, c, numbered(slow, 0))
				for n := range 100 {
					call(t, c, numbered(quick, n))
				}
				before := e.count()
				call(t, c, numbered(slow, 0))
				if got := e.count() == before; got != tt.survives {
					t.Fatalf("the slow result outlived a hundred quick ones: got %t, want %t", got, tt.survives)
				}
				time.Sleep(5 * time.Minute)
				before = e.count()
				call(t, c, numbered(slow, 0))
				if e.count() == before {
					t.Error("the slow result is used past its time")
				}
			})
		})
	}
}

func TestSlowResultsAreBoundedForQuickOnes(t *testing.T) {
	t.Parallel()
	e, slow, quick := new(executor), slowTool(t, time.Second), reader(t)
	store := cache.NewStore(cache.StoreOptions{Entries: 10})
	c := cache.New(cache.Options{Store: store})(e)
	for n := range 100 {
		call(t, c, numbered(slow, n))
	}
	if got := store.Stats(); got.Entries != 10 || got.Evicted != 90 {
		t.Errorf("a hundred slow results alone: got %+v, want 10 entries and 90 evicted", got)
	}
	call(t, c, numbered(quick, 1))
	call(t, c, numbered(quick, 2))
	before := e.count()
	call(t, c, numbered(quick, 1))
	call(t, c, numbered(slow, 99))
	e.want(t, before, "both kinds are known")
}

// An old slow result that is no longer valid is removed before a valid quick one.
func TestExpiredResultsAreEvictedFirst(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"its time", "a write"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e, slow, quick := new(executor), slowTool(t, time.Second), reader(t)
				store := cache.NewStore(cache.StoreOptions{Entries: 10})
				c := cache.New(cache.Options{Store: store})(e)
				for n := range 8 {
					call(t, c, numbered(slow, n))
				}
				if how == "a write" {
					call(t, c, middleware.Call{Tool: writer(t)})
				} else {
					time.Sleep(5 * time.Minute)
				}
				for n := range 10 {
					call(t, c, numbered(quick, n))
				}
				if got := store.Stats(); got.Entries != 10 || got.Evicted != 0 {
					t.Errorf("got %+v, want 10 quick entries and none of them evicted", got)
				}
			})
		})
	}
}

func TestLeastRecentlyUsedGoesFirst(t *testing.T) {
	t.Parallel()
	for name, took := range map[string]time.Duration{"quick": 0, "slow": time.Second} {
		e := new(executor)
		c := cache.New(cache.Options{Entries: 5})(e)
		its := slowTool(t, took)
		for _, n := range []int{1, 2, 3, 4, 1, 5, 6, 1} {
			call(t, c, numbered(its, n))
		}
		if got := e.count(); got != 6 {
			t.Errorf("%s: six questions made %d calls, want the one that was asked again to be known", name, got)
		}
	}
}

// However many slow results come, a quick one that has its place stays.
func TestSlowResultsPushOutEachOtherBeyondTheirShare(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]cache.StoreOptions{"entries": {Entries: 10}, "bytes": {Bytes: 100_000}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &executor{do: func(context.Context, int, middleware.Call) (*mcp.CallToolResult, error) {
				return text(strings.Repeat("x", 5_000)), nil
			}}
			c := cache.New(cache.Options{Store: cache.NewStore(o)})(e)
			call(t, c, numbered(reader(t), 1))
			for n := range 50 {
				call(t, c, numbered(slowTool(t, time.Second), n))
			}
			before := e.count()
			call(t, c, numbered(reader(t), 1))
			e.want(t, before, "the quick one is still known")
		})
	}
}
