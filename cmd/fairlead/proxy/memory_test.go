package proxy_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// many returns a server of read-only tools with two arguments each.
func many(tools int) *mcp.Server {
	type input struct {
		Kind  string `json:"kind" jsonschema:"the kind of the things that are listed"`
		Limit int    `json:"limit,omitempty" jsonschema:"how many there are at most"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{PageSize: 10_000})
	for i := range tools {
		mcp.AddTool(server, &mcp.Tool{
			Name:        fmt.Sprintf("list_things_%d", i),
			Description: fmt.Sprintf("Lists the things of kind %d that are in the store, with their names, their ids and the time of their last change.", i),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
		}, func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{}, nil, nil
		})
	}
	return server
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // what the first has set free for finalizers
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkMemoryOfSessions measures what each session after the first one holds, by the tools of its server. Run it with
// -benchtime 1x.
func BenchmarkMemoryOfSessions(b *testing.B) {
	const sessions = 4
	for _, tools := range []int{10, 100, 1000, 5000} {
		b.Run(fmt.Sprintf("tools=%d", tools), func(b *testing.B) {
			url := listenOn(b, proxy.Options{Servers: []proxy.Server{serve(b, many(tools), mcptest.Legacy)}, Policy: decided(b, `{}`)})
			open := func() {
				id := post(b, http.DefaultClient, url, "", initialize).Header.Get("Mcp-Session-Id")
				for _, message := range []string{
					`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
					`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"list_things_1","arguments":{"kind":"a"}}}`,
				} {
					post(b, http.DefaultClient, url, id, message)
				}
			}
			open()
			for b.Loop() {
				before := heapInUse()
				for range sessions {
					open()
				}
				b.ReportMetric(float64(heapInUse()-before)/sessions/1024, "KB/session")
			}
		})
	}
}
