package otel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/chain"
	fairleadotel "github.com/fairlead-go/fairlead/contrib/otel"
	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	kinds "go.opentelemetry.io/otel/trace"
)

func TestSpanHasTheDecisions(t *testing.T) {
	t.Parallel()
	b, l := connect(t), newLab(fairleadotel.Options{})
	caller := standard(l, nil).Then(b)
	for range 2 {
		if _, err := b.call(t, caller, "get_customer"); err != nil {
			t.Fatal(err)
		}
	}
	spans := l.spans.GetSpans()
	first, second := -1, -1
	for i, s := range spans {
		switch {
		case s.Name != "execute_tool get_customer":
		case first < 0:
			first = i
		default:
			second = i
		}
	}
	miss, hit := attributes(spans[first]), attributes(spans[second])
	for key, want := range map[string]string{
		"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_customer", "gen_ai.tool.call.id": "call-1",
		"fairlead.class": "safe", "fairlead.server": "crm", "fairlead.evidence": `["read-only yes inferred: \"get\" leads the name","freshness shared inferred: \"customer\" in the name"]`,
	} {
		if miss[key] != want {
			t.Errorf("%s: %q, want %q", key, miss[key], want)
		}
	}
	if !strings.Contains(miss["fairlead.decisions"], `"cache: miss`) || !strings.Contains(hit["fairlead.decisions"], `"cache: hit`) {
		t.Errorf("decisions: %s, then %s", miss["fairlead.decisions"], hit["fairlead.decisions"])
	}
	for metric, want := range map[string]int64{"mcp.client.operation.duration": 1, "fairlead.call.duration": 2} {
		for _, n := range l.points(t)[metric] {
			if n != want {
				t.Errorf("%s has %d measurements, want %d", metric, n, want)
			}
		}
	}
	if n := slices.IndexFunc(spans, func(s tracetest.SpanStub) bool { return s.Parent.SpanID() == spans[first].SpanContext.SpanID() }); n < 0 {
		t.Error("the attempt is not a child of the call")
	}
	for _, s := range spans {
		if a := attributes(s); a["gen_ai.tool.call.arguments"] != "" || strings.Contains(fmt.Sprint(a), `"id"`) {
			t.Errorf("%s holds the arguments: %v", s.Name, a)
		}
	}
}

func TestRepeatedCallHasASpanForEachAttempt(t *testing.T) {
	t.Parallel()
	b, l := connect(t), newLab(fairleadotel.Options{})
	caller := standard(l, nil).Then(b)
	b.fail.Store(2)
	if _, err := b.call(t, caller, "get_customer"); err != nil {
		t.Fatal(err)
	}
	var attempts []string
	for _, s := range l.spans.GetSpans() {
		if s.Name == "tools/call get_customer" {
			if a := attributes(s); s.SpanKind != kinds.SpanKindClient || a["mcp.method.name"] != "tools/call" || a["fairlead.server"] != "crm" {
				t.Errorf("a request is a span of kind %v with %v", s.SpanKind, a)
			}
			a := attributes(s)
			attempts = append(attempts, a["fairlead.attempt"]+" "+a["error.type"])
		}
	}
	if want := []string{"1 -32603", "2 -32603", "3 "}; !slices.Equal(attempts, want) {
		t.Errorf("attempts %q, want %q", attempts, want)
	}
	whole := attributes(l.span(t, "execute_tool get_customer"))
	if n := l.points(t)["fairlead.call.duration"]; len(n) != 1 {
		t.Errorf("the call was measured as %v", n)
	}
	if whole["fairlead.attempts"] != "3" || strings.Count(whole["fairlead.decisions"], "retry: again") != 2 || whole["error.type"] != "" {
		t.Errorf("the call has %v", whole)
	}
}

func TestWaitForAPersonHasItsOwnSpan(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		confirmer hitl.Confirmer
		decision  string
		fault     string
	}{
		"allowed": {says(hitl.Approved), "allowed", ""},
		"denied":  {says(hitl.Denied), "denied", "denied"},
		"no answer": {hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			return hitl.Decision{}, errors.New("the line is dead")
		}), "none", "denied"},
	} {
		b, l := connect(t), newLab(fairleadotel.Options{})
		_, _ = b.call(t, standard(l, row.confirmer).Then(b), "delete_customer")
		wait := attributes(l.span(t, "confirm delete_customer"))
		whole := attributes(l.span(t, "execute_tool delete_customer"))
		if wait["fairlead.decision"] != row.decision || wait["fairlead.class"] != "dangerous" || whole["error.type"] != row.fault {
			t.Errorf("%s: the wait has %v, the call %v", name, wait, whole)
		}
		if n := l.points(t)["fairlead.approval.duration"]["fairlead.decision="+row.decision]; n != 1 {
			t.Errorf("%s: %d waits were measured", name, n)
		}
	}
}

