package main

import (
	"errors"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// invoice is a tool of ordinary length.
var invoice = &mcp.Tool{
	Name: "invoices_create_draft",
	Description: "Create a draft invoice for a customer. The draft gets a number when it is sent. " +
		"Use customers_list to find the customer first; amounts are in cents, and the currency is the team's own.",
}

var errClass = errors.New("a draft that is created is a moderate write")

func inferInvoices(n int) error {
	for range n {
		if a := infer.Tool(invoice); a.Safety() != annotation.Moderate {
			return errClass
		}
	}
	return nil
}

func inferOne(p pace) (row, error) {
	return play(contest{name: "infer", ours: inferInvoices, allocs: 10}, p)
}
