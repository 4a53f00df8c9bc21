package policy

import (
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/safetext"
)

// Explain says which of the rules match a tool, which of them decides, and why the
// others do not, each on a line.
func (p *Policy) Explain(t *middleware.Tool) string {
	var b strings.Builder
	class := t.Safety()
	verdict, decides := p.Decide(t.Server, t.Name(), class)
	for i := range p.Rules {
		r := &p.Rules[i]
		if !r.Tool.Matches(t.Server, t.Name()) {
			continue
		}
		fmt.Fprintf(&b, "  %s: %s %q ", p.At(r.Line), r.Verdict, r.Tool)
		switch {
		case r == decides:
			b.WriteString("decides")
			if r.Reason != "" {
				fmt.Fprintf(&b, " (%s)", safetext.Line(r.Reason))
			}
		case r.Verdict == Allow && !r.allows(class):
			fmt.Fprintf(&b, "does not speak of %s tools; for that, write %q", class, t.String())
		default:
			fmt.Fprintf(&b, "gives way to line %d, which is as strict or stricter", decides.Line)
		}
		b.WriteString("\n")
	}
	for _, o := range p.Tools {
		if o.Tool.Matches(t.Server, t.Name()) {
			fmt.Fprintf(&b, "  %s: says what %q is\n", p.At(o.Line), o.Tool)
		}
	}
	switch verdict {
	case Deny:
		b.WriteString("  so: neither listed nor called\n")
	case Ask:
		b.WriteString("  so: a person is asked\n")
	case Allow:
		if p.Raised(t).Safety().MustConfirm() || p.Approvals.Writes {
			b.WriteString("  so: called, and nobody is asked\n")
		} else {
			b.WriteString("  so: called\n")
		}
	case None:
		fmt.Fprintf(&b, "  so: no rule decides, and its class does: %s\n", class)
	}
	return b.String()
}
