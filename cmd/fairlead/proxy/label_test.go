package proxy_test

import (
	"context"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
)

// A client reads the label of the proxy, which trusts a tool only if the policy does; without the option it gets what the
// server states.
func TestResultsForTheClientAreLabeled(t *testing.T) {
	t.Parallel()
	const stated = `"ifc":{"integrity":"trusted","confidentiality":["public"]}`
	for name, c := range map[string]struct{ policy, want string }{
		"as stated":       {`{}`, stated},
		"an untrusted":    {`{"flow": {"label": true}}`, `"ifc":{"confidentiality":["public"],"integrity":"untrusted"}`},
		"a trusted":       {`{"flow": {"label": true, "trusted": ["plain/*"]}}`, `"ifc":{"confidentiality":["public"],"integrity":"trusted"}`},
		"another trusted": {`{"flow": {"label": true, "trusted": ["plain/other"]}}`, `"ifc":{"confidentiality":["public"],"integrity":"untrusted"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newPlain(readThing, strings.Replace(readThing, "read_thing", "other", 1))
			s.answer = func(method, _ string) string {
				if method != "tools/call" {
					return ""
				}
				return `{"content":[{"type":"text","text":"hi","_meta":{` + stated + `}}],"_meta":{` + stated + `}}`
			}
			p := s.proxy(t, proxy.Options{
				Policy:  decided(t, c.policy),
				Confirm: hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) { return hitl.Decision{}, nil }),
			})
			client := s.client(t, p)
			got := strings.ReplaceAll(client.call(`{"name":"read_thing","arguments":{}}`), `"confidentiality":["public"],"integrity":"trusted"`, `"integrity":"trusted","confidentiality":["public"]`)
			want := strings.ReplaceAll(c.want, `"confidentiality":["public"],"integrity":"trusted"`, `"integrity":"trusted","confidentiality":["public"]`)
			if strings.Count(got, want) != 2 || strings.Count(got, `"ifc"`) != 2 {
				t.Errorf("got %s, want %s twice", got, want)
			}
		})
	}
}
