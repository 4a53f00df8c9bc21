package cache_test

import (
	"context"
	"fmt"
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
					t.Error("the slow result is believed past its time")
				}
			})
		})
	}
}

func TestSlowResultsLeaveRoomForQuickOnes(t *testing.T) {
	t.Parallel()
	e, slow, quick := new(executor), slowTool(t, time.Second), reader(t)
	store := cache.NewStore(cache.StoreOptions{Entries: 10})
	c := cache.New(cache.Options{Store: store})(e)
	for n := range 100 {
		call(t, c, numbered(slow, n))
	}
	if got := store.Stats(); got.Entries != 8 || got.Evicted != 92 {
		t.Errorf("a hundred slow results alone: got %+v, want 8 entries and 92 evicted", got)
	}
	call(t, c, numbered(quick, 1))
	call(t, c, numbered(quick, 2))
	before := e.count()
	call(t, c, numbered(quick, 1))
	call(t, c, numbered(slow, 99))
	e.want(t, before, "both kinds are known")
}

// A slow result that has ended makes room before a quick one that is believed.
func TestWhatHasEndedMakesRoomFirst(t *testing.T) {
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

func TestSlowBytesAreBounded(t *testing.T) {
	t.Parallel()
	e := &executor{do: func(_ context.Context, _ int, call middleware.Call) (*mcp.CallToolResult, error) {
		return text(strings.Repeat("x", 10_000)), nil
	}}
	store := cache.NewStore(cache.StoreOptions{Bytes: 100_000})
	c := cache.New(cache.Options{Store: store})(e)
	for n := range 50 {
		call(t, c, numbered(slowTool(t, time.Second), n))
		if got := store.Stats().Bytes; got > 80_000 {
			t.Fatalf("slow results take %d bytes of 100,000, want four fifths at most", got)
		}
	}
	for n := range 50 {
		call(t, c, numbered(reader(t), n))
		if got := store.Stats().Bytes; got > 100_000 {
			t.Fatalf("results take %d bytes, want 100,000 at most", got)
		}
	}
}

func TestStatsCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, read := taking(time.Second), reader(t)
		store := cache.NewStore(cache.StoreOptions{Entries: 2})
		c := cache.New(cache.Options{Store: store})(e)
		first := start(t.Context(), c, numbered(read, 1))
		second := start(t.Context(), c, numbered(read, 1))
		first.answer(t)
		second.answer(t)
		call(t, c, numbered(read, 1))
		call(t, c, numbered(read, 2))
		call(t, c, numbered(read, 3))
		call(t, c, middleware.Call{Tool: writer(t)})
		call(t, c, numbered(read, 3))
		got := store.Stats()
		if got.Bytes <= 0 {
			t.Errorf("the kept results take %d bytes", got.Bytes)
		}
		got.Bytes = 0
		want := cache.Stats{Hits: 1, Joined: 1, Misses: 4, Writes: 1, Ended: 1, Evicted: 1, Entries: 2}
		if got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	})
}

func TestForget(t *testing.T) {
	t.Parallel()
	tools := [][2]string{{"files", "read"}, {"files", "read_all"}, {"mail", "read"}, {"files.old", "list"}}
	for _, tt := range []struct {
		server, tool, forgets string
	}{
		{"files", "read", "files/read"},
		{"files", "*", "files/read files/read_all"},
		{"*", "read", "files/read mail/read"},
		{"*", "read*", "files/read files/read_all mail/read"},
		{"*", "*", "files/read files/read_all mail/read files.old/list"},
		{"f*l*s*", "*", "files/read files/read_all files.old/list"},
		{"*s", "*_*l", "files/read_all"},
		{"file?", "*", ""},
		{"", "", ""},
		{"files", "", ""},
	} {
		t.Run(tt.server+"/"+tt.tool, func(t *testing.T) {
			t.Parallel()
			e, store := new(executor), cache.NewStore(cache.StoreOptions{})
			c := cache.New(cache.Options{Store: store, Slow: time.Second})(e)
			calls := make([]middleware.Call, len(tools))
			for i, name := range tools {
				a := annotation.ReadOnly()
				a.EstimatedDuration = time.Duration(i) * time.Second // in both segments
				calls[i] = middleware.Call{Scope: fmt.Sprint(i), Tool: toolOf(t, name[0], mcp.Tool{Name: name[1]}, a, annotation.Host)}
				call(t, c, calls[i])
			}
			n := store.Forget(tt.server, tt.tool)
			if want := len(strings.Fields(tt.forgets)); n != want {
				t.Errorf("forgot %d results, want %d", n, want)
			}
			for _, its := range calls {
				before := e.count()
				call(t, c, its)
				if got, want := e.count() > before, strings.Contains(" "+tt.forgets+" ", " "+its.Tool.String()+" "); got != want {
					t.Errorf("%s was forgotten: got %t, want %t", its.Tool, got, want)
				}
			}
		})
	}
}

func TestWhatIsUnderWayWhileForgettingIsNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, store := taking(time.Second), cache.NewStore(cache.StoreOptions{})
		c := cache.New(cache.Options{Store: store, Idempotent: []string{"files/set"}})(e)
		for _, its := range []middleware.Call{{Tool: reader(t)}, {Tool: tool(t, "set", annotation.Update())}} {
			old := start(t.Context(), c, its) // 1
			store.Forget("*", "*")
			fresh := start(t.Context(), c, its) // 2
			if a, b := old.answer(t), fresh.answer(t); a == b {
				t.Errorf("%s: a call after Forget joined one before it", its.Tool)
			}
		}
		old := start(t.Context(), c, numbered(reader(t), 7))
		store.Forget("*", "*")
		old.answer(t)
		before := e.count()
		call(t, c, numbered(reader(t), 7))
		e.want(t, before+1, "what was asked before Forget is not kept")
	})
}

func TestChainsThatShareAStoreSeeEachOthersWrites(t *testing.T) {
	t.Parallel()
	e, store := new(executor), cache.NewStore(cache.StoreOptions{})
	left, right := cache.New(cache.Options{Store: store})(e), cache.New(cache.Options{Store: store})(e)
	read, write := middleware.Call{Tool: reader(t)}, middleware.Call{Tool: writer(t)}
	call(t, left, read)
	call(t, right, read)
	e.want(t, 1, "one memory")
	call(t, right, write)
	call(t, left, read)
	e.want(t, 3, "after the other's write")
}

func TestNewRefusesWhatMeansNothing(t *testing.T) {
	t.Parallel()
	store := cache.NewStore(cache.StoreOptions{})
	for want, f := range map[string]func(){
		"cache: Options.Slow is negative":         func() { cache.New(cache.Options{Slow: -1}) },
		"cache: StoreOptions.Entries is negative": func() { cache.NewStore(cache.StoreOptions{Entries: -1}) },
		"cache: StoreOptions.Bytes is negative":   func() { cache.NewStore(cache.StoreOptions{Bytes: -1}) },
		"Options.Entries and Options.Bytes":       func() { cache.New(cache.Options{Store: store, Entries: 1}) },
		"beside a Store":                          func() { cache.New(cache.Options{Store: store, Bytes: 1}) },
		"not server/tool":                         func() { cache.New(cache.Options{Entities: map[string][]string{"get": {"id"}}}) },
		"names no argument":                       func() { cache.New(cache.Options{Entities: map[string][]string{"files/get": nil}}) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "cache: ") || !strings.Contains(got, want) {
					t.Errorf("got panic %q, want %q", got, want)
				}
			}()
			f()
		}()
	}
}
