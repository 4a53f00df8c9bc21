package otel_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	fairleadotel "github.com/fairlead-go/fairlead/contrib/otel"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// A lab is a telemetry with spans and metrics that a test can read.
type lab struct {
	spans  *tracetest.InMemoryExporter
	reader *metric.ManualReader
	*fairleadotel.Telemetry
}

func newLab(o fairleadotel.Options) *lab {
	l := &lab{spans: tracetest.NewInMemoryExporter(), reader: metric.NewManualReader()}
	o.TracerProvider = trace.NewTracerProvider(trace.WithSyncer(l.spans))
	o.MeterProvider = metric.NewMeterProvider(metric.WithReader(l.reader))
	o.Propagator = propagation.TraceContext{}
	l.Telemetry = fairleadotel.New(o)
	return l
}

// span returns the one span of a name.
func (l *lab) span(t testing.TB, name string) tracetest.SpanStub {
	t.Helper()
	var found []tracetest.SpanStub
	for _, s := range l.spans.GetSpans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d spans are called %q", len(found), name)
	}
	return found[0]
}

func attributes(s tracetest.SpanStub) map[string]string {
	out := make(map[string]string)
	for _, kv := range s.Attributes {
		out[string(kv.Key)] = kv.Value.String()
	}
	return out
}

// points returns the number of measurements of each metric, by its attributes.
func (l *lab) points(t testing.TB) map[string]map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := l.reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	out := make(map[string]map[string]int64)
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			out[m.Name] = make(map[string]int64)
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					out[m.Name][encode(p.Attributes)] = p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					out[m.Name][encode(p.Attributes)] = int64(p.Count)
				}
			}
		}
	}
	return out
}

func encode(set attribute.Set) string { return set.Encoded(attribute.DefaultEncoder()) }

// A backend is a real server behind a session; a test sets what its tools do.
type backend struct {
	*catalog.Catalog
	meta atomic.Pointer[mcp.Meta] // of the last call
	fail atomic.Int64             // how many calls still fail
}

func connect(t testing.TB) *backend {
	t.Helper()
	b := &backend{Catalog: catalog.New(catalog.Options{})}
	server := mcp.NewServer(&mcp.Implementation{Name: "crm", Version: "1"}, nil)
	for name, answer := range map[string]*mcp.CallToolResult{
		"get_customer": text("Ada"), "delete_customer": text("gone"), "find_customer": {IsError: true},
	} {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				b.meta.Store(&r.Params.Meta)
				if b.fail.Add(-1) >= 0 {
					return nil, &jsonrpc.Error{Code: -32603, Message: "the database is away"}
				}
				return answer, nil
			})
	}
	theirs, ours := mcp.NewInMemoryTransports()
	if _, err := server.Connect(context.Background(), theirs, nil); err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil).Connect(context.Background(), ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	if err := b.Add(context.Background(), "crm", session); err != nil {
		t.Fatal(err)
	}
	return b
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func (b *backend) call(t testing.TB, caller middleware.ToolCaller, name string) (*mcp.CallToolResult, error) {
	t.Helper()
	tool, ok := b.Lookup("crm", name)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	return caller.CallTool(context.Background(), middleware.Call{ID: "call-1", Tool: tool, Arguments: json.RawMessage(`{"id":1}`)})
}

func standard(l *lab, confirmer hitl.Confirmer) chain.Standard {
	return chain.Standard{
		Telemetry: l.Call, PerAttempt: []middleware.Middleware{l.Attempt},
		Confirm: hitl.New(l.Confirmer(confirmer), hitl.Options{}), Cache: cache.New(cache.Options{}),
		Retry: retry.New(retry.Options{First: time.Millisecond, Rand: func() float64 { return 0 }}),
	}
}

func says(v hitl.Verdict) hitl.Confirmer {
	return hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) { return hitl.Decision{Verdict: v}, nil })
}
