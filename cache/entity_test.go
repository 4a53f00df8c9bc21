package cache_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// named is the host's word about the tools of these tests.
var named = map[string][]string{
	"files/get": {"id"}, "files/update": {"note"}, "files/move": {"id", "folder"}, "files/delete_all": {"ids"}, "files/set": {"id"},
}

func with(tool *middleware.Tool, arguments string) middleware.Call {
	return middleware.Call{Tool: tool, Arguments: json.RawMessage(arguments)}
}

func TestWriteEndsWhatItNamesAndListsAlone(t *testing.T) {
	t.Parallel()
	const all = "get 1, get 2, get 1 and 2, list, get without an id"
	for _, tt := range []struct{ name, tool, arguments, ends string }{
		{"the entity that it names", "update", `{"note":1}`, "get 1, get 1 and 2, list, get without an id"},
		{"another one", "update", `{"note":3}`, "list, get without an id"},
		{"two members", "move", `{"id":3,"folder":2}`, "get 2, get 1 and 2, list, get without an id"},
		{"a list of them", "delete_all", `{"ids":[2,3]}`, "get 2, get 1 and 2, list, get without an id"},
		{"a tool that the host said nothing of", "write", `{"id":3}`, all},
		{"the member is left out", "update", `{}`, all},
		{"one of two members is left out", "move", `{"id":3}`, all},
		{"null", "update", `{"note":null}`, all},
		{"an empty text", "update", `{"note":" "}`, all},
		{"an empty list", "delete_all", `{"ids":[]}`, all},
		{"an object", "update", `{"note":{"id":3}}`, all},
		{"a list in a list", "delete_all", `{"ids":[[3]]}`, all},
		{"true", "update", `{"note":true}`, all},
		{"a member that differs in case stands beside it", "update", `{"note":3,"Note":1}`, all},
		{"B055: the member twice", "update", `{"note":3,"note":1}`, all},
		{"B071: no object", "update", `[3]`, all},
		{"more than can be held", "delete_all", `{"ids":[` + strings.Repeat("3,", 256) + `3]}`, all},
		{"the number as a text", "update", `{"note":"1"}`, "get 1, get 1 and 2, list, get without an id"},
		{"the number written otherwise", "update", `{"note":10e-1}`, "get 1, get 1 and 2, list, get without an id"},
		{"escapes", "update", `{"no\u0074e":"\u0031"}`, "get 1, get 1 and 2, list, get without an id"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			get, list := tool(t, "get", annotation.ReadOnly()), tool(t, "list", annotation.ReadOnly())
			elsewhere := toolOf(t, "mail", mcp.Tool{Name: "get"}, annotation.ReadOnly(), annotation.Host)
			e := new(executor)
			c := cache.New(cache.Options{Entities: named})(e)
			reads := []struct {
				name string
				call middleware.Call
			}{
				{"get 1", with(get, `{"id":1}`)}, {"get 2", with(get, `{"id":2}`)}, {"get 1 and 2", with(get, `{"id":["1","2"]}`)},
				{"list", with(list, `{"id":9}`)}, {"get without an id", with(get, `{"name":"x"}`)}, {"elsewhere", with(elsewhere, `{"id":1}`)},
			}
			for _, r := range reads {
				call(t, c, r.call)
			}
			call(t, c, with(tool(t, tt.tool, annotation.Destructive()), tt.arguments))
			var ended []string
			for _, r := range reads {
				before := e.count()
				call(t, c, r.call)
				if e.count() > before {
					ended = append(ended, r.name)
				}
			}
			if got := strings.Join(ended, ", "); got != tt.ends {
				t.Errorf("the write ended %q, want %q", got, tt.ends)
			}
		})
	}
}

