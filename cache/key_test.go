package cache_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestKeyIsScopeServerDefinitionAndArguments(t *testing.T) {
	t.Parallel()
	read := reader(t)
	base := middleware.Call{ID: "1", Scope: "ann", Tool: read, Arguments: json.RawMessage(`{"b":1,"a":{"d":1,"c":2}}`)}
	with := func(change func(*middleware.Call)) middleware.Call {
		c := base
		change(&c)
		return c
	}
	arguments := func(s string) middleware.Call {
		return with(func(c *middleware.Call) { c.Arguments = json.RawMessage(s) })
	}
	for _, tt := range []struct {
		name        string
		left, right middleware.Call
		same        bool
	}{
		{"nothing changed", base, base, true},
		{"another call ID", base, with(func(c *middleware.Call) { c.ID = "2" }), true},
		{"B143: another scope", base, with(func(c *middleware.Call) { c.Scope = "bob" }), false},
		{"B143: the empty scope", base, with(func(c *middleware.Call) { c.Scope = "" }), false},
		{"another server", base, with(func(c *middleware.Call) {
			c.Tool = toolOf(t, "mail", mcp.Tool{Name: "read"}, annotation.ReadOnly(), annotation.Host)
		}), false},
		{"another tool", base, with(func(c *middleware.Call) { c.Tool = tool(t, "list", annotation.ReadOnly()) }), false},
		{"another name under the same digest", base, with(func(c *middleware.Call) {
			other := *read
			other.Definition = &mcp.Tool{Name: "list"}
			c.Tool = &other
		}), false},
		{"another definition of the same tool", base, with(func(c *middleware.Call) {
			c.Tool = toolOf(t, "files", mcp.Tool{Name: "read", Description: "now with secrets"}, annotation.ReadOnly(), annotation.Host)
		}), false},
		{"a copy of the tool", base, with(func(c *middleware.Call) { other := *read; c.Tool = &other }), true},
		{"the parts cannot be shifted",
			middleware.Call{Scope: "ab", Tool: toolOf(t, "c", mcp.Tool{Name: "read"}, annotation.ReadOnly(), annotation.Host)},
			middleware.Call{Scope: "a", Tool: toolOf(t, "bc", mcp.Tool{Name: "read"}, annotation.ReadOnly(), annotation.Host)}, false},
		{"another argument", base, arguments(`{"b":2,"a":{"d":1,"c":2}}`), false},
		{"B063: another order of the members", base, arguments(`{"a":{"c":2,"d":1},"b":1}`), true},
		{"white space", base, arguments(" {\"b\" : 1,\n\t\"a\":{\"d\":1,\"c\":2}} "), true},
		{"escapes", base, arguments(`{"\u0062":1,"a":{"d":1,"c":2}}`), true},
		{"the order in an array counts", arguments(`{"a":[1,2]}`), arguments(`{"a":[2,1]}`), false},
		{"B053: large integers that a float64 folds", arguments(`{"id":9007199254740993}`), arguments(`{"id":9007199254740992}`), false},
		{"B053: number literals stay apart", arguments(`{"id":1}`), arguments(`{"id":1.0}`), false},
		{"a number and its text", arguments(`{"id":1}`), arguments(`{"id":"1"}`), false},
		{"B057: a member in capitals", arguments(`{"id":1}`), arguments(`{"ID":1}`), false},
		{"B061: null and absent", arguments(`{"a":null}`), arguments(`{}`), false},
		{"B071: nil is the empty object", arguments(``), arguments(`{}`), true},
		{"B059: a real replacement character", arguments(`{"a":"\ufffd"}`), arguments(`{"a":"?"}`), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := new(executor)
			c := cache.New(cache.Options{})(e)
			got := textOf(t, call(t, c, tt.left)) == textOf(t, call(t, c, tt.right))
			if got != tt.same {
				t.Errorf("one answer for both: got %t, want %t", got, tt.same)
			}
			if again := textOf(t, call(t, c, tt.left)); again != "1" {
				t.Errorf("the first is no longer cached: got answer %s", again)
			}
		})
	}
}

func TestAmbiguousArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, arguments, want string }{
		{"B055: a member twice", `{"id":1,"id":2}`, `"id"`},
		{"B059: half a surrogate pair", `{"path":"\ud800"}`, "surrogate"},
		{"B065: a number beyond float64", `{"x":1e400}`, "out of range"},
		{"B067: 10,001 nested arrays", `{"x":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `}`, "nested"},
		{"B071: an array", `[]`, "not a JSON object"},
		{"B071: a text", `"text"`, "not a JSON object"},
		{"B071: null", `null`, "not a JSON object"},
		{"cut off", `{"a":`, "not valid JSON"},
	} {
		for _, on := range []*middleware.Tool{reader(t), tool(t, "set", annotation.Update())} {
			t.Run(tt.name+", "+on.Name(), func(t *testing.T) {
				t.Parallel()
				e := new(executor)
				c := cache.New(cache.Options{Idempotent: true})(e)
				res, err := c.CallTool(t.Context(), middleware.Call{Tool: on, Arguments: json.RawMessage(tt.arguments)})
				if res != nil || err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), on.String()) {
					t.Errorf("got %v and error %v, want one that names %s and %s", res, err, on, tt.want)
				}
				if !middleware.NotSent(err) || !middleware.Permanent(err) {
					t.Errorf("%v: not sent %t, permanent %t, want both", err, middleware.NotSent(err), middleware.Permanent(err))
				}
				e.want(t, 0, "afterwards")
			})
		}
	}
}
