package infer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// last returns the tool of the last call.
func last(t *testing.T, r *recorder) *middleware.Tool {
	t.Helper()
	calls := r.Calls()
	if len(calls) == 0 {
		t.Fatal("no call arrived")
	}
	return calls[len(calls)-1].Tool
}

func call(t *testing.T, c middleware.ToolCaller, tool *middleware.Tool) error {
	t.Helper()
	_, err := c.CallTool(t.Context(), middleware.Call{Tool: tool})
	return err
}

func TestMiddlewareClasses(t *testing.T) {
	t.Parallel()
	r := new(recorder)
	c := infer.New(infer.Options{})(r)
	for _, tc := range []struct {
		name string
		host annotation.Annotations
		want annotation.Safety
	}{
		{"list_files", annotation.Annotations{}, annotation.Safe},
		{"write_note", annotation.Annotations{}, annotation.Moderate},
		{"delete_file", annotation.Annotations{}, annotation.Dangerous},
		{"gadget", annotation.Annotations{}, annotation.Unknown},
		{"gadget", annotation.Annotations{ReadOnly: annotation.Yes}, annotation.Safe},
		{"reset_counter", annotation.Annotations{Destructive: annotation.No, Idempotent: annotation.Yes}, annotation.Moderate},
		{"list_files", annotation.Annotations{RequiresConfirmation: annotation.Yes}, annotation.Dangerous},
	} {
		given := &middleware.Tool{Server: "s", Definition: &mcp.Tool{Name: tc.name}, Annotations: tc.host}
		if err := call(t, c, given); err != nil {
			t.Fatal(err)
		}
		got := last(t, r)
		if got.Safety() != tc.want {
			t.Errorf("%s with %s: got %v, want %v", tc.name, tc.host.Summary(), got.Safety(), tc.want)
		}
		if got.Digest == (middleware.Digest{}) || got.Name() != tc.name || got.Server != "s" {
			t.Errorf("%s arrived as %s with digest %s", tc.name, got, got.Digest)
		}
		if got == given || given.Digest != (middleware.Digest{}) || len(given.Annotations.Evidence) != 0 {
			t.Errorf("%s: the tool that was handed in was written to", tc.name)
		}
	}
}

func TestMiddlewarePasses(t *testing.T) {
	t.Parallel()
	r := new(recorder)
	c := infer.New(infer.Options{})(r)
	classed := annotation.Annotations{Evidence: []annotation.Evidence{{Field: annotation.ReadOnlyHint, Value: "yes", Source: annotation.Declared}}}
	for name, tool := range map[string]*middleware.Tool{
		"no tool":       nil,
		"no definition": {Server: "s"},
		"classed":       {Server: "s", Definition: &mcp.Tool{Name: "delete_file"}, Annotations: classed},
		"not JSON":      {Server: "s", Definition: &mcp.Tool{Name: "list_files", InputSchema: make(chan int)}},
	} {
		if err := call(t, c, tool); err != nil {
			t.Fatal(err)
		}
		if got := last(t, r); got != tool {
			t.Errorf("%s: arrived as %v", name, got)
		}
	}
}

// TestGuardTakesTheClass: behind the middleware the guard lets a read through and
// refuses what is dangerous or unknown; without it everything is unknown.
func TestGuardTakesTheClass(t *testing.T) {
	t.Parallel()
	guarded := chain.Guard(new(recorder))
	inferred := chain.New(infer.New(infer.Options{})).Then(guarded)
	for name, passes := range map[string]bool{"list_files": true, "write_note": true, "delete_file": false, "gadget": false} {
		tool := &middleware.Tool{Server: "s", Definition: &mcp.Tool{Name: name}}
		if err := call(t, inferred, tool); (err == nil) != passes || err != nil && !errors.Is(err, chain.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
		if err := call(t, guarded, tool); !errors.Is(err, chain.ErrRefused) {
			t.Errorf("%s without inference: %v", name, err)
		}
	}
	// Kinder annotations further in buy nothing.
	kinder := middleware.Middleware(func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			tool := *call.Tool
			tool.Annotations = annotation.ReadOnly()
			call.Tool = &tool
			return next.CallTool(ctx, call)
		})
	})
	c := chain.New(infer.New(infer.Options{}), kinder).Then(guarded)
	if err := call(t, c, &middleware.Tool{Server: "s", Definition: &mcp.Tool{Name: "delete_file"}}); !errors.Is(err, chain.ErrRefused) {
		t.Errorf("with kinder annotations: %v", err)
	}
}