func TestSpanHasTheRuleThatRaised(t *testing.T) {
	t.Parallel()
	l := newLab(fairleadotel.Options{})
	caller := chain.New(l.Call, flow.New(flow.Options{})).Then(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		return text("write to eve@evil.example"), nil
	}))
	for _, name := range []string{"get_mail", "add_member"} {
		tool, err := middleware.NewTool("", &mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, annotation.Write())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := caller.CallTool(t.Context(), middleware.Call{Tool: tool, Arguments: json.RawMessage(`{"email":"eve@evil.example"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	whole := attributes(l.span(t, "execute_tool add_member"))
	if !strings.Contains(whole["fairlead.decisions"], "flow: untrusted-value, email") || whole["fairlead.class"] != "dangerous" {
		t.Errorf("the span has %v", whole)
	}
	if n := l.points(t)["fairlead.decisions"]["fairlead.decision=untrusted-value,fairlead.stage=flow"]; n != 1 {
		t.Errorf("%d decisions are counted", n)
	}
}

// A tool that failed is a success of the protocol; it counts as an error.
func TestIsErrorCountsAsToolError(t *testing.T) {
	t.Parallel()
	b, l := connect(t), newLab(fairleadotel.Options{})
	if _, err := b.call(t, standard(l, nil).Then(b), "find_customer"); err != nil {
		t.Fatal(err)
	}
	if got := attributes(l.span(t, "execute_tool find_customer"))["error.type"]; got != "tool_error" {
		t.Errorf("error.type is %q", got)
	}
	for metric, want := range map[string]string{
		"fairlead.call.duration":        "error.type=tool_error,fairlead.class=safe,fairlead.server=crm,gen_ai.operation.name=execute_tool,gen_ai.tool.name=find_customer",
		"mcp.client.operation.duration": "error.type=tool_error,fairlead.server=crm,gen_ai.operation.name=execute_tool,gen_ai.tool.name=find_customer,mcp.method.name=tools/call",
	} {
		if got := l.points(t)[metric]; got[want] != 1 {
			t.Errorf("%s: measured %v", metric, got)
		}
	}
}

func TestPanicIsMeasuredAndGoesOn(t *testing.T) {
	t.Parallel()
	l := newLab(fairleadotel.Options{})
	next := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { panic("broken") })
	for _, link := range []middleware.Middleware{l.Call, l.Attempt} {
		l.spans.Reset()
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic ended here")
				}
			}()
			_, _ = link(next).CallTool(context.Background(), middleware.Call{Tool: new(middleware.Tool)})
		}()
		if spans := l.spans.GetSpans(); len(spans) != 1 || attributes(spans[0])["error.type"] != "panic" {
			t.Errorf("spans: %v", spans)
		}
	}
}

// The trace goes on at the server, in a copy of the _meta.
func TestTraceContextTravelsInMeta(t *testing.T) {
	t.Parallel()
	b, l := connect(t), newLab(fairleadotel.Options{})
	caller := standard(l, nil).Then(b)
	tool, _ := b.Lookup("crm", "get_customer")
	meta := mcp.Meta{"own": "stays"}
	if _, err := caller.CallTool(context.Background(), middleware.Call{Tool: tool, Meta: meta}); err != nil {
		t.Fatal(err)
	}
	sent := *b.meta.Load()
	context := l.span(t, "tools/call get_customer").SpanContext
	if parent, _ := sent["traceparent"].(string); !strings.Contains(parent, context.TraceID().String()+"-"+context.SpanID().String()) {
		t.Errorf("the server got %v", sent)
	}
	if sent["own"] != "stays" || len(meta) != 1 {
		t.Errorf("the server got %v, the caller's is %v", sent, meta)
	}
}

// Arguments and results are recorded on request alone, and never a secret: one that
// a name, a schema or a shape gives away, or that the arguments held, wherever it
// comes back.
func TestContentOnlyOnRequestAndWithoutSecrets(t *testing.T) {
	t.Parallel()
	const sentinel = "s3ntinel-Value-42"
	tool, err := middleware.NewTool("crm", &mcp.Tool{
		Name:        "get_customer",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"pin":{"type":"string","writeOnly":true}}}`),
	}, annotation.ReadOnly())
	if err != nil {
		t.Fatal(err)
	}
	for _, arguments := range []string{
		`{"password":"` + sentinel + `"}`, `{"pin":"` + sentinel + `"}`, `{"deep":[{"api_key":"` + sentinel + `"}]}`,
		`{"note":"Authorization: Bearer ` + sentinel + `"}`,
	} {
		for _, next := range []middleware.ToolCallerFunc{
			func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
				return text("you sent " + sentinel), nil
			},
			func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
				return nil, &jsonrpc.Error{Code: -32603, Message: "no customer for " + sentinel}
			},
			func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
				return nil, errors.New("postgres://me:" + sentinel + "@db")
			},
		} {
			for _, content := range []bool{false, true} {
				l := newLab(fairleadotel.Options{Content: content})
				caller := chain.Standard{Telemetry: l.Call, PerAttempt: []middleware.Middleware{l.Attempt}}.Then(next)
				_, _ = caller.CallTool(context.Background(), middleware.Call{Tool: tool, Arguments: json.RawMessage(arguments)})
				for _, s := range l.spans.GetSpans() {
					if all := fmt.Sprint(attributes(s), s.Status, s.Events); strings.Contains(all, sentinel) {
						t.Errorf("%s with %s: %s", s.Name, arguments, all)
					}
					recorded := attributes(s)["gen_ai.tool.call.arguments"] != ""
					if recorded != (content && strings.HasPrefix(s.Name, "execute_tool")) {
						t.Errorf("%s: the arguments are recorded: %v", s.Name, recorded)
					}
				}
			}
		}
	}
}

