package chain

import (
	"context"
	"errors"
	"strings"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Describe returns what the whole chain, with a guard at the executor, does with the calls of a tool.
func (s Standard) Describe() middleware.Description {
	all := middleware.Description{Kind: "chain", Guards: true}
	var will []func(*middleware.Tool) string
	for _, link := range s.links() {
		d, ok := link(nowhere).(middleware.Describer)
		if !ok {
			continue
		}
		one := d.Describe()
		all.Confirms = all.Confirms || one.Confirms
		all.ConfirmsWrites = all.ConfirmsWrites || one.ConfirmsWrites
		all.Caches = all.Caches || one.Caches
		all.Retries = all.Retries || one.Retries
		all.Limits = all.Limits || one.Limits
		all.Deadlines = all.Deadlines || one.Deadlines
		if one.Plan != nil {
			will = append(will, one.Plan)
		}
	}
	confirms := s.Confirm != nil
	all.Plan = func(tool *middleware.Tool) string {
		var words []string
		switch {
		case confirms:
		case tool.Safety().MustConfirm(): // by the guard
			words = append(words, "refuse, nobody can be asked")
		default:
			words = append(words, "run")
		}
		for _, will := range will {
			if word := will(tool); word != "" {
				words = append(words, word)
			}
		}
		return strings.Join(words, " · ")
	}
	return all
}

// Explain returns what class the tool has, why, and what this chain will do with a call of it.
func (s Standard) Explain(tool *middleware.Tool) string {
	return tool.Explain() + "  will: " + s.Describe().Plan(tool) + "\n"
}

// nowhere is the executor of a chain that is only looked at.
var nowhere = middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
	return nil, errLooked
})

var errLooked = errors.New("chain: this chain was built to be looked at")
