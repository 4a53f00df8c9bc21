package proxy_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A client gets a definition with long digits as the server wrote it.
func TestListKeepsLongDigits(t *testing.T) {
	t.Parallel()
	const tool = `{"name":"pay","inputSchema":{"type":"object","properties":{"n":{"maximum":9007199254740993,"minimum":1.0}}}}`
	s := newPlain(tool)
	c := s.client(t, s.proxy(t, proxy.Options{}))
	if got := c.ask(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`, `"list"`); !strings.Contains(got, tool) {
		t.Errorf("the client is shown %s", got)
	}
}

// A definition that changes only in digits past 2^53 is refused by its lock file, and a client gets its digits.
func TestLockRefusesAChangeOfLongDigits(t *testing.T) {
	t.Parallel()
	limited := func(most string) string {
		return `{"name":"pay","description":"Pays.","inputSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":` + most + `},"x":{"default":1.0}}}}`
	}
	s := newPlain(limited("9007199254740993"))
	lock := new(pins.Lock)
	open := func() *proxy.Proxy { return s.proxy(t, proxy.Options{Lock: lock, Confirm: approve(true)}) }
	c := s.client(t, open())
	c.call(`{"name":"pay"}`)
	if n := len(s.calls()); n != 0 {
		t.Fatalf("a tool that was not accepted was executed %d times", n)
	}
	accepted := catalog.New(catalog.Options{Lock: lock})
	direct, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	cs := mcptest.Dial(t, mcptest.NewClient(), mount.Transport(&mcp.IOTransport{Reader: direct, Writer: direct}), mcptest.Legacy)
	if err := accepted.Add(t.Context(), "plain", cs); err != nil {
		t.Fatal(err)
	}
	if err := lock.Accept(accepted, lock.Changes(accepted)...); err != nil {
		t.Fatal(err)
	}
	c = s.client(t, open())
	if got := c.ask(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`, `"list"`); !strings.Contains(got, "9007199254740993") {
		t.Errorf("the client is shown %s", got)
	}
	c.call(`{"name":"pay"}`)
	if n := len(s.calls()); n != 1 {
		t.Errorf("the accepted tool was executed %d times", n)
	}
	s.redefine(limited("9007199254740992"))
	if got := c.call(`{"name":"pay"}`); len(s.calls()) != 1 || !strings.Contains(got, "accept") {
		t.Errorf("the changed tool was executed %d times: %s", len(s.calls()), got)
	}
}

// long is a value with numbers that no float64 holds, or that it writes otherwise.
const long = `{"n":9007199254740993,"m":-9007199254740993,"big":1e400,"x":0.1000000000000000055,"p":1.10,"z":-0,"deep":[18446744073709551616]}`

