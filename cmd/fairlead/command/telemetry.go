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
	"go.opentelemetry.io/contrib/exporters/autoexport"
	global "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

// telemetry exports spans and metrics as OpenTelemetry's environment variables configure it; nil if
// they name no exporter and no endpoint. End exports what is left. The meters are nil likewise.
func telemetry(ctx context.Context, log *slog.Logger, stdio bool) (t proxy.Telemetry, meters *metric.MeterProvider, end func() error, err error) {
	global.SetErrorHandler(global.ErrorHandlerFunc(func(err error) { log.WarnContext(ctx, "telemetry: "+err.Error()) }))
	spans, errOfSpans := exporter(ctx, "TRACES", stdio, autoexport.NewSpanExporter)
	reader, errOfMetrics := exporter(ctx, "METRICS", stdio, autoexport.NewMetricReader)
	if err = errors.Join(errOfSpans, errOfMetrics); err != nil || spans == nil && reader == nil {
		return nil, nil, func() error { return nil }, err
	}
	about, err := exported(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	tracers := trace.NewTracerProvider(trace.WithBatcher(spans), trace.WithResource(about))
	meters = metric.NewMeterProvider(metric.WithReader(reader), metric.WithResource(about))
	o := otel.Options{MeterProvider: meters, Propagator: propagation.TraceContext{}}
	if spans != nil { // else there is nothing to propagate either
		o.TracerProvider = tracers
	}
	return otel.New(o), meters, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		return errors.Join(tracers.Shutdown(ctx), meters.Shutdown(ctx))
	}, nil
}

// exported returns what the spans, metrics and records of a proxy are of.
func exported(ctx context.Context) (*resource.Resource, error) {
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attribute.String("service.name", "fairlead")), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return about, nil
}

// exporter returns what exports a signal; nil if the environment names neither it nor an endpoint.
func exporter[T, O any](ctx context.Context, signal string, stdio bool, open func(context.Context, ...O) (T, error)) (out T, err error) {
	variable := "OTEL_" + signal + "_EXPORTER"
	switch name := os.Getenv(variable); {
	case os.Getenv("OTEL_SDK_DISABLED") == "true":
	case stdio && name == "console":
		err = fmt.Errorf("%s: standard output has MCP; name another exporter, or --listen", variable)
	case name+os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")+os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != "":
		if out, err = open(ctx); err != nil {
			err = fmt.Errorf("%s: %w", variable, err)
		}
	}
	return out, err
}
