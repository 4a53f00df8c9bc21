package output

import (
	"errors"
	"slices"

	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/internal/schema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sanitize takes out what the contract does not name; of a failure, only in its structured content.
func (a *answer) sanitize() error {
	if a.contract == nil {
		return nil
	}
	if a.res.IsError {
		if a.structured && (a.strip(a.main, new(unnamed)) > 0 || a.contract.Check(a.main) != nil) {
			if !slices.ContainsFunc(a.parts, func(p *part) bool { return p.isMain }) { // no text has it
				a.withheld++
			}
			a.main, a.hasMain, a.structured, a.changed = nil, false, false, true
			a.dropped++
			for _, p := range a.parts {
				p.isMain = false // and stays, as the message that it is
			}
		}
		return nil
	}
	if !a.hasMain {
		return errors.New("there is no structured content")
	}
	a.changed = a.strip(a.main, &a.unnamed) > 0
	if a.leaveNulls(a.main, &a.nulls) {
		a.changed = true
	}
	for _, p := range a.parts {
		if _, isText := p.content.(*mcp.TextContent); !isText || p.isMain || !jsontree.Likely(p.text) {
			continue
		}
		var found, empty unnamed
		if p.isDoc {
			a.strip(p.tree, &found)
			a.leaveNulls(p.tree, &empty)
		}
		if !p.isDoc || a.contract.Check(p.tree) != nil { // what cannot be read cannot be checked
			p.gone = true
			a.dropped++
			a.withheld++
			continue
		}
		a.unnamed.join(found)
		a.nulls.join(empty)
	}
	return nil
}

// strip takes members that the output schema does not name out of a document into found, and returns how many they were.
func (a *answer) strip(v any, found *unnamed) int {
	if a.keepUnnamed {
		return 0
	}
	return a.shape.Strip(v, found.add)
}

// leaveNulls takes each null out of a document that stands for an optional member and that the contract does not take, if
// the document breaks the contract with them. It reports whether there were some.
func (a *answer) leaveNulls(v any, found *unnamed) bool {
	if !schema.HasNull(v) || a.contract.Check(v) == nil {
		return false
	}
	a.shape.StripNulls(v, found.add)
	return len(found.paths) > 0
}

// check returns how the main document breaks the contract.
func (a *answer) check() error {
	if a.contract == nil || !a.hasMain || a.res.IsError {
		return nil
	}
	return a.contract.Check(a.main)
}
