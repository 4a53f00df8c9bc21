package proxy_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
)

// heard keeps the requests and notifications that reached a server, as METHOD PARAMS.
type heard struct {
	mu  sync.Mutex
	all []string
}

func (h *heard) note(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, text)
}

func (h *heard) count(text string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.all {
		if one == text {
			n++
		}
	}
	return n
}

// beforeServers connects a client to a proxy before one server or two. The messages of each are kept.
func beforeServers(t *testing.T, n int, answer func(server int, method string) string) (all []*plain, got []*heard, client *raw) {
	t.Helper()
	var o proxy.Options
	for i := range n {
		s, h := newPlain(readThing), new(heard)
		s.answer = func(method, params string) string {
			h.note(method + " " + params)
			return answer(i, method)
		}
		s.frame = func(id, result string) string {
			if result == noMethod {
				return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32601,"message":"no such method"}}`
			}
			return `{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}`
		}
		s.answered = func(line string) { h.note("response " + line) }
		o.Servers = append(o.Servers, proxy.Server{Name: string('a' + rune(i)), Open: s.open})
		all, got = append(all, s), append(got, h)
	}
	return all, got, connectRaw(t, o)
}

const noMethod = "no such method"

// ofMethod returns the next message of the proxy's with a method.
func (r *raw) ofMethod(method string) map[string]json.RawMessage {
	r.t.Helper()
	for {
		if m := r.next(); m == nil || string(m["method"]) == `"`+method+`"` {
			return m
		}
	}
}

// The page of the proxy has this table: the messages and capabilities that the proxy does not know pass as they were
// written, before one server and before several.
func TestUnknownMessagesPass(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 2; n++ {
		for _, params := range []string{`{}`, `{"a":9007199254740993,"b":1.50}`, `{"progressToken":1,"requestId":1,"taskId":"1"}`, `[1]`, `"x"`, `7`, `true`, `null`} {
			t.Run(fmt.Sprintf("B391: a notification with the params %s, %d servers", params, n), func(t *testing.T) {
				t.Parallel()
				servers, got, client := beforeServers(t, n, func(int, string) string { return "" })
				client.initialize("{}")
				servers[n-1].tell(`{"jsonrpc":"2.0","method":"notifications/odd","params":` + params + `}`)
				if m := client.ofMethod("notifications/odd"); string(m["params"]) != params || m["id"] != nil {
					t.Errorf("the client got %s", m)
				}
				client.send(`{"jsonrpc":"2.0","method":"notifications/odd","params":` + params + `}`)
				client.ask(1, "logging/setLevel", `{"level":"info"}`) // each server gets it, and has read what was before
				for i, h := range got {
					if h.count("notifications/odd "+params) != 1 {
						t.Errorf("server %d got %q", i, h.all)
					}
				}
			})
			t.Run(fmt.Sprintf("B392: a request with the params %s, %d servers", params, n), func(t *testing.T) {
				t.Parallel()
				servers, got, client := beforeServers(t, n, func(server int, method string) string {
					switch {
					case method != "odd/request":
						return ""
					case server < n-1: // the others do not have it
						return noMethod
					}
					return `{"odd":1.50}`
				})
				client.initialize("{}")
				if text := client.ask(1, "odd/request", params); text != `{"odd":1.50}` {
					t.Errorf("the client got %s", text)
				}
				for i, h := range got {
					if h.count("odd/request "+params) != 1 {
						t.Errorf("server %d got %q", i, h.all)
					}
				}
				servers[n-1].tell(`{"jsonrpc":"2.0","id":1,"method":"odd/question","params":` + params + `}`)
				m := client.ofMethod("odd/question")
				if string(m["params"]) != params || string(m["id"]) == "1" {
					t.Errorf("the client got %s", m)
				}
				client.send(`{"jsonrpc":"2.0","id":` + string(m["id"]) + `,"error":{"code":-32601,"message":"no such method"}}`)
				client.ask(2, "logging/setLevel", `{"level":"info"}`)
				for i, h := range got {
					if want := h.count(`response {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}`); want != 1 && i == n-1 || want != 0 && i != n-1 {
						t.Errorf("server %d got %q", i, h.all)
					}
				}
			})
		}
	}
}

// Capabilities that the proxy does not know pass as they were written. Several servers are introduced as one that has what
// any of them has.
func TestUnknownCapabilitiesPass(t *testing.T) {
	t.Parallel()
	introduced := func(capabilities string) string {
		return `{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"serverInfo":{"name":"odd","version":"1"}}`
	}
	for name, value := range map[string]string{"null": `null`, "a boolean": `true`, "a number": `9007199254740993`, "a text": `"x"`, "a list": `[7]`, "an object": `{"x":1.50}`} {
		for _, capabilities := range []string{value, `{"odd":` + value + `}`, `{"extensions":{"odd":` + value + `}}`} {
			t.Run("B393: "+name+" in "+strings.ReplaceAll(capabilities, value, "…"), func(t *testing.T) {
				t.Parallel()
				answer := func(_ int, method string) string {
					if method == "initialize" {
						return introduced(capabilities)
					}
					return ""
				}
				_, got, client := beforeServers(t, 1, answer)
				hello := `{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"clientInfo":{"name":"odd","version":"1"}}`
				if text := client.ask(1, "initialize", hello); text != introduced(capabilities) {
					t.Errorf("the client got %s", text)
				}
				if got[0].count("initialize "+hello) != 1 {
					t.Errorf("the server got %q", got[0].all)
				}
				_, got, client = beforeServers(t, 2, answer)
				text := client.ask(1, "initialize", hello)
				want := capabilities
				if !strings.HasPrefix(capabilities, "{") { // it has no capability that could be united
					want = `{}`
				}
				if united := memberOf(text, "capabilities"); united != want {
					t.Errorf("the client of two got %s", text)
				}
				for _, h := range got {
					if h.count("initialize "+hello) != 1 {
						t.Errorf("one of two servers got %q", h.all)
					}
				}
			})
		}
	}
	t.Run("B393: of two servers", func(t *testing.T) {
		t.Parallel()
		_, _, client := beforeServers(t, 2, func(server int, method string) string {
			if method == "initialize" {
				return introduced([]string{`{"odd":{"x":1},"other":false,"third":"a"}`, `{"odd":{"x":2,"y":3},"other":true,"third":"b"}`}[server])
			}
			return ""
		})
		text := client.ask(1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"odd","version":"1"}}`)
		if united := memberOf(text, "capabilities"); united != `{"odd":{"x":1,"y":3},"other":true,"third":"a"}` {
			t.Errorf("got %s", text)
		}
	})
}

func memberOf(object, name string) string {
	var all map[string]json.RawMessage
	_ = json.Unmarshal([]byte(object), &all) // what is not an object has no members
	return string(all[name])
}
