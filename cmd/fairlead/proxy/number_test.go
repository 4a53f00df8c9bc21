package proxy_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A question has which call of its client it is, counted over all tools. Clients without sessions share one over HTTP, and
// the calls of one of them are not known there.
func TestQuestionHasTheNumberOfItsCall(t *testing.T) {
	t.Parallel()
	for _, version := range mcptest.Versions {
		for _, http := range []bool{false, true} {
			name := map[bool]string{false: "stdio ", true: "HTTP "}[http] + version
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				server := mcptest.New()
				for _, tool := range []string{"read_file", "delete_file"} {
					mcptest.Add(server, mcptest.Tool(tool, ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return mcptest.Text("done"), nil })
				}
				person := new(asked)
				o := proxy.Options{Policy: decided(t, `{}`), Confirm: person, Servers: []proxy.Server{serve(t, server, version)}}
				var client *mcp.ClientSession
				if http {
					client = mcptest.Dial(t, mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil),
						&mcp.StreamableClientTransport{Endpoint: listenOn(t, o)}, version)
				} else {
					client = connect(t, version, o, nil).ClientSession
				}
				for _, tool := range []string{"read_file", "delete_file", "delete_file"} {
					callTool(t, client, tool, map[string]any{"path": "a"})
				}
				want := []int{2, 3}
				if http && version == mcptest.Modern {
					want = []int{0, 0}
				}
				if len(person.all) != 2 || person.all[0].Number != want[0] || person.all[1].Number != want[1] {
					t.Errorf("want questions of the calls %d, got %+v", want, person.all)
				}
			})
		}
	}
}
