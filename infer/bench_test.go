package infer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/infer"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// invoice is a tool of ordinary length.
var invoice = &mcp.Tool{
	Name: "invoices_create_draft",
	Description: "Create a draft invoice for a customer. The draft gets a number when it is sent. " +
		"Use customers_list to find the customer first; amounts are in cents, and the currency is the team's own.",
}

func BenchmarkTool(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(invoice.Name) + len(invoice.Description)))
	for b.Loop() {
		infer.Tool(invoice)
	}
}

func BenchmarkToolByFields(b *testing.B) {
	b.ReportAllocs()
	l := infer.NewByFields()
	for b.Loop() {
		infer.InferBy(l, invoice)
	}
}

func BenchmarkToolByRegexps(b *testing.B) {
	b.ReportAllocs()
	l := infer.NewByRegexps()
	for b.Loop() {
		infer.InferBy(l, invoice)
	}
}

func BenchmarkLongDescription(b *testing.B) {
	def := &mcp.Tool{Name: "invoices_list", Description: strings.Repeat(invoice.Description+" ", 1<<20/len(invoice.Description))}
	b.SetBytes(int64(len(def.Description)))
	for b.Loop() {
		infer.Tool(def)
	}
}

func BenchmarkCatalogue(b *testing.B) {
	defs := make([]*mcp.Tool, 10_000)
	for i := range defs {
		defs[i] = invoice
	}
	for b.Loop() {
		infer.Tools(defs)
	}
}

// TestAllocations holds what one tool costs, its evidence included.
func TestAllocations(t *testing.T) {
	for _, def := range []*mcp.Tool{invoice, {Name: "get_user"}, {Name: "send_mail", Description: "Sends mail over the internet."}, {Name: "gadget"}} {
		if n := testing.AllocsPerRun(100, func() { infer.Tool(def) }); n > 2 {
			t.Errorf("%s: %v allocations, want at most 2", def.Name, n)
		}
	}
}

// TestSpeed holds how much faster the scanner is than plain ways to read the same
// lexicon. The passes take turns and the fastest of each counts, so that what
// else the machine does weighs on all alike.
func TestSpeed(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: a comparison of speed takes a second")
	}
	fields, regexps := infer.NewByFields(), infer.NewByRegexps()
	pass := func(n int, f func()) time.Duration {
		start := time.Now()
		for range n {
			f()
		}
		return time.Since(start) / time.Duration(n)
	}
	tool, byFields, byRegexps := time.Hour, time.Hour, time.Hour
	for range 24 {
		tool = min(tool, pass(5000, func() { infer.Tool(invoice) }))
		byFields = min(byFields, pass(500, func() { infer.InferBy(fields, invoice) }))
		byRegexps = min(byRegexps, pass(2, func() { infer.InferBy(regexps, invoice) }))
	}
	t.Logf("one tool %v, by fields and a map %v (%.1f×), by regular expressions %v (%.0f×)",
		tool, byFields, float64(byFields)/float64(tool), byRegexps, float64(byRegexps)/float64(tool))
	if byFields < 10*tool {
		t.Errorf("by fields and a map: %v, want at least ten times %v", byFields, tool)
	}
	if byRegexps < 80*tool {
		t.Errorf("by regular expressions: %v, want at least eighty times %v", byRegexps, tool)
	}
}
