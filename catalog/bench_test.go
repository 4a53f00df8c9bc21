//go:build unix

package catalog_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// manyTools returns a session that lists n tools with names of their own, made from the
// samples in turn, 1,000 on a page.
func manyTools(n int, samples []*mcp.Tool) *fake {
	tools := make([]*mcp.Tool, n)
	for i := range tools {
		tool := *samples[i%len(samples)]
		tool.Name = fmt.Sprintf("%.100s_%d", tool.Name, i)
		tools[i] = &tool
	}
	return &fake{list: func(_ context.Context, cursor string) (*mcp.ListToolsResult, error) {
		var page int
		_, _ = fmt.Sscan(cursor, &page)
		end := min((page+1)*1000, n)
		res := &mcp.ListToolsResult{Tools: tools[page*1000 : end]}
		if end < n {
			res.NextCursor = fmt.Sprint(page + 1)
		}
		return res, nil
	}}
}

func tiny() []*mcp.Tool {
	return []*mcp.Tool{{Name: "list_things", InputSchema: map[string]any{"type": "object"}}}
}

// written are tools of the size that real ones have, 1.2 KB on average.
func written() []*mcp.Tool {
	property := func(kind, description string) map[string]any {
		return map[string]any{"type": kind, "description": description}
	}
	return []*mcp.Tool{
		{
			Name:        "invoices_create_draft",
			Description: strings.Repeat("Create a draft invoice for a customer, with amounts in cents. ", 6),
			InputSchema: map[string]any{
				"type": "object", "additionalProperties": false, "required": []any{"customer", "lines"},
				"properties": map[string]any{
					"customer": property("string", "The id of the customer, as customers_list gives it"),
					"currency": map[string]any{"type": "string", "enum": []any{"EUR", "USD", "GBP"}, "default": "EUR"},
					"due":      property("string", "The day on which it is due"),
					"note":     property("string", "A note that the customer sees"),
					"lines": map[string]any{"type": "array", "minItems": 1.0, "items": map[string]any{
						"type": "object", "required": []any{"text", "amount"},
						"properties": map[string]any{"text": property("string", "What it is for"), "amount": property("integer", "In cents"), "tax": property("number", "In percent")},
					}},
				},
			},
			Annotations: &mcp.ToolAnnotations{Title: "Create a draft", DestructiveHint: new(false)},
		},
		{
			Name:        "search_documents",
			Description: strings.Repeat("Search the documents of a team by their words, newest first. ", 8),
			InputSchema: map[string]any{
				"type": "object", "required": []any{"query"},
				"properties": map[string]any{
					"query": property("string", "The words to look for"), "limit": property("integer", "How many to return"),
					"cursor": property("string", "Where to go on"), "team": property("string", "The id of the team"),
					"filter": map[string]any{"anyOf": []any{property("string", "A filter as text"), map[string]any{"$ref": "#/$defs/filter"}}},
				},
				"$defs": map[string]any{"filter": map[string]any{"type": "object", "properties": map[string]any{"field": property("string", ""), "value": property("string", "")}}},
			},
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
			Meta:        mcp.Meta{annotation.MetaKey: map[string]any{"tags": []any{"documents"}, "estimatedDuration": 250.0}},
		},
	}
}

// collected are tools of real servers, where the collection is at hand.
func collected(b *testing.B) []*mcp.Tool {
	b.Helper()
	f, err := os.Open(filepath.Join("..", "..", "shared", "eval", "tools.jsonl"))
	if err != nil {
		b.Skipf("SKIPPED: no collection of tools: %v", err)
	}
	defer f.Close()
	var tools []*mcp.Tool
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		tool := new(mcp.Tool)
		if err := json.Unmarshal(lines.Bytes(), tool); err != nil {
			b.Fatal(err)
		}
		tools = append(tools, tool)
	}
	return tools
}

func BenchmarkAdd(b *testing.B) {
	for _, kind := range []struct {
		name    string
		samples func(b *testing.B) []*mcp.Tool
	}{
		{"tiny", func(*testing.B) []*mcp.Tool { return tiny() }},
		{"written", func(*testing.B) []*mcp.Tool { return written() }},
		{"collected", collected},
	} {
		for _, n := range []int{1000, 10_000} {
			b.Run(fmt.Sprintf("%s/n=%d", kind.name, n), func(b *testing.B) {
				s := manyTools(n, kind.samples(b))
				b.ReportAllocs()
				begun := cpu()
				for b.Loop() {
					c := catalog.New(catalog.Options{})
					if err := c.Add(b.Context(), "srv", s); err != nil {
						b.Fatal(err)
					}
					if got := len(c.List()); got < n*9/10 {
						b.Fatalf("%d tools, %v", got, c.Findings()[:3])
					}
				}
				b.ReportMetric(float64((cpu()-begun).Nanoseconds())/float64(b.N)/float64(n), "cpu-ns/tool")
			})
		}
	}
}

// cpu is the time that the process has had, its garbage collector's included: what
// else the machine does counts for nothing.
func cpu() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func BenchmarkLookup(b *testing.B) {
	c := catalog.New(catalog.Options{})
	add(b, c, "srv", manyTools(10_000, tiny()))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := c.Lookup("srv", "list_things_5000"); !ok {
			b.Fatal("not there")
		}
	}
}

// BenchmarkOverride is one word of the host's among 10,000 tools.
func BenchmarkOverride(b *testing.B) {
	c := catalog.New(catalog.Options{})
	add(b, c, "srv", manyTools(10_000, tiny()))
	for b.Loop() {
		if err := c.Override("srv", "list_things_5000", annotation.ReadOnly()); err != nil {
			b.Fatal(err)
		}
	}
}
