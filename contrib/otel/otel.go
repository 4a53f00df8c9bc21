// Package otel makes spans and metrics of tool calls, by OpenTelemetry's conventions for MCP and
// generative AI, with the decisions of the chain on the span: the class and its evidence, and why the
// call was routed, repeated or cached.
//
// The conventions are in development; the names are those of semantic-conventions-genai as of November 2026,
// others begin with "fairlead.". Arguments and results are recorded only on request, and without secrets.
package otel

import (
	"cmp"
	"context"
	"maps"
	"time"

	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	global "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const scope = "github.com/fairlead-go/fairlead/contrib/otel"

// Options are the settings of [New]. The zero value is ready.
type Options struct {
	// TracerProvider makes the spans; nil means the global one.
	TracerProvider trace.TracerProvider
	// MeterProvider makes the metrics; nil means the global one.
	MeterProvider metric.MeterProvider
	// Propagator writes the trace's context into the _meta of each attempt; nil means the global one.
	Propagator propagation.TextMapPropagator
	// Content records arguments and results, as gen_ai.tool.call.arguments and gen_ai.tool.call.result,
	// each up to 16 KiB and without secrets. The default is to record neither.
	Content bool
}

// Telemetry measures calls. Its methods are middlewares for chain.Standard; safe for concurrent use.
type Telemetry struct {
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
	content    bool
	metrics
}

// New returns a telemetry. It panics if the meter rejects a metric, as no OpenTelemetry provider does.
func New(o Options) *Telemetry {
	return &Telemetry{
		tracer:     cmp.Or(o.TracerProvider, global.GetTracerProvider()).Tracer(scope),
		propagator: cmp.Or(o.Propagator, global.GetTextMapPropagator()),
		content:    o.Content,
		metrics:    newMetrics(cmp.Or(o.MeterProvider, global.GetMeterProvider()).Meter(scope)),
	}
}

// Call is the middleware for the Telemetry slot: a span for the whole call, the time that people take
// included, and its metrics.
func (t *Telemetry) Call(next middleware.ToolCaller) middleware.ToolCaller {
	return &wholeCall{t, next}
}

// Attempt is a middleware for PerAttempt: a span for each request to a server, propagated in its _meta,
// and how long it took. An executor may add details of the connection to the span in the context.
func (t *Telemetry) Attempt(next middleware.ToolCaller) middleware.ToolCaller {
	return &attempt{t, next}
}

// Confirmer returns the confirmer with a span for the wait for a person. A [hitl.GroupConfirmer]
// stays one.
func (t *Telemetry) Confirmer(c hitl.Confirmer) hitl.Confirmer {
	one := &confirmer{t, c}
	if group, ok := c.(hitl.GroupConfirmer); ok {
		return &groupConfirmer{one, group}
	}
	return one
}

type confirmer struct {
	*Telemetry
	next hitl.Confirmer
}

func (c *confirmer) Confirm(ctx context.Context, r hitl.Request) (decision hitl.Decision, err error) {
	ctx, end := c.wait(ctx, r)
	defer func() { end(decision, err) }()
	return c.next.Confirm(ctx, r)
}

// wait starts the span of a question; the func that it returns ends it.
func (c *confirmer) wait(ctx context.Context, r hitl.Request) (context.Context, func(hitl.Decision, error)) {
	ctx, span := c.tracer.Start(ctx, "confirm "+r.Tool.Name(), trace.WithAttributes(tool(r.Tool), class(r.Tool)))
	began := time.Now()
	return ctx, func(d hitl.Decision, err error) {
		verdict := attribute.String(attrDecision, decided(d, err))
		span.SetAttributes(verdict)
		c.waits.Record(ctx, time.Since(began).Seconds(), metric.WithAttributes(verdict))
		span.End()
	}
}

type groupConfirmer struct {
	*confirmer
	group hitl.GroupConfirmer
}

// ConfirmGroup has a span for each question of the dialog.
func (c *groupConfirmer) ConfirmGroup(ctx context.Context, requests []hitl.Request) (said map[string]hitl.Decision, err error) {
	for _, r := range requests {
		_, end := c.wait(ctx, r)
		defer func() { end(said[r.ID], err) }()
	}
	return c.group.ConfirmGroup(ctx, requests)
}

func decided(d hitl.Decision, err error) string {
	switch {
	case err != nil:
		return "none"
	case d.Verdict == hitl.Approved:
		return "allowed"
	}
	return "denied"
}

type wholeCall struct {
	*Telemetry
	next middleware.ToolCaller
}

func (c *wholeCall) Describe() middleware.Description {
	return middleware.Description{Kind: "telemetry", Next: c.next}
}

func (c *wholeCall) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	ctx, span := c.tracer.Start(ctx, "execute_tool "+call.Tool.Name())
	began := time.Now()
	var res *mcp.CallToolResult
	err := errPanicked
	defer func() { // a panic is an outcome as well, and goes on
		record, _ := chain.RecordOf(ctx)
		c.ended(ctx, span, call, record, time.Since(began), res, err)
		span.End()
	}()
	res, err = c.next.CallTool(ctx, call)
	return res, err
}

// ended records how a call ended: on the metrics with few attributes, on the span with all.
func (c *wholeCall) ended(ctx context.Context, span trace.Span, call middleware.Call, said chain.Record, took time.Duration, res *mcp.CallToolResult, err error) {
	if said.Tool == nil {
		said.Tool = call.Tool
	}
	fault := faultOf(ctx, call, res, err)
	common := append(fault.common(call.Tool), class(said.Tool))
	c.record(ctx, metric.WithAttributeSet(attribute.NewSet(common...)), said, took)
	if !span.IsRecording() {
		return
	}
	fault.on(span)
	span.SetAttributes(common...)
	span.SetAttributes(explanation(said.Tool)...)
	span.SetAttributes(decisions(call, said)...)
	if c.content {
		span.SetAttributes(content(call, res)...)
	}
}

type attempt struct {
	*Telemetry
	next middleware.ToolCaller
}

func (a *attempt) Describe() middleware.Description {
	return middleware.Description{Next: a.next}
}

func (a *attempt) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	record, _ := chain.RecordOf(ctx)
	ctx, span := a.tracer.Start(ctx, methodCallTool+" "+call.Tool.Name(), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.Int(attrAttempt, max(record.Attempts, 1))))
	began := time.Now()
	fault := faultOf(ctx, call, nil, errPanicked)
	defer func() {
		common := append(fault.common(call.Tool), attribute.String(attrMethod, methodCallTool))
		if fault.code != "" {
			span.SetAttributes(attribute.String(attrStatusCode, fault.code))
		}
		if fault.code == fault.kind && fault.code != "" {
			common = append(common, attribute.String(attrStatusCode, fault.code))
		}
		a.requests.Record(ctx, time.Since(began).Seconds(), metric.WithAttributeSet(attribute.NewSet(common...)))
		fault.on(span)
		span.SetAttributes(common...)
		span.End()
	}()
	call.Meta = a.inject(ctx, call.Meta)
	res, err := a.next.CallTool(ctx, call)
	fault = faultOf(ctx, call, res, err)
	return res, err
}

// inject returns a copy of the _meta with the trace's context, unprefixed by convention.
func (t *Telemetry) inject(ctx context.Context, meta mcp.Meta) mcp.Meta {
	carrier := make(propagation.MapCarrier)
	t.propagator.Inject(ctx, carrier)
	if len(carrier) == 0 {
		return meta
	}
	out := make(mcp.Meta, len(meta)+len(carrier))
	maps.Copy(out, meta)
	for key, value := range carrier {
		out[key] = value
	}
	return out
}
