package cache_test

import (
	"context"
	"encoding/json"
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

func TestEntriesAreBounded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		entries, want int
	}{{"B139: 0 means 1,000", 0, 1000}, {"3", 3, 3}, {"1", 1, 1}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			read := reader(t)
			e := new(executor)
			c := cache.New(cache.Options{Entries: tt.entries})(e)
			for n := range tt.want {
				call(t, c, numbered(read, n))
			}
			for n := range tt.want {
				call(t, c, numbered(read, n))
			}
			e.want(t, tt.want, "as many as fit")
			call(t, c, numbered(read, -1))
			e.want(t, tt.want+1, "one more")
			for n := 1; n < tt.want; n++ {
				call(t, c, numbered(read, n))
			}
			e.want(t, tt.want+1, "those that were asked for last")
			call(t, c, numbered(read, 0))
			e.want(t, tt.want+2, "the one that was asked for longest ago")
		})
	}
}

func TestBytesAreBounded(t *testing.T) {
	t.Parallel()
	t.Run("the longest ago go first", func(t *testing.T) {
		t.Parallel()
		read := reader(t)
		e := &executor{do: func(context.Context, int, middleware.Call) (*mcp.CallToolResult, error) {
			return text(strings.Repeat("x", 10_000)), nil
		}}
		c := cache.New(cache.Options{Bytes: 33_000})(e) // three results and their headers
		for n := range 3 {
			call(t, c, numbered(read, n))
		}
		for n := range 3 {
			call(t, c, numbered(read, n))
		}
		e.want(t, 3, "three fit")
		call(t, c, numbered(read, 3))
		for _, n := range []int{1, 2, 3} {
			call(t, c, numbered(read, n))
		}
		e.want(t, 4, "the last three")
		call(t, c, numbered(read, 0))
		e.want(t, 5, "the first")
	})
	t.Run("what is forgotten is counted out", func(t *testing.T) {
		t.Parallel()
		read, write := reader(t), writer(t)
		e := &executor{do: func(context.Context, int, middleware.Call) (*mcp.CallToolResult, error) {
			return text(strings.Repeat("x", 10_000)), nil
		}}
		c := cache.New(cache.Options{Bytes: 22_000})(e)
		for range 50 { // entries that are replaced, found stale or pushed out
			call(t, c, numbered(read, 0))
			call(t, c, numbered(read, 1))
			call(t, c, middleware.Call{Tool: write})
		}
		call(t, c, numbered(read, 0))
		call(t, c, numbered(read, 1))
		before := e.count()
		call(t, c, numbered(read, 0))
		call(t, c, numbered(read, 1))
		e.want(t, before, "both still fit")
	})
	t.Run("what is replaced is counted out", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			read := reader(t)
			e := &executor{do: func(context.Context, int, middleware.Call) (*mcp.CallToolResult, error) {
				time.Sleep(time.Second)
				return text(strings.Repeat("x", 10_000)), nil
			}}
			c := cache.New(cache.Options{Bytes: 22_000})(e)
			for n := range 10 { // two flights each, since the second caller has more time
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				first, second := start(ctx, c, numbered(read, n)), start(context.Background(), c, numbered(read, n))
				<-first.done
				<-second.done
			}
			call(t, c, numbered(read, 9))
			call(t, c, numbered(read, 8))
			e.want(t, 20, "the last two still fit")
		})
	})
	t.Run("B147: 1 byte", func(t *testing.T) {
		t.Parallel()
		read := reader(t)
		e := &executor{do: func(context.Context, int, middleware.Call) (*mcp.CallToolResult, error) {
			return text(strings.Repeat("x", 10_000)), nil
		}}
		c := cache.New(cache.Options{Bytes: 1})(e)
		for range 3 {
			call(t, c, numbered(read, 0))
		}
		e.want(t, 3, "nothing is kept")
	})
	t.Run("a result that is too large pushes nothing out", func(t *testing.T) {
		t.Parallel()
		read := reader(t)
		e := &executor{do: func(_ context.Context, n int, _ middleware.Call) (*mcp.CallToolResult, error) {
			return text(strings.Repeat("x", 1+9_999*(n/2))), nil
		}}
		c := cache.New(cache.Options{Bytes: 5_000})(e)
		call(t, c, numbered(read, 0))
		call(t, c, numbered(read, 1))
		call(t, c, numbered(read, 0))
		e.want(t, 2, "the small one")
	})
}

// Every place for text or data in a result counts.
func TestBytesAreMeasuredEverywhere(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10_000)
	data := []byte(long)
	content := func(c mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: []mcp.Content{c}} }
	for _, tt := range []struct {
		name string
		res  *mcp.CallToolResult
		kept bool
	}{
		{"short, to compare", text("x"), true},
		{"text", text(long), false},
		{"image", content(&mcp.ImageContent{Data: data}), false},
		{"audio", content(&mcp.AudioContent{Data: data}), false},
		{"resource text", content(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{Text: long}}), false},
		{"resource data", content(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{Blob: data}}), false},
		{"resource meta", content(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{Meta: mcp.Meta{"a": long}}}), false},
		{"link description", content(&mcp.ResourceLink{Description: long}), false},
		{"link URI", content(&mcp.ResourceLink{URI: long}), false},
		{"link icon", content(&mcp.ResourceLink{Icons: []mcp.Icon{{Source: long}}}), false},
		{"text meta", content(&mcp.TextContent{Meta: mcp.Meta{"a": long}}), false},
		{"tool use", content(&mcp.ToolUseContent{Input: map[string]any{"a": long}}), false},
		{"tool result", content(&mcp.ToolResultContent{Content: text(long).Content}), false},
		{"meta", &mcp.CallToolResult{Content: text("x").Content, Meta: mcp.Meta{"a": []any{long}}}, false},
		{"meta key", &mcp.CallToolResult{Content: text("x").Content, Meta: mcp.Meta{long: 1}}, false},
		{"structured", &mcp.CallToolResult{StructuredContent: map[string]any{"a": []any{long}}}, false},
		{"structured, raw", &mcp.CallToolResult{StructuredContent: json.RawMessage(`"` + long + `"`)}, false},
		{"structured, a type of the host's own", &mcp.CallToolResult{StructuredContent: struct{ A string }{long}}, false},
		{"structured, many numbers", &mcp.CallToolResult{StructuredContent: make([]any, 1000)}, false},
		{"many empty contents", &mcp.CallToolResult{Content: make([]mcp.Content, 100)}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := &executor{do: func(context.Context, int, middleware.Call) (*mcp.CallToolResult, error) { return tt.res, nil }}
			c := cache.New(cache.Options{Bytes: 5_000})(e)
			call(t, c, middleware.Call{Tool: reader(t)})
			call(t, c, middleware.Call{Tool: reader(t)})
			want := 2
			if tt.kept {
				want = 1
			}
			e.want(t, want, "after two calls")
		})
	}
}

// A middleware has one store, however often it is applied: a write through one chain ends
// what was read through another.
func TestStoreIsThatOfTheMiddleware(t *testing.T) {
	t.Parallel()
	m := cache.New(cache.Options{})
	left, right := new(executor), new(executor)
	its, write := middleware.Call{Tool: reader(t)}, middleware.Call{Tool: tool(t, "write", annotation.Write())}
	call(t, m(left), its)
	call(t, m(right), its)
	right.want(t, 0, "read through the other")
	call(t, m(right), write)
	call(t, m(left), its)
	left.want(t, 2, "after a write through the other")
	other := new(executor)
	call(t, cache.New(cache.Options{})(other), its)
	other.want(t, 1, "of another middleware")
}
