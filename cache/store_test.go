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
				a.EstimatedDuration = time.Duration(i) * time.Second // slow ones among them
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

func TestReadInFlightDuringForgetIsNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, store := taking(time.Second), cache.NewStore(cache.StoreOptions{})
		c := cache.New(cache.Options{Store: store, Idempotent: true})(e)
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

func TestNewRefusesMeaninglessOptions(t *testing.T) {
	t.Parallel()
	store := cache.NewStore(cache.StoreOptions{})
	for want, f := range map[string]func(){
		"cache: Options.Slow is negative":         func() { cache.New(cache.Options{Slow: -1}) },
		"cache: StoreOptions.Entries is negative": func() { cache.NewStore(cache.StoreOptions{Entries: -1}) },
		"cache: StoreOptions.Bytes is negative":   func() { cache.NewStore(cache.StoreOptions{Bytes: -1}) },
		"Options.Entries and Options.Bytes":       func() { cache.New(cache.Options{Store: store, Entries: 1}) },
		"no effect on a Store":                    func() { cache.New(cache.Options{Store: store, Bytes: 1}) },
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

// A store of several parts keeps the promises of one.
func TestPartsOfAStoreAreOneStore(t *testing.T) {
	t.Parallel()
	const keys = 64
	e := new(executor)
	store := cache.NewStore(cache.StoreOptions{Entries: 8000})
	c := cache.New(cache.Options{Store: store})(e)
	readAll := func(calls int, when string) {
		t.Helper()
		for i := range keys {
			call(t, c, middleware.Call{Tool: reader(t), Arguments: fmt.Appendf(nil, `{"id":%d}`, i)})
		}
		e.want(t, calls, when)
	}
	readAll(keys, "at first")
	readAll(keys, "again")
	readAll(keys, "a third time, by their bytes")
	readAll(keys, "a fourth time")
	if got := store.Stats(); got.Hits != 3*keys || got.Misses != keys || got.Entries != keys || got.Bytes == 0 {
		t.Errorf("got %+v", got)
	}
	call(t, c, middleware.Call{Tool: writer(t)})
	readAll(2*keys+1, "after a write")
	e.do = func(_ context.Context, _ int, this middleware.Call) (*mcp.CallToolResult, error) {
		if e.do = nil; this.Tool.Name() == "write" {
			readAll(3*keys+2, "during a write")
		}
		return text("written"), nil
	}
	call(t, c, middleware.Call{Tool: writer(t)})
	readAll(4*keys+2, "after the write that they overlapped")
	if got := store.Stats().Writes; got != 2 {
		t.Errorf("%d writes, want 2", got)
	}
	if got := store.Forget("files", "*"); got != keys {
		t.Errorf("%d were forgotten, want %d", got, keys)
	}
	readAll(5*keys+2, "after they were forgotten")
}

// Servers that come and go leave nothing behind, and no result that is older than a write.
func TestManyServersLeaveNothingStale(t *testing.T) {
	t.Parallel()
	e := new(executor)
	c := cache.New(cache.Options{})(e)
	on := func(server string, tool *middleware.Tool) middleware.Call {
		named := *tool
		named.Server = server
		return middleware.Call{Tool: &named}
	}
	read := on("first", reader(t))
	call(t, c, read)
	call(t, c, read)
	e.want(t, 1, "again")
	call(t, c, on("first", writer(t)))
	for i := range 2000 {
		call(t, c, on(fmt.Sprint("server ", i), writer(t)))
	}
	before := e.count()
	call(t, c, read)
	e.want(t, before+1, "after a write to a server whose record was dropped")
	call(t, c, read)
	e.want(t, before+1, "again after that")
}

// A server cannot hide bytes from the bound where only we look at texts.
func TestBytesCountWhereverTheyStand(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	for name, c := range map[string]mcp.Content{
		"the type of an image":      &mcp.ImageContent{MIMEType: long},
		"the type of a sound":       &mcp.AudioContent{MIMEType: long},
		"the type of a link":        &mcp.ResourceLink{MIMEType: long},
		"the type of an icon":       &mcp.ResourceLink{Icons: []mcp.Icon{{MIMEType: long}}},
		"the theme of an icon":      &mcp.ResourceLink{Icons: []mcp.Icon{{Theme: mcp.IconTheme(long)}}},
		"the sizes of an icon":      &mcp.ResourceLink{Icons: []mcp.Icon{{Sizes: []string{long}}}},
		"the type of a resource":    &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "a", MIMEType: long}},
		"the audience":              &mcp.TextContent{Text: "a", Annotations: &mcp.Annotations{Audience: []mcp.Role{mcp.Role(long)}}},
		"when it was changed":       &mcp.TextContent{Text: "a", Annotations: &mcp.Annotations{LastModified: long}},
		"the name of a call":        &mcp.ToolUseContent{Name: long},
		"the id of a call":          &mcp.ToolUseContent{ID: long},
		"the id of a call's result": &mcp.ToolResultContent{ToolUseID: long},
	} {
		store := cache.NewStore(cache.StoreOptions{Bytes: 1 << 19})
		e := &executor{do: func(context.Context, int, middleware.Call) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{c}}, nil
		}}
		call(t, cache.New(cache.Options{Store: store})(e), middleware.Call{Tool: reader(t)})
		if got := store.Stats(); got.Entries != 0 {
			t.Errorf("%s: a MiB is kept in half of one, as %d bytes", name, got.Bytes)
		}
	}
}
