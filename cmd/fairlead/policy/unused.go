package policy

// A rule about a tool that does not exist has no effect, and looks like one that has: a name that is misspelled denies
// nothing. Which tools there are is known when the servers have listed them, so that is when the names of a policy are
// compared with theirs.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cmd/fairlead/nearest"
)

// A use is one place in a file that names tools or a server.
type use struct {
	key     string // "rules[2].tool"
	line    int
	pattern Pattern
	server  bool // it names a server alone
}

// There is what a policy's names are compared with.
type There struct {
	Servers []string
	Listed  map[string][]string // the tools of servers that have listed them
	// Classes are those of tools, the strictest that calls of them had, by "server/tool"; nil if they are not known.
	Classes map[string]annotation.Safety
}

// Unused returns a warning for each place of the policy that names a tool or a server, and none of those that are there,
// and for each remembered approval that covers no call of its tool. The tools of a server that has listed none so far are
// not known.
func (p *Policy) Unused(there There) []string {
	var all []string
	for _, u := range p.uses {
		what := p.unused(u, there)
		if what == "" {
			continue
		}
		if len(all) == maxFaults {
			return append(all, p.Name+": more of its rules name nothing that is there")
		}
		all = append(all, fmt.Sprintf("%s: %s: %s", p.At(u.line), u.key, what))
	}
	return append(all, p.uncovered(func(server, tool string) (annotation.Safety, bool) {
		class, known := there.Classes[server+"/"+tool]
		return class, known
	})...)
}

// unused returns what is wrong with one place, "" for nothing.
func (p *Policy) unused(u use, there There) string {
	if u.server {
		if slices.Contains(there.Servers, u.pattern.Server) {
			return ""
		}
		return fmt.Sprintf("no server here is called %q, so this has no effect; %s", u.pattern.Server, orNearest(u.pattern.Server, there.Servers))
	}
	matches := u.pattern.Matches
	if p.restricts(u.pattern) {
		matches = u.pattern.Names
	}
	named := false
	var its []string // tools of servers that the pattern is about
	for _, server := range there.Servers {
		tools, listed := there.Listed[server]
		for _, tool := range tools {
			if matches(server, tool) {
				return ""
			}
		}
		if !match(u.pattern.Server, server) {
			continue
		}
		if named = true; !listed {
			return "" // the tool may be one of that server
		}
		for _, tool := range tools {
			its = append(its, server+"/"+tool)
		}
	}
	if !named {
		return fmt.Sprintf("%q names no tool here, since no server is called %q, so this has no effect; %s",
			u.pattern, u.pattern.Server, orNearest(u.pattern.Server, there.Servers))
	}
	hint := "see their names by fairlead inspect"
	names := bare(its)
	switch best, alike := nearest.Of(u.pattern.Server+"/"+u.pattern.Tool, its), nearest.Of(u.pattern.Tool, names); {
	case slices.Contains(there.Servers, u.pattern.written):
		hint = fmt.Sprintf("for all tools of that server, write %q", u.pattern.written+"/*")
	case best != "" && u.pattern.Server != "*":
		hint = fmt.Sprintf("did you mean %q?", best)
	case alike != "":
		hint = fmt.Sprintf("did you mean %q?", alike)
	}
	return fmt.Sprintf("%q names no tool that is listed, so this has no effect; %s", u.pattern, hint)
}

// restricts reports whether a place of the policy counts for each spelling of its pattern.
func (p *Policy) restricts(pattern Pattern) bool {
	return slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.Tool == pattern && r.Verdict != Allow }) ||
		slices.ContainsFunc(p.Tools, func(o Override) bool {
			return o.Tool == pattern && o.Annotations.Safety() == annotation.Dangerous
		}) || slices.ContainsFunc(p.Permissions, func(one Permission) bool { return one.Tool == pattern })
}

// bare returns the names of tools without their servers.
func bare(tools []string) []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		_, names[i], _ = strings.Cut(t, "/")
	}
	return names
}

func orNearest(name string, known []string) string {
	if best := nearest.Of(name, known); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	for _, k := range known {
		if strings.EqualFold(k, name) {
			return fmt.Sprintf("did you mean %q?", k)
		}
	}
	if len(known) == 0 {
		return "there is none"
	}
	return "there are " + strings.Join(known[:min(len(known), 20)], ", ")
}
