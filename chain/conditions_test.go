package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// byAction are annotations of a tool that lists, adds and deletes, by its argument "action".
var byAction = annotation.Annotations{
	ReadOnly: annotation.No, Destructive: annotation.Yes, Freshness: annotation.Stable,
	Conditions: []annotation.Condition{{
		Argument: "/action", Absent: annotation.Dangerous, Other: annotation.Dangerous, Effect: "chooses the deed", Word: "action",
		Values: []annotation.Outcome{
			{Value: "list", Class: annotation.Safe}, {Value: "add", Class: annotation.Moderate}, {Value: "delete", Class: annotation.Dangerous},
		},
	}},
}.Attribute(annotation.Inferred, "")

// orders is in the place of infer.New, and knows one tool.
func orders(next middleware.ToolCaller) middleware.ToolCaller {
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		tool, err := middleware.NewTool(call.Tool.Server, call.Tool.Definition, byAction)
		if err != nil {
			return nil, err
		}
		call.Tool = tool
		return next.CallTool(callstate.WithClass(ctx, tool), call)
	})
}

// A shop counts what was executed and what a person was asked.
type shop struct {
	ran, asked []string
	classes    []annotation.Safety // as the executor got them
	fails      int                 // so many calls fail first
}

func (s *shop) CallTool(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	s.ran, s.classes = append(s.ran, string(call.Arguments)), append(s.classes, call.Tool.Safety())
	if s.fails > 0 {
		s.fails--
		return nil, errors.New("the connection broke")
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
}

func (s *shop) Confirm(_ context.Context, r hitl.Request) (hitl.Decision, error) {
	s.asked = append(s.asked, r.Tool.Explain())
	return hitl.Decision{Reason: "archive it instead"}, nil
}

func order(arguments string) middleware.Call {
	return middleware.Call{Tool: &middleware.Tool{Server: "shop", Definition: &mcp.Tool{Name: "orders"}}, Arguments: json.RawMessage(arguments)}
}

// The chain of the README has no Preflight.
func TestChainWithoutPreflightAppliesConditions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		arguments  string
		ran, asked bool
		why        string
	}{
		{`{"action":"list"}`, true, false, ""},
		{`{"action":"add","name":"x"}`, true, false, ""},
		{`{"action":"delete"}`, false, true, `this call           inferred: "action" by the arguments: action is "delete" (an argument that chooses the deed)`},
		{`{"action":"purge"}`, false, true, "action is not one of the known values"},
		{`{"action":"LIST"}`, false, true, "action is not one of the known values"},
		{`{"action":["list"]}`, false, true, "action is not one of the known values"},
		{`{"action":null}`, false, true, "action is not one of the known values"},
		{`{}`, false, true, "action is not given"},
		{`{"Action":"list"}`, false, true, "in another case"},
		{`{"action":"list","action":"delete"}`, false, false, ""},
	} {
		s := new(shop)
		caller := chain.Standard{Infer: orders, Confirm: hitl.New(s, hitl.Options{})}.Then(s)
		_, err := caller.CallTool(t.Context(), order(tt.arguments))
		if ran := len(s.ran) > 0; ran != tt.ran || (err == nil) != tt.ran || len(s.asked) > 0 != tt.asked {
			t.Errorf("%s: ran %v, asked %v, error %v", tt.arguments, s.ran, s.asked, err)
		}
		if tt.asked && !strings.Contains(strings.Join(s.asked, ""), tt.why) {
			t.Errorf("%s: the person saw\n%s", tt.arguments, s.asked)
		}
		// With nobody to ask, the guard decides alone.
		s = new(shop)
		_, err = chain.Standard{Infer: orders}.Then(s).CallTool(t.Context(), order(tt.arguments))
		if ran := len(s.ran) > 0; ran != tt.ran || tt.asked != errors.Is(err, chain.ErrRefused) {
			t.Errorf("%s: without a person: ran %v, error %v", tt.arguments, s.ran, err)
		}
	}
}

