package proxy_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
)

// few is how many names of one kind the proxy keeps of one server.
const few = 10_000

// listOf returns n things with names that count from a number.
func listOf(n int, thing func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = thing(i)
	}
	return "[" + strings.Join(all, ",") + "]"
}

// ask makes a request and returns its result or its error.
func (r *raw) ask(id int, method, params string) string {
	r.t.Helper()
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
	m := r.answer(fmt.Sprint(id))
	return string(m["result"]) + string(m["error"])
}

// A server names forms without an end. The latest of its own are kept, and those of another server.
func TestServerNamesFormsWithoutEnd(t *testing.T) {
	t.Parallel()
	a, b, r := twoServers(t, proxy.Options{})
	form := func(id string) string {
		return `{"mode":"url","message":"m","url":"https://example.org","elicitationId":"` + id + `"}`
	}
	for name, s := range map[string]*plain{"a": a, "b": b} {
		s.frame = func(id, result string) string {
			if forms, is := strings.CutPrefix(result, "forms "); is {
				return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32042,"message":"sign in","data":{"elicitations":` + forms + `}}}`
			}
			return `{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}`
		}
		s.answer = func(method, params string) string {
			switch {
			case method == "resources/list":
				return `{"resources":[{"uri":"` + name + `://x","name":"x"}]}`
			case method == "resources/read" && name == "a":
				return "forms [" + form("of a") + "]"
			case method == "resources/read": // the last is that of a
				return "forms " + listOf(few+2, func(i int) string {
					if i > few {
						return form("of a")
					}
					return form(fmt.Sprintf("b %d", i))
				})
			}
			return ""
		}
	}
	r.initialize(`{"elicitation":{"url":{}}}`)
	r.ask(1, "resources/list", "{}")
	r.ask(2, "resources/read", `{"uri":"a://x"}`)
	r.ask(3, "resources/read", `{"uri":"b://x"}`)
	for _, c := range []struct {
		of    *plain
		form  string
		known bool
	}{{b, "b 0", false}, {b, "b 1", true}, {b, fmt.Sprintf("b %d", few), true}, {b, "of a", false}, {a, "of a", true}} {
		c.of.say("notifications/elicitation/complete", `{"elicitationId":"`+c.form+`"}`)
		c.of.say("notifications/message", ownMessage)
		if got := r.methods(); len(got) > 0 != c.known {
			t.Errorf("%s: the client got %q, want one: %v", c.form, got, c.known)
		}
	}
}

// A server lists resources without an end: with each list other ones. The latest of its own are kept, and those of
// another server. One that is not known any more is looked for at each server.
func TestServerListsResourcesWithoutEnd(t *testing.T) {
	t.Parallel()
	a, b, r := twoServers(t, proxy.Options{})
	lists := 0
	for name, s := range map[string]*plain{"a": a, "b": b} {
		s.answer = func(method, _ string) string {
			switch {
			case method == "resources/list" && name == "a":
				return `{"resources":[{"uri":"a://x","name":"x"}]}`
			case method == "resources/list":
				lists++
				return `{"resources":` + listOf(few/2+1, func(i int) string { return fmt.Sprintf(`{"uri":"b://%d/%d","name":"x"}`, lists, i) }) + `}`
			case method == "resources/read":
				return `{"contents":[],"from":"` + name + `"}`
			}
			return ""
		}
	}
	r.initialize("{}")
	for id := range 2 {
		r.ask(id, "resources/list", "{}")
	}
	for i, c := range []struct{ uri, by string }{{"b://1/0", "a"}, {"b://1/1", "a"}, {"b://1/2", "b"}, {"b://2/0", "b"}, {"a://x", "a"}} {
		if got := r.ask(10+i, "resources/read", `{"uri":"`+c.uri+`"}`); !strings.Contains(got, `"from":"`+c.by+`"`) {
			t.Errorf("%s is read as %s, want it from %s", c.uri, got, c.by)
		}
	}
}

// A server lists prompts without an end. As many as the proxy keeps are listed, and all of these can be got; of an
// earlier list none is kept.
func TestServerListsPromptsWithoutEnd(t *testing.T) {
	t.Parallel()
	a, b, r := twoServers(t, proxy.Options{})
	lists, name := 0, "first"
	a.answer = func(method, _ string) string {
		if method == "prompts/list" {
			return `{"prompts":[{"name":"x"}]}`
		}
		return ""
	}
	b.answer = func(method, params string) string {
		switch method {
		case "prompts/list":
			if lists++; lists > 1 {
				name = "second"
			}
			return `{"prompts":` + listOf(few+1, func(i int) string { return fmt.Sprintf(`{"name":"%s%d"}`, name, i) }) + `}`
		case "prompts/get":
			return `{"messages":[],"got":` + params + `}`
		}
		return ""
	}
	r.initialize("{}")
	for id := range 2 {
		var list struct{ Prompts []struct{ Name string } }
		if err := json.Unmarshal([]byte(r.ask(id, "prompts/list", "{}")), &list); err != nil || len(list.Prompts) != few+1 {
			t.Fatalf("%d prompts are listed, want %d of b and one of a (%v)", len(list.Prompts), few, err)
		}
	}
	for i, c := range []struct{ name, want string }{
		{"b__second0", `"name":"second0"`}, {fmt.Sprintf("b__second%d", few-1), fmt.Sprintf(`"name":"second%d"`, few-1)},
		{fmt.Sprintf("b__second%d", few), "no server lists this prompt"}, {"b__first0", "no server lists this prompt"}, {"a__x", "{}"},
	} {
		if got := r.ask(10+i, "prompts/get", `{"name":"`+c.name+`"}`); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// A client subscribes without an end. It is refused what would not be renewed after a restart, and goes on with fewer.
func TestClientSubscribesWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		servers, most int
		uri           func(i int) string
	}{
		"many":               {1, 1000, func(i int) string { return fmt.Sprintf("a://%d", i) }},
		"many at one of two": {2, 1000, func(i int) string { return fmt.Sprintf("a://%d", i) }},
		"long ones":          {1, 10, func(i int) string { return fmt.Sprintf("a://%d/%s", i, strings.Repeat("x", 100_000)) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := 0
			a, b := newPlain(readThing), newPlain(readThing)
			a.answer = func(method, _ string) string {
				if method == "resources/subscribe" {
					sent++
				}
				return ""
			}
			servers := []proxy.Server{{Name: "a", Open: a.open}, {Name: "b", Open: b.open}}
			r := connectRaw(t, proxy.Options{Servers: servers[:c.servers]})
			r.initialize("{}")
			ask := func(id int, method, uri string) string {
				return r.ask(id, "resources/"+method, `{"uri":"`+uri+`"}`)
			}
			for i := range c.most {
				if got := ask(i, "subscribe", c.uri(i)); got != "{}" {
					t.Fatalf("subscription %d: %s", i, got)
				}
			}
			for range 2 {
				if got := ask(1, "subscribe", c.uri(c.most)); c.servers == 1 && !strings.Contains(got, "has subscribed to as much as the proxy keeps") || sent != c.most {
					t.Errorf("one more: %s; the server got %d", got, sent)
				}
			}
			if got := ask(2, "subscribe", c.uri(0)); got != "{}" || sent != c.most+1 {
				t.Errorf("the first once more: %s; the server got %d", got, sent)
			}
			if got := ask(3, "unsubscribe", c.uri(0)); got != "{}" {
				t.Error(got)
			}
			if got := ask(4, "subscribe", c.uri(c.most)); got != "{}" || sent != c.most+2 {
				t.Errorf("after the end of another: %s; the server got %d", got, sent)
			}
		})
	}
}