// Requests, answers and notifications keep the digits of their ids, cursors and values, to one server and to several.
func TestMessagesKeepLongDigits(t *testing.T) {
	t.Parallel()
	const task = `{"resultType":"task","taskId":"9007199254740993","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":9007199254740993,"more":` + long + `}`
	for _, servers := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d servers", servers), func(t *testing.T) {
			t.Parallel()
			got := make(chan string, 100)
			a, b := newPlain(deleteThing), newPlain(readThing)
			a.answered = func(line string) { got <- line }
			a.answer = func(method, params string) string {
				got <- method + " " + params
				switch method {
				case "tools/call":
					return task
				case "tasks/get":
					return `{"resultType":"complete","taskId":"9007199254740993","status":"completed","result":{"content":[],"structuredContent":` + long + `}}`
				case "resources/list":
					return `{"resources":[{"uri":"x://a","name":"a","size":9007199254740993,"_meta":` + long + `}]}`
				case "resources/read":
					return `{"contents":[{"uri":"x://a","text":"","_meta":` + long + `}],"_meta":` + long + `}`
				}
				return ""
			}
			r := connectRaw(t, proxy.Options{Confirm: approve(true), Servers: []proxy.Server{{Name: "a", Open: a.open}, {Name: "b", Open: b.open}}[:servers]})
			r.initialize(`{"sampling":{},"elicitation":{}}`)
			name := map[int]string{1: "delete_thing", 2: "a__delete_thing"}[servers]
			reached := func(method, want string) {
				t.Helper()
				for line := mcptest.Wait(t, method, got); ; line = mcptest.Wait(t, method, got) {
					if strings.HasPrefix(line, method) {
						if !strings.Contains(line, want) {
							t.Errorf("the server got %s, want %s", line, want)
						}
						return
					}
				}
			}
			ask := func(id, method, params string) string {
				r.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + params + `,` + taskMeta + `}}`)
				m := r.answer(id)
				return string(m["result"]) + string(m["error"])
			}
			has := func(what, got string, all ...string) {
				t.Helper()
				for _, want := range all {
					if !strings.Contains(got, want) {
						t.Errorf("%s: got %s, want %s in it", what, got, want)
					}
				}
			}
			started := ask("9007199254740993", "tools/call", `"name":"`+name+`","arguments":{"n":9007199254740993,"x":0.1000000000000000055,"p":1.10}`)
			reached("tools/call", `"arguments":{"n":9007199254740993,"x":0.1000000000000000055,"p":1.10}`)
			has("a task", started, long, `"ttlMs":9007199254740993`)
			var its shownTask
			if err := json.Unmarshal([]byte(started), &its); err != nil {
				t.Fatal(err)
			}
			has("a task's result", ask("9007199254740994", "tasks/get", `"taskId":"`+its.TaskID+`"`), `"structuredContent":`+long)
			reached("tasks/get", `"taskId":"9007199254740993"`)
			has("a list", ask("18446744073709551616", "resources/list", `"x":1`), `"size":9007199254740993`, long)
			has("a resource", ask("1.10", "resources/read", `"uri":"x://a","more":`+long), long)
			reached("resources/read", `"more":`+long)
			if servers == 1 {
				ask("5", "resources/list", `"cursor":9007199254740993`)
				reached("resources/list", `"cursor":9007199254740993`)
				ask("6", "tasks/get", `"taskId":9007199254740993`)
				reached("tasks/get", `"taskId":9007199254740993`)
			}
			a.say("notifications/tasks", `{"taskId":"9007199254740993","status":"completed","result":{"content":[],"structuredContent":`+long+`}}`)
			a.say("notifications/message", ownMessage)
			if all := r.methods(); len(all) != 1 || !strings.Contains(all[0], long) {
				t.Errorf("the client got %q", all)
			}
			a.tell(`{"jsonrpc":"2.0","id":9007199254740993,"method":"sampling/createMessage","params":{"messages":[],"metadata":` + long + `}}`)
			asked := r.next()
			has("a question", string(asked["params"]), long)
			r.send(`{"jsonrpc":"2.0","id":` + string(asked["id"]) + `,"result":{"_meta":` + long + `}}`)
			reached(`{"jsonrpc":"2.0","id":9007199254740993`, long)
		})
	}
}

// A list of several servers is read by cursors as each server wrote them.
func TestCursorsKeepLongDigits(t *testing.T) {
	t.Parallel()
	a, b, r := twoServers(t, proxy.Options{})
	var asked []string
	a.answer = func(method, params string) string {
		if method != "resources/list" {
			return ""
		}
		asked = append(asked, params)
		return `{"resources":[],"nextCursor":` + []string{`"9007199254740993"`, `"1e400"`, `"0.1000000000000000055"`, `""`}[len(asked)-1] + `}`
	}
	b.answer = func(method, _ string) string {
		return map[string]string{"resources/list": `{"resources":[]}`}[method]
	}
	r.initialize("{}")
	r.ask(1, "resources/list", `{"more":`+long+`}`)
	if len(asked) != 4 {
		t.Fatalf("asked %q", asked)
	}
	for i, cursor := range []string{`"9007199254740993"`, `"1e400"`, `"0.1000000000000000055"`} {
		if !strings.Contains(asked[i+1], `"cursor":`+cursor) || !strings.Contains(asked[i+1], long) {
			t.Errorf("page %d was asked for by %s", i+1, asked[i+1])
		}
	}
}
