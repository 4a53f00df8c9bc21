package proxy_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/programtest"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server's question reaches the client under an ID of ours, which no server can know:
// it cannot have its answer taken for one to a question of the proxy's.
func TestServersQuestionIsNotOurs(t *testing.T) {
	t.Parallel()
	r := connectRaw(t, proxy.Options{Servers: []proxy.Server{child(t, "features")}})
	r.initialize(`{"elicitation":{}}`)
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_form","arguments":{}}}`)
	m := r.next()
	if string(m["method"]) != `"elicitation/create"` || !strings.HasPrefix(string(m["id"]), `"fairlead-`) {
		t.Fatalf("got %s %s", m["method"], m["id"])
	}
	r.send(`{"jsonrpc":"2.0","id":` + string(m["id"]) + `,"result":{"action":"accept","content":{"name":"Ada"}}}`)
	if got := r.answer("1"); !strings.Contains(string(got["result"]), "acceptAda") {
		t.Errorf("got %s", got["result"])
	}
}

// An answer to what a server asked does not answer what the one after it asks, though both
// count their questions from 1; and whoever was asked is told that nobody waits.
func TestAnswerIsForTheServerThatAsked(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"one server", "one of two"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			s, _ := moody(t, "a", `
				*resources/read*) asking=$line; say "$question";;
				*'"id":1,"result"'*) said=$line; line=$asking; answer "\"result\":{\"said\":$said}";;`)
			o := proxy.Options{Servers: []proxy.Server{s}}
			if way != "one server" {
				o.Servers = append(o.Servers, child(t, "things"))
			}
			r := connectRaw(t, o)
			r.initialize(`{"elicitation":{}}`)
			asked := func(id string) string {
				r.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"resources/read","params":{"uri":"x://y"}}`)
				for {
					switch m := r.next(); {
					case m == nil:
						t.Fatal("the proxy has ended")
					case string(m["method"]) == `"elicitation/create"`:
						return string(m["id"])
					}
				}
			}
			first := asked("5")
			r.send(`{"jsonrpc":"2.0","method":"notifications/die"}`)
			for cancelled := false; !cancelled; {
				m := r.next()
				cancelled = string(m["method"]) == `"notifications/cancelled"` && strings.Contains(string(m["params"]), first)
			}
			second := asked("6")
			r.send(`{"jsonrpc":"2.0","id":` + first + `,"result":{"action":"accept"}}`)
			r.send(`{"jsonrpc":"2.0","id":` + second + `,"result":{"action":"decline"}}`)
			if got := r.answer("6"); !strings.Contains(string(got["result"]), "decline") {
				t.Errorf("the server took %s for its answer", got["result"])
			}
		})
	}
}

// A server that takes back a question takes back its own.
func TestServerCancelsItsOwnQuestion(t *testing.T) {
	t.Parallel()
	const does = `
		*resources/read*'"a"'*) say "$question";;
		*resources/read*'"b"'*) say '"method":"notifications/cancelled","params":{"requestId":1}'; answer '"result":{}';;
		*resources/read*'"c"'*) say '"method":"notifications/cancelled","params":{"requestId":1}'; answer '"result":{}';;`
	a, _ := moody(t, "a", does+`*resources/list*) answer '"result":{"resources":[{"uri":"a","name":"a"},{"uri":"c","name":"c"}]}';;`)
	b, _ := moody(t, "b", does+`*resources/list*) answer '"result":{"resources":[{"uri":"b","name":"b"}]}';;`)
	r := connectRaw(t, proxy.Options{Servers: []proxy.Server{a, b}})
	r.initialize(`{"elicitation":{}}`)
	r.send(`{"jsonrpc":"2.0","id":4,"method":"resources/list"}`)
	r.answer("4")
	r.send(`{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"a"}}`)
	question := string(r.next()["id"])
	for _, uri := range []string{"b", "c"} { // in this order
		want := uri == "c"
		id := `"` + uri + `"`
		r.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"resources/read","params":{"uri":` + id + `}}`)
		got := false
		for m := r.next(); string(m["id"]) != id; m = r.next() {
			got = got || strings.Contains(string(m["params"]), question)
		}
		if got != want {
			t.Errorf("the server of %s cancelled the question: %v, want %v", uri, got, want)
		}
	}
}

