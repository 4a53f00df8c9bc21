package otel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	fairleadotel "github.com/fairlead-go/fairlead/contrib/otel"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// A presigned URL and a token reach the server each time, and are on no span, also where
// contents are.
func TestSecretResultIsOnNoSpan(t *testing.T) {
	t.Parallel()
	hour := func(*middleware.Tool, time.Duration) time.Duration { return time.Hour } // for all but secrets
	for _, content := range []bool{false, true} {
		l, calls := newLab(fairleadotel.Options{Content: content}), 0
		std := standard(l, nil)
		std.Infer, std.Cache = infer.New(infer.Options{}), cache.New(cache.Options{Lifetime: hour})
		caller := std.Then(chain.Guard(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
			calls++
			return text(fmt.Sprint("https://files.example/a?X-Amz-Signature=s3ntinel-", calls)), nil
		})))
		for _, tool := range []*mcp.Tool{{Name: "get_download_url", Description: "Returns a presigned URL."}, {Name: "get_upload_token", Description: "Returns a token."}} {
			tool.InputSchema = json.RawMessage(`{"type":"object"}`)
			for range 2 {
				if _, err := caller.CallTool(t.Context(), middleware.Call{Tool: &middleware.Tool{Server: "files", Definition: tool}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		all := ""
		for _, s := range l.spans.GetSpans() {
			all += fmt.Sprintf("%s %v %+v %+v\n", s.Name, attributes(s), s.Events, s.Status)
		}
		if calls != 4 || !strings.Contains(all, "its result is a secret") || strings.Contains(all, "s3ntinel") {
			t.Errorf("content %v: %d calls, want 4; the spans are %s", content, calls, all)
		}
	}
}

// All decisions about a call are on its span: without what the call hides.
func TestNoSecretIsOnASpan(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"pin":{"type":"string","writeOnly":true}}}`)
	tools := []*mcp.Tool{{Name: "get_customer", InputSchema: schema}, {Name: "delete_customer", InputSchema: schema}, {Name: "xyzzy", InputSchema: schema}}
	confirmer := hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
		if strings.Contains(string(r.Arguments), "pin") {
			return hitl.Decision{}, fmt.Errorf("no dialog for %s", r.Arguments)
		}
		return hitl.Decision{Verdict: hitl.Approved}, nil
	})
	trail := audit.New(audit.SinkFunc(func(context.Context, audit.Record) error { return nil }), audit.Options{})
	for _, content := range []bool{false, true} {
		l := newLab(fairleadotel.Options{Content: content})
		std := standard(l, confirmer)
		std.Infer = infer.New(infer.Options{})
		std.Audit = trail
		std.Retry = retry.New(retry.Options{Rand: func() float64 { return 0 }, Budget: 1e6})
		for i := range 500 {
			secret := fmt.Sprintf("s3ntinel-%d", i)
			arguments := []string{`{"password":%q}`, `{"pin":%q}`, `{"deep":[{"api_key":%q}]}`, `{"url":"https://ann:%s@example.com/"}`, `{"note":"Authorization: Bearer %s"}`}[i%5]
			end := middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
				switch i % 4 {
				case 0:
					return nil, &jsonrpc.Error{Code: -32603, Message: "cannot " + string(call.Arguments)}
				case 1:
					return nil, errors.New("postgres://me:" + secret + "@db: " + string(call.Arguments))
				case 2:
					panic(string(call.Arguments))
				}
				return text("you sent " + string(call.Arguments)), nil
			})
			call := middleware.Call{ID: fmt.Sprint(i), Tool: &middleware.Tool{Server: "crm", Definition: tools[i%3]}, Arguments: json.RawMessage(fmt.Sprintf(arguments, secret))}
			_, _ = std.Then(chain.Guard(end)).CallTool(t.Context(), call)
		}
		var metrics metricdata.ResourceMetrics
		if err := l.reader.Collect(t.Context(), &metrics); err != nil {
			t.Fatal(err)
		}
		spans := l.spans.GetSpans()
		all := fmt.Sprintf("%+v", metrics)
		for _, s := range spans {
			all += fmt.Sprintf("%s %v %+v %+v %+v\n", s.Name, attributes(s), s.Attributes, s.Events, s.Status)
		}
		if len(spans) < 1000 || !strings.Contains(all, "retry: again, ") || !strings.Contains(all, "hitl: denied, ") {
			t.Errorf("%d spans, which hold next to nothing: %.3000s", len(spans), all)
		}
		if at := strings.Index(all, "s3ntinel"); at >= 0 {
			t.Errorf("content %v: %s", content, all[max(0, at-500):min(len(all), at+100)])
		}
	}
}
