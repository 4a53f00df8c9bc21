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

// inferring infers the class of one tool. The article's way looks for its words with a regular expression each, in
// the whole description, and does less: it gives this tool the wrong class.
func inferring() contest {
	ours := func(n int) error {
		for range n {
			if a := infer.Tool(invoice); a.Safety() != annotation.Moderate {
				return errors.New("a draft that is created is a moderate write")
			}
		}
		return nil
	}
	article := func(n int) error {
		for range n {
			if h := inferAsArticle(invoice.Name, invoice.Description); !h.ReadOnly { // "find"
				return errors.New("the port differs from the original")
			}
		}
		return nil
	}
	return contest{
		ways:  []subject{{name: "ours", run: ours}, {name: "article", run: article}},
		goals: map[string]float64{"article": 10}, allocs: 8,
	}
}
