package report

import (
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
)

const none = "—"

// hints returns the hints that decide the class in words, "—" if there are none.
func hints(a annotation.Annotations) string {
	var words []string
	for _, h := range []struct {
		value   annotation.Hint
		yes, no string
	}{
		{a.ReadOnly, "read-only", "writes"},
		{a.Destructive, "destructive", "additive"},
		{a.RequiresConfirmation, "confirm", ""},
		{a.Idempotent, "idempotent", ""},
		{a.OpenWorld, "open", ""},
	} {
		switch {
		case h.value == annotation.Yes:
			words = append(words, h.yes)
		case h.value == annotation.No && h.no != "":
			words = append(words, h.no)
		}
	}
	if len(words) == 0 {
		return none
	}
	return strings.Join(words, " ")
}

// class returns the tool's class, with whether it depends on the arguments or is doubtful; for a read also how long its
// result stays true.
func class(t Tool) string {
	switch {
	case len(t.Effective.Conditions) > 0:
		return t.Safety.String() + ", by arguments"
	case t.Effective.Doubtful():
		return t.Safety.String() + ", doubtful"
	case t.Safety != annotation.Safe:
		return t.Safety.String()
	case t.Secret:
		return "safe, secret"
	}
	return "safe, " + string(t.Freshness)
}

// because returns the evidence that decided the class, and the conditions. It may hold what a server wrote.
func because(t Tool) string {
	e, ok := t.Effective.Because()
	parts := []string{"MCP's default for what nobody said"}
	switch {
	case t.Safety == annotation.Unknown && e.Place != "":
		parts[0] = "nothing known: " + e.Where()
	case t.Safety == annotation.Unknown:
		parts[0] = "nothing known"
	case ok:
		parts[0] = e.String()
	}
	for i := range t.Effective.Conditions {
		parts = append(parts, t.Effective.Conditions[i].String())
	}
	return strings.Join(parts, "; ")
}

// will returns what the chain does with a tool, on one line.
func will(t Tool) string { return strings.Join(t.Will, " · ") }

// subject names what a finding is about. It may hold what a server wrote.
func (f Finding) subject() string {
	if f.Tool == "" {
		return f.Server
	}
	return f.Server + "/" + f.Tool
}

// A group is findings that say the same of several tools.
type group struct {
	Finding

	Subjects []string // without the server's name where there is one server
}

// grouped puts the findings that are not known together, in their order, and counts the others.
func (r *Report) grouped() (groups []*group, known int) {
	at := make(map[[2]string]*group)
	for _, f := range r.Findings {
		if f.Known {
			known++
			continue
		}
		key := [2]string{f.Rule, f.Text}
		g := at[key]
		if g == nil {
			g = &group{Finding: f}
			at[key] = g
			groups = append(groups, g)
		}
		subject := f.subject()
		if f.Tool != "" && len(r.Servers) == 1 {
			subject = f.Tool
		}
		g.Subjects = append(g.Subjects, subject)
	}
	return groups, known
}

// classes counts the tools of each class, the worst first, such as "1 dangerous, 2 safe".
func (r *Report) classes() string {
	counts := make(map[annotation.Safety]int)
	for _, t := range r.Tools {
		counts[t.Safety]++
	}
	var parts []string
	for _, class := range []annotation.Safety{annotation.Unknown, annotation.Dangerous, annotation.Moderate, annotation.Safe} {
		if n := counts[class]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, class))
		}
	}
	return strings.Join(parts, ", ")
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
