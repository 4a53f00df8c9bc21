package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func doIt(a annotation.Annotations) *middleware.Tool {
	return &middleware.Tool{Server: "files", Definition: &mcp.Tool{Name: "do_it"}, Annotations: a}
}

func TestRecover(t *testing.T) {
	t.Parallel()
	errInner, errElsewhere := errors.New("inner"), error(&middleware.NotSentError{Err: errors.New("plain")})
	result := &mcp.CallToolResult{}
	for _, c := range []struct {
		name    string
		a       annotation.Annotations
		next    func() (*mcp.CallToolResult, error)
		res     *mcp.CallToolResult
		is      error
		panics  bool
		unknown bool
	}{
		{"a result", annotation.Write(), func() (*mcp.CallToolResult, error) { return result, nil }, result, nil, false, false},
		{"an error", annotation.Write(), func() (*mcp.CallToolResult, error) { return nil, errInner }, nil, errInner, false, false},
		{"both", annotation.Write(), func() (*mcp.CallToolResult, error) { return result, errInner }, nil, errInner, false, false},
		{"a panic of a read", annotation.ReadOnly(), func() (*mcp.CallToolResult, error) { panic("secret") }, nil, nil, true, false},
		{"a panic of a write", annotation.Write(), func() (*mcp.CallToolResult, error) { panic("secret") }, nil, nil, true, true},
		{"a panic with an error", annotation.ReadOnly(), func() (*mcp.CallToolResult, error) { panic(errInner) }, nil, errInner, true, false},
		{"a panic with the error of another call", annotation.Write(), func() (*mcp.CallToolResult, error) { panic(errElsewhere) }, nil, errElsewhere, true, true},
		{"a panic with nil", annotation.Destructive(), func() (*mcp.CallToolResult, error) { panic(nil) }, nil, nil, true, true},
	} {
		caller := chain.Recover()(middleware.ToolCallerFunc(
			func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return c.next() }))
		res, err := caller.CallTool(t.Context(), middleware.Call{Tool: doIt(c.a)})
		if res != c.res || (res == nil) == (err == nil) {
			t.Errorf("%s: got %v and %v", c.name, res, err)
		}
		if c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v is not %v", c.name, err, c.is)
		}
		caught, panicked := errors.AsType[*chain.PanicError](err)
		if panicked != c.panics {
			t.Errorf("%s: a panic error: %v", c.name, panicked)
		}
		if panicked && (len(caught.Stack) == 0 || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "files/do_it")) {
			t.Errorf("%s: %v", c.name, err)
		}
		if _, unknown := errors.AsType[*middleware.OutcomeUnknownError](err); unknown != c.unknown {
			t.Errorf("%s: an unknown outcome: %v", c.name, unknown)
		}
	}
}

func TestRecoverOfNoAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a       annotation.Annotations
		unknown bool
	}{{annotation.ReadOnly(), false}, {annotation.Write(), true}, {annotation.Annotations{}, true}} {
		caller := chain.Recover()(middleware.ToolCallerFunc(
			func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return nil, nil }))
		res, err := caller.CallTool(t.Context(), middleware.Call{Tool: doIt(c.a)})
		if _, ok := errors.AsType[*fault.NoResultError](err); !ok || res != nil {
			t.Errorf("%v: got %v and %v", c.a.Safety(), res, err)
		}
		if _, unknown := errors.AsType[*middleware.OutcomeUnknownError](err); unknown != c.unknown {
			t.Errorf("%v: an unknown outcome: %v", c.a.Safety(), unknown)
		}
	}
}

func TestRecoverDescribesItself(t *testing.T) {
	t.Parallel()
	if d, ok := chain.Recover()(nil).(middleware.Describer); !ok || d.Describe().Kind != "recover" {
		t.Errorf("got %v, %v", d, ok)
	}
}

func ExampleRecover() {
	caller := chain.Recover()(middleware.ToolCallerFunc(
		func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { panic("a password") }))
	definition := &mcp.Tool{Name: "list_files", InputSchema: map[string]any{"type": "object"}}
	tool, err := middleware.NewTool("files", definition, annotation.ReadOnly())
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = caller.CallTool(context.Background(), middleware.Call{Tool: tool})
	fmt.Println(err)
	// Output: fairlead: the call of files/list_files panicked; the log of the host has the stack
}

// burning is a server with tools that panic.
type burning struct{ server }

func (*burning) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	panic("boom")
}

// A tool that reads and a call of it that deletes: after a panic it is unknown whether it has
// happened.
func TestPanicOfAJudgedCallHasAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	tools := catalog.New(catalog.Options{})
	tools.Trust("files")
	reads := &mcp.Tool{Name: "get_file", InputSchema: map[string]any{"type": "object"}, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
	if err := tools.Add(t.Context(), "files", &burning{server{tools: []*mcp.Tool{reads}}}); err != nil {
		t.Fatal(err)
	}
	tool, _ := tools.Lookup("files", "get_file")
	judge := preflight.New(preflight.Options{Rules: preflight.Rules{"files/get_file": preflight.When("then", "delete").Dangerous()}})
	c := chain.Standard{
		Preflight: judge,
		Confirm:   hitl.New(approves, hitl.Options{}),
	}.Then(tools)
	for arguments, want := range map[string]bool{`{"then":"delete"}`: true, `{}`: false} {
		_, err := c.CallTool(t.Context(), middleware.Call{Tool: tool, Arguments: json.RawMessage(arguments)})
		if _, unknown := errors.AsType[*middleware.OutcomeUnknownError](err); unknown != want {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}
