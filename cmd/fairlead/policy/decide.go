package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/middleware"
)

// A Ruling is what a policy has about one definition of a tool, for calls of any class. It does not change.
type Ruling struct {
	policy       *Policy
	server, tool string
	definition   middleware.Digest
	rules        []*Rule // that are about the tool, in the policy's order
}

// Ruling looks for what the policy has about a tool.
func (p *Policy) Ruling(t *middleware.Tool) *Ruling { return p.ruling(t.Server, t.Name(), t.Digest) }

func (p *Policy) ruling(server, tool string, definition middleware.Digest) *Ruling {
	on := &Ruling{policy: p, server: server, tool: tool, definition: definition}
	for i := range p.Rules {
		if r := &p.Rules[i]; r.names(server, tool) {
			on.rules = append(on.rules, r)
		}
	}
	return on
}

// Is reports whether this is the ruling of a policy about a tool. It is false for nil.
func (on *Ruling) Is(p *Policy, t *middleware.Tool) bool {
	return on != nil && on.policy == p && on.server == t.Server && on.tool == t.Name() && on.definition == t.Digest
}

// Decide returns the verdict on a call of that class, and the rule that decides, nil for none.
func (on *Ruling) Decide(class annotation.Safety) (Verdict, *Rule) {
	var decides *Rule
	for _, r := range on.rules {
		if r.Verdict == Allow && !(r.allows(class) && r.covers(class, on.definition)) {
			continue
		}
		if decides == nil || r.Verdict > decides.Verdict {
			decides = r
		}
	}
	if decides == nil {
		return None, nil
	}
	return decides.Verdict, decides
}

// Decide returns the verdict on a tool of this class, and the rule that decides, nil for none. An entry for one
// definition alone does not allow it; see [Ruling.Decide].
func (p *Policy) Decide(server, tool string, class annotation.Safety) (Verdict, *Rule) {
	return p.ruling(server, tool, middleware.Digest{}).Decide(class)
}

// names reports whether the rule is about a tool. One that allows is about what its pattern matches, and no other
// spelling of it.
func (r *Rule) names(server, tool string) bool {
	if r.Verdict == Allow {
		return r.Tool.Matches(server, tool)
	}
	return r.Tool.Names(server, tool)
}

// allows reports whether a rule that allows covers a class: dangerous tools only by their names, and
// unknown ones only with the name of their server, whose author has chosen that of the tool.
func (r *Rule) allows(class annotation.Safety) bool {
	switch class {
	case annotation.Safe, annotation.Moderate:
		return true
	case annotation.Unknown:
		return r.Tool.namesServer()
	}
	return r.Tool.Exact()
}

// At returns the place of a line of the policy.
func (p *Policy) At(line int) string { return fmt.Sprintf("%s:%d", p.Name, line) }

// Confirmer approves what the policy allows, and asks next about the rest. A rule does not allow a
// call in doubt, nor arguments from an untrusted source, which its author did not foresee. The ruling is looked up by
// of, nil for [Policy.Ruling].
func (p *Policy) Confirmer(next hitl.Confirmer, of func(context.Context, *middleware.Tool) *Ruling) hitl.Confirmer {
	if of == nil {
		of = func(_ context.Context, t *middleware.Tool) *Ruling { return p.Ruling(t) }
	}
	return hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
		stranger := slices.ContainsFunc(r.Sources, func(s hitl.Source) bool { return s.Rule != "" })
		line := 0
		if v, rule := of(ctx, r.Tool).Decide(r.Tool.Safety()); v == Allow {
			line = rule.Line
		} else if a := p.approved(r); a != nil && v == None {
			line = a.Line
		}
		if line > 0 && !stranger && !r.Anew && r.InDoubt.IsZero() {
			return hitl.Decision{Verdict: hitl.Approved, By: "the policy, " + p.At(line), Via: "policy"}, nil
		}
		if next == nil {
			return hitl.Decision{}, errNobody
		}
		if line == 0 {
			r.Why = p.outgrown(r)
		}
		return next.Confirm(ctx, r)
	})
}

// outgrown returns why a call is wanted, with the entry that allowed the tool by its name before it became what it is.
func (p *Policy) outgrown(r hitl.Request) string {
	line := 0
	for i := range p.Rules {
		if one := &p.Rules[i]; one.Verdict == Allow && one.Tool.Exact() && one.Tool.Matches(r.Tool.Server, r.Tool.Name()) {
			line = one.Line
		}
	}
	for i := range p.Approved {
		if one := &p.Approved[i]; one.Tool.Matches(r.Tool.Server, r.Tool.Name()) && !one.covers(r.Tool.Safety(), r.Tool.Digest) {
			line = one.Line
		}
	}
	if line == 0 {
		return r.Why
	}
	return strings.TrimSpace(r.Why + " (" + p.At(line) + " allows this tool, but not as it is now.)")
}

// TrustsResults reports whether the results of a tool may be used like the user's words.
func (p *Policy) TrustsResults(t *middleware.Tool) bool {
	return slices.ContainsFunc(p.Trusted, func(trusted Pattern) bool { return trusted.Matches(t.Server, t.Name()) })
}

