package batch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain/batch"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A world is an executor that notes what runs when, behind a catalog.
type world struct {
	tools *catalog.Catalog
	took  time.Duration
	fails map[string]bool // by id

	mu   sync.Mutex
	runs []run
}

type run struct {
	id, server string
	writes     bool
	from, to   time.Time
}

// newWorld has two servers with a tool of each class.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{tools: catalog.New(catalog.Options{}), took: 50 * time.Millisecond, fails: map[string]bool{}}
	t.Cleanup(func() { _ = w.tools.Close() })
	for _, server := range []string{"a", "b"} {
		var all []*mcp.Tool
		for _, name := range []string{"get_note", "create_note", "delete_note"} {
			all = append(all, &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}})
		}
		if err := w.tools.AddTools(server, middleware.ToolCallerFunc(w.execute), all...); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) execute(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	r := run{id: call.ID, server: call.Tool.Server, writes: call.Tool.Name() != "get_note", from: time.Now()}
	var err error
	select {
	case <-time.After(w.took):
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	r.to = time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs = append(w.runs, r)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: call.ID}}, IsError: w.fails[call.ID]}, nil
}

// calls reads "a get", "b create" and "a delete" into calls c0, c1 and so on.
func (w *world) calls(t *testing.T, lines ...string) []middleware.Call {
	t.Helper()
	all := make([]middleware.Call, len(lines))
	for i, line := range lines {
		server, verb, _ := strings.Cut(line, " ")
		tool, ok := w.tools.Lookup(server, verb+"_note")
		if !ok {
			t.Fatalf("no tool for %q", line)
		}
		all[i] = middleware.Call{ID: fmt.Sprintf("c%d", i), Tool: tool, Arguments: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))}
	}
	return all
}

// faults returns the rules of a batch that the calls broke.
func (w *world) faults(calls []middleware.Call) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var faults []string
	number := func(r run) int {
		return slices.IndexFunc(calls, func(c middleware.Call) bool { return c.ID == r.id })
	}
	for _, r := range w.runs {
		for _, s := range w.runs {
			if r.server != s.server || number(r) >= number(s) || !r.writes && !s.writes {
				continue
			}
			if s.from.Before(r.to) {
				faults = append(faults, fmt.Sprintf("%s began before %s of the same server had ended", s.id, r.id))
			}
		}
	}
	return faults
}

func (w *world) ran() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var ids []string
	for _, r := range w.runs {
		ids = append(ids, r.id)
	}
	slices.Sort(ids)
	return ids
}

// text is how an outcome reads in a table: the answer's text or the error.
func text(o batch.Outcome) string {
	if o.Err != nil {
		return o.Err.Error()
	}
	return o.Result.Content[0].(*mcp.TextContent).Text
}

// classed returns a copy of the tool that is of another class.
func classed(tool *middleware.Tool, a annotation.Annotations) *middleware.Tool {
	other := *tool
	other.Annotations = a
	return &other
}
