package policy

// A rule is unreachable if another takes each of its tools away from it: one that is stricter, or as strict and earlier.
// That is found by comparing patterns, and two patterns can be compared without their tools only if one certainly covers
// the other (see [Pattern.covers]); if that is not certain, nothing is reported. Rules that name one tool cover only
// themselves, so that a file of thousands of them is compared with its wildcards alone.

import (
	"fmt"
	"slices"
)

// unreachable names the rules that never decide anything.
func (p *Policy) unreachable() []string {
	var wide []int // rules that may cover others than themselves
	first := make(map[string]int)
	for i, r := range p.Rules {
		if !r.Tool.Exact() {
			wide = append(wide, i)
		}
		if _, there := first[r.Tool.written]; !there {
			first[r.Tool.written] = i
		}
	}
	if len(wide)*len(p.Rules) > maxCompared {
		return []string{p.Name + ": it has too many patterns to be searched for unreachable rules; all of them count"}
	}
	var all []string
	for i, r := range p.Rules {
		for _, j := range append(slices.Clip(wide), first[r.Tool.written]) {
			if other := p.Rules[j]; i != j && other.settles(r, j < i) {
				all = append(all, fmt.Sprintf("%s: unreachable rule: %s %q decides nothing, since line %d says %s to all of that already",
					p.At(r.Line), r.Verdict, r.Tool, other.Line, other.Verdict))
				break
			}
		}
		if len(all) >= maxFaults {
			break
		}
	}
	return all
}

// maxCompared is how many comparisons are made at most.
const maxCompared = 5_000_000

// settles reports whether a rule leaves another nothing to decide.
func (r Rule) settles(other Rule, earlier bool) bool {
	switch {
	case r.Verdict < other.Verdict || !r.Tool.covers(other.Tool):
		return false
	case r.Verdict > other.Verdict:
		return true
	case r.Verdict == Allow && (other.Tool.Exact() && !r.Tool.Exact() || other.Tool.namesServer() && !r.Tool.namesServer()):
		return false // it allows more of what it names
	}
	return earlier || !other.Tool.covers(r.Tool)
}
