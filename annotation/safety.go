package annotation

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Safety is the class of a tool, on which all middlewares act. The zero value is Unknown.
type Safety uint8

// The four classes.
const (
	Unknown   Safety = iota // nothing is known; treated as Dangerous
	Dangerous               // it takes away, cannot be undone, or the hints conflict
	Moderate                // a known write that is not destructive
	Safe                    // it reads, and nothing contradicts that
)

// String returns "unknown", "dangerous", "moderate" or "safe".
func (s Safety) String() string { return spell(s, "unknown", "dangerous", "moderate", "safe") }

// MarshalText returns [Safety.String].
func (s Safety) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText returns.
func (s *Safety) UnmarshalText(text []byte) error {
	for *s = Safe; s.String() != string(text); *s-- {
		if *s == Unknown {
			return fmt.Errorf("annotation: want safe, moderate, dangerous or unknown, got %.40q", text)
		}
	}
	return nil
}

// MustConfirm reports whether a call of this class needs a person's yes.
func (s Safety) MustConfirm() bool { return s != Safe && s != Moderate }

// Safety returns the class. No other code reads the hints to decide how dangerous a call is.
func (a Annotations) Safety() Safety {
	return SafetyOf(a.ReadOnly, a.Destructive, a.RequiresConfirmation)
}

// SafetyOf returns the class that follows from three hints. Once one of the first two is known, MCP's default
// counts for the other: absent destructive means destructive. A confirmation that is not required does not
// describe the tool, so alone it leaves the class Unknown.
func SafetyOf(readOnly, destructive, confirmation Hint) Safety {
	switch {
	case max(readOnly, destructive, confirmation) > Yes:
		return Unknown // not a Hint
	case destructive == Yes, confirmation == Yes:
		return Dangerous
	case readOnly == Yes:
		return Safe
	case destructive == No:
		return Moderate
	case readOnly == No:
		return Dangerous
	}
	return Unknown
}

// MustConfirm reports whether a person must agree before the tool is called: Dangerous and Unknown.
func (a Annotations) MustConfirm() bool { return a.Safety().MustConfirm() }

// SafeToRetry reports whether a call that may have happened can be sent again without harm: the tool is Safe,
// or it is Moderate and was declared idempotent (see [Annotations.InferredIdempotent]). A destructive tool is
// not: the second delete may remove something new.
func (a Annotations) SafeToRetry() bool {
	switch a.Safety() {
	case Safe:
		return true
	case Moderate:
		return a.Idempotent == Yes && a.SourceOf(IdempotentHint) != Inferred
	}
	return false
}

// InferredIdempotent reports whether the tool is Moderate and its idempotence was only inferred.
func (a Annotations) InferredIdempotent() bool {
	return a.Safety() == Moderate && a.Idempotent == Yes && a.SourceOf(IdempotentHint) == Inferred
}

// Summary returns one line for logs and spans with every set field, or "[no annotations]":
//
//	[Delete User Account | DESTRUCTIVE | requires confirmation | simple complexity | ~250ms | tags: admin]
func (a Annotations) Summary() string {
	var parts []string
	add := func(ok bool, s string) {
		if ok {
			parts = append(parts, s)
		}
	}
	word := func(h Hint, yes, no string) {
		add(h == Yes, yes)
		add(h == No, no)
	}
	num := func(f *float64) string { return strconv.FormatFloat(*f, 'g', -1, 64) }

	add(a.Title != "", a.Title)
	word(a.ReadOnly, "read-only", "not read-only")
	word(a.Destructive, "DESTRUCTIVE", "not destructive")
	word(a.Idempotent, "idempotent", "not idempotent")
	word(a.OpenWorld, "open world", "closed world")
	word(a.RequiresConfirmation, "requires confirmation", "no confirmation required")
	add(a.Freshness != "", string(a.Freshness))
	word(a.Secret, "SECRET", "not secret")
	add(a.Complexity != "", string(a.Complexity)+" complexity")
	add(a.EstimatedDuration != 0, fmt.Sprintf("~%dms", a.EstimatedDuration.Milliseconds()))
	if a.RateLimitHint != nil {
		parts = append(parts, "at most "+num(a.RateLimitHint)+"/min")
	}
	if a.CostHint != nil {
		parts = append(parts, "cost "+num(a.CostHint))
	}
	word(a.AuditRequired, "audit required", "no audit required")
	add(a.SecurityLevel != "", string(a.SecurityLevel))
	add(a.Category != "", "category: "+a.Category)
	add(len(a.Tags) > 0, "tags: "+strings.Join(a.Tags, ", "))

	if len(parts) == 0 {
		return "[no annotations]"
	}
	return "[" + strings.Join(parts, " | ") + "]"
}

// ConfirmationMessage returns the question for a user interface before a call: "This action is irreversible.
// … Proceed?" if a person must confirm, "About to …. OK?" for a known write, and "" for a read.
func (a Annotations) ConfirmationMessage(description string) string {
	text := strings.TrimSuffix(strings.TrimSpace(description), ".")
	ask := func(what string) string {
		if text == "" {
			return what + " Proceed?"
		}
		return what + " " + text + ". Proceed?"
	}
	switch a.Safety() {
	case Safe:
		return ""
	case Moderate:
		return "About to " + cmp.Or(text, "change something") + ". OK?"
	case Unknown:
		return ask("It is unknown what this action changes.")
	}
	if a.ReadOnly == Yes && a.Destructive != Yes {
		return ask("This action needs your confirmation.")
	}
	return ask("This action is irreversible.")
}