func TestTextsThatAServerMayTakeForOneAreOneEntity(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		read, written string
		same          bool
	}{
		{`"Ann"`, `"ann"`, true}, {`" ann"`, `"ann"`, true}, {`"1"`, `1`, true}, {`1.0`, `1`, true}, {`"01"`, `"1"`, true},
		{`9007199254740993`, `9007199254740992`, true}, // which a server may fold
		{`"ann"`, `"bob"`, false}, {`1`, `2`, false},
	} {
		e := new(executor)
		c := cache.New(cache.Options{Entities: named})(e)
		read := with(tool(t, "get", annotation.ReadOnly()), `{"id":`+tt.read+`}`)
		call(t, c, read)
		call(t, c, with(tool(t, "update", annotation.Write()), `{"note":`+tt.written+`}`))
		call(t, c, read)
		if got := e.count() == 3; got != tt.same {
			t.Errorf("a write to %s ends a read of %s: got %t, want %t", tt.written, tt.read, got, tt.same)
		}
	}
}

func TestWriteUnderWayBlocksOnlyWhatItMayChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		get, list, update := tool(t, "get", annotation.ReadOnly()), tool(t, "list", annotation.ReadOnly()), tool(t, "update", annotation.Write())
		e := &executor{do: func(_ context.Context, n int, call middleware.Call) (*mcp.CallToolResult, error) {
			if call.Tool == update {
				time.Sleep(time.Minute)
			}
			return text(fmt.Sprint(n)), nil
		}}
		c := cache.New(cache.Options{Entities: named})(e)
		reads := []middleware.Call{with(get, `{"id":1}`), with(get, `{"id":2}`), with(list, `{}`)}
		for _, r := range reads {
			call(t, c, r) // 1, 2, 3
		}
		first := start(t.Context(), c, with(update, `{"note":1}`))  // 4
		second := start(t.Context(), c, with(update, `{"note":1}`)) // 5
		for range 2 {
			for _, r := range reads {
				call(t, c, r) // 6: get 1, 7: list, 8: get 1, 9: list
			}
		}
		e.want(t, 9, "of three reads, what the write names and the list are made each time")
		first.answer(t)
		second.answer(t)
		call(t, c, reads[1])
		e.want(t, 9, "after the writes the other entity is still known")
		call(t, c, reads[0])
		call(t, c, reads[2])
		e.want(t, 11, "and what was read during them is not")
		call(t, c, reads[0])
		e.want(t, 11, "but what was read after them is")
	})
}

// No more than 4,096 entities are remembered by name. An old read of one that had
// to be forgotten is not believed; a new one is.
func TestEntitiesAreBounded(t *testing.T) {
	t.Parallel()
	e := new(executor)
	c := cache.New(cache.Options{Entities: named})(e)
	get, update := tool(t, "get", annotation.ReadOnly()), tool(t, "update", annotation.Write())
	write := func(n int) { call(t, c, with(update, fmt.Sprintf(`{"note":%d}`, n))) }
	read := func(n int) (known bool) {
		before := e.count()
		call(t, c, with(get, fmt.Sprintf(`{"id":%d}`, n)))
		return e.count() == before
	}
	read(-1) // 1, older than every write
	write(0)
	read(0)
	for n := 1; n < 4096; n++ {
		write(n)
	}
	if !read(0) || !read(-1) {
		t.Error("a read was forgotten while all writes were still known by name")
	}
	write(4096) // pushes out the memory of the write to 0
	if !read(0) {
		t.Error("a read that is younger than the oldest forgotten write was forgotten")
	}
	if read(-1) {
		t.Error("a read that is older than a forgotten write was believed")
	}
	write(4097) // pushes out 1, written after 0 was read
	if read(0) {
		t.Error("a read that is older than a forgotten write was believed")
	}
}

func TestRememberedWriteNamesItsEntities(t *testing.T) {
	t.Parallel()
	set, update := tool(t, "set", annotation.Update()), tool(t, "update", annotation.Write())
	e := new(executor)
	c := cache.New(cache.Options{Entities: named, Idempotent: []string{"files/set"}})(e)
	call(t, c, with(set, `{"id":1}`))
	call(t, c, with(update, `{"note":2}`))
	call(t, c, with(set, `{"id":1}`))
	e.want(t, 2, "a write to another entity undoes nothing")
	call(t, c, with(update, `{"note":1}`))
	call(t, c, with(set, `{"id":1}`))
	e.want(t, 4, "a write to the same one may have")
}

