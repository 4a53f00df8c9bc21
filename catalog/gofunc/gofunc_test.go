package gofunc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/gofunc"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type order struct {
	ID    string `json:"id" jsonschema:"the order's number"`
	Count int    `json:"count,omitempty"`
}

type total struct {
	Sum int `json:"sum"`
}

func price(_ context.Context, o order) (total, error) {
	if o.ID == "" {
		return total{}, gofunc.Failed("no order %q; list them first", o.ID)
	}
	return total{Sum: 7 * o.Count}, nil
}

func text(res *mcp.CallToolResult) string {
	var all []string
	for _, c := range res.Content {
		all = append(all, c.(*mcp.TextContent).Text)
	}
	return strings.Join(all, "\n")
}

// addFunc adds one func and returns it as a tool.
func addFunc[In, Out any](t *testing.T, c *catalog.Catalog, name string, a annotation.Annotations, f func(context.Context, In) (Out, error)) *middleware.Tool {
	t.Helper()
	id := "shop" + fmt.Sprint(len(c.List()))
	if err := c.AddFuncs(id, gofunc.New(name, "About orders.", a, f)); err != nil {
		t.Fatal(err)
	}
	tool, ok := c.Lookup(id, name)
	if !ok {
		t.Fatalf("no %s", name)
	}
	return tool
}