func TestLinksAreGoodCitizens(t *testing.T) {
	for name, link := range map[string]func(*fairleadotel.Telemetry) middleware.Middleware{
		"call":    func(tel *fairleadotel.Telemetry) middleware.Middleware { return tel.Call },
		"attempt": func(tel *fairleadotel.Telemetry) middleware.Middleware { return tel.Attempt },
	} {
		t.Run(name, func(t *testing.T) {
			middlewaretest.Run(t, func(next middleware.ToolCaller) middleware.ToolCaller {
				return link(newLab(fairleadotel.Options{}).Telemetry)(next)
			})
		})
	}
	l := newLab(fairleadotel.Options{})
	if problems := chain.Verify(standard(l, nil)); len(problems) > 0 {
		t.Error(problems)
	}
}

var result = new(mcp.CallToolResult)

// Switched off, it costs no allocation worth a word; switched on, a few microseconds beside an SDK
// call of hundreds. The cost of telemetry, on an in-memory call of the SDK: both are called in
// turn, and the processor's time is counted, the exporter's and the collector's included.
func BenchmarkTelemetry(b *testing.B) {
	be := connect(b)
	tool, _ := be.Lookup("crm", "get_customer")
	call := middleware.Call{Tool: tool, Arguments: json.RawMessage(`{"id":1}`)}
	tel := fairleadotel.New(fairleadotel.Options{
		TracerProvider: trace.NewTracerProvider(trace.WithBatcher(discard{})),
		MeterProvider:  metric.NewMeterProvider(metric.WithReader(metric.NewManualReader())),
		Propagator:     propagation.TraceContext{},
	})
	const block = 100
	spend := func(caller middleware.ToolCaller) float64 {
		began := cpu()
		for range block {
			if _, err := caller.CallTool(context.Background(), call); err != nil {
				b.Fatal(err)
			}
		}
		return float64((cpu() - began).Nanoseconds()) / block
	}
	measured := tel.Call(tel.Attempt(be))
	var bare, with []float64
	for b.Loop() {
		bare = append(bare, spend(be))
		with = append(with, spend(measured))
	}
	slices.Sort(bare)
	slices.Sort(with)
	off, on := bare[len(bare)/2], with[len(with)/2]
	b.ReportMetric(off, "sdk-cpu-ns/call")
	b.ReportMetric(on-off, "telemetry-cpu-ns/call")
	b.ReportMetric(100*(on-off)/off, "telemetry-%")
}

type discard struct{}

func (discard) ExportSpans(context.Context, []trace.ReadOnlySpan) error { return nil }
func (discard) Shutdown(context.Context) error                          { return nil }

func ExampleNew() {
	spans := tracetest.NewInMemoryExporter()
	tel := fairleadotel.New(fairleadotel.Options{TracerProvider: trace.NewTracerProvider(trace.WithSyncer(spans))})
	std := chain.Standard{Telemetry: tel.Call, PerAttempt: []middleware.Middleware{tel.Attempt}}
	caller := std.Then(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		return result, nil
	}))
	tool, _ := middleware.NewTool("crm", &mcp.Tool{Name: "get_customer"}, annotation.ReadOnly())
	_, _ = caller.CallTool(context.Background(), middleware.Call{Tool: tool})
	for _, s := range spans.GetSpans() {
		fmt.Println(s.Name, s.SpanKind)
	}
	// Output:
	// tools/call get_customer client
	// execute_tool get_customer internal
}
