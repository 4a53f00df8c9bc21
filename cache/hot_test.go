package cache_test

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A read that was repeated in the same bytes until it is answered without the lock is still made
// again after a write, by another scope, of another definition, and once it has been forgotten.
func TestHotAnswersEnd(t *testing.T) {
	t.Parallel()
	made := func(name, description string, a annotation.Annotations) *middleware.Tool {
		tool, err := middleware.NewTool("crm", &mcp.Tool{Name: name, Description: description, InputSchema: map[string]any{"type": "object"}}, stable(a))
		if err != nil {
			t.Fatal(err)
		}
		return tool
	}
	read, write := made("read", "", annotation.ReadOnly()), made("write", "", annotation.Update())
	for _, arguments := range []json.RawMessage{nil, json.RawMessage(`{"id":1}`), json.RawMessage(`{"id":"` + string(make5000()) + `"}`)} {
		store, calls := cache.NewStore(cache.StoreOptions{}), 0
		caller := cache.New(cache.Options{Store: store})(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
			calls++
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strconv.Itoa(calls)}}}, nil
		}))
		ask := func(scope string, tool *middleware.Tool, want int) {
			t.Helper()
			if _, err := caller.CallTool(t.Context(), middleware.Call{Scope: scope, Tool: tool, Arguments: arguments}); err != nil || calls != want {
				t.Errorf("%.20s: %d calls were made, want %d (%v)", arguments, calls, want, err)
			}
		}
		heat := func(want int) {
			t.Helper()
			for range 5 {
				ask("", read, want)
			}
		}
		heat(1)
		if got := store.Stats().Hits; got != 4 {
			t.Errorf("%d hits are counted, want 4", got)
		}
		ask("another", read, 2)
		ask("", made("read", "redefined", annotation.ReadOnly()), 3)
		heat(3)
		ask("", write, 4)
		heat(5)
		store.Forget("*", "read")
		heat(6)
	}
}

func make5000() []byte {
	b := make([]byte, 5000)
	for i := range b {
		b[i] = 'x'
	}
	return b
}

// Two cores count the hits of two questions, and must not wait for each other.
func TestQuestionsShareNoCacheLine(t *testing.T) {
	t.Parallel()
	of := map[uintptr]int{}
	for i, lines := range cache.QuestionLines() {
		for line := lines[0]; line <= lines[1]; line++ {
			if other, taken := of[line]; taken {
				t.Fatalf("questions %d and %d share a line", other, i)
			}
			of[line] = i
		}
	}
}