// A chain of another order has the worst case until it has a preflight.
func TestChainOfAnotherOrderHasTheWorstCase(t *testing.T) {
	t.Parallel()
	s := new(shop)
	_, err := chain.New(orders).Then(chain.Guard(s)).CallTool(t.Context(), order(`{"action":"list"}`))
	if !errors.Is(err, chain.ErrRefused) || len(s.ran) > 0 {
		t.Errorf("without a preflight: ran %v, error %v", s.ran, err)
	}
	if _, err := chain.New(orders, preflight.New(preflight.Options{})).Then(chain.Guard(s)).CallTool(t.Context(), order(`{"action":"list"}`)); err != nil {
		t.Error(err)
	}
}

func TestHostCanCountTheWorstCase(t *testing.T) {
	t.Parallel()
	s := new(shop)
	off := chain.Standard{Infer: orders, Preflight: preflight.New(preflight.Options{WorstCase: true})}
	if _, err := off.Then(s).CallTool(t.Context(), order(`{"action":"list"}`)); !errors.Is(err, chain.ErrRefused) || len(s.ran) > 0 {
		t.Errorf("ran %v, error %v", s.ran, err)
	}
	tool := &middleware.Tool{Server: "shop", Definition: &mcp.Tool{Name: "orders"}, Annotations: byAction}
	if on, off := (chain.Standard{}).Describe().Plan(tool), off.Describe().Plan(tool); !strings.Contains(on, "judge the arguments") || strings.Contains(off, "judge") {
		t.Errorf("described as %q and %q", on, off)
	}
}

// What the call's class decides follows the condition: a read may be cached and sent again, a write not.
func TestConditionDecidesCacheAndRetry(t *testing.T) {
	t.Parallel()
	var records []audit.Record
	trail := audit.New(audit.SinkFunc(func(_ context.Context, r audit.Record) error {
		records = append(records, r)
		return nil
	}), audit.Options{})
	s := &shop{fails: 1}
	caller := chain.Standard{
		Infer: orders, Audit: trail, Cache: cache.New(cache.Options{}),
		Retry: retry.New(retry.Options{First: 1, Rand: func() float64 { return 0 }}),
	}.Then(s)
	send := func(arguments string, fails bool, ran int) {
		t.Helper()
		s.ran = nil
		if _, err := caller.CallTool(t.Context(), order(arguments)); (err != nil) != fails || fails && !errors.As(err, new(*middleware.OutcomeUnknownError)) {
			t.Errorf("%s: %v", arguments, err)
		}
		if len(s.ran) != ran {
			t.Errorf("%s: executed %d times, want %d", arguments, len(s.ran), ran)
		}
	}
	list, add := `{"action":"list"}`, `{"action":"add"}`
	send(list, false, 2) // sent again
	send(list, false, 0) // cached
	s.fails = 1
	send(add, true, 1)
	send(add, false, 1)
	send(add, false, 1)
	send(list, false, 1) // the writes have made it stale
	var classes []string
	for _, r := range records {
		if r.Kind == audit.End {
			classes = append(classes, r.Class)
		}
	}
	if want := []string{"safe", "safe", "moderate", "moderate", "moderate", "safe"}; !slices.Equal(classes, want) {
		t.Errorf("recorded as %v, want %v", classes, want)
	}
}

