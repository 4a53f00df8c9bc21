package main

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"

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
	r, err := play(contest{
		name:   "infer",
		ours:   inferInvoices,
		allocs: 2,
	}, p)
	if err != nil {
		return r, err
	}
	return r, plainWays(&r)
}

var metric = regexp.MustCompile(`([0-9.]+) x-(fields|regexps)`)

// plainWays asks the benchmark of package infer for the plain ways to read its
// lexicon, which is not exported: a map and regular expressions, with the same
// classes on the same tools.
func plainWays(r *row) error {
	out, err := exec.Command("go", "test", "-C", "..", "-run", "^$", "-bench", "^BenchmarkPlainWays$", "-benchtime", "30x", "./infer").CombinedOutput()
	if err != nil {
		return fmt.Errorf("the benchmark of package infer: %w\n%s", err, out)
	}
	r.Goal, r.Met = "≥ 10× map, ≥ 80× regexp, ≤ 2 allocs", r.Allocs <= 2
	found := 0
	for _, m := range metric.FindAllStringSubmatch(string(out), -1) {
		times, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return err
		}
		found++
		name, least := "map", 10.0
		if m[2] == "regexps" {
			name, least = "regexp", 80
		}
		r.Ratio[name] = round2(times)
		r.Met = r.Met && times >= least
	}
	if found != 2 {
		return fmt.Errorf("the benchmark of package infer tells something else:\n%s", out)
	}
	return nil
}
