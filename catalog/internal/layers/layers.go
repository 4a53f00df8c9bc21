// Package layers merges what was inferred of a tool, what its server declares, and what the host sets.
package layers

import (
	"fmt"
	"path"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/finding"
)

// A Rule is what the host sets for the tools that match a pattern.
type Rule struct {
	pattern string
	set     annotation.Annotations
}

// NewRule returns the rule for the tools whose "server/tool" matches the pattern.
func NewRule(pattern string, a annotation.Annotations) (Rule, error) {
	if _, err := path.Match(pattern, ""); err != nil || strings.Count(pattern, "/") != 1 {
		return Rule{}, fmt.Errorf(`catalog: %q is not a pattern for tools; write "server/tool", with * for any part of either`, pattern)
	}
	if err := a.Validate(); err != nil {
		return Rule{}, fmt.Errorf("catalog: the override of %s: %w", pattern, err)
	}
	return Rule{pattern, a.Attribute(annotation.Rule, pattern)}, nil
}

// Matches reports whether the rule is about a tool.
func (r Rule) Matches(server, tool string) bool {
	ok, err := path.Match(r.pattern, server+"/"+tool)
	return ok && err == nil
}

// Layers are the statements about one tool.
type Layers struct {
	Server, Tool       string
	Declared, Inferred annotation.Annotations
	Known              annotation.Annotations // of a definition that the project has reviewed
	Trusted            bool                   // the declarations of the server count
	Rules              []Rule
	Reviewed, Override annotation.Annotations // set by a person and the host for this tool
	Judged             annotation.Annotations // claimed by a model
}

// Effective returns the merged annotations and the findings about them.
func (l *Layers) Effective() (annotation.Annotations, []finding.Finding) {
	a, before := l.lay()
	found := l.conflicts(a)
	if before != annotation.Unknown && before < a.Safety() {
		found = append(found, l.finding(finding.Lowered, "the host lowers it from %s to %s", before, a.Safety()))
	}
	return a, found
}

// lay merges the layers: inferred, declared, known, the host's rules, the review and the host's override; before is
// the class without the last two. The claims of an untrusted server and of a model come last and can only
// raise, in fields that the host has not set.
func (l *Layers) lay() (a annotation.Annotations, before annotation.Safety) {
	a = l.Inferred
	claim := l.Declared.Attribute(annotation.Declared, l.Server)
	if l.Trusted {
		a, claim = annotation.Merge(a, claim), annotation.Annotations{}
	}
	if len(l.Known.Evidence) > 0 {
		a, claim = annotation.Merge(a, l.Known), claim.Yield(l.Known)
	}
	for _, r := range l.Rules {
		switch {
		case !r.Matches(l.Server, l.Tool):
		case l.understood().Safety() == annotation.Dangerous:
			a = annotation.Raise(a, r.set)
		default:
			a, claim = annotation.Merge(a, r.set), claim.Yield(r.set)
		}
	}
	without := raise(a, claim, l.Judged)
	if len(l.Reviewed.Evidence)+len(l.Override.Evidence) == 0 {
		return without, without.Safety()
	}
	set := annotation.Merge(l.Reviewed, l.Override)
	return raise(annotation.Merge(a, set), claim.Yield(set), l.Judged.Yield(set)), without.Safety()
}

// understood is what is known without the server's and the host's word.
func (l *Layers) understood() annotation.Annotations {
	if len(l.Known.Evidence) == 0 {
		return l.Inferred
	}
	return annotation.Merge(l.Inferred, l.Known)
}

func raise(a annotation.Annotations, claims ...annotation.Annotations) annotation.Annotations {
	for _, claim := range claims {
		if len(claim.Evidence) > 0 {
			a = annotation.Raise(a, claim)
		}
	}
	return a
}

func (l *Layers) finding(kind finding.Kind, format string, args ...any) finding.Finding {
	return finding.Finding{Server: l.Server, Tool: l.Tool, Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// overruling returns the decision that the tool writes, of the host, a reviewer or the project, "" without one. What the
// tool declares is then no question any more.
func (l *Layers) overruling() string {
	for _, decided := range [...]*annotation.Annotations{&l.Override, &l.Reviewed, &l.Known} {
		if e, ok := decided.EvidenceOf(annotation.ReadOnlyHint); ok {
			if decided.ReadOnly == annotation.No {
				return e.String()
			}
			return ""
		}
	}
	return ""
}

// conflicts returns the findings about declarations that contradict the tool's own words.
func (l *Layers) conflicts(effective annotation.Annotations) (found []finding.Finding) {
	declared, inferred := l.Declared, l.understood()
	because := func(f annotation.Field) string {
		if e, ok := inferred.EvidenceOf(f); ok {
			return e.String()
		}
		return "inferred"
	}
	believed := "which does not count"
	if l.Trusted {
		believed = "which is believed, since the server is trusted"
	}
	if declared.ReadOnly == annotation.Yes && declared.Destructive == annotation.Yes {
		found = append(found, l.finding(finding.Contradiction, "declares itself both read-only and destructive; it counts as destructive"))
	}
	switch by := l.overruling(); {
	case declared.ReadOnly == annotation.Yes && by != "":
		found = append(found, l.finding(finding.Overruled, "declares itself read-only; it is decided otherwise (%s)", by))
	case declared.ReadOnly == annotation.Yes && inferred.ReadOnly == annotation.No:
		kind, field := finding.SuspectWrite, annotation.ReadOnlyHint
		if inferred.Destructive == annotation.Yes {
			kind, field = finding.Suspect, annotation.DestructiveHint
		}
		found = append(found, l.finding(kind, "declares itself read-only, %s; its words say otherwise (%s)", believed, because(field)))
	case declared.Safety() > max(effective.Safety(), annotation.Dangerous):
		found = append(found, l.finding(finding.Untrusted, "declares itself %s, %s; it is %s", declared.Safety(), believed, effective.Safety()))
	}
	if declared.Idempotent == annotation.Yes && inferred.RequiresConfirmation == annotation.Yes && declared.ReadOnly != annotation.Yes {
		found = append(found, l.finding(finding.Repeatable, "declares itself idempotent, but what it does cannot be taken back (%s)", because(annotation.RequiresConfirmation)))
	}
	return found
}
