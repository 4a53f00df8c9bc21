package otel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/route"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

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

// on sets the status of a span.
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
	{hitl.ErrUnavailable, "unavailable"}, // a denial without a decision
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
