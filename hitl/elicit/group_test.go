package elicit_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/chain/batch"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/elicit"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A turn is an agent behind a server of ours: its tool makes several calls at once, and asks the client about them.
type turn struct {
	calls []middleware.Call

	mu  sync.Mutex
	ran []string
	out []batch.Outcome
}

// newTurn returns a turn of calls that delete these files.
func newTurn(t *testing.T, arguments ...string) *turn {
	t.Helper()
	d := new(turn)
	erase, err := middleware.NewTool("files", &mcp.Tool{Name: "delete_file", InputSchema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}, annotation.Destructive())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range arguments {
		d.calls = append(d.calls, middleware.Call{ID: a, Tool: erase, Arguments: json.RawMessage(a)})
	}
	return d
}

// run has a client call the agent.
func (d *turn) run(t *testing.T, client *mcp.Client, version string) {
	t.Helper()
	executor := middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.ran = append(d.ran, call.ID)
		return mcptest.Text("deleted"), nil
	})
	caller := chain.Standard{Confirm: hitl.New(elicit.New(elicit.Options{}), hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true})}.Then(executor)
	s := mcptest.New()
	s.AddTool(mcptest.Tool("work", "Work."), func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		d.out = batch.Run(elicit.WithRequest(ctx, req), caller, d.calls)
		return mcptest.Text("done"), nil
	})
	cs := mcptest.ConnectVersion(t, s, client, version)
	if _, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "work", Arguments: json.RawMessage(`{}`)}); err != nil {
		t.Fatal(err)
	}
}

// The calls of a turn are in one form, in their order, each with a choice of its own. Anything but its own allow denies.
func TestFormOfATurn(t *testing.T) {
	t.Parallel()
	const a, b, c = `{"path":"a"}`, `{"path":"b"}`, `{"path":"c"}`
	type answers = map[string]any
	for name, tt := range map[string]struct {
		action string
		fields answers
		want   []string
	}{
		"two of three":              {"accept", answers{"decision-001": "allow", "decision-002": "deny", "decision-003": "allow"}, []string{a, c}},
		"all":                       {"accept", answers{"decision-001": "allow", "decision-002": "allow", "decision-003": "allow"}, []string{a, b, c}},
		"a choice that is missing":  {"accept", answers{"decision-002": "allow"}, []string{b}},
		"an empty form":             {"accept", answers{}, nil},
		"the choice of another one": {"accept", answers{"decision": "allow"}, nil},
		"B418: a choice too many":   {"accept", answers{"decision-001": "allow", "decision-004": "allow"}, nil},
		"B419: a choice by a short number": {
			"accept", answers{"decision-001": "deny", "decision-1": "allow"}, nil,
		},
		"another word":      {"accept", answers{"decision-001": "allow", "decision-002": "all"}, nil},
		"a switch":          {"accept", answers{"decision-001": true}, nil},
		"to be remembered":  {"accept", answers{"decision-001": "allow", "remember": "arguments-session"}, nil},
		"declined":          {"decline", answers{"decision-001": "allow"}, nil},
		"closed":            {"cancel", answers{"decision-001": "allow"}, nil},
		"an unknown action": {"ok", answers{"decision-001": "allow"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, d := says(tt.action, tt.fields), newTurn(t, a, b, c)
			d.run(t, u.client(), mcptest.Legacy)
			if !slices.Equal(d.ran, tt.want) {
				t.Errorf("ran %q, want %q", d.ran, tt.want)
			}
			forms := u.asked()
			if len(forms) != 1 {
				t.Fatalf("%d forms", len(forms))
			}
			if strings.Contains(forms[0].Message, "remembered") {
				t.Errorf("it says what can be remembered, which the form has no field for:\n%s", forms[0].Message)
			}
			fields := forms[0].RequestedSchema.(map[string]any)["properties"].(map[string]any)
			if got, want := strings.Join(slices.Sorted(maps.Keys(fields)), " "), "decision-001 decision-002 decision-003 instead reason"; got != want {
				t.Errorf("the fields are %s, want %s", got, want)
			}
			for i, file := range []string{"a", "b", "c"} {
				field := fields[slices.Sorted(maps.Keys(fields))[i]].(map[string]any)
				if title := field["title"].(string); title != string(rune('1'+i))+". Delete file "+file+" of the server files" {
					t.Errorf("the choice %d has the title %q", i+1, title)
				}
				if options, _ := json.Marshal(field["enum"]); string(options) != `["deny","allow"]` {
					t.Errorf("the choice %d has %s", i+1, options)
				}
			}
		})
	}
}

