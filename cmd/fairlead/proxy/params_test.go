package proxy_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
)

func TestAmbiguousParamsAreRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, b := newPlain(deleteThing, readThing), new(book)
		c := s.client(t, s.proxy(t, proxy.Options{Confirm: approve(true), Audit: b}))
		for _, params := range []string{
			`{"argumentſ":{"path":"/etc"},"name":"delete_thing","arguments":{"path":"/srv/old.log"}}`,
			`{"Name":"delete_thing","name":"read_thing"}`,
			`{"name":"read_thing","name":"delete_thing"}`,
			`{"name":"read_thing","n\u0061me":"delete_thing"}`,
			`{"NAME":"delete_thing"}`,
			`{"name":"read_thing","arguments":{"path":"a","PATH":"b"}}`,
			`{"name":"read_thing","_meta":{"tenant":"a","Tenant":"b"}}`,
			`{"name":"read_thing","task":{"ttl":1,"ttl":2}}`,
			`{"name":"read_thing","_META":{}}`,
		} {
			if got := c.call(params); !strings.Contains(got, `"error":{"code":-32602`) {
				t.Errorf("%s: got %s", params, got)
			}
		}
		if got := s.calls(); len(got) > 0 {
			t.Errorf("the server executed %q", got)
		}
		if got := c.call(`{"name":"read_thing","arguments":{"path":"a","other":"a"},"task":{"ttl":1},"_meta":{"tenant":"a"}}`); !strings.Contains(got, `"result"`) || len(s.calls()) != 1 {
			t.Errorf("got %s", got)
		}
		if got := b.ends(); len(got) != 10 {
			t.Errorf("%d records, want 10: %q", len(got), got)
		}
	})
}

// What the chain does not know of a call's params reaches the server, and such a call is
// not answered from memory.
func TestUnknownParams(t *testing.T) {
	t.Parallel()
	ledger := t.TempDir() + "/ledger"
	r := connectRaw(t, proxy.Options{Servers: []proxy.Server{child(t, "things", ledgerKey+"="+ledger)}, Policy: decided(t, `{"cache": {"*": "1m"}}`)})
	r.initialize("{}")
	for _, id := range []string{"1", "2"} {
		r.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"list_things","arguments":{},"task":{"ttl":1}}}`)
		r.answer(id)
	}
	for _, id := range []string{"3", "4"} {
		r.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"list_things","arguments":{}}}`)
		r.answer(id)
	}
	if got := ledgerOf(t, ledger); len(got) != 3 {
		t.Errorf("the server did %v, want two and one that was remembered", got)
	}
}

// Null in place of the arguments is none, as in a loop. The server gets an object, since MCP allows nothing else.
func TestNullArgumentsAreNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newPlain(readThing)
		c := s.client(t, s.proxy(t, proxy.Options{}))
		for _, params := range []string{`{"name":"read_thing","arguments":null}`, `{"name":"read_thing", "arguments" : null }`, `{"name":"read_thing"}`} {
			if got := c.call(params); !strings.Contains(got, `"result"`) || strings.Contains(got, `"isError":true`) {
				t.Errorf("%s: got %s", params, got)
			}
		}
		if got := s.calls(); len(got) != 3 || got[0] != got[2] || got[1] != got[2] {
			t.Errorf("the server got %q, want the same call three times", got)
		}
	})
}
