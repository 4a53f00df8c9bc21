package proxy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/mcptest"
)

// moody is a server in a few lines of shell, so that each of its processes can do as a
// test wants. It finds its number in $n, each line that it reads in $line, and ends with a
// notification "die".
func moody(t testing.TB, name, does string) (_ proxy.Server, dir string) {
	t.Helper()
	dir = t.TempDir()
	return proxy.Server{Name: name, Dir: dir, Command: []string{"sh", "-c", `
		n=$(($(cat n 2>/dev/null || echo 0) + 1)); echo $n > n
		say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
		answer() { say "\"id\":$(printf %s "$line" | sed 's/^{"jsonrpc":"2.0","id":\([^,]*\),.*/\1/'),$1"; }
		question='"id":1,"method":"elicitation/create","params":{"message":"Go on?","requestedSchema":{"type":"object","properties":{}}}'
		while read -r line; do
			case "$n $line" in
			` + does + `
			*'"initialize"'*) answer '"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"moody","version":"1"}}';;
			*die*) exit 1;;
			*'"id"'*'"method"'*) answer "\"result\":{\"by\":$n}";;
			esac
		done`}}, dir
}

// exists waits for a file that a server makes.
func exists(t testing.TB, name string) {
	t.Helper()
	until(t, name, func() bool { _, err := os.Stat(name); return err == nil })
}

// What is asked for while a server is away waits for the one that comes back, however
// many go before that: it was sent to none of them.
func TestWhatWaitsForAServerIsSentOnce(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"one server", "one of two"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			s, dir := moody(t, "a", `
				2*initialize*) touch second; until [ -e go ]; do sleep 0.01; done; exit 1;;
				*resources/read*) echo "$n" >> reads; answer "\"result\":{\"by\":$n}";;`)
			o := proxy.Options{Servers: []proxy.Server{s}}
			if way != "one server" {
				o.Servers = append(o.Servers, child(t, "things"))
			}
			r := connectRaw(t, o)
			r.initialize("{}")
			r.send(`{"jsonrpc":"2.0","method":"notifications/die"}`)
			exists(t, filepath.Join(dir, "second"))
			r.send(`{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"x://y"}}`)
			r.send(`{"jsonrpc":"2.0","method":"notifications/nothing"}`) // which is read when the read was
			if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := r.answer("5"); string(got["result"]) != `{"by":3}` {
				t.Errorf("got %s %s", got["result"], got["error"])
			}
			if got := ledgerOf(t, filepath.Join(dir, "reads")); len(got) != 1 || got[0] != "3" {
				t.Errorf("it was read by %v", got)
			}
		})
	}
}

// A client that goes while its server is away is not waited for.
func TestClientThatGoesWhileItsServerIsAway(t *testing.T) {
	t.Parallel()
	s, dir := moody(t, "a", `2*initialize*) touch second; cat > /dev/null; exit 1;;`)
	r := connectRaw(t, proxy.Options{Servers: []proxy.Server{s}})
	r.initialize("{}")
	r.send(`{"jsonrpc":"2.0","method":"notifications/die"}`)
	exists(t, filepath.Join(dir, "second"))
	r.send(`{"jsonrpc":"2.0","id":5,"method":"ping"}`)
	_ = r.in.Close()
	if err := mcptest.Wait(t, "the proxy to end", r.done); err != nil {
		t.Error(err)
	}
}

// A request that waits for its server can be cancelled, and is not sent then.
func TestWhatWaitsForAServerCanBeCancelled(t *testing.T) {
	t.Parallel()
	s, dir := moody(t, "a", `
		2*initialize*) touch second; until [ -e go ]; do sleep 0.01; done; exit 1;;
		*resources/read*) echo "$line" >> reads; answer '"result":{}';;`)
	r := connectRaw(t, proxy.Options{Servers: []proxy.Server{s}})
	r.initialize("{}")
	r.send(`{"jsonrpc":"2.0","method":"notifications/die"}`)
	exists(t, filepath.Join(dir, "second"))
	r.send(`{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"x://cancelled"}}`)
	r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
	r.send(`{"jsonrpc":"2.0","id":6,"method":"resources/read","params":{"uri":"x://kept"}}`)
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.answer("6")
	if got := ledgerOf(t, filepath.Join(dir, "reads")); len(got) != 1 || !strings.Contains(got[0], "x://kept") {
		t.Errorf("the server was asked %q", got)
	}
}

// An answer to what a server asked is none to what the one after it asks, though both
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

// Some write that there is no error into their results.
func TestResultWithAnErrorOfNull(t *testing.T) {
	t.Parallel()
	s, _ := moody(t, "a", `*ping*) answer '"result":{"x":1},"error":null';;`)
	r := connectRaw(t, proxy.Options{Servers: []proxy.Server{s}})
	r.initialize("{}")
	r.send(`{"jsonrpc":"2.0","id":5,"method":"ping"}`)
	if got := r.answer("5"); string(got["result"]) != `{"x":1}` || got["error"] != nil {
		t.Errorf("got %s %s", got["result"], got["error"])
	}
}

// A client that goes without having read what was written for it is not waited for.
func TestClientThatGoesAndDoesNotRead(t *testing.T) {
	t.Parallel()
	s, dir := moody(t, "a", `
		*flood*) i=0; while [ $i -lt 2000 ]; do [ $i -eq 500 ] && touch flooding; say "\"method\":\"notifications/$i\""; i=$((i+1)); done;;`)
	r := connectRaw(t, proxy.Options{Servers: []proxy.Server{s}})
	r.initialize("{}")
	r.send(`{"jsonrpc":"2.0","method":"notifications/flood"}`)
	exists(t, filepath.Join(dir, "flooding"))
	_ = r.in.Close()
	if err := mcptest.Wait(t, "the proxy to end", r.done); err != nil {
		t.Error(err)
	}
}
