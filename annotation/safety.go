package annotation

import "fmt"

// Safety is the class of a tool, worked out once from its annotations and
// obeyed by everything that wraps a call. The zero value is Unknown.
type Safety uint8

// The four classes.
const (
	// Unknown: nobody said, nothing was found. Treated as Dangerous.
	Unknown Safety = iota
	// Dangerous: it takes away, cannot be taken back, or the hints conflict.
	Dangerous
	// Moderate: a known write that is not destructive.
	Moderate
	// Safe: it reads, and nothing speaks against that.
	Safe
)

// String returns "unknown", "dangerous", "moderate" or "safe".
func (s Safety) String() string { return spell(s, "unknown", "dangerous", "moderate", "safe") }

// MarshalText returns [Safety.String].
func (s Safety) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText returns.
func (s *Safety) UnmarshalText(text []byte) error {
	for *s = Safe; s.String() != string(text); *s-- {
		if *s == Unknown {
			return fmt.Errorf("annotation: %.40q is none of safe, moderate, dangerous, unknown", text)
		}
	}
	return nil
}

// MustConfirm reports whether a call of this class needs a person's yes.
func (s Safety) MustConfirm() bool { return s != Safe && s != Moderate }

// Safety returns the class. It is the one place that reads the hints to decide
// how dangerous a call is.
func (a Annotations) Safety() Safety {
	return SafetyOf(a.ReadOnly, a.Destructive, a.RequiresConfirmation)
}

// SafetyOf returns the class that follows from three hints. Once one of the first
// two is known, MCP's default counts for the other: absent destructive means
// destructive. A confirmation that is not required does not say what the tool
// does, so alone it leaves the class Unknown.
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

// MustConfirm reports whether a person must agree before the tool is called:
// true for Dangerous and Unknown.
func (a Annotations) MustConfirm() bool { return a.Safety().MustConfirm() }

// SafeToRetry reports whether a call that may have happened can be sent again
// without harm: the tool is Safe, or it is Moderate and known to be idempotent.
// Idempotence that was only inferred does not count here (see
// [Annotations.InferredIdempotent]), and neither does it for a destructive tool:
// the second delete may take somebody's new thing.
func (a Annotations) SafeToRetry() bool {
	switch a.Safety() {
	case Safe:
		return true
	case Moderate:
		return a.Idempotent == Yes && a.SourceOf(IdempotentHint) != Inferred
	}
	return false
}

// InferredIdempotent reports whether the tool is Moderate and its idempotence
// rests on inference alone. Retrying on that is the host's choice.
func (a Annotations) InferredIdempotent() bool {
	return a.Safety() == Moderate && a.Idempotent == Yes && a.SourceOf(IdempotentHint) == Inferred
}