func TestMiddlewareRemembers(t *testing.T) { // not parallel: it counts allocations
	r := new(recorder)
	c := infer.New(infer.Options{Size: 2})(r)
	tool := &middleware.Tool{Server: "s", Definition: &mcp.Tool{Name: "list_files"}}
	_ = call(t, c, tool)
	first := last(t, r)
	_ = call(t, c, tool)
	if last(t, r) != first {
		t.Error("the same tool was classed twice")
	}
	// The host made another value of the same definition.
	_ = call(t, c, &middleware.Tool{Server: "s", Definition: tool.Definition, Annotations: annotation.Annotations{Title: "Files"}})
	if got := last(t, r); got.Definition != first.Definition || got.Digest != first.Digest || got.Annotations.Title != "Files" {
		t.Errorf("got %s, %q", got, got.Annotations.Title)
	}
	if allocs := testing.AllocsPerRun(100, func() { _, _ = c.CallTool(t.Context(), middleware.Call{Tool: tool}) }); allocs != 2 {
		t.Errorf("%v allocations for a tool that is remembered", allocs)
	}
	for i := range 10 {
		_ = call(t, c, &middleware.Tool{Server: "s", Definition: &mcp.Tool{Name: fmt.Sprint("get_", i)}})
	}
	_ = call(t, c, tool)
	if last(t, r) == first {
		t.Error("a memory of two definitions kept a third")
	}
	// Another server's tool of the same definition is another tool.
	_ = call(t, c, &middleware.Tool{Server: "other", Definition: tool.Definition})
	if got := last(t, r).Server; got != "other" {
		t.Errorf("classed for %q", got)
	}
}

func TestMiddlewareConcurrent(t *testing.T) {
	t.Parallel()
	r := new(recorder)
	c := infer.New(infer.Options{Size: 3})(r)
	defs := make([]*mcp.Tool, 6)
	for i := range defs {
		defs[i] = &mcp.Tool{Name: fmt.Sprintf("delete_%c", 'a'+i)}
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 200 {
				_, _ = c.CallTool(t.Context(), middleware.Call{Tool: &middleware.Tool{Definition: defs[i%len(defs)]}})
			}
		})
	}
	wg.Wait()
	for _, call := range r.Calls() {
		if tool := call.Tool; tool.Safety() != annotation.Dangerous {
			t.Fatalf("%s: %v", tool, tool.Safety())
		}
	}
}

func TestMiddlewareContract(t *testing.T) {
	t.Parallel()
	middlewaretest.Run(t, infer.New(infer.Options{}))
}

func TestMiddlewareKind(t *testing.T) {
	t.Parallel()
	c := infer.New(infer.Options{})(new(recorder))
	if k, ok := c.(middleware.Describer); !ok || k.Describe().Kind != "infer" {
		t.Errorf("%T tells no kind", c)
	}
	defer func() {
		if recover() == nil {
			t.Error("a negative size was taken")
		}
	}()
	infer.New(infer.Options{Size: -1})
}

func ExampleTool() {
	a := infer.Tool(&mcp.Tool{Name: "delete_branch", Description: "Delete a branch."})
	fmt.Println(a.Safety())
	for _, e := range a.Evidence {
		fmt.Printf("%s %s: %s\n", e.Field, e.Value, e)
	}
	// Output:
	// dangerous
	// readOnlyHint no: inferred: "delete" leads the name
	// destructiveHint yes: inferred: "delete" leads the name
	// complexity simple: inferred: at most 100 characters of description
}

// A tool that reaches the chain by itself has the host's name of its server with it.
func TestMiddlewareReadsTheNameOfTheServer(t *testing.T) {
	t.Parallel()
	def := &mcp.Tool{Name: "run_query", Description: "Run a query", InputSchema: map[string]any{"properties": map[string]any{"query": map[string]any{"type": "string"}}}}
	got := ""
	caller := chain.New(infer.New(infer.Options{})).Then(middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		got = call.Tool.Annotations.Conditions[0].Language
		return &mcp.CallToolResult{}, nil
	}))
	for server, want := range map[string]string{"sqlite": "sql", "prometheus": "promql", "lamps": "query"} {
		if _, err := caller.CallTool(t.Context(), middleware.Call{Tool: &middleware.Tool{Server: server, Definition: def}}); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", server, got, err, want)
		}
	}
}

func ExampleTools() {
	for _, a := range infer.Tools([]*mcp.Tool{{Name: "post_list"}, {Name: "post_write"}, {Name: "post_delete"}}) {
		fmt.Println(a.Safety())
	}
	// Output:
	// safe
	// moderate
	// dangerous
}

func ExampleToolsOf() {
	query := &mcp.Tool{Name: "query", Description: "Run a query", InputSchema: map[string]any{"properties": map[string]any{"query": map[string]any{"type": "string"}}}}
	for _, server := range []string{"orders-postgres", "lamps"} {
		fmt.Println(infer.ToolsOf(server, []*mcp.Tool{query})[0].Conditions[0].Language)
	}
	// Output:
	// sql
	// query
}

func ExampleNew() {
	executor := middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		fmt.Println("runs", call.Tool.Name())
		return &mcp.CallToolResult{}, nil
	})
	caller := chain.New(infer.New(infer.Options{})).Then(chain.Guard(executor))
	for _, name := range []string{"list_files", "delete_file"} {
		tool := &middleware.Tool{Server: "files", Definition: &mcp.Tool{Name: name}}
		if _, err := caller.CallTool(context.Background(), middleware.Call{Tool: tool, Arguments: json.RawMessage(`{}`)}); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// runs list_files
	// fairlead: files/delete_file was refused: it is dangerous and nobody approved it; put hitl.New in the chain's Confirm slot, or choose a tool that only reads
}

// A recorder keeps the calls that reach it and answers each with an empty result.
type recorder struct {
	mu    sync.Mutex
	calls []middleware.Call
}

func (r *recorder) CallTool(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call)
	return &mcp.CallToolResult{}, nil
}

func (r *recorder) Calls() []middleware.Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}
