package proxy_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
)

// Each refusal leaves a record of what refused it.
func TestRefusalsAreRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		deny, err := policy.Parse("p.json", []byte(`{"rules":[{"tool":"plain/read_thing","decide":"deny","reason":"not this one"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		s, b := newPlain(deleteThing, readThing), new(book)
		c := s.client(t, s.proxy(t, proxy.Options{ReadOnly: true, Audit: b, Policy: func() *policy.Policy { return deny }}))
		for _, name := range []string{"delete_thing", "read_thing", "no_such_thing"} {
			c.call(`{"name":"` + name + `"}`)
		}
		got := b.ends()
		for i, want := range []string{"delete_thing refused [{read-only refused", "read_thing refused [{p.json", "no_such_thing refused [{proxy refused"} {
			if i >= len(got) || !strings.HasPrefix(got[i], want) {
				t.Errorf("record %d of %q, want %q", i, got, want)
			}
		}
		if len(got) != 3 || len(s.calls()) > 0 {
			t.Errorf("%d records, executed %q", len(got), s.calls())
		}
	})
}

// A call that cannot be made is stopped as a loop like any other.
func TestCallsThatCannotBeMadeAreStopped(t *testing.T) {
	t.Parallel()
	for name, params := range map[string]string{
		"an unknown tool":         `{"name":"no_such_thing","arguments":{"a":1}}`,
		"arguments in two ways":   `{"name":"read_thing","arguments":{"path":"a","path":"b"}}`,
		"arguments of no object":  `{"name":"read_thing","arguments":"a"}`,
		"a tool without its name": `{"NAME":"read_thing"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, b := newPlain(readThing), new(book)
				c := s.client(t, s.proxy(t, proxy.Options{Audit: b, Policy: decided(t, `{"budget": {"repeats": 4}}`)}))
				for i := range 6 {
					got := c.call(params)
					if stopped := strings.Contains(got, `"isError":true`) && strings.Contains(got, "30s"); stopped != (i >= 4) {
						t.Errorf("call %d: got %s", i+1, got)
					}
				}
				if got := b.ends(); len(got) != 6 || len(s.calls()) > 0 {
					t.Errorf("%d records, want 6; the server executed %q", len(got), s.calls())
				}
			})
		})
	}
}

// A client that names its revision in each request gets the type of each result, with which it refuses one without; a client
// of an earlier revision gets the members that it has.
func TestResultsHaveTheirType(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, meta, policy, want string }{
		{"a denial", mcptest.Modern, `{"rules":[{"tool":"plain/*","decide":"deny","reason":"no"}]}`, `"resultType":"complete"`},
		{"an answer without it", mcptest.Modern, `{"rules":[{"tool":"plain/*","decide":"allow","class":"dangerous"}]}`, `"resultType":"complete"`},
		{"an answer of a read without it", mcptest.Modern, `{}`, `"resultType":"complete"`},
		{"a denial, earlier", "", `{"rules":[{"tool":"plain/*","decide":"deny","reason":"no"}]}`, ""},
		{"an answer, earlier", "", `{"rules":[{"tool":"plain/*","decide":"allow","class":"dangerous"}]}`, ""},
	} {
		s, params := newPlain(deleteAll, readThing), `"name":"delete_rows","arguments":{"table":"a"}`
		if tt.policy == `{}` {
			params = `"name":"read_thing","arguments":{}`
		}
		s.answers(func(method, _ string) string {
			if method != "tools/call" {
				return ""
			}
			return `{"content":[{"type":"text","text":"done"}]}`
		})
		meta := ""
		if tt.meta != "" {
			meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"` + tt.meta + `","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"}}`
		}
		c := s.client(t, s.proxy(t, proxy.Options{Policy: decided(t, tt.policy)}))
		got := c.call(`{` + params + meta + `}`)
		if n := strings.Count(got, `"resultType":"complete"`); n != min(1, len(tt.want)) || !strings.Contains(got, `"content"`) {
			t.Errorf("%s: got %s", tt.name, got)
		}
	}
}

// A model that has one server's tools calls them without the server, and reads that name in texts of the chain, but a
// reason of a person is passed on as it was written.
func TestRefusalsHaveTheNameThatTheModelUses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		deny, err := policy.Parse("p.json", []byte(`{"rules":[{"tool":"plain/read_thing","decide":"deny","reason":"plain__read_thing is its old name"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		s := newPlain(readThing)
		c := s.client(t, s.proxy(t, proxy.Options{Policy: func() *policy.Policy { return deny }}))
		if got := c.call(`{"name":"read_thing"}`); !strings.Contains(got, "read_thing was not called: plain__read_thing is its old name") || strings.Contains(got, "plain__read_thing was") {
			t.Errorf("got %s", got)
		}
	})
}