// Previews reports whether a trial of a tool's calls is made before a person is asked about them.
func (p *Policy) Previews(t *middleware.Tool) bool {
	return slices.ContainsFunc(p.Previewed, func(previewed Pattern) bool { return previewed.Matches(t.Server, t.Name()) })
}

var errNobody = fmt.Errorf("policy: nobody is there to be asked; see --approve")

// Apply sets the policy's annotations of tools in a catalog.
func (p *Policy) Apply(c *catalog.Catalog) error {
	for _, o := range p.Tools {
		var err error
		if o.Tool.Exact() {
			err = c.Override(o.Tool.Server, o.Tool.Tool, o.Annotations)
		} else {
			_, err = c.OverrideMatching(o.Tool.Server+"/"+o.Tool.Tool, o.Annotations)
		}
		if err != nil {
			return fmt.Errorf("policy: %s: %w", p.At(o.Line), err)
		}
	}
	return nil
}

// Raised is a tool as the policy has it asked about, whatever the catalog made of it.
func (p *Policy) Raised(t *middleware.Tool) *middleware.Tool { return p.Ruling(t).Raised(t) }

// Raised is [Policy.Raised] for the tool that the ruling is about.
func (on *Ruling) Raised(t *middleware.Tool) *middleware.Tool {
	p, a := on.policy, t.Annotations
	for _, o := range p.Tools {
		if o.Annotations.Safety() == annotation.Dangerous && o.Tool.Names(t.Server, t.Name()) {
			a = annotation.Raise(a, o.Annotations.Attribute(annotation.Host, p.At(o.Line)))
		}
	}
	if v, rule := on.Decide(t.Safety()); v == Ask {
		a = annotation.Raise(a, annotation.Annotations{RequiresConfirmation: annotation.Yes}.Attribute(annotation.Host, p.At(rule.Line)))
	}
	if a.Safety() == t.Annotations.Safety() {
		return t
	}
	raised := *t
	raised.Annotations = a
	return &raised
}

// Needs is the permission that a caller of a tool needs by the file; "" for none. The last one counts.
func (p *Policy) Needs(t *middleware.Tool) string {
	needs := ""
	for _, one := range p.Permissions {
		if one.Tool.Names(t.Server, t.Name()) {
			needs = one.Permission
		}
	}
	return needs
}

// Lifetime returns for how long results of a tool are used; usual follows from its freshness. The
// shortest time that matches counts; none is 0.
func (p *Policy) Lifetime(t *middleware.Tool, usual time.Duration) time.Duration {
	least := time.Duration(-1)
	for _, l := range p.Cache {
		if !l.Tool.Matches(t.Server, t.Name()) {
			continue
		}
		if l.Time < 0 {
			l.Time = usual
		}
		if least < 0 || l.Time < least {
			least = l.Time
		}
	}
	return max(least, 0)
}

// Explain lists the rules that match a tool, which of them decides, and why the others do not.
func (p *Policy) Explain(t *middleware.Tool) string {
	var b strings.Builder
	class := t.Safety()
	verdict, decides := p.Ruling(t).Decide(class)
	for i := range p.Rules {
		r := &p.Rules[i]
		if !r.names(t.Server, t.Name()) {
			continue
		}
		fmt.Fprintf(&b, "  %s: %s %q ", p.At(r.Line), r.Verdict, r.Tool)
		switch {
		case r == decides:
			b.WriteString("decides")
			if r.Reason != "" {
				fmt.Fprintf(&b, " (%s)", safetext.Line(r.Reason))
			}
		case r.Verdict == Allow && r.Definition != (middleware.Digest{}) && r.Definition != t.Digest:
			fmt.Fprintf(&b, "is for another definition; this one is %s", t.Digest)
		case r.Verdict == Allow && r.allows(class) && !r.covers(class, t.Digest):
			fmt.Fprintf(&b, "is not for %s calls; for these, add \"class\": %q, or the \"definition\" %s", class, class.String(), t.Digest)
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
	for _, one := range p.Probes {
		if one.Tool.Matches(t.Server, t.Name()) {
			as := "judged as " + one.As
			switch {
			case one.As == "" && one.Language == "verb":
				as = "not judged, so that none of them asks"
			case one.As == "":
				as = "not judged, so that each asks"
			}
			fmt.Fprintf(&b, "  %s: texts in %s are %s by %q\n", p.At(one.Line), safetext.Line(one.Language), as, one.Tool)
		}
	}
	for _, one := range p.Paths {
		if one.Tool.Matches(t.Server, t.Name()) {
			fmt.Fprintf(&b, "  %s: files are judged by the paths of %q\n", p.At(one.Line), one.Tool)
		}
	}
	so := map[Verdict]string{
		Deny: "neither listed nor called", Ask: "a person is asked", Allow: "called", None: "no rule decides, and its class does: " + class.String(),
	}[verdict]
	if verdict == Allow && (p.Raised(t).Safety().MustConfirm() || p.Approvals.Writes) {
		so += ", and nobody is asked"
	}
	fmt.Fprintf(&b, "  so: %s\n", so)
	return b.String()
}
