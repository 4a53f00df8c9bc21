package mount_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// withDeep returns two tools, and between them one with a schema that is nested in as many levels.
func withDeep(levels int) []string {
	return []string{
		untyped[0],
		`{"name":"deep","inputSchema":{"type":"object","x":` + nested(levels) + `}}`,
		untyped[1],
	}
}

// The SDK reads no message that is nested deeper than 1,000 levels, and encoding/json
// none of more than 10,000.
func TestDeepSchemaTakesNoListAway(t *testing.T) {
	pipe := func(levels int) func(t *testing.T, _ string) mcp.Transport {
		return func(t *testing.T, _ string) mcp.Transport {
			return mcptest.PeerTransport(t, func(p *mcptest.Peer, r mcptest.Request) {
				p.Reply(r, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[`+strings.Join(withDeep(levels), ",")+`]}`)
			})
		}
	}
	all := map[string]func(t *testing.T, version string) mcp.Transport{
		"a pipe":         pipe(9000),
		"a pipe, deeper": pipe(100_000),
		"a process":      func(t *testing.T, _ string) mcp.Transport { return mcptest.ChildTransport(t, "deep") },
	}
	for name, way := range ways {
		if name != "memory" { // without visible bytes
			all[name] = func(t *testing.T, version string) mcp.Transport { return way(t, version, always(withDeep(9000))) }
		}
	}
	for name, way := range all {
		t.Run(name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, version string) {
				tools := catalog.New(catalog.Options{})
				defer tools.Close()
				client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, mount.Options(tools, nil))
				cs := mcptest.Dial(t, client, mount.Transport(way(t, version)), version)
				if err := tools.Add(mcptest.Context(t), "srv", cs); err != nil {
					t.Fatal(err)
				}
				if got := fmt.Sprint(tools.List()); got != "[srv/list_absent srv/list_false]" {
					t.Errorf("listed are %s", got)
				}
				if got := fmt.Sprint(tools.Findings()); !strings.Contains(got, `"deep" was left out: `) || !strings.Contains(got, "nested deeper than 512 levels") {
					t.Errorf("found is %s", got)
				}
				if err := tools.Refresh(mcptest.Context(t), "srv"); err != nil {
					t.Errorf("the session is dead: %v", err)
				}
			})
		})
	}
}

// A result that is not a list of tools is never changed: it is not read.
func TestLimitDepth(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a result of a call": `{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":` + nested(2000) + `}}`,
		"a flat list":        `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","x":"` + strings.Repeat(`[\"`, 2000) + `"}]}}`,
		"half a message":     `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + strings.Repeat("[", 2000),
	} {
		if got := string(mount.LimitDepth([]byte(text))); got != text {
			t.Errorf("%s became %.200s", name, got)
		}
	}
	const want = `{"result":{"tools":[1,`
	got := string(mount.LimitDepth([]byte(want + nested(2000) + `,{"a]\\":"}"}]}}`)))
	if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, `]],{"a]\\":"}"}]}}`) || !strings.Contains(got, "[null]") || len(got) > 2000 {
		t.Errorf("got %s", got)
	}
}

// Of a bare session the bytes are out of reach; the error names what helps.
func TestDeepSchemaOfABareSession(t *testing.T) {
	eachWay(t, func(t *testing.T, version string, way func(t *testing.T, version string, tools func() []string) mcp.Transport) {
		tools := catalog.New(catalog.Options{})
		defer tools.Close()
		err := tools.Add(mcptest.Context(t), "srv", mcptest.Dial(t, nil, way(t, version, always(withDeep(9000))), version))
		if err == nil || !strings.Contains(err.Error(), "connect through mount.Transport, which leaves a tool with such a schema out") {
			t.Errorf("got %v", err)
		}
	})
}
