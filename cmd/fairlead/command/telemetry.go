package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/contrib/otel"
	global "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
)

const telemetryPatience = 5 * time.Second

// telemetry exports spans and metrics by OTLP over HTTP, as OpenTelemetry's environment variables
// configure it; nil without an endpoint. End exports what is left.
func telemetry(ctx context.Context, log *slog.Logger) (t proxy.Telemetry, end func() error, err error) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	if os.Getenv("OTEL_SDK_DISABLED") == "true" || os.Getenv(endpoint) == "" {
		return nil, func() error { return nil }, nil
	}
	global.SetErrorHandler(global.ErrorHandlerFunc(func(err error) {
		log.WarnContext(ctx, "telemetry: "+err.Error())
	}))
	spans, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", endpoint, err)
	}
	metrics, err := otlpmetrichttp.New(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", endpoint, err)
	}
	tracers := trace.NewTracerProvider(trace.WithBatcher(spans))
	meters := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(metrics)))
	t = otel.New(otel.Options{TracerProvider: tracers, MeterProvider: meters, Propagator: propagation.TraceContext{}})
	return t, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), telemetryPatience)
		defer cancel()
		return errors.Join(tracers.Shutdown(ctx), meters.Shutdown(ctx))
	}, nil
}
