package catalog_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// shelfOf returns a session that lists n tools with names of their own, made from the
// samples in turn, 1,000 on a page.
func shelfOf(n int, samples []*mcp.Tool) *fake {
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
