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
		{"a member that differs in case is beside it", "update", `{"note":3,"Note":1}`, all},
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

// No more than 4,096 entities are remembered by name. An old read of an evicted entity is stale; a
// new one is valid.
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
	write(4096) // drops the memory of all others
	if read(0) || read(-1) {
		t.Error("a read that is older than an evicted write was used")
	}
	if !read(0) || !read(-1) {
		t.Error("a read that is younger than every forgotten write was forgotten")
	}
	write(4097)
	if !read(0) {
		t.Error("a write to another entity ended a read")
	}
	write(0)
	if read(0) {
		t.Error("a read that is older than a write to it was used")
	}
}

func TestRememberedWriteNamesItsEntities(t *testing.T) {
	t.Parallel()
	set, update := tool(t, "set", annotation.Update()), tool(t, "update", annotation.Write())
	e := new(executor)
	c := cache.New(cache.Options{Entities: named, Idempotent: true})(e)
	call(t, c, with(set, `{"id":1}`))
	call(t, c, with(update, `{"note":2}`))
	call(t, c, with(set, `{"id":1}`))
	e.want(t, 2, "a write to another entity undoes nothing")
	call(t, c, with(update, `{"note":1}`))
	call(t, c, with(set, `{"id":1}`))
	e.want(t, 4, "a write to the same one may have")
}

// A write during a repeatable write may have undone it.
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
		c := cache.New(cache.Options{Idempotent: true})(e)
		first := start(t.Context(), c, with(set, `{}`)) // 1
		call(t, c, with(write, `{}`))                   // 2, begins and ends within it
		first.answer(t)
		call(t, c, with(set, `{}`)) // 3
		e.want(t, 3, "the order of the two is not known")
		call(t, c, with(set, `{}`))
		e.want(t, 3, "alone it is remembered")
	})
}

// Two texts that differ in case name one entity, in any script.
func TestEntitiesDoNotMindTheCase(t *testing.T) {
	t.Parallel()
	for i, pair := range [][2]string{{"Anna", "ANNA"}, {"Οδυσσευς", "ΟΔΥΣΣΕΥΣ"}, {"\u212aate", "kate"}, {"ſmith", "SMITH"}} {
		e := new(executor)
		c := cache.New(cache.Options{Entities: map[string][]string{"files/read": {"name"}, "files/write": {"name"}}})(e)
		arguments := func(name string) json.RawMessage { return json.RawMessage(fmt.Sprintf(`{"name":%q}`, name)) }
		call(t, c, middleware.Call{Tool: reader(t), Arguments: arguments(pair[0])})
		call(t, c, middleware.Call{Tool: writer(t), Arguments: arguments(pair[1])})
		call(t, c, middleware.Call{Tool: reader(t), Arguments: arguments(pair[0])})
		e.want(t, 3, fmt.Sprint(i, pair))
	}
}
