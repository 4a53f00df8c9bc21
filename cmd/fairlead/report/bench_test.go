package report_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/cmd/fairlead/report"
	"github.com/fairlead-go/fairlead/cmd/fairlead/tty"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// BenchmarkInspect is what inspect does with 10,000 tools once they are listed.
func BenchmarkInspect(b *testing.B) {
	var tools []*mcp.Tool
	verbs := []string{"get", "list", "delete", "create", "send", "frobnicate"}
	for i := range 10_000 {
		t := tool(fmt.Sprintf("%s_thing_%d", verbs[i%len(verbs)], i), "Does something with a thing that has a name and a number of other properties, and says so.", readOnly)
		t.InputSchema = map[string]any{"type": "object", "properties": map[string]any{
			"id": map[string]any{"type": "string", "description": "The thing's id"}, "limit": map[string]any{"type": "integer"},
		}}
		tools = append(tools, t)
	}
	c := catalog.New(catalog.Options{Timeout: time.Minute})
	b.Cleanup(func() { _ = c.Close() })
	if err := c.Add(b.Context(), "many", session(tools)); err != nil {
		b.Fatal(err)
	}
	std := chain.Standard{
		Confirm: hitl.New(hitl.DangerouslyApproveEveryCallWithoutAsking(), hitl.Options{}), Cache: cache.New(cache.Options{}),
		Retry: retry.New(retry.Options{}), RateLimit: ratelimit.New(ratelimit.Options{}), Timeout: timeout.New(timeout.Options{}),
	}
	for name, write := range map[string]func(*report.Report) error{
		"table": func(r *report.Report) error { return r.Table(io.Discard, tty.Style{Width: 80}) },
		"json":  func(r *report.Report) error { return r.JSON(io.Discard) },
		"md":    func(r *report.Report) error { return r.Markdown(io.Discard) },
		"sarif": func(r *report.Report) error { return r.SARIF(io.Discard, false) },
		"html":  func(r *report.Report) error { return r.HTML(io.Discard, time.Now()) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r := &report.Report{Servers: []report.Server{{ID: "many", Target: "many"}}}
				r.Add(c, nil, std.Describe().Plan)
				if err := write(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
