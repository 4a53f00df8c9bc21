package otel_test

import (
	"context"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	fairleadotel "github.com/fairlead-go/fairlead/contrib/otel"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// A server that answers each time with another code does not make a time series of
// each. The span has the code.
func TestCodesOfAServerMakeNoSeriesEach(t *testing.T) {
	t.Parallel()
	l := newLab(fairleadotel.Options{})
	tool := &middleware.Tool{Server: "s", Definition: &mcp.Tool{Name: "odd"}, Annotations: annotation.ReadOnly()}
	code := int64(0)
	c := l.Attempt(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		code++
		return nil, &jsonrpc.Error{Code: code, Message: "no"}
	}))
	for range 500 {
		_, _ = c.CallTool(t.Context(), middleware.Call{Tool: tool})
	}
	var got metricdata.ResourceMetrics
	if err := l.reader.Collect(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	for _, scope := range got.ScopeMetrics {
		for _, m := range scope.Metrics {
			if h, ok := m.Data.(metricdata.Histogram[float64]); ok && len(h.DataPoints) > 1 {
				t.Errorf("%s has %d series", m.Name, len(h.DataPoints))
			}
		}
	}
	if spans := l.spans.GetSpans(); attributes(spans[len(spans)-1])["rpc.response.status_code"] != "500" {
		t.Errorf("the last span has no code: %v", attributes(spans[len(spans)-1]))
	}
}
