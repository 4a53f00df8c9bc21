package otel

import (
	"context"
	"time"

	"github.com/fairlead-go/fairlead/chain"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

type metrics struct {
	requests  metric.Float64Histogram
	calls     metric.Float64Histogram
	decisions metric.Int64Counter
	waits     metric.Float64Histogram
}

// buckets are the conventions' buckets for calls, in seconds.
var buckets = metric.WithExplicitBucketBoundaries(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)

func newMetrics(m metric.Meter) metrics {
	seconds := func(name, description string) metric.Float64Histogram {
		return must(m.Float64Histogram(name, metric.WithUnit("s"), buckets, metric.WithDescription(description)))
	}
	return metrics{
		requests: seconds("mcp.client.operation.duration", "How long requests to servers took, repetitions included."),
		calls:    seconds("fairlead.call.duration", "How long calls of tools took, as the model saw them, with the time that people took."),
		waits:    seconds("fairlead.approval.duration", "How long people took to answer."),
		decisions: must(m.Int64Counter("fairlead.decisions", metric.WithUnit("{decision}"),
			metric.WithDescription("Decisions of each stage about calls."))),
	}
}

func must[T any](made T, err error) T {
	if err != nil {
		panic("otel: " + err.Error())
	}
	return made
}

// record counts a call and the decisions about it.
func (m *metrics) record(ctx context.Context, common metric.MeasurementOption, said chain.Record, took time.Duration) {
	m.calls.Record(ctx, took.Seconds(), common)
	for _, f := range said.Decisions {
		m.decisions.Add(ctx, 1, metric.WithAttributes(attribute.String(attrStage, f.Stage), attribute.String(attrDecision, f.What)))
	}
}
