package infer_test

import (
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/infer"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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

func BenchmarkLongDescription(b *testing.B) {
	def := &mcp.Tool{Name: "invoices_list", Description: strings.Repeat(invoice.Description+" ", 1<<20/len(invoice.Description))}
	b.SetBytes(int64(len(def.Description)))
	for b.Loop() {
		infer.Tool(def)
	}
}

func BenchmarkCatalog(b *testing.B) {
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
		if n := testing.AllocsPerRun(100, func() { infer.Tool(def) }); n > 8 {
			t.Errorf("%s: %v allocations, want at most 8", def.Name, n)
		}
	}
}

// BenchmarkRealTools infers the tools of the shared sets, with their schemas; the time is that of one tool.
func BenchmarkRealTools(b *testing.B) {
	var servers [][]*mcp.Tool
	n := 0
	for _, tools := range everyServer(b) {
		servers = append(servers, tools)
		n += len(tools)
	}
	for b.Loop() {
		for _, tools := range servers {
			infer.Tools(tools)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/tool")
}
