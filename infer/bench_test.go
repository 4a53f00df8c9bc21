package infer_test

import (
	"slices"
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
// lexicon. The passes take turns, each is compared with its neighbour, and the
// middle of the ratios counts, so that what else the machine does weighs on all
// alike.
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
	// A crowded machine gets three tries.
	var f, r float64
	for range 3 {
		var byFields, byRegexps []float64
		best := time.Hour
		for range 32 {
			tool := pass(2000, func() { infer.Tool(invoice) })
			best = min(best, tool)
			byFields = append(byFields, float64(pass(200, func() { infer.InferBy(fields, invoice) }))/float64(tool))
			byRegexps = append(byRegexps, float64(pass(1, func() { infer.InferBy(regexps, invoice) }))/float64(tool))
		}
		slices.Sort(byFields)
		slices.Sort(byRegexps)
		f, r = byFields[16], byRegexps[16]
		t.Logf("one tool %v; by fields and a map %.1f×, by regular expressions %.0f×", best, f, r)
		if f >= 10 && r >= 80 {
			return
		}
	}
	t.Errorf("%.1f times as fast as fields and a map, want 10; %.0f times as fast as regular expressions, want 80", f, r)
}
