// Package realservers puts servers that others have written behind the built program and
// attacks them with what broke a promise once. It needs node with the TypeScript SDK, which
// FAIRLEAD_TS_SDK names, and python3; without one of them its server is left out. Servers of npm,
// which FAIRLEAD_NPM_SERVERS names, get sessions of calls, reads and others.
package realservers_test

import (
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An attack is a message that may make a server execute a call that was not shown.
type attack struct {
	name string
	line string
	// does is what each server executes that is attacked without the proxy.
	does map[string]string
	// asks is whether the proxy may show the call and send it as it was shown. All other
	// attacks are refused.
	asks bool
}

const (
	mcpGo      = "mcp-go"
	typeScript = "TypeScript SDK"
	plain      = "plain"
)

func all(does string) map[string]string {
	return map[string]string{mcpGo: does, typeScript: does, plain: does}
}

var attacks = []attack{
	{
		name: "a call without an id",
		line: `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"delete_path","arguments":{"path":"/srv/old"}}}`,
		does: map[string]string{plain: "delete_path /srv/old"},
	},
	{
		name: "a call with a null id",
		line: `{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"delete_path","arguments":{"path":"/srv/old"}}}`,
		does: map[string]string{plain: "delete_path /srv/old"},
	},
	{
		name: "a batch of a call without an id",
		line: `[{"jsonrpc":"2.0","method":"tools/call","params":{"name":"delete_path","arguments":{"path":"/srv/old"}}}]`,
		does: map[string]string{plain: "delete_path /srv/old"},
	},
	{
		name: "arguments that fold to a known member",
		line: `{"jsonrpc":"2.0","id":"ID","method":"tools/call","params":{"name":"delete_path","arguments":{"path":"/srv/old"},"argumentſ":{"path":"/etc"}}}`,
		does: map[string]string{mcpGo: "delete_path /etc", typeScript: "delete_path /srv/old", plain: "delete_path /srv/old"},
	},
	{
		name: "a name in another case",
		line: `{"jsonrpc":"2.0","id":"ID","method":"tools/call","params":{"name":"get_status","Name":"factory_reset","arguments":{}}}`,
		does: map[string]string{mcpGo: "factory_reset"},
	},
	{
		name: "a name that is repeated",
		line: `{"jsonrpc":"2.0","id":"ID","method":"tools/call","params":{"name":"get_status","name":"factory_reset","arguments":{}}}`,
		does: all("factory_reset"),
	},
	{
		name: "arguments that are repeated",
		line: `{"jsonrpc":"2.0","id":"ID","method":"tools/call","params":{"name":"delete_path","arguments":{"path":"/srv/old"},"arguments":{"path":"/etc"}}}`,
		does: all("delete_path /etc"),
	},
	{
		name: "an argument that is repeated",
		line: `{"jsonrpc":"2.0","id":"ID","method":"tools/call","params":{"name":"delete_path","arguments":{"path":"/srv/old","path":"/etc"}}}`,
		does: all("delete_path /etc"),
	},
	{
		name: "a method that is repeated",
		line: `{"jsonrpc":"2.0","id":"ID","method":"ping","method":"tools/call","params":{"name":"delete_path","arguments":{"path":"/etc"}}}`,
		does: all("delete_path /etc"),
		asks: true,
	},
	{
		name: "params in another case",
		line: `{"jsonrpc":"2.0","id":"ID","method":"tools/call","params":{"name":"get_status","arguments":{}},"Params":{"name":"factory_reset","arguments":{}}}`,
		does: map[string]string{mcpGo: "factory_reset"},
		asks: true,
	},
}

// attack sends an attack and returns once it has been handled. A server may drop it.
func (c *client) attack(a attack, answers bool) {
	c.t.Helper()
	id := c.call(a.line)
	if answers && strings.Contains(a.line, `"id":"ID"`) {
		c.await(id)
	}
	c.settle()
}

// The attacks do harm where the proxy is not: without this the tests below show nothing.
func TestAttacksWithoutTheProxy(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s realServer, command []string, l ledger) {
		c := start(t, l, command...)
		for _, a := range attacks {
			before := len(l.executed(t))
			c.attack(a, a.does[s.name] != "")
			if got := strings.Join(l.executed(t)[before:], ", "); got != a.does[s.name] {
				t.Errorf("%s: the server executed %q, want %q", a.name, got, a.does[s.name])
			}
		}
	})
}

// The server executes the approved call, and a call that two servers would read differently is
// refused.
func TestExecutedIsWhatWasShown(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, _ realServer, command []string, l ledger) {
		record := filepath.Join(t.TempDir(), "calls.jsonl")
		c := proxied(t, l, []string{"--approve", "elicit", "--audit", record, "--"}, command...)
		for _, a := range attacks {
			before := len(l.executed(t))
			c.asked = nil
			c.attack(a, true)
			done := l.executed(t)[before:]
			if len(done) > 0 && !a.asks {
				t.Errorf("%s: the server executed %q; the question was %q", a.name, done, c.asked)
			}
			if len(done) > len(c.asked) {
				t.Errorf("%s: the server executed %q after %d questions", a.name, done, len(c.asked))
			}
			for i, one := range done[:min(len(done), len(c.asked))] {
				for word := range strings.FieldsSeq(one) {
					if !strings.Contains(c.asked[i], word) {
						t.Errorf("%s: the server executed %q; shown was\n%s", a.name, one, c.asked[i])
					}
				}
			}
		}
		before := len(l.executed(t))
		c.await(c.call(`{"jsonrpc":"2.0","id":"ID","method":"tools/call","params":{"name":"delete_path","arguments":{"path":"/srv/new"}}}`))
		if got := l.executed(t)[before:]; !slices.Equal(got, []string{"delete_path /srv/new"}) {
			t.Errorf("the server executed %q for an honest call", got)
		}
		c.close()
		if got, want := outcomes(t, record), 2*len(attacks)+1; len(got) != want {
			t.Errorf("%d calls are recorded, want %d with the refused ones: %q", len(got), want, got)
		}
	})
}

