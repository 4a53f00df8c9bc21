package proxy_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
)

func TestCallWithoutAnIDReachesNoServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, b := newPlain(deleteThing), new(book)
		c := s.client(t, s.proxy(t, proxy.Options{ReadOnly: true, Audit: b}))
		c.send(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"delete_thing"}}`)
		c.send(`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"delete_thing"}}`)
		c.send(`[{"jsonrpc":"2.0","method":"tools/call","params":{"name":"delete_thing"}}]`)
		if got := c.ask(`{"jsonrpc":"2.0","id":7,"method":"TOOLS/CALL","params":{"name":"delete_thing"}}`, "7"); !strings.Contains(got, `"error"`) {
			t.Errorf("got %s", got)
		}
		synctest.Wait()
		if got := s.calls(); len(got) > 0 {
			t.Errorf("the server executed %q", got)
		}
		if got := b.ends(); len(got) != 4 {
			t.Errorf("%d records, want 4: %q", len(got), got)
		}
	})
}

// A method in another case, or twice, is what the proxy took it for when it is sent on.
func TestNoMessageIsReadInTwoWays(t *testing.T) {
	t.Parallel()
	ledger := t.TempDir() + "/ledger"
	r := connectRaw(t, proxy.Options{Servers: []proxy.Server{child(t, "things", ledgerKey+"="+ledger)}})
	r.initialize("{}")
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","Method":"ping","params":{"name":"delete_thing"}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","method":"ping","params":{"name":"delete_thing"}}`,
		`{"jsonrpc":"2.0","id":3,"METHOD":"tools/call","params":{"name":"delete_thing"}}`,
		`[{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"delete_thing"}}]`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"list_things","Name":"delete_thing"}}`,
		`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"delete_thing","name":"list_things"}}`,
	} {
		r.send(text)
		r.next()
	}
	for _, line := range ledgerOf(t, ledger) {
		if strings.HasPrefix(line, "delete") {
			t.Errorf("the server did %q", line)
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
