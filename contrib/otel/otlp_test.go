package otel_test

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	fairleadotel "github.com/fairlead-go/fairlead/contrib/otel"
	"github.com/fairlead-go/fairlead/hitl"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A collector receives OTLP over HTTP on a loopback socket.
type collector struct {
	mu      sync.Mutex
	spans   []*spans.Span
	metrics []string
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch r.URL.Path {
	case "/v1/traces":
		var got traces.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &got); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for _, resource := range got.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				c.spans = append(c.spans, scope.GetSpans()...)
			}
		}
	case "/v1/metrics":
		var got metrics.ExportMetricsServiceRequest
		if err := proto.Unmarshal(body, &got); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for _, resource := range got.GetResourceMetrics() {
			for _, scope := range resource.GetScopeMetrics() {
				for _, m := range scope.GetMetrics() {
					c.metrics = append(c.metrics, m.GetName())
				}
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// The spans and metrics of a denied and an approved deletion, a repeated read and one from the cache arrive at a
// collector over a real socket, with what the conventions require. The connection is the executor's to describe.
func TestOTLP(t *testing.T) {
	t.Parallel()
	c := new(collector)
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	ctx := context.Background()
	toTraces, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(server.URL+"/v1/traces"))
	if err != nil {
		t.Fatal(err)
	}
	toMetrics, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(server.URL+"/v1/metrics"))
	if err != nil {
		t.Fatal(err)
	}
	tracer := trace.NewTracerProvider(trace.WithBatcher(toTraces))
	meter := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(toMetrics)))
	l := &lab{Telemetry: fairleadotel.New(fairleadotel.Options{TracerProvider: tracer, MeterProvider: meter, Propagator: propagation.TraceContext{}})}

	b := connect(t)
	_, _ = b.call(t, standard(l, says(hitl.Denied)).Then(b), "delete_customer")
	caller := standard(l, says(hitl.Approved)).Then(b)
	if _, err := b.call(t, caller, "delete_customer"); err != nil {
		t.Fatal(err)
	}
	b.fail.Store(1)
	for range 2 {
		if _, err := b.call(t, caller, "get_customer"); err != nil {
			t.Fatal(err)
		}
	}
	if err := tracer.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if err := meter.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.SortFunc(c.spans, func(a, b *spans.Span) int { return cmp.Compare(a.GetStartTimeUnixNano(), b.GetStartTimeUnixNano()) })
	const executeTool, tool = "gen_ai.operation.name=execute_tool", "gen_ai.tool.name="
	table := []struct {
		name, kind string
		attributes []string // of the conventions
	}{
		{"execute_tool delete_customer", "INTERNAL", []string{"error.type=denied", executeTool, "gen_ai.tool.call.id=call-1", tool + "delete_customer"}},
		{"confirm delete_customer", "INTERNAL", []string{tool + "delete_customer"}},
		{"execute_tool delete_customer", "INTERNAL", []string{executeTool, "gen_ai.tool.call.id=call-1", tool + "delete_customer"}},
		{"confirm delete_customer", "INTERNAL", []string{tool + "delete_customer"}},
		{"tools/call delete_customer", "CLIENT", []string{executeTool, tool + "delete_customer", "mcp.method.name=tools/call"}},
		{"execute_tool get_customer", "INTERNAL", []string{executeTool, "gen_ai.tool.call.id=call-1", tool + "get_customer"}},
		{"tools/call get_customer", "CLIENT", []string{
			"error.type=-32603", executeTool, tool + "get_customer", "mcp.method.name=tools/call", "rpc.response.status_code=-32603",
		}},
		{"tools/call get_customer", "CLIENT", []string{executeTool, tool + "get_customer", "mcp.method.name=tools/call"}},
		{"execute_tool get_customer", "INTERNAL", []string{executeTool, "gen_ai.tool.call.id=call-1", tool + "get_customer"}}, // from the cache
	}
	if len(c.spans) != len(table) {
		t.Fatalf("there are %d spans, want %d", len(c.spans), len(table))
	}
	for i, want := range table {
		s := c.spans[i]
		var attributes []string
		for _, kv := range s.GetAttributes() {
			if !strings.HasPrefix(kv.GetKey(), "fairlead.") {
				attributes = append(attributes, kv.GetKey()+"="+kv.GetValue().GetStringValue())
			}
		}
		slices.Sort(attributes)
		failed := strings.HasPrefix(want.attributes[0], "error.type")
		if s.GetName() != want.name || s.GetKind().String() != "SPAN_KIND_"+want.kind || !slices.Equal(attributes, want.attributes) ||
			failed != (s.GetStatus().GetCode() == spans.Status_STATUS_CODE_ERROR) {
			t.Errorf("span %d: %s (%s, %s) with %q, want %s (%s) with %q", i, s.GetName(), s.GetKind(), s.GetStatus(), attributes, want.name, want.kind, want.attributes)
		}
	}
	for _, name := range []string{"mcp.client.operation.duration", "fairlead.call.duration", "fairlead.decisions", "fairlead.approval.duration"} {
		if !slices.Contains(c.metrics, name) {
			t.Errorf("no %s among %q", name, c.metrics)
		}
	}
}
