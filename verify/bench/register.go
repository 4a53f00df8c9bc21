package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A shelf is a server that lists its tools, 1,000 on a page.
type shelf []*mcp.Tool

func (s shelf) ListTools(_ context.Context, p *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	at := 0
	if p != nil && p.Cursor != "" {
		var err error
		if at, err = strconv.Atoi(p.Cursor); err != nil {
			return nil, err
		}
	}
	end := min(at+1000, len(s))
	res := &mcp.ListToolsResult{Tools: s[at:end]}
	if end < len(s) {
		res.NextCursor = strconv.Itoa(end)
	}
	return res, nil
}

func (shelf) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return answer, nil
}

func tiny(i int) *mcp.Tool {
	return &mcp.Tool{Name: fmt.Sprintf("list_things_%d", i), InputSchema: map[string]any{"type": "object"}}
}

// ordinary is a tool of the size that real ones have, 1.2 KB.
func ordinary(i int) *mcp.Tool {
	text := func(description string) map[string]any {
		return map[string]any{"type": "string", "description": description}
	}
	return &mcp.Tool{
		Name:        fmt.Sprintf("invoices_create_draft_%d", i),
		Description: strings.Repeat("Create a draft invoice for a customer, with amounts in cents. ", 6),
		InputSchema: map[string]any{
			"type": "object", "additionalProperties": false, "required": []any{"customer", "lines"},
			"properties": map[string]any{
				"customer": text("The id of the customer, as customers_list gives it"),
				"currency": map[string]any{"type": "string", "enum": []any{"EUR", "USD", "GBP"}, "default": "EUR"},
				"due":      text("The day on which it is due"),
				"note":     text("A note that the customer sees"),
				"lines": map[string]any{"type": "array", "minItems": 1.0, "items": map[string]any{
					"type": "object", "required": []any{"text", "amount"},
					"properties": map[string]any{"text": text("What it is for"), "amount": text("In cents"), "tax": text("In percent")},
				}},
			},
		},
		Annotations: &mcp.ToolAnnotations{Title: "Create a draft", DestructiveHint: new(false)},
	}
}

// registering returns the least CPU time of some tries to add n tools to a catalog.
func registering(n, tries int, sample func(int) *mcp.Tool) (time.Duration, error) {
	tools := make(shelf, n)
	for i := range tools {
		tools[i] = sample(i)
	}
	least := time.Duration(1 << 62)
	for range tries {
		runtime.GC() // what the rows before left behind
		begun := cpuTime()
		c := catalog.New(catalog.Options{MaxTools: n})
		if err := c.Add(context.Background(), "crm", tools); err != nil {
			return 0, err
		}
		least = min(least, cpuTime()-begun)
		if got := len(c.List()); got != n {
			return 0, fmt.Errorf("%d of %d tools were added: %v", got, n, c.Findings()[:1])
		}
		if err := c.Close(); err != nil {
			return 0, err
		}
	}
	return least, nil
}

// register adds n tools, in less than a time unless that is 0.
func register(name string, n int, sample func(int) *mcp.Tool, most time.Duration) benchmark {
	return benchmark{name, func(pace) (row, error) {
		took, err := registering(n, max(3, min(1000, 100_000/n)), sample)
		r := row{Name: name, Ratio: map[string]float64{}, PeerAllocs: map[string]float64{}, Cost: took.Round(time.Microsecond).String(), Goal: "none", Met: true}
		if most > 0 {
			r.Goal, r.Met = fmt.Sprintf("< %v", most), took < most
		}
		return r, err
	}}
}

// registerLinear compares what a tool costs among 1,000 with what one costs among 100,000.
func registerLinear(pace) (row, error) {
	const least = 0.4
	few, err := registering(1000, 20, tiny)
	if err != nil {
		return row{}, err
	}
	many, err := registering(100_000, 3, tiny)
	ratio := round2(float64(few) / 1000 / (float64(many) / 100_000))
	return row{
		Name: "register/100k", Ratio: map[string]float64{"1k": ratio}, PeerAllocs: map[string]float64{}, Cost: many.Round(time.Millisecond).String(),
		Goal: fmt.Sprintf("≥ %g× a tool of 1k", least), Met: ratio >= least,
	}, err
}