// A text that its probe calls a read is sent again after a failure, and its result is cached only if the freshness of the
// tool allows it; any other text is neither.
func TestTextDecidesCacheAndRetry(t *testing.T) {
	t.Parallel()
	for freshness, cached := range map[annotation.Freshness]int{annotation.Stable: 0, annotation.Volatile: 1, "": 1} {
		known := annotation.Annotations{
			ReadOnly: annotation.No, Destructive: annotation.Yes, Freshness: freshness,
			Conditions: []annotation.Condition{{Argument: "/sql", Absent: annotation.Dangerous, Other: annotation.Dangerous, Language: "sql"}},
		}.Attribute(annotation.Inferred, "")
		knows := func(next middleware.ToolCaller) middleware.ToolCaller {
			return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
				tool, err := middleware.NewTool(call.Tool.Server, call.Tool.Definition, known)
				if err != nil {
					return nil, err
				}
				call.Tool = tool
				return next.CallTool(callstate.WithClass(ctx, tool), call)
			})
		}
		s := new(shop)
		yes := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			return hitl.Decision{Verdict: hitl.Approved}, nil
		})
		caller := chain.Standard{
			Infer: knows, Cache: cache.New(cache.Options{}), Confirm: hitl.New(yes, hitl.Options{}),
			Retry: retry.New(retry.Options{First: 1, Rand: func() float64 { return 0 }}),
		}.Then(s)
		for _, c := range []struct {
			sql   string
			fails int
			ran   int
		}{
			{"SELECT name FROM customers", 1, 2},
			{"SELECT name FROM customers", 0, cached},
			{"DELETE FROM customers", 1, 1},
			{"DELETE FROM customers", 0, 1},
			{"DELETE FROM customers", 0, 1},
			{"SELECT nextval('n')", 1, 1},
		} {
			s.ran, s.fails = nil, c.fails
			arguments, _ := json.Marshal(map[string]string{"sql": c.sql})
			_, _ = caller.CallTool(t.Context(), order(string(arguments))) // what counts is how often it ran
			if len(s.ran) != c.ran {
				t.Errorf("freshness %q: %s: executed %d times, want %d", freshness, c.sql, len(s.ran), c.ran)
			}
		}
	}
}

// A person who edits the arguments into those of another deed is asked again, or not at all.
func TestConditionsJudgeWhatAPersonEdits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		from, to string
		asked    int
		ran      bool
	}{
		{`{"action":"delete"}`, `{"action":"list"}`, 1, true},
		{`{"action":"delete"}`, `{"action":"add"}`, 1, true},
		{`{"action":"add"}`, `{"action":"delete"}`, 2, false},
		{`{"action":"add"}`, `{"action":"add","n":1}`, 1, true},
	} {
		s, asked := new(shop), 0
		confirmer := hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
			if asked++; asked > 1 {
				return hitl.Decision{}, nil
			}
			return hitl.Decision{Verdict: hitl.Approved, Arguments: json.RawMessage(tt.to)}, nil
		})
		caller := chain.Standard{Infer: orders, Confirm: hitl.New(confirmer, hitl.Options{Writes: true})}.Then(s)
		_, err := caller.CallTool(t.Context(), order(tt.from))
		if ran := len(s.ran) > 0; asked != tt.asked || ran != tt.ran || (err == nil) != tt.ran {
			t.Errorf("%s edited to %s: asked %d times, ran %v, error %v", tt.from, tt.to, asked, s.ran, err)
		}
	}
}

// The chain of the README, with inference as it is.
func TestChainOfTheReadmeJudgesArguments(t *testing.T) {
	t.Parallel()
	s := new(shop)
	caller := chain.Standard{Infer: infer.New(infer.Options{}), Confirm: hitl.New(s, hitl.Options{})}.Then(s)
	tool := &middleware.Tool{Server: "shop", Definition: &mcp.Tool{Name: "manage_orders", Description: "Manage the orders.", InputSchema: json.RawMessage(
		`{"type": "object", "properties": {"action": {"type": "string", "enum": ["list", "add", "delete"]}}}`)}}
	for arguments, asks := range map[string]bool{`{"action":"list"}`: false, `{"action":"delete"}`: true, `{}`: true} {
		s.ran, s.asked = nil, nil
		_, _ = caller.CallTool(t.Context(), middleware.Call{Tool: tool, Arguments: json.RawMessage(arguments)}) // asked or not is in the shop
		if asked := len(s.asked) > 0; asked != asks || asked == (len(s.ran) > 0) {
			t.Errorf("%s: asked %q, ran %q", arguments, s.asked, s.ran)
		}
	}
}
