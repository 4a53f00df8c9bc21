package batch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/gofunc"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/chain/batch"
	"github.com/fairlead-go/fairlead/chain/batch/batchtest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type note struct {
	ID string `json:"id"`
}

type scopeKey struct{}

// A notebook is a catalog of notes, and what came of the calls.
type notebook struct {
	tools *catalog.Catalog

	mu    sync.Mutex
	calls []string
}

func newNotebook(t testing.TB) *notebook {
	t.Helper()
	d := &notebook{tools: catalog.New(catalog.Options{Permission: func(tool *middleware.Tool) string { return "notes." + tool.Name() }})}
	t.Cleanup(func() { _ = d.tools.Close() })
	d.add(t, "notes")
	return d
}

func (d *notebook) add(t testing.TB, server string) {
	t.Helper()
	answer := func(_ context.Context, n note) (note, error) { return n, nil }
	var funcs []gofunc.Func
	for name, a := range map[string]annotation.Annotations{"get_note": annotation.ReadOnly(), "create_note": annotation.Write(), "delete_note": annotation.Destructive()} {
		funcs = append(funcs, gofunc.New(name, "Notes.", a, answer))
	}
	if err := d.tools.AddFuncs(server, funcs...); err != nil {
		t.Fatal(err)
	}
}

func (d *notebook) note(next middleware.ToolCaller) middleware.ToolCaller {
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		d.mu.Lock()
		d.calls = append(d.calls, strings.TrimSpace(call.ID+" "+call.Tool.Name()+" "+call.Scope))
		d.mu.Unlock()
		return next.CallTool(ctx, call)
	})
}

func (d *notebook) host(o batch.HostOptions) *batch.Host {
	deny := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		return hitl.Decision{Reason: "keep it"}, nil
	})
	return batch.NewHost(d.tools, chain.Standard{
		Output: output.New(output.Options{}), Cache: cache.New(cache.Options{}), Confirm: hitl.New(deny, hitl.Options{}), PerAttempt: []middleware.Middleware{d.note},
	}.Then(d.tools), o)
}

func TestTurnIsAnswered(t *testing.T) {
	t.Parallel()
	d := newNotebook(t)
	host := d.host(batch.HostOptions{Scope: func(ctx context.Context) string { s, _ := ctx.Value(scopeKey{}).(string); return s }})
	got := host.Answer(context.WithValue(t.Context(), scopeKey{}, "ada"),
		batch.ToolCall{ID: "1", Name: "notes__get_note", Arguments: json.RawMessage(`{"id":"a"}`)},
		batch.ToolCall{ID: "2", Name: "notes__get_note", Arguments: json.RawMessage(`{ "id": "a" }`)},
		batch.ToolCall{ID: "3", Name: "notes__delete_note", Arguments: json.RawMessage(`{"id":"a"}`)},
		batch.ToolCall{ID: "4", Name: "notes__create_note", Arguments: json.RawMessage(`{"id":"b"}`)},
	)
	want := []string{`{"id":"a"}`, `{"id":"a"}`, "notes__delete_note was not called. The user said no: keep it", `{"id":"b"}`}
	for i, res := range got {
		if text := output.Text(res); text != want[i] || res.IsError != (i == 2) || (batch.ResultError(res) != nil) != (i == 2) {
			t.Errorf("%d: got %q", i, text)
		}
	}
	slices.Sort(d.calls)
	if want := []string{"1 get_note ada", "4 create_note ada"}; !slices.Equal(d.calls, want) {
		t.Errorf("sent were %v, want %v: two identical reads are one", d.calls, want)
	}
}

// Each mistake of a model is an answer that it can act on, alone and among others.
func TestFaultyCallsAreAnswered(t *testing.T) {
	t.Parallel()
	d := newNotebook(t)
	d.add(t, "others")
	host := d.host(batch.HostOptions{})
	good := batch.ToolCall{ID: "good", Name: "notes__get_note", Arguments: json.RawMessage(`{"id":"a"}`)}
	for name, c := range map[string]struct {
		asks batch.ToolCall
		want string
	}{
		"no such tool":      {batch.ToolCall{ID: "x", Name: "notes__fly", Arguments: json.RawMessage(`{}`)}, "There is no such tool"},
		"no name":           {batch.ToolCall{ID: "x"}, "There is no such tool"},
		"half a name":       {batch.ToolCall{ID: "x", Name: "get_note", Arguments: json.RawMessage(`{"id":"a"}`)}, "Call one of them by its full name: notes__get_note, others__get_note."},
		"no JSON":           {batch.ToolCall{ID: "x", Name: "notes__get_note", Arguments: json.RawMessage(`{"id":`)}, "The arguments for notes__get_note are refused"},
		"no object":         {batch.ToolCall{ID: "x", Name: "notes__create_note", Arguments: json.RawMessage(`[1]`)}, "Send one JSON object"},
		"not in the schema": {batch.ToolCall{ID: "x", Name: "notes__create_note", Arguments: json.RawMessage(`{"no":1}`)}, "Send what its schema asks for"},
	} {
		got := host.Answer(t.Context(), good, c.asks)
		if text := output.Text(got[1]); !got[1].IsError || !strings.Contains(text, c.want) {
			t.Errorf("%s: the model reads %q", name, text)
		}
		if got[0].IsError {
			t.Errorf("%s takes another call down: %s", name, output.Text(got[0]))
		}
		if alone := host.Answer(t.Context(), c.asks); output.Text(alone[0]) != output.Text(got[1]) {
			t.Errorf("%s: alone the model reads %q", name, output.Text(alone[0]))
		}
	}
	many := slices.Repeat([]batch.ToolCall{good}, 1000)
	for i := range many {
		many[i].ID = fmt.Sprint(i)
	}
	for i, res := range host.Answer(t.Context(), many...) {
		if refused := strings.Contains(output.Text(res), "too many calls in one turn"); refused != (i >= 128) || refused != res.IsError {
			t.Errorf("of 1000 calls, %d got %s", i, output.Text(res))
		}
	}
}

