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

// BenchmarkPlainWays tells how much faster the scanner is than plain ways to read
// the same lexicon, all that they leave to collect included. The passes take
// turns, so that what else the machine does weighs on all alike. It is no test: a
// machine that is busy enough would fail it.
func BenchmarkPlainWays(b *testing.B) {
	fields, regexps := infer.NewByFields(), infer.NewByRegexps()
	pass := func(sum *time.Duration, n int, f func()) {
		start := time.Now()
		for range n {
			f()
		}
		*sum += time.Since(start) / time.Duration(n)
	}
	var tool, byFields, byRegexps time.Duration
	for b.Loop() {
		pass(&tool, 1000, func() { infer.Tool(invoice) })
		pass(&byFields, 200, func() { infer.InferBy(fields, invoice) })
		pass(&byRegexps, 1, func() { infer.InferBy(regexps, invoice) })
	}
	b.ReportMetric(float64(byFields)/float64(tool), "x-fields")
	b.ReportMetric(float64(byRegexps)/float64(tool), "x-regexps")
}