// What the person says after a denial is for those that are denied.
func TestFormOfATurnTellsWhy(t *testing.T) {
	t.Parallel()
	u := says("accept", map[string]any{"decision-001": "allow", "decision-002": "deny", "reason": "b is needed"})
	d := newTurn(t, `{"path":"a"}`, `{"path":"b"}`)
	d.run(t, u.client(), mcptest.Legacy)
	if d.out[0].Err != nil {
		t.Error(d.out[0].Err)
	}
	denied, ok := errors.AsType[*hitl.DeniedError](d.out[1].Err)
	if !ok || denied.Reason != "b is needed" {
		t.Errorf("got %v", d.out[1].Err)
	}
}

// A call that is not shown whole in the form of its turn is not in it. It has a form of its own if it has room there.
func TestFormOfATurnHasWholeCallsAlone(t *testing.T) {
	t.Parallel()
	long := `{"path":"` + strings.Repeat("x", 30_000) + `"}`
	large := func(name string) string { return `{"path":"` + strings.Repeat(name, 9_000) + `"}` }
	for name, tt := range map[string]struct {
		calls []string
		forms int // and how many calls run if all that is shown is allowed
		runs  int
	}{
		"one is too long for any form":   {[]string{`{"path":"a"}`, long, `{"path":"b"}`}, 1, 2},
		"the last one has its own":       {[]string{large("a"), large("b"), large("c")}, 2, 3},
		"one of two is too long":         {[]string{`{"path":"a"}`, long}, 1, 1},
		"both are too long":              {[]string{long, strings.Replace(long, "x", "y", 1)}, 0, 0},
		"a value in rows that are drawn": {[]string{`{"path":"a"}`, `{"path":"` + strings.Repeat(`a\n`, 6_000) + `"}`}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			forms := 0
			client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					mu.Lock()
					defer mu.Unlock()
					forms++
					content := make(map[string]any)
					for name := range req.Params.RequestedSchema.(map[string]any)["properties"].(map[string]any) {
						if strings.HasPrefix(name, "decision") {
							content[name] = "allow"
						}
					}
					return &mcp.ElicitResult{Action: "accept", Content: content}, nil
				},
			})
			d := newTurn(t, tt.calls...)
			d.run(t, client, mcptest.Legacy)
			if forms != tt.forms || len(d.ran) != tt.runs || slices.Contains(d.ran, long) {
				t.Errorf("%d forms, %d calls ran, want %d and %d", forms, len(d.ran), tt.forms, tt.runs)
			}
			for _, o := range d.out {
				if slices.Contains(d.ran, o.Call.ID) == errors.Is(o.Err, elicit.ErrUnsupported) {
					t.Errorf("%.20s ended in %v", o.Call.ID, o.Err)
				}
			}
		})
	}
}

// A client that cannot be shown a form of several calls is asked about each, as outside of a turn.
func TestTurnOfAClientWithoutForms(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		client  *mcp.Client
		version string
		want    func(error) bool
	}{
		"deaf": {
			mcp.NewClient(&mcp.Implementation{Name: "deaf", Version: "1"}, nil), mcptest.Legacy,
			func(err error) bool { return errors.Is(err, elicit.ErrUnsupported) },
		},
		"one that answers to each call": {
			byHand(), mcptest.Modern,
			func(err error) bool { _, pending := errors.AsType[*hitl.PendingError](err); return pending },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newTurn(t, `{"path":"a"}`, `{"path":"b"}`)
			d.run(t, tt.client, tt.version)
			for _, o := range d.out {
				if len(d.ran) > 0 || !tt.want(o.Err) {
					t.Errorf("%s: ran %q, and it ended in %v", o.Call.ID, d.ran, o.Err)
				}
			}
		})
	}
}