// Calls that cannot be made are stopped as a loop, and recorded, as others are.
func TestFaultyCallsAreStoppedAndRecorded(t *testing.T) {
	t.Parallel()
	turn := []batch.ToolCall{
		{ID: "a", Name: "add", Arguments: json.RawMessage(`{"a":1}`)},
		{ID: "b", Name: "notes__get_note", Arguments: json.RawMessage(`{"id":`)},
		{ID: "c", Name: "notes__get_note", Arguments: json.RawMessage(`{"id":"x","id":"y"}`)},
	}
	for name, calls := range map[string][]batch.ToolCall{"unknown": turn[:1], "cut off": turn[1:2], "twice": turn[2:], "in turn": turn} {
		var records []audit.Record
		trail := audit.New(audit.SinkFunc(func(_ context.Context, r audit.Record) error {
			records = append(records, r)
			return nil
		}), audit.Options{})
		d := newNotebook(t)
		std := chain.Standard{Budget: budget.New(budget.Options{}), Audit: trail, PerCall: []middleware.Middleware{d.note}}
		loop := chain.New(trail.Record, chain.Recover(), std.Budget, d.note, trail.Intent).Then(d.tools)
		for kind, caller := range map[string]middleware.ToolCaller{"a standard chain": std.Then(d.tools), "one of another order": loop} {
			records = nil
			host := batch.NewHost(d.tools, caller, batch.HostOptions{Scope: func(context.Context) string { return kind }})
			var stopped int
			for range 12 {
				for _, res := range host.Answer(t.Context(), calls...) {
					switch text := output.Text(res); {
					case strings.Contains(text, "__add"):
						t.Errorf("the model did not write this name: %s", text)
					case strings.Contains(text, "was stopped"):
						stopped++
					}
				}
			}
			if len(calls) == 1 && stopped != 8 || stopped == 0 || len(d.calls) > 0 {
				t.Errorf("%s, %s: %d of %d calls are stopped as a loop; passed on: %q", name, kind, stopped, 12*len(calls), d.calls)
			}
			if len(records) != 12*len(calls) {
				t.Fatalf("%s, %s: %d records, want %d", name, kind, len(records), 12*len(calls))
			}
			for i, r := range records {
				want := calls[i%len(calls)]
				if !strings.HasSuffix(want.Name, r.Tool) || r.Tool == "" || r.Call != want.ID || r.Kind != audit.End || r.Outcome == audit.OK {
					t.Errorf("%s, %s: the record is %+v", name, kind, r)
				}
			}
		}
	}
}

func TestToolOutsideTheScopeIsNotThere(t *testing.T) {
	t.Parallel()
	d := newNotebook(t)
	view, err := d.tools.View(catalog.Scope{Permission: "notes.get_note"})
	if err != nil {
		t.Fatal(err)
	}
	host := batch.NewHost(view, chain.Standard{}.Then(view), batch.HostOptions{})
	if tools := host.Tools(); len(tools) != 1 || tools[0].Name() != "get_note" {
		t.Errorf("the model is given %v", tools)
	}
	got := host.Answer(t.Context(),
		batch.ToolCall{ID: "1", Name: "notes__create_note", Arguments: json.RawMessage(`{"id":"a"}`)},
		batch.ToolCall{ID: "2", Name: "notes__get_note", Arguments: json.RawMessage(`{"id":"a"}`)})
	if text := output.Text(got[0]); !strings.Contains(text, "There is no such tool") || got[1].IsError {
		t.Errorf("got %q and %q", text, output.Text(got[1]))
	}
}

