package audit

import (
	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
)

// A level is how much of a call is recorded. It is the highest of what the tool as the host named it asks for, what
// the tool as it was classified asks for, and what was decided on the way.
type level uint8

const (
	counted level = iota
	named         // name, time, class and outcome
	full          // arguments, result and reasons too
)

// asked returns the level that the tool's annotations ask for. A tool without a security level has its name
// recorded: a missing record cannot be made later, and an untrusted server's "public" does not count.
func asked(tool *middleware.Tool) level {
	if tool == nil {
		return named
	}
	switch a := &tool.Annotations; {
	case a.AuditRequired == annotation.Yes, a.SecurityLevel == annotation.Restricted:
		return full
	case a.SecurityLevel == annotation.Public:
		return counted
	}
	return named
}

// levelOf returns the level of the tool's calls: at least the name if a person has to approve them.
func levelOf(tool *middleware.Tool) level {
	if tool.Safety().MustConfirm() {
		return max(named, asked(tool))
	}
	return asked(tool)
}

// decided returns the level of a call that a person, or a policy in its place, decided, or that was observed.
func decided(said *callstate.Record) level {
	if said.Last("hitl") == (callstate.Decision{}) && said.Last("observe") == (callstate.Decision{}) {
		return counted
	}
	return named
}

// withheld reports whether the host has declared the tool Internal. A server cannot decide
// whether its calls are accounted for.
func withheld(tool *middleware.Tool) bool {
	if tool == nil || tool.Annotations.SecurityLevel != annotation.Internal {
		return false
	}
	by := tool.Annotations.SourceOf(annotation.SecurityLevelHint)
	return by == annotation.Host || by == annotation.Rule
}

// intended reports whether a call is recorded before it is made. An interrupted read leaves
// nothing to find out.
func intended(l level, tool *middleware.Tool) bool {
	return l == full || l == named && tool.Safety() != annotation.Safe
}

// durable reports whether a call waits until its intent outlives a loss of power,
// and is refused if that fails.
func durable(l level, tool *middleware.Tool) bool {
	return l == full || tool.Safety().MustConfirm()
}
