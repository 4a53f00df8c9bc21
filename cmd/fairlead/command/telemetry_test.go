package command

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/programtest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
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
	t.Setenv("OTEL_SERVICE_NAME", "front-desk")
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
		ended <- Run(t.Context(), []string{"proxy", "--approve", "deny", web.URL}, in, out, io.Discard)
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
		if !strings.Contains(got[path], want) || !strings.Contains(got[path], "front-desk") {
			t.Errorf("%s got no %q of front-desk: %q", path, want, got[path])
		}
	}
}

// Prometheus reads the metrics of a proxy that runs, whose exporters are checked at its start.
func TestProxyServesMetrics(t *testing.T) {
	free, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	_ = free.Close()
	t.Setenv("OTEL_METRICS_EXPORTER", "prometheus")
	t.Setenv("OTEL_EXPORTER_PROMETHEUS_PORT", port)
	program := programtest.Path(t)
	exe, _ := mcptest.Child(t, "vault")
	ask, end := speaks(t, program, "proxy", "--approve", "deny", "--", exe)
	for range 2 {
		ask("tools/call", `{"name":"get_item","arguments":{}}`)
	}
	res, err := http.Get("http://localhost:" + port + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`mcp_client_operation_duration_seconds_count\{.*gen_ai_tool_name="get_item".*} 2\n`,
		`fairlead_call_duration_seconds_count\{.*gen_ai_tool_name="get_item".*} 2\n`,
		`target_info\{service_name="fairlead",.*} 1\n`,
	} {
		if !regexp.MustCompile(want).Match(body) {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
	if code, errs := end(); code != 0 || strings.Contains(errs, "telemetry") { // such as spans that go nowhere
		t.Errorf("exit %d: %s", code, errs)
	}
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "x")
	for value, want := range map[string]string{
		"carrier": "OTEL_METRICS_EXPORTER: unknown exporter", "console": "standard output has MCP", "prometheus": "OTEL_RESOURCE_ATTRIBUTES", "": "",
	} {
		t.Setenv("OTEL_METRICS_EXPORTER", value)
		if code, _, errs := runs(t, program, "vault", "proxy", "--", "SERVER"); (code == exitUsage) != (want != "") || !strings.Contains(errs, want) {
			t.Errorf("%q: exit %d: %s", value, code, errs)
		}
	}
}
