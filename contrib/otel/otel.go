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
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/redact"
	"github.com/fairlead-go/fairlead/route"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	global "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
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

// Names of the conventions.
const (
	attrMethod     = "mcp.method.name"
	attrOperation  = "gen_ai.operation.name"
	attrTool       = "gen_ai.tool.name"
	attrCallID     = "gen_ai.tool.call.id"
	attrArguments  = "gen_ai.tool.call.arguments"
	attrResult     = "gen_ai.tool.call.result"
	attrErrorType  = "error.type"
	attrStatusCode = "rpc.response.status_code"

	methodCallTool = "tools/call"
	executeTool    = "execute_tool"
)

// Names of our own, which the conventions lack.
const (
	attrServer   = "fairlead.server"
	attrClass    = "fairlead.class"
	attrEvidence = "fairlead.evidence" // a line for each hint: its value, its source, its word
	attrSummary  = "fairlead.annotations"
	attrAttempt  = "fairlead.attempt"
	attrAttempts = "fairlead.attempts"
	attrApproval = "fairlead.approval.id"
	attrDecision = "fairlead.decision"
	attrStage    = "fairlead.stage"
	attrWhys     = "fairlead.decisions" // "cache: miss", "retry: again, connection reset"
)

func tool(t *middleware.Tool) attribute.KeyValue { return attribute.String(attrTool, t.Name()) }

func class(t *middleware.Tool) attribute.KeyValue {
	return attribute.String(attrClass, t.Safety().String())
}

// decisions returns the chain's findings and decisions, for the span alone.
func decisions(call middleware.Call, said chain.Record) []attribute.KeyValue {
	out := make([]attribute.KeyValue, 0, 8)
	if call.ID != "" {
		out = append(out, attribute.String(attrCallID, call.ID))
	}
	if said.Attempts > 0 {
		out = append(out, attribute.Int(attrAttempts, said.Attempts))
	}
	if said.Approval.ID != "" {
		out = append(out, attribute.String(attrApproval, said.Approval.ID))
	}
	if len(said.Decisions) > 0 {
		out = append(out, attribute.StringSlice(attrWhys, whys(call, said.Decisions)))
	}
	return out
}

// explanation returns a tool's hints and their evidence as text.
func explanation(tool *middleware.Tool) []attribute.KeyValue {
	if tool == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(tool.Explain()), "\n")
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	return []attribute.KeyValue{attribute.StringSlice(attrEvidence, lines[1:]), attribute.String(attrSummary, tool.Annotations.Summary())}
}

// whys returns the decisions as text, without reasons of servers or the host, which may repeat arguments.
func whys(call middleware.Call, facts []chain.Decision) []string {
	out := make([]string, len(facts))
	var secrets *redact.Redactor
	for i, f := range facts {
		out[i] = f.Stage + ": " + f.What
		if f.Why == "" {
			continue
		}
		if secrets == nil {
			secrets = redact.Of(call)
		}
		out[i] += ", " + secrets.Text(f.Why)
	}
	return out
}

// reserved reports whether JSON-RPC or MCP defines a code. A server must not make a time series for
// each code of its own.
func reserved(code int64) bool {
	return code == jsonrpc.CodeParseError || -32603 <= code && code <= -32600 || -32099 <= code && code <= -32000
}

// A fault is how a call ended badly; the zero value is a good end.
type fault struct {
	kind string // error.type
	code string // of JSON-RPC, "" for none; only on the span if it is not the kind
	text string // of the status; it holds no arguments
}

// common returns the attributes of spans and metrics of a call of the tool, or of a request.
func (f fault) common(t *middleware.Tool) []attribute.KeyValue {
	out := append(make([]attribute.KeyValue, 0, 6), attribute.String(attrOperation, executeTool), tool(t))
	if t != nil {
		out = append(out, attribute.String(attrServer, t.Server))
	}
	if f.kind != "" {
		out = append(out, attribute.String(attrErrorType, f.kind))
	}
	return out
}

func (f fault) on(span trace.Span) {
	if f.kind != "" {
		span.SetStatus(codes.Error, f.text)
	}
}

var errPanicked = errors.New("otel: a panic further in")

// kinds are the failures with their own error.type, the most specific first.
var kinds = []struct {
	is   error
	kind string
}{
	{errPanicked, "panic"},
	{hitl.ErrDenied, "denied"},
	{chain.ErrRefused, "refused"},
	{route.ErrNoReplica, "no_replica"},
	{ratelimit.ErrLimited, "rate_limited"},
	{budget.ErrStopped, "stopped"},
	{audit.ErrRefused, "not_recorded"},
}

// faultOf reports how a call ended. A result of a tool that failed counts as an error too.
func faultOf(ctx context.Context, call middleware.Call, res *mcp.CallToolResult, err error) fault {
	if err == nil {
		if res != nil && res.IsError {
			return fault{kind: "tool_error", text: "the tool answered with an error"}
		}
		return fault{}
	}
	for _, k := range kinds {
		if errors.Is(err, k.is) {
			return fault{kind: k.kind, text: k.is.Error()}
		}
	}
	if _, unknown := errors.AsType[*middleware.OutcomeUnknownError](err); unknown {
		return fault{kind: "outcome_unknown", text: "it may have happened: no answer came back"}
	}
	if _, panicked := errors.AsType[*chain.PanicError](err); panicked {
		return fault{kind: "panic", text: errPanicked.Error()}
	}
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
		code := strconv.FormatInt(wire.Code, 10)
		kind := code
		if !reserved(wire.Code) {
			kind = "_OTHER"
		}
		return fault{kind: kind, code: code, text: redact.Of(call).Text(wire.Message)}
	}
	if why := context.Cause(ctx); why != nil && errors.Is(err, why) { // the host's own cause for the end of the context
		err = ctx.Err()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fault{kind: "timeout", text: "the time was over"}
	case errors.Is(err, context.Canceled):
		return fault{kind: "cancelled", text: "the caller gave up"}
	}
	return fault{kind: "_OTHER", text: "the call failed"}
}

// maxContent bounds the arguments, and the result, on a span.
const maxContent = 16 << 10

// capped returns the text, or its size if it is too long for a span.
func capped(raw json.RawMessage) string {
	if len(raw) > maxContent {
		return fmt.Sprintf("%d bytes", len(raw))
	}
	return string(raw)
}

// content returns the arguments and the result without secrets, those of the arguments included.
func content(call middleware.Call, res *mcp.CallToolResult) []attribute.KeyValue {
	var secrets redact.Redactor
	out := []attribute.KeyValue{attribute.String(attrArguments, capped(secrets.JSON(call.Arguments, definition(call.Tool).InputSchema)))}
	raw, err := json.Marshal(res)
	if res == nil || err != nil {
		return out
	}
	return append(out, attribute.String(attrResult, capped(secrets.Result(raw, definition(call.Tool).OutputSchema))))
}

func definition(t *middleware.Tool) *mcp.Tool {
	if t == nil || t.Definition == nil {
		return new(mcp.Tool)
	}
	return t.Definition
}

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

func (m *metrics) record(ctx context.Context, common metric.MeasurementOption, said chain.Record, took time.Duration) {
	m.calls.Record(ctx, took.Seconds(), common)
	for _, f := range said.Decisions {
		m.decisions.Add(ctx, 1, metric.WithAttributes(attribute.String(attrStage, f.Stage), attribute.String(attrDecision, f.What)))
	}
}
