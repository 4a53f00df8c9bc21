package command_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/command"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The environment's endpoint gets a span and metrics of a call, at the end at the latest.
func TestProxyExportsTelemetry(t *testing.T) {
	var mu sync.Mutex
	got := make(map[string]string)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		got[r.URL.Path] += string(body)
	}))
	t.Cleanup(collector.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	server := mcp.NewServer(&mcp.Implementation{Name: "crm", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "get_account", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(web.Close)

	in, toProxy := io.Pipe()
	fromProxy, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- command.Run(t.Context(), []string{"proxy", "--approve", "deny", web.URL}, in, out, io.Discard)
	}()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).
		Connect(t.Context(), &mcp.IOTransport{Reader: fromProxy, Writer: toProxy}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_account"}); err != nil {
		t.Error(err)
	}
	_ = session.Close()
	if code := <-ended; code != 0 {
		t.Errorf("the proxy ended with %d", code)
	}
	mu.Lock()
	defer mu.Unlock()
	for path, want := range map[string]string{"/v1/traces": "tools/call get_account", "/v1/metrics": "mcp.client.operation.duration"} {
		if !strings.Contains(got[path], want) {
			t.Errorf("%s got no %q: %q", path, want, got[path])
		}
	}
}
