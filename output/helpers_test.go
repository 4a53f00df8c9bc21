package output_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const limit = 25_000

func listing(tb testing.TB, schema string, a annotation.Annotations) *middleware.Tool {
	tb.Helper()
	def := &mcp.Tool{Name: "list", InputSchema: json.RawMessage(`{"type":"object"}`)}
	if schema != "" {
		def.OutputSchema = json.RawMessage(schema)
	}
	return testtool.Of("crm", def, a)
}

// answering is an executor that always gives the result.
func answering(res *mcp.CallToolResult) middleware.ToolCaller {
	return middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return res, nil })
}

func failing(err error) middleware.ToolCaller {
	return middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return nil, err })
}

// show returns what a model sees of a result.
func show(tb testing.TB, opts output.Options, tool *middleware.Tool, next middleware.ToolCaller) *mcp.CallToolResult {
	tb.Helper()
	return ask(tb, chain.New(output.New(opts)).Then(next), middleware.Call{ID: "1", Tool: tool})
}

func ask(tb testing.TB, caller middleware.ToolCaller, call middleware.Call) *mcp.CallToolResult {
	tb.Helper()
	res, err := caller.CallTool(tb.Context(), call)
	if err != nil || res == nil {
		tb.Fatalf("got the result %v and the error %v; want a result", res, err)
	}
	return res
}

func texts(res *mcp.CallToolResult) []string {
	var all []string
	for _, c := range res.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			all = append(all, c.Text)
		case *mcp.EmbeddedResource:
			all = append(all, c.Resource.Text)
		}
	}
	return all
}

func said(res *mcp.CallToolResult) string { return strings.Join(texts(res), "\n") }

func characters(res *mcp.CallToolResult) int {
	return utf8.RuneCountInString(strings.Join(texts(res), ""))
}

func content(text string) *mcp.TextContent { return &mcp.TextContent{Text: text} }

func decoded[T any](tb testing.TB, text string) T {
	tb.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		tb.Fatalf("%v in %.200s", err, text)
	}
	return v
}

func encoded(tb testing.TB, v any) string {
	tb.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(raw)
}

// structured is a result with structured content that its text repeats.
func structured(tb testing.TB, v any) *mcp.CallToolResult {
	tb.Helper()
	raw := encoded(tb, v)
	return &mcp.CallToolResult{Content: []mcp.Content{content(raw)}, StructuredContent: decoded[any](tb, raw)}
}

type row struct {
	ID    int    `json:"id"`
	Name  string `json:"name"`
	Notes string `json:"notes"`
}

// rows are n rows of about size characters.
func rows(n, size int) []row {
	all := make([]row, n)
	for i := range all {
		all[i] = row{ID: i, Name: fmt.Sprintf("Customer %d", i), Notes: strings.Repeat("é\"x", size/4)}
	}
	return all
}
