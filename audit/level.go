package audit

import (
	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
)

// A level is how much of a call is written down.
type level uint8

const (
	counted level = iota
	named         // name, time, class and outcome
	full          // arguments, result and reasons too
)

// asked is what the tool's own words ask for. Where nobody has said how secret a
// tool is, its name is recorded: what nobody wrote down cannot be made up for, and an
// untrusted server, whose "public" is not believed, gains nothing by it.
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

// levelOf is what is written of the tool's calls: at least the name of what a person
// has to agree to.
func levelOf(tool *middleware.Tool) level {
	if tool.Safety().MustConfirm() {
		return max(named, asked(tool))
	}
	return asked(tool)
}

// intended reports whether a call is written down before it is made. Of a read that
// was interrupted there is nothing to find out.
func intended(l level, tool *middleware.Tool) bool {
	return l == full || l == named && tool.Safety() != annotation.Safe
}

// durable reports whether a call waits until its intent outlives a loss of power,
// and is refused where that fails.
func durable(l level, tool *middleware.Tool) bool {
	return l == full || tool.Safety().MustConfirm()
}