func TestUnanswerableResultIsAFailure(t *testing.T) {
	t.Parallel()
	d := newNotebook(t)
	tool, _ := d.tools.Lookup("notes", "create_note")
	for name, c := range map[string]struct {
		next func() (*mcp.CallToolResult, error)
		want string
	}{
		"a question back": {func() (*mcp.CallToolResult, error) { return &mcp.CallToolResult{RequestState: "more"}, nil }, "cannot be given here"},
		"a panic":         {func() (*mcp.CallToolResult, error) { panic("a password") }, "may or may not have happened"},
		"nothing":         {func() (*mcp.CallToolResult, error) { return nil, nil }, "may or may not have happened"},
		"an error":        {func() (*mcp.CallToolResult, error) { return nil, errors.New("a password") }, "may or may not have happened"},
	} {
		host := batch.NewHost(d.tools, middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return c.next() }), batch.HostOptions{})
		asked := batch.ToolCall{Name: "create_note", Arguments: json.RawMessage(`{"id":"a"}`)}
		for _, res := range append(host.Answer(t.Context(), asked), host.Call(t.Context(), tool, "", asked.Arguments)) {
			if text := output.Text(res); !res.IsError || !strings.Contains(text, c.want) || strings.Contains(text, "password") {
				t.Errorf("%s: %q", name, text)
			}
		}
	}
	host := batch.NewHost(d.tools, middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		t.Error("arguments that are not JSON were sent")
		return &mcp.CallToolResult{}, nil
	}), batch.HostOptions{})
	asked := batch.ToolCall{Name: "create_note", Arguments: json.RawMessage(`{`)}
	for _, res := range append(host.Answer(t.Context(), asked, asked), host.Call(t.Context(), tool, "", asked.Arguments)) {
		if !strings.Contains(output.Text(res), "are refused") {
			t.Errorf("arguments that are not JSON: %q", output.Text(res))
		}
	}
}

func TestOneCallCostsOneAllocationMore(t *testing.T) {
	if batchtest.Race {
		t.Skip("the race detector allocates")
	}
	d := newNotebook(t)
	tool, _ := d.tools.Lookup("notes", "get_note")
	answer := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "a"}}}
	host := batch.NewHost(d.tools, middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return answer, nil }), batch.HostOptions{})
	arguments := json.RawMessage(`{"id":"a"}`)
	asked := batch.ToolCall{ID: "1", Name: "notes__get_note", Arguments: arguments}
	if got := testing.AllocsPerRun(100, func() { host.Call(t.Context(), tool, "1", arguments) }); got != 1 {
		t.Errorf("Call allocates %v times", got)
	}
	if got := testing.AllocsPerRun(100, func() { host.Answer(t.Context(), asked) }); got != 2 {
		t.Errorf("Answer allocates %v times", got)
	}
}

func TestNewHostPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if v, _ := recover().(string); !strings.HasPrefix(v, "batch: ") {
			t.Errorf("got %q", v)
		}
	}()
	batch.NewHost(nil, nil, batch.HostOptions{})
}

// A plain loop: a model of rules asks, the host answers.
func ExampleNewHost() {
	tools := catalog.New(catalog.Options{})
	defer tools.Close()
	err := tools.AddFuncs("notes", gofunc.New("get_note", "Returns a note.", annotation.ReadOnly(), func(_ context.Context, n note) (string, error) {
		return "the text of " + n.ID, nil
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	host := batch.NewHost(tools, chain.Standard{}.Then(tools), batch.HostOptions{})
	for _, tool := range host.Tools() {
		fmt.Println("the model is given", tool.ModelName())
	}
	for _, res := range host.Answer(context.Background(),
		batch.ToolCall{ID: "call_1", Name: "notes__get_note", Arguments: json.RawMessage(`{"id":"a"}`)},
		batch.ToolCall{ID: "call_2", Name: "notes__burn_note", Arguments: json.RawMessage(`{"id":"a"}`)},
	) {
		fmt.Println("the model reads:", output.Text(res))
	}
	// Output:
	// the model is given notes__get_note
	// the model reads: the text of a
	// the model reads: There is no such tool any more. Choose one from the list of tools.
}

// Some models and SDKs write null where a call has no arguments: it is {} to tool, chain and record.
func TestNullArgumentsAreNone(t *testing.T) {
	t.Parallel()
	d := newNotebook(t)
	var sent []string
	host := batch.NewHost(d.tools, middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		sent = append(sent, string(call.Arguments))
		return &mcp.CallToolResult{}, nil
	}), batch.HostOptions{})
	for _, null := range []string{"null", " null\n"} {
		ask := batch.ToolCall{Name: "notes__get_note", Arguments: json.RawMessage(null)}
		tool, err := d.tools.Find(ask.Name)
		if err != nil {
			t.Fatal(err)
		}
		if res := host.Answer(t.Context(), ask)[0]; res.IsError {
			t.Errorf("%q: the model reads %q", null, output.Text(res))
		}
		if res := host.Call(t.Context(), tool, "", ask.Arguments); res.IsError {
			t.Errorf("%q: the model reads %q", null, output.Text(res))
		}
	}
	if want := []string{"{}", "{}", "{}", "{}"}; !slices.Equal(sent, want) {
		t.Errorf("sent were %q, want %q", sent, want)
	}
}