// After SIGTERM a call that the server has is answered, one that waits for a person was
// not made, and no other is taken.
func TestTerminatedProxyAnswersWhatTheServerHas(t *testing.T) {
	t.Parallel()
	program := programtest.Path(t)
	for _, c := range []struct {
		name, drain string
		goesOn      bool
		want        string
	}{
		{"in time", "1m", true, "it is gone"},
		{"too late", "1ms", false, "may or may not have happened"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ledger, rules := t.TempDir()+"/ledger", t.TempDir()+"/policy.json"
			if err := os.WriteFile(rules, []byte(`{"rules": [{"tool": "server/delete_slowly", "decide": "allow", "class": "dangerous"}]}`), 0o600); err != nil {
				t.Fatal(err)
			}
			exe, key := mcptest.Child(t, "things")
			cmd := exec.CommandContext(t.Context(), program, "proxy", "--name", "server", "--policy", rules, "--approve", "web", "--reach", "none", "--drain", c.drain, "--", exe)
			cmd.Env = append(os.Environ(), key, ledgerKey+"="+ledger)
			k := start(t, cmd)
			k.greet()
			call := func(tool string) int { return k.call(tool, map[string]any{"id": tool}) }
			slow := call("delete_slowly")
			until(t, "the server to begin", func() bool { return len(ledgerOf(t, ledger)) > 0 })
			asked := call("delete_thing")
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if c.goesOn {
				if got := k.answer(asked); !strings.Contains(got, "not") || strings.Contains(got, "may have") {
					t.Errorf("the call that waited for a person: %s", got)
				}
				if got := k.answer(call("list_things")); !strings.Contains(got, "it is stopping") {
					t.Errorf("a new call: %s", got)
				}
				if err := os.WriteFile(ledger+goOn, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := k.answer(slow); !strings.Contains(got, c.want) {
				t.Errorf("the call that the server had: %s, want %q", got, c.want)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("the program ended with %v", err)
			}
			for _, line := range ledgerOf(t, ledger) {
				if strings.Contains(line, `"delete_thing"`) || strings.Contains(line, `"list_things"`) {
					t.Errorf("the server did %s", line)
				}
			}
		})
	}
}

func TestStoppedProxyAnswersOverHTTP(t *testing.T) {
	t.Parallel()
	for _, version := range mcptest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			ledger := t.TempDir() + "/ledger"
			p, err := proxy.New(proxy.Options{
				Servers: []proxy.Server{child(t, "things", ledgerKey+"="+ledger)}, Drain: time.Minute, Stderr: newLines(t),
				Policy: decided(t, `{"rules": [{"tool": "things/delete_slowly", "decide": "allow", "class": "dangerous"}]}`),
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			url, ended := make(chan string, 1), make(chan error, 1)
			go func() { ended <- p.ListenAndServe(ctx, "127.0.0.1:0", func(u string) { url <- u }) }()
			cs := mcptest.Dial(t, nil, &mcp.StreamableClientTransport{Endpoint: mcptest.Wait(t, "the proxy to listen", url)}, version)
			answer := make(chan string, 1)
			go func() {
				res, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "delete_slowly"})
				if err != nil {
					answer <- err.Error()
					return
				}
				answer <- res.Content[0].(*mcp.TextContent).Text
			}()
			until(t, "the server to begin", func() bool { return len(ledgerOf(t, ledger)) > 0 })
			stop()
			if err := os.WriteFile(ledger+goOn, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := mcptest.Wait(t, "the answer", answer); got != "it is gone" {
				t.Errorf("got %q", got)
			}
			if err := mcptest.Wait(t, "the proxy to end", ended); err != nil {
				t.Error(err)
			}
		})
	}
}
