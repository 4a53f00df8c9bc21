package otel_test

import (
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

// The spans and metrics of a refused, a repeated and a remembered call arrive at a
// collector over a real socket.
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
	caller := standard(l, says(hitl.Denied)).Then(b)
	_, _ = b.call(t, caller, "delete_customer")
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
	slices.SortFunc(c.spans, func(a, b *spans.Span) int { return int(a.GetStartTimeUnixNano()) - int(b.GetStartTimeUnixNano()) })
	var names []string
	for _, s := range c.spans {
		names = append(names, s.GetName())
		var text strings.Builder
		for _, kv := range s.GetAttributes() {
			text.WriteString(" " + kv.GetKey() + "=" + kv.GetValue().String())
		}
		t.Log(s.GetName(), s.GetStatus().GetMessage(), text.String())
	}
	want := []string{
		"execute_tool delete_customer", "confirm delete_customer",
		"execute_tool get_customer", "tools/call get_customer", "tools/call get_customer",
		"execute_tool get_customer",
	}
	if !slices.Equal(names, want) {
		t.Errorf("spans %q, want %q", names, want)
	}
	for _, name := range []string{"mcp.client.operation.duration", "fairlead.call.duration", "fairlead.decisions", "fairlead.approval.duration"} {
		if !slices.Contains(c.metrics, name) {
			t.Errorf("no %s among %q", name, c.metrics)
		}
	}
}