func TestFuncIsAToolLikeAnyOther(t *testing.T) {
	t.Parallel()
	c := catalog.New(catalog.Options{})
	tool := addFunc(t, c, "get_price", annotation.ReadOnly(), price)
	raw, err := json.Marshal(tool.Definition.InputSchema)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"additionalProperties":false,"properties":{"count":{"type":"integer"},"id":{"description":"the order's number","type":"string"}},"required":["id"],"type":"object"}`
	var got any
	_ = json.Unmarshal(raw, &got)
	if again, _ := json.Marshal(got); string(again) != want {
		t.Errorf("the schema is %s", raw)
	}
	caller := chain.Standard{Cache: cache.New(cache.Options{}), Output: output.New(output.Options{})}.Then(c)
	res, err := caller.CallTool(t.Context(), middleware.Call{Tool: tool, Arguments: json.RawMessage(`{"id":"a","count":6}`)})
	if err != nil {
		t.Fatal(err)
	}
	structured, _ := json.Marshal(res.StructuredContent)
	if diff := cmp.Diff([]string{`{"sum":42}`, `{"sum":42}`}, []string{text(res), string(structured)}); diff != "" || res.IsError {
		t.Error(diff)
	}
	if f := c.Findings(); len(f) > 0 {
		t.Error(f)
	}
}

// The host's word on its own func wins over what the name gives away, both ways; it
// asks, is refused and is counted like any other.
func TestFuncHasTheClassThatTheHostDeclares(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		a    annotation.Annotations
		want annotation.Safety
	}{
		{"delete_order", annotation.Annotations{}, annotation.Dangerous},
		{"delete_order", annotation.ReadOnly(), annotation.Safe},
		{"get_order", annotation.Destructive(), annotation.Dangerous},
		{"frobnicate", annotation.Annotations{}, annotation.Unknown},
		{"frobnicate", annotation.Write(), annotation.Moderate},
	} {
		c := catalog.New(catalog.Options{})
		if tool := addFunc(t, c, row.name, row.a, price); tool.Safety() != row.want {
			t.Errorf("%s, %v: %s", row.name, row.a, tool.Explain())
		}
	}
	c := catalog.New(catalog.Options{})
	ran := 0
	tool := addFunc(t, c, "cancel_order", annotation.Destructive(), func(context.Context, order) (string, error) { ran++; return "gone", nil })
	call := middleware.Call{Tool: tool, Arguments: json.RawMessage(`{"id":"a"}`)}
	if _, err := (chain.Standard{}).Then(c).CallTool(t.Context(), call); !errors.Is(err, chain.ErrRefused) || ran != 0 {
		t.Errorf("no person was asked: %v, ran %d times", err, ran)
	}
	yes := hitl.New(hitl.DangerouslyApproveEveryCallWithoutAsking(), hitl.Options{})
	if res, err := (chain.Standard{Confirm: yes}).Then(c).CallTool(t.Context(), call); err != nil || text(res) != "gone" || ran != 1 {
		t.Errorf("%v, ran %d times", err, ran)
	}
	if err := c.Override("shop0", "cancel_order", annotation.Annotations{RateLimitHint: new(3.0)}); err != nil {
		t.Fatal(err)
	}
	if tool, _ := c.Lookup("shop0", "cancel_order"); tool.Safety() != annotation.Dangerous {
		t.Errorf("an override of something else made it %v", tool.Safety())
	}
}

func TestArgumentsThatTheSchemaDoesNotAllowNeverReachTheFunc(t *testing.T) {
	t.Parallel()
	c, ran := catalog.New(catalog.Options{}), false
	tool := addFunc(t, c, "create_note", annotation.Write(), func(context.Context, order) (string, error) { ran = true; return "", nil })
	caller := chain.Standard{Output: output.New(output.Options{})}.Then(c)
	for arguments, want := range map[string]string{
		``:                      `missing properties: ["id"]`,
		`{}`:                    `missing properties: ["id"]`,
		`{"id":7}`:              `type: 7 has type`,
		`{"id":"a","other":1}`:  `unexpected additional properties ["other"]`,
		`{"id":"a","id":"b"}`:   `"id" is given twice`,
		`{"id":"a"`:             `are refused`,
		`[]`:                    `are refused`,
		`nonsense`:              `are refused`,
		`{"id":"a","count":.5}`: `are refused`,
		`{"id":"a","count":99999999999999999999999}`: `are refused`,
	} {
		_, err := c.CallTool(t.Context(), middleware.Call{Tool: tool, Arguments: json.RawMessage(arguments)})
		if !middleware.NotSent(err) || !middleware.Permanent(err) || ran {
			t.Errorf("%s: not sent %v, final %v, ran %v: %v", arguments, middleware.NotSent(err), middleware.Permanent(err), ran, err)
		}
		res, err := caller.CallTool(t.Context(), middleware.Call{Tool: tool, Arguments: json.RawMessage(arguments)})
		if err != nil || !res.IsError || !strings.Contains(text(res), want) || !strings.HasPrefix(text(res), "The arguments for shop0__create_note") {
			t.Errorf("%s: the model reads %v", arguments, text(res))
		}
	}
}

// The model cannot correct arguments that a person changed.
func TestInvalidEditIsNotTheModelsFault(t *testing.T) {
	t.Parallel()
	c := catalog.New(catalog.Options{})
	tool := addFunc(t, c, "delete_note", annotation.Destructive(), func(context.Context, order) (string, error) { return "", nil })
	read := func(asked string, edited json.RawMessage) string {
		yes := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			return hitl.Decision{Verdict: hitl.Approved, By: "ann", Arguments: edited}, nil
		})
		caller := chain.Standard{Confirm: hitl.New(yes, hitl.Options{}), Output: output.New(output.Options{})}.Then(c)
		res, err := caller.CallTool(t.Context(), middleware.Call{Tool: tool, Arguments: json.RawMessage(asked)})
		if err != nil || !res.IsError {
			t.Fatalf("%v, %v", res, err)
		}
		return text(res)
	}
	if got := read(`{"id":"a"}`, json.RawMessage(`{"id":7}`)); strings.Contains(got, "Send what") || !strings.Contains(got, "a person changed its arguments") || !strings.Contains(got, "7 has type") {
		t.Errorf("of an edit the model reads %s", got)
	}
	if got := read(`{"id":7}`, nil); !strings.Contains(got, "Send what its schema asks for") || strings.Contains(got, "person") {
		t.Errorf("of its own arguments the model reads %s", got)
	}
}

var errInside = errors.New("dial tcp 10.0.0.7:5432: refused")

func TestWhatAFuncReturns(t *testing.T) {
	t.Parallel()
	asks := func(f func() (any, error)) func(context.Context, struct{}) (any, error) {
		return func(context.Context, struct{}) (any, error) { return f() }
	}
	own := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "as it is"}}, IsError: true}
	for name, row := range map[string]struct {
		f      func() (any, error)
		text   string
		failed bool
		err    error
	}{
		"a text":             {func() (any, error) { return "hello", nil }, "hello", false, nil},
		"a list":             {func() (any, error) { return []int{1, 2}, nil }, "[1,2]", false, nil},
		"nothing":            {func() (any, error) { return nil, nil }, "null", false, nil},
		"a result":           {func() (any, error) { return own, nil }, "as it is", true, nil},
		"a failure":          {func() (any, error) { return nil, gofunc.Failed("no order %d", 7) }, "no order 7", true, nil},
		"a failure, wrapped": {func() (any, error) { return nil, fmt.Errorf("x: %w", gofunc.Failed("no order")) }, "no order", true, nil},
		"an error":           {func() (any, error) { return nil, errInside }, "", false, errInside},
		"its context":        {func() (any, error) { return nil, context.Canceled }, "", false, context.Canceled},
		"no JSON":            {func() (any, error) { return func() {}, nil }, "", false, errors.ErrUnsupported},
	} {
		c := catalog.New(catalog.Options{})
		tool := addFunc(t, c, "get_it", annotation.ReadOnly(), asks(row.f))
		res, err := c.CallTool(t.Context(), middleware.Call{Tool: tool})
		switch {
		case row.err != nil:
			if err == nil || name != "no JSON" && !errors.Is(err, row.err) {
				t.Errorf("%s: got %v and %v", name, res, err)
			}
		case err != nil || text(res) != row.text || res.IsError != row.failed:
			t.Errorf("%s: got %+v and %v", name, res, err)
		}
	}
}

// A nil map is an empty one, and within an answer it is null, as its schema says: no
// answer of a func is withheld for what its own schema promises.
func TestNilMapsOfAFuncMatchItsSchema(t *testing.T) {
	t.Parallel()
	type inner struct{ M map[string]int }
	type outer struct {
		M  map[string]map[string]bool
		L  []inner
		In inner
	}
	c := catalog.New(catalog.Options{})
	if err := c.AddFuncs("shop",
		gofunc.New("get_map", "", annotation.ReadOnly(), func(context.Context, struct{}) (map[string]int, error) { return nil, nil }),
		gofunc.New("get_maps", "", annotation.ReadOnly(), func(context.Context, struct{}) (map[string]map[string]int, error) {
			return map[string]map[string]int{"a": nil}, nil
		}),
		gofunc.New("get_struct", "", annotation.ReadOnly(), func(context.Context, struct{}) (outer, error) {
			return outer{L: []inner{{}}}, nil
		}),
	); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"get_map": `{}`, "get_maps": `{"a":null}`, "get_struct": `{"In":{"M":null},"L":[{"M":null}],"M":null}`,
	} {
		tool, _ := c.Lookup("shop", name)
		res, err := output.New(output.Options{})(c).CallTool(t.Context(), middleware.Call{Tool: tool})
		if err != nil || res.IsError || text(res) != want {
			t.Errorf("%s: got %s and %v, want %s", name, text(res), err, want)
		}
	}
}

// An error of a call that a func made does not describe what the func had done before: its own
// call is not made again.
func TestFuncThatCallsAnotherToolInVainIsNotCalledAgain(t *testing.T) {
	t.Parallel()
	for name, inner := range map[string]error{
		"not sent": &catalog.UnknownToolError{Tool: "notify"},
		"refused":  tooMany{},
	} {
		for class, own := range map[string]annotation.Annotations{"write": annotation.Write(), "deletion": annotation.Destructive()} {
			c, paid := catalog.New(catalog.Options{}), 0
			tool := addFunc(t, c, "pay_order", own, func(context.Context, order) (string, error) {
				paid++
				return "", fmt.Errorf("paid, and then: %w", inner)
			})
			caller := chain.Standard{Confirm: hitl.New(hitl.DangerouslyApproveEveryCallWithoutAsking(), hitl.Options{}), Retry: retry.New(retry.Options{})}.Then(c)
			_, err := caller.CallTool(t.Context(), middleware.Call{Tool: tool, Arguments: json.RawMessage(`{"id":"a"}`)})
			if _, unknown := errors.AsType[*middleware.OutcomeUnknownError](err); paid != 1 || !unknown || !errors.Is(err, inner) {
				t.Errorf("%s, %s: paid %d times, and got %v; want once, and an unknown outcome", name, class, paid, err)
			}
		}
	}
}

type tooMany struct{}

func (tooMany) Error() string { return "too many requests" }
func (tooMany) Refused() bool { return true }

func ExampleNew() {
	type order struct {
		ID string `json:"id" jsonschema:"the order's number"`
	}
	tools := catalog.New(catalog.Options{})
	defer tools.Close()
	err := tools.AddFuncs("shop",
		gofunc.New("order_status", "How far is an order?", annotation.ReadOnly(), func(_ context.Context, o order) (string, error) {
			return o.ID + " is on its way", nil
		}),
		gofunc.New("cancel_order", "Cancels an order.", annotation.Destructive(), func(_ context.Context, o order) (string, error) {
			return "", gofunc.Failed("%s is on its way and cannot be cancelled", o.ID)
		}),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	caller := chain.Standard{Output: output.New(output.Options{})}.Then(tools)
	for _, name := range []string{"order_status", "cancel_order"} {
		tool, _ := tools.Lookup("shop", name)
		res, err := caller.CallTool(context.Background(), middleware.Call{Tool: tool, Arguments: json.RawMessage(`{"id":"A7"}`)})
		fmt.Println(res.Content[0].(*mcp.TextContent).Text, err)
	}
	// Output:
	// A7 is on its way <nil>
	// shop__cancel_order was not called: it needs a person's agreement, and there is none. Do not call it again; tell the user, or choose a tool that only reads. <nil>
}

// A func that takes any value gets the digits that the model wrote.
func TestFuncThatTakesAnyValueGetsTheDigits(t *testing.T) {
	t.Parallel()
	for _, number := range []string{"9007199254740993", "9007199254740991", "18446744073709551616", "-0", "1.10"} {
		got := ""
		c := catalog.New(catalog.Options{})
		tool := addFunc(t, c, "get_it", annotation.ReadOnly(), func(_ context.Context, in map[string]any) (string, error) {
			raw, err := json.Marshal(in)
			got = string(raw)
			return "", err
		})
		arguments := `{"id":` + number + `}`
		if _, err := c.CallTool(t.Context(), middleware.Call{Tool: tool, Arguments: json.RawMessage(arguments)}); err != nil || got != arguments {
			t.Errorf("the func got %s, %v, want %s", got, err, arguments)
		}
	}
}