// What was written while a repeatable write was under way may have undone it.
func TestWriteThatOverlappedAnotherIsNotRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set, write := tool(t, "set", annotation.Update()), writer(t)
		e := &executor{do: func(_ context.Context, n int, call middleware.Call) (*mcp.CallToolResult, error) {
			if call.Tool == set {
				time.Sleep(time.Minute)
			}
			return text(fmt.Sprint(n)), nil
		}}
		c := cache.New(cache.Options{Idempotent: []string{"files/set"}})(e)
		first := start(t.Context(), c, with(set, `{}`)) // 1
		call(t, c, with(write, `{}`))                   // 2, begins and ends within it
		first.answer(t)
		call(t, c, with(set, `{}`)) // 3
		e.want(t, 3, "the order of the two is not known")
		call(t, c, with(set, `{}`))
		e.want(t, 3, "alone it is remembered")
	})
}

// No read is older than a finished write, whatever the writes name.
func TestNoEntityIsOlderThanAFinishedWriteToIt(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) { entities(t, seed) })
	}
}

func entities(t *testing.T, seed uint64) {
	t.Helper()
	var mu sync.Mutex // guards what follows
	rng := rand.New(rand.NewPCG(seed, 2))
	random := func(n int) int { mu.Lock(); defer mu.Unlock(); return rng.IntN(n) }
	pause := func() { time.Sleep(time.Duration(random(20_000)) * time.Microsecond) }
	var written, finished [4]int // per entity; the last one is the sum, for lists
	get, list := tool(t, "get", annotation.ReadOnly()), tool(t, "list", annotation.ReadOnly())
	update, bulk, write := tool(t, "update", annotation.Write()), tool(t, "delete_all", annotation.Destructive()), writer(t)
	touches := func(call middleware.Call) []int {
		var a struct {
			ID, Note *int
			IDs      []int
		}
		if err := json.Unmarshal(call.Arguments, &a); err != nil {
			t.Error(err)
		}
		switch call.Tool {
		case get:
			return []int{*a.ID}
		case update:
			return []int{*a.Note, 3}
		case bulk:
			return append(a.IDs, 3)
		case list:
			return []int{3}
		}
		return []int{0, 1, 2, 3}
	}
	e := &executor{do: func(_ context.Context, _ int, call middleware.Call) (*mcp.CallToolResult, error) {
		pause()
		mu.Lock()
		if call.Tool != get && call.Tool != list {
			for _, i := range touches(call) {
				written[i]++
			}
		}
		version := written[touches(call)[0]]
		mu.Unlock()
		pause()
		return text(fmt.Sprint(version)), nil
	}}
	c := cache.New(cache.Options{Entities: named})(e)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for range 12 {
				pause()
				its := [...]middleware.Call{
					with(get, fmt.Sprintf(`{"id":%d}`, random(3))), with(get, fmt.Sprintf(`{"id":%d}`, random(3))),
					with(list, `{}`), with(update, fmt.Sprintf(`{"note":%d}`, random(3))),
					with(bulk, fmt.Sprintf(`{"ids":[%d]}`, random(3))), with(write, `{}`),
				}[random(6)]
				touched := touches(its)
				mu.Lock()
				before, least := written, finished[touched[0]]
				mu.Unlock()
				var got int
				_, _ = fmt.Sscan(textOf(t, call(t, c, its)), &got)
				if its.Tool == get || its.Tool == list {
					if got < least {
						t.Errorf("seed %d: %s%s saw %d writes, %d had finished before it began", seed, its.Tool, its.Arguments, got, least)
					}
					continue
				}
				mu.Lock()
				for _, i := range touched { // at least the one that is now over
					finished[i] = max(finished[i], before[i]+1)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}