// Nothing but a read is executed behind a proxy that is read-only.
func TestReadOnlyOnlyReads(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, _ realServer, command []string, l ledger) {
		record := filepath.Join(t.TempDir(), "calls.jsonl")
		c := proxied(t, l, []string{"--read-only", "--approve", "deny", "--audit", record, "--"}, command...)
		for _, a := range attacks {
			c.attack(a, true)
		}
		c.close()
		if got := l.executed(t); len(got) > 0 {
			t.Errorf("the server executed %q", got)
		}
		if got, want := outcomes(t, record), 2*len(attacks); len(got) != want {
			t.Errorf("%d calls are recorded, want %d with the refused ones: %q", len(got), want, got)
		}
	})
}

// One POST without an id does not pass the proxy over HTTP either.
func TestPostWithoutAnID(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, _ realServer, command []string, l ledger) {
		url := serving(t, l, `serving MCP at (http://\S+)`, append([]string{
			program(t, "fairlead"), "proxy", "--listen", "127.0.0.1:0", "--approve", "deny", "--",
		}, command...)...)
		_, session := post(t, url, "", hello)
		post(t, url, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		for _, a := range attacks {
			post(t, url, session, a.line)
		}
		got, _ := post(t, url, session, `{"jsonrpc":"2.0","id":"settle","method":"tools/call","params":{"name":"get_status","arguments":{}}}`)
		if !strings.Contains(got, "done") {
			t.Errorf("the proxy does not serve any more: %s", got)
		}
		if got := l.executed(t); len(got) > 0 {
			t.Errorf("the server executed %q", got)
		}
	})
}

// A tool that its server redefines or removes while a person reads is not called.
func TestRedefinedWhileAPersonReads(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, _ realServer, command []string, _ ledger) {
		for _, to := range []string{"redefined", "removed"} {
			for _, locked := range []bool{false, true} {
				name, flags := to, []string{"--approve", "elicit"}
				if locked {
					name = to + " with a lock"
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					l := ledger(filepath.Join(t.TempDir(), "ledger"))
					if locked {
						lock := filepath.Join(t.TempDir(), "lock")
						accept(t, lock, command...)
						flags = append(flags, "--lock", lock)
					}
					c := proxied(t, l, append(flags, "--"), command...)
					c.answer = func(question message) { // once its definition has changed
						c.send(`{"jsonrpc":"2.0","id":"update","method":"tools/call","params":{"name":"get_update","arguments":{"path":"` + to + `"}}}`)
						for updated, announced := false, false; !updated || !announced; {
							m := c.next()
							updated = updated || m.ID == "update"
							announced = announced || m.Method == "notifications/tools/list_changed"
						}
						c.reply(question, "allow")
					}
					id := c.call(`{"jsonrpc":"2.0","id":"ID","method":"tools/call","params":{"name":"delete_path","arguments":{"path":"/srv/old"}}}`)
					if got := c.await(id); !strings.Contains(string(got.Result), `"isError":true`) && got.Error == nil {
						t.Errorf("the client got %s %s, want a refusal", got.Result, got.Error)
					}
					if len(c.asked) == 0 || strings.Contains(c.asked[0], "on every host") {
						t.Fatalf("the questions were %q, want one of the first definition", c.asked)
					}
					if got := l.executed(t); len(got) > 0 {
						t.Errorf("the server executed %q", got)
					}
				})
			}
		}
	})
}

// One approval hands a call over once, though a server redirects it on the same host.
func TestRedirectedCallIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, _ realServer, command []string, l ledger) {
		backend, err := url.Parse(serving(t, l, `(http://\S+)`, append(command, "http")...))
		if err != nil {
			t.Fatal(err)
		}
		gateway := &redirector{backend: httputil.NewSingleHostReverseProxy(&url.URL{Scheme: backend.Scheme, Host: backend.Host})}
		server := httptest.NewServer(gateway)
		t.Cleanup(server.Close)
		record := filepath.Join(t.TempDir(), "calls.jsonl")
		c := proxied(t, l, []string{"--approve", "elicit", "--audit", record}, server.URL+"/mcp")
		t.Cleanup(server.CloseClientConnections) // before the server waits for the client's stream
		c.await(c.call(`{"jsonrpc":"2.0","id":"ID","method":"tools/call","params":{"name":"delete_path","arguments":{"path":"/srv/old"}}}`))
		if len(c.asked) != 1 || gateway.delivered.Load() != 1 {
			t.Errorf("%d approvals made %d deliveries, want one and one", len(c.asked), gateway.delivered.Load())
		}
		if got := l.executed(t); !slices.Equal(got, []string{"delete_path /srv/old"}) {
			t.Errorf("the server executed %q", got)
		}
		c.settle()
		c.close()
		if got, want := outcomes(t, record), []string{"delete_path unknown", "get_status ok"}; !slices.Equal(got, want) {
			t.Errorf("recorded is %q, want %q", got, want)
		}
	})
}
