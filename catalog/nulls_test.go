package catalog_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/finding"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An answer with null where the output schema takes none is a finding about its tool, once, from the first call on.
func TestNullInAnAnswerIsAFinding(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{`{"name":"n","desc":null}`: true, `{"name":"n","note":null}`: false, `{"name":"n"}`: false} {
		peer := mcptest.PeerTransport(t, func(p *mcptest.Peer, r mcptest.Request) {
			if r.Method == "tools/list" {
				p.Reply(r, `{"tools":[{"name":"get_note","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"},"outputSchema":{"type":"object",`+
					`"properties":{"name":{"type":"string"},"desc":{"type":"string"},"note":{"type":["string","null"]}},"required":["name"]}}]}`)
				return
			}
			p.Reply(r, `{"content":[{"type":"text","text":"n"}],"structuredContent":`+answer+`}`)
		})
		tools := catalog.New(catalog.Options{})
		cs := mcptest.Dial(t, mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil), mount.Transport(peer), mcptest.Legacy)
		if err := tools.Add(t.Context(), "notes", cs); err != nil {
			t.Fatal(err)
		}
		tool, _ := tools.Lookup("notes", "get_note")
		found := func() (texts []string) {
			for _, f := range tools.Findings() {
				if f.Kind == finding.Null && f.Tool == "get_note" {
					texts = append(texts, f.Text)
				}
			}
			return texts
		}
		if got := found(); len(got) > 0 {
			t.Errorf("before a call: %q", got)
		}
		for range 2 {
			if _, err := tools.CallTool(context.Background(), middleware.Call{Tool: tool, Arguments: json.RawMessage(`{}`)}); err != nil {
				t.Fatal(err)
			}
		}
		if got := found(); len(got) > 1 || len(got) == 1 != want || want && !strings.Contains(got[0], `null for "desc", and`) {
			t.Errorf("%s: found %q, want one: %t", answer, got, want)
		}
	}
}
