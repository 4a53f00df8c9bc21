package policy

import (
	"fmt"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
)

// A remembered approval covers calls up to a class. If its tool is stricter than that, the entry approves nothing that a
// person would be asked about, and looks like one that does.

// uncovered returns a warning for each remembered approval whose tool is stricter than the class that it covers.
// classOf returns the class of a tool, and false if it is not known.
func (p *Policy) uncovered(classOf func(server, tool string) (annotation.Safety, bool)) (all []string) {
	for i, a := range p.Approved {
		if class, known := classOf(a.Tool.Server, a.Tool.Tool); known && a.Definition == (middleware.Digest{}) && !a.covers(class, middleware.Digest{}) {
			all = append(all, fmt.Sprintf("%s: approvals.approved[%d]: it approves no call of %s that is %s, since it covers %s; write %s",
				p.At(a.Line), i, a.Tool, class, a.most(), wordFor(class)))
		}
	}
	return all
}

// most returns in words which classes the entry covers.
func (a *Accepted) most() string {
	if a.Class == nil {
		return `no dangerous call without a "class"`
	}
	return fmt.Sprintf("%s calls alone", *a.Class)
}

// wordFor returns the member that has an entry cover a class.
func wordFor(class annotation.Safety) string {
	if class == annotation.Moderate {
		return `"class": "moderate"`
	}
	return `"class": "dangerous"`
}

// unsaid returns a warning for each remembered approval without a class if only such calls are asked about that it may
// not cover: those of tools that the file calls dangerous, and if writes are not asked about, those of all tools.
func (p *Policy) unsaid() []string {
	all := p.uncovered(func(server, tool string) (annotation.Safety, bool) {
		for _, o := range p.Tools {
			if o.Tool.Exact() && o.Tool.Matches(server, tool) && o.Annotations.Safety() == annotation.Dangerous {
				return annotation.Dangerous, true
			}
		}
		return 0, false
	})
	if p.Approvals.Writes || len(all) > 0 {
		return all
	}
	for i, a := range p.Approved {
		if a.Class == nil && a.Definition == (middleware.Digest{}) {
			all = append(all, fmt.Sprintf(`%s: approvals.approved[%d]: it approves no call of %s if that is a dangerous tool, since it has no "class"; if it is one, write %s`,
				p.At(a.Line), i, a.Tool, wordFor(annotation.Dangerous)))
		}
	}
	return all
}
