package proxy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
)

const (
	hasX      = `*tools/list*) answer '"result":{"tools":[{"name":"x","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}';;`
	untilGo   = `until [ -e go ]; do sleep 0.01; done;`
	waitGreet = untilGo + ` answer '"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"moody","version":"1"}}';;`
)

// One server of several that hangs, goes away or fails holds up none of the others. When
// it is there the client hears of it, and gets its tools.
func TestOneServerHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	for name, does := range map[string]string{
		"it hangs before it greets":         `*initialize\"*) ` + waitGreet + hasX,
		"it goes away before it greets":     `[12]*initialize\"*) exit 1;; *initialize\"*) ` + waitGreet + hasX,
		"it hangs, and then goes away":      `1*initialize\"*) ` + untilGo + ` exit 1;;` + hasX,
		"it refuses to greet at first":      `1*initialize\"*) answer '"error":{"code":-32603,"message":"not yet"}';; *initialize\"*) ` + waitGreet + hasX,
		"it hangs before it lists":          `*tools/list*) ` + untilGo + ` answer '"result":{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}';;`,
		"it goes away and comes back later": `1*tools/list*) exit 1;; 2*initialize\"*) ` + waitGreet + hasX,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, dir := moody(t, "a", does)
			r := connectRaw(t, proxy.Options{Servers: []proxy.Server{a, child(t, "things")}}, proxy.LateAfter(5*time.Second))
			r.send(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
			if got := r.answer(`"i"`); !strings.Contains(string(got["result"]), `"listChanged":true`) {
				t.Errorf("greeted with %s %s", got["result"], got["error"])
			}
			r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			got := r.answer("1")
			if list := string(got["result"]); !strings.Contains(list, `"things__list_things"`) || strings.Contains(list, `"a__x"`) {
				t.Errorf("listed %s %s", got["result"], got["error"])
			}
			r.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"things__list_things","arguments":{}}}`)
			if got := r.answer("2"); !strings.Contains(string(got["result"]), "a, b") {
				t.Errorf("called: %s %s", got["result"], got["error"])
			}
			r.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a__x","arguments":{}}}`)
			if got := r.answer("3"); !strings.Contains(string(got["result"]), "its server is not there") {
				t.Errorf("a tool of the one that is away: %s %s", got["result"], got["error"])
			}
			r.send(`{"jsonrpc":"2.0","id":4,"method":"logging/setLevel","params":{"level":"error"}}`)
			r.send(`{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"x://y"}}`)
			r.answer("5")
			if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			for m := r.next(); string(m["method"]) != `"notifications/tools/list_changed"`; m = r.next() {
				if m == nil {
					t.Fatal("the client never heard that the server is there")
				}
			}
			r.send(`{"jsonrpc":"2.0","id":6,"method":"tools/list"}`)
			if got := r.answer("6"); !strings.Contains(string(got["result"]), `"a__x"`) || !strings.Contains(string(got["result"]), `"things__list_things"`) {
				t.Errorf("listed in the end: %s %s", got["result"], got["error"])
			}
		})
	}
}

// A server that has no tools takes no other's away.
func TestServerWithoutTools(t *testing.T) {
	t.Parallel()
	a, _ := moody(t, "a", `*tools/list*) answer '"error":{"code":-32601,"message":"no such method"}';;`)
	r := connectRaw(t, proxy.Options{Servers: []proxy.Server{a, child(t, "things")}})
	r.initialize("{}")
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if got := r.answer("1"); !strings.Contains(string(got["result"]), `"things__list_things"`) {
		t.Errorf("listed %s %s", got["result"], got["error"])
	}
}

// Requests of the revision without sessions go on without a server likewise.
func TestLateServerOfTheNewRevision(t *testing.T) {
	t.Parallel()
	a, dir := moody(t, "a", `*server/discover*) `+untilGo+` answer '"result":{"supportedVersions":["`+mcptest.Modern+`"],"capabilities":{"tools":{}},"serverInfo":{"name":"moody","version":"1"}}';;`+hasX)
	r := connectRaw(t, proxy.Options{Servers: []proxy.Server{a, child(t, "things")}}, proxy.LateAfter(5*time.Second))
	meta := `"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + mcptest.Modern + `","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"}}}`
	r.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover",` + meta + `}`)
	if got := r.answer("1"); !strings.Contains(string(got["result"]), mcptest.Modern) {
		t.Errorf("introduced with %s %s", got["result"], got["error"])
	}
	r.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list",` + meta + `}`)
	if got := r.answer("2"); !strings.Contains(string(got["result"]), `"things__list_things"`) {
		t.Errorf("listed %s %s", got["result"], got["error"])
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for m := r.next(); string(m["method"]) != `"notifications/tools/list_changed"`; m = r.next() {
		if m == nil {
			t.Fatal("the client never heard that the server is there")
		}
	}
}

// While no server is there at all, who lists waits for one.
func TestAllServersAreLate(t *testing.T) {
	t.Parallel()
	hangs := `*tools/list*) ` + untilGo + ` answer '"result":{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}';;`
	a, dir := moody(t, "a", hangs)
	b, other := moody(t, "b", hangs)
	r := connectRaw(t, proxy.Options{Servers: []proxy.Server{a, b}}, proxy.LateAfter(50*time.Millisecond))
	r.initialize("{}")
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	time.AfterFunc(300*time.Millisecond, func() { _ = os.WriteFile(filepath.Join(dir, "go"), nil, 0o600) })
	if got := r.answer("1"); !strings.Contains(string(got["result"]), `"a__x"`) {
		t.Errorf("listed %s %s", got["result"], got["error"])
	}
	_ = os.WriteFile(filepath.Join(other, "go"), nil, 0o600)
}
