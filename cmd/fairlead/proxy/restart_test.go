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

// A server that dies while it deletes is started again; the call is not made again, and
// its caller is told that the outcome is unknown.
func TestServerThatDies(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, version string) {
		f := connect(t, version, proxy.Options{Confirm: approve(true)}, nil)
		for _, id := range []string{"a", "b"} {
			res := f.call(t, "delete_and_die", map[string]any{"id": id})
			if !res.IsError || !strings.HasPrefix(text(t, res), "delete_and_die may or may not have happened") {
				t.Errorf("got %q", text(t, res))
			}
			start := time.Now()
			if got := text(t, f.call(t, "list_things", nil)); got != "a, b" {
				t.Errorf("got %q", got)
			}
			if took := time.Since(start); took > time.Minute {
				t.Errorf("the server came back after %v", took)
			}
		}
		deletes := 0
		for _, line := range ledgerOf(t, f.ledger) {
			if strings.HasPrefix(line, "delete") {
				deletes++
			}
		}
		if deletes != 2 {
			t.Errorf("2 calls deleted %d times", deletes)
		}
		if log := f.log.String(); !strings.Contains(log, "the server went away; it is started again") || !strings.Contains(log, "the server is back") {
			t.Error("the log does not say so")
		}
	})
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
