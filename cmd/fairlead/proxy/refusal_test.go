package proxy_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
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
