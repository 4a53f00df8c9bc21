package mount_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// listed returns a catalog with what a server lists, which is one tool that is called pay.
func listed(t *testing.T, version, tool string, lock *pins.Lock) *catalog.Catalog {
	t.Helper()
	peer := mcptest.PeerTransport(t, func(p *mcptest.Peer, r mcptest.Request) {
		p.Reply(r, `{"tools":[{"name":"other","inputSchema":{"type":"object","maxProperties":1.0}},`+tool+`]}`)
	})
	tools := catalog.New(catalog.Options{Lock: lock})
	cs := mcptest.Dial(t, mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil), mount.Transport(peer), version)
	if err := tools.Add(t.Context(), "bank", cs); err != nil {
		t.Fatal(err)
	}
	return tools
}

// places are definitions with a number at N.
var places = map[string]string{
	"maximum":        `{"name":"pay","inputSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":N}}}}`,
	"default":        `{"name":"pay","inputSchema":{"type":"object","properties":{"n":{"default":N}}}}`,
	"enum":           `{"name":"pay","inputSchema":{"type":"object","properties":{"n":{"enum":[1,1.10,N]}}}}`,
	"output schema":  `{"name":"pay","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"const":N}}}}`,
	"_meta":          `{"name":"pay","inputSchema":{"type":"object"},"_meta":{"example.com/limits":[{"most":N}]}}`,
	"beside an icon": `{"name":"pay","icons":[{"src":"https://example.com/a.png"}],"inputSchema":{"type":"object","maxProperties":N}}`,
	"a name in é":    `{"name":"pay","inputSchema":{"type":"object","properties":{"é":{"maximum":N}}}}`,
}

// A definition that changes only in digits that no float64 holds is another one, which its lock file refuses.
func TestDefinitionThatChangesInLongDigits(t *testing.T) {
	t.Parallel()
	for place, text := range places {
		for one, other := range map[string]string{
			"9007199254740993": "9007199254740992", "9007199254740992": "9007199254740993", "18446744073709551616": "18446744073709551617",
			"0.1": "0.1000000000000000055", "-9007199254740993": "-9007199254740992",
		} {
			t.Run(place+" "+one, func(t *testing.T) {
				t.Parallel()
				eachVersion(t, func(t *testing.T, version string) {
					lock := new(pins.Lock)
					before, after := strings.ReplaceAll(text, "N", one), strings.ReplaceAll(text, "N", other)
					tools := listed(t, version, before, lock)
					if err := lock.Accept(tools, lock.Changes(tools)...); err != nil {
						t.Fatal(err)
					}
					tool, ok := tools.Lookup("bank", "pay")
					if again, found := listed(t, version, before, lock).Lookup("bank", "pay"); !ok || !found || again.Digest != tool.Digest {
						t.Error("the same definition is refused")
					}
					copied, err := middleware.NewTool("bank", tool.Definition, tool.Annotations)
					if err != nil || copied.Digest != tool.Digest {
						t.Errorf("the copy of the definition has another digest, %v", err)
					}
					changed := listed(t, version, after, lock)
					if _, ok := changed.Lookup("bank", "pay"); ok {
						t.Error("the changed definition is taken for the accepted one")
					}
					if changes := fmt.Sprint(lock.Changes(changed)); !strings.Contains(changes, "pay") {
						t.Errorf("the change is not shown: %s", changes)
					}
				})
			})
		}
	}
}

// A number that is written in another form is no change, and has the digest that a decoded definition has.
func TestDefinitionWithNumbersInAnotherForm(t *testing.T) {
	t.Parallel()
	for place, text := range places {
		for one, other := range map[string]string{"1": "1.0", "1.1": "1.10", "1000": "1e3", "9007199254740992": "9007199254740992.0"} {
			a, _ := listed(t, mcptest.Modern, strings.ReplaceAll(text, "N", one), nil).Lookup("bank", "pay")
			b, _ := listed(t, mcptest.Modern, strings.ReplaceAll(text, "N", other), nil).Lookup("bank", "pay")
			if a == nil || b == nil || a.Digest != b.Digest {
				t.Errorf("%s: %s and %s are two definitions", place, one, other)
			}
		}
	}
}
