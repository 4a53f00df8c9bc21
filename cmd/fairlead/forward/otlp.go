package forward

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdk "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Names of the attributes of a record; those of the conventions of OpenTelemetry are used as they are.
const (
	ofRun     = "fairlead.audit.run"
	ofNumber  = "fairlead.audit.n"
	ofServer  = "fairlead.server"
	ofTool    = "gen_ai.tool.name"
	ofClass   = "fairlead.class"
	ofOutcome = "fairlead.audit.outcome"
)

// An otlp is a place that an exporter of logs sends to. The SDK's own batches have no count of what they drop, and
// report no error to who adds a record; so the provider here only makes records, and the exporter is called directly.
type otlp struct {
	exporter sdk.Exporter
	provider *sdk.LoggerProvider
	logger   log.Logger
	made     made
}

// OTLP returns a place that an exporter sends to, as the resource.
func OTLP(exporter sdk.Exporter, about *resource.Resource) Place {
	p := &otlp{exporter: exporter}
	p.provider = sdk.NewLoggerProvider(sdk.WithProcessor(&p.made), sdk.WithResource(about))
	p.logger = p.provider.Logger("github.com/fairlead-go/fairlead/cmd/fairlead/forward")
	return p
}

func (p *otlp) Send(ctx context.Context, copies []Copy) (int, error) {
	p.made.all = p.made.all[:0]
	for _, c := range copies {
		p.logger.Emit(ctx, recordOf(c))
	}
	err := p.exporter.Export(ctx, p.made.all)
	clear(p.made.all)
	if err != nil {
		return 0, err
	}
	return len(copies), nil
}

func (p *otlp) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return errors.Join(p.provider.Shutdown(ctx), p.exporter.Shutdown(ctx))
}

// recordOf returns the record of a log: the whole copy as its body, and what a query is made of as attributes.
func recordOf(c Copy) (r log.Record) {
	r.SetEventName("fairlead.audit." + string(c.Record.Kind))
	r.SetTimestamp(c.Record.Time)
	r.SetObservedTimestamp(c.Record.Time)
	r.SetSeverity(log.SeverityInfo)
	r.SetBody(attribute.StringValue(string(c.Text)))
	r.AddAttributes(
		attribute.String(ofRun, c.Record.Run), attribute.Int64(ofNumber, c.Record.N), attribute.String(ofServer, c.Record.Server),
		attribute.String(ofTool, c.Record.Tool), attribute.String(ofClass, c.Record.Class),
	)
	if c.Record.Outcome != "" {
		r.AddAttributes(attribute.String(ofOutcome, string(c.Record.Outcome)))
	}
	return r
}

// A made holds the records that a provider has made.
type made struct{ all []sdk.Record }

func (m *made) Enabled(context.Context, sdk.EnabledParameters) bool { return true }

func (m *made) OnEmit(_ context.Context, r *sdk.Record) error {
	m.all = append(m.all, r.Clone())
	return nil
}

func (m *made) Shutdown(context.Context) error   { return nil }
func (m *made) ForceFlush(context.Context) error { return nil }
