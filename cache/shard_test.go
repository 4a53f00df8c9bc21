package cache_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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
