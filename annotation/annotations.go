// Package annotation describes a tool's behaviour: the hints that its server declared, that the host set or
// that were inferred, with their sources, and the one class that follows from them.
//
// Annotations are values: methods and functions return changed copies. A value may be shared between
// goroutines as long as none of them writes to its Tags, Evidence or pointers.
package annotation

import (
	"cmp"
	"time"
)

// A Hint is a statement that may be missing. MCP's defaults are applied only on request (see
// [Annotations.Defaults]) and never stored, so that "unset" and "no" stay apart.
type Hint uint8

// The three states of a [Hint]. The zero value is Unset.
const (
	Unset Hint = iota
	No
	Yes
)

// HintOf returns Yes for true and No for false.
func HintOf(b bool) Hint {
	if b {
		return Yes
	}
	return No
}

// Or returns h, or fallback if h is Unset.
func (h Hint) Or(fallback Hint) Hint { return cmp.Or(h, fallback) }

// String returns "unset", "no" or "yes".
func (h Hint) String() string { return spell(h, "unset", "no", "yes") }

// spell returns the name of a value, that of the zero value if it has none.
func spell[T ~uint8](value T, names ...string) string {
	if int(value) < len(names) {
		return names[value]
	}
	return names[0]
}

// Complexity is how much work a call is, as the host's routing sees it.
type Complexity string

// The values of [Complexity]. The default, where one is asked for, is Simple.
const (
	Simple  Complexity = "simple"
	Medium  Complexity = "medium"
	Complex Complexity = "complex"
)

// SecurityLevel sets who may use a tool and how much of a call is recorded.
type SecurityLevel string

// The values of [SecurityLevel]. The default, where one is asked for, is Public.
const (
	Public     SecurityLevel = "public"
	Internal   SecurityLevel = "internal"
	Restricted SecurityLevel = "restricted"
)

// Freshness is how long the result of a read stays true. An unset one counts as [Volatile].
type Freshness string

// The values of [Freshness].
const (
	Stable   Freshness = "stable"   // definitions, documentation, history, computations
	Shared   Freshness = "shared"   // others may change it: records, tickets, searches
	Volatile Freshness = "volatile" // the present moment: status, time, logs, files, screens
)

// Annotations is what is known about one tool. The zero value is empty, and its class is [Unknown].
type Annotations struct {
	// Title is a name for people. Empty means none.
	Title string

	// The four hints of MCP (since revision 2025-03-26).
	ReadOnly    Hint // the tool changes nothing
	Destructive Hint // it may take away or overwrite, not only add
	Idempotent  Hint // repeating it with the same arguments has no further effect
	OpenWorld   Hint // it touches things outside the server's own domain

	// RequiresConfirmation is Yes if a person must agree although nothing is destroyed: what is sent, paid
	// or published cannot be taken back. It is not an MCP hint and travels in _meta under [MetaKey].
	RequiresConfirmation Hint

	// Freshness is "" if it is not known, which counts as Volatile.
	Freshness Freshness
	// Secret is Yes if the result is a secret or gives access, such as a signed URL. It is never cached.
	Secret Hint

	// Tags are free labels for search, sorted and without duplicates after Merge.
	Tags []string
	// EstimatedDuration is how long a call usually takes, in milliseconds on the wire; 0 means unknown.
	EstimatedDuration time.Duration
	// RateLimitHint is how many calls a minute the tool allows; nil means unknown, 0 means never.
	RateLimitHint *float64
	// CostHint is the relative cost of a call; nil means unknown, counted as 0.
	CostHint *float64
	// Complexity is "" where it is unknown.
	Complexity Complexity
	// AuditRequired is Yes where a call must be recorded in full or not be made.
	AuditRequired Hint
	// SecurityLevel is "" where it is unknown.
	SecurityLevel SecurityLevel
	// Category is a free label for routing and search.
	Category string

	// Conditions state which calls are less than the hints state of the worst one. The class of the tool does not
	// follow from them; see [Annotations.For].
	Conditions []Condition

	// Evidence names the source of each field. A field without evidence was set by the host in Go.
	Evidence []Evidence
}

// Defaults returns a with every unset field at its default: MCP's for the four hints (not read-only,
// destructive, not idempotent, open-world), cost 0, complexity simple, security public, no audit, no
// confirmation, volatile, not secret. It is for display; the class follows from the fields as they are.
func (a Annotations) Defaults() Annotations {
	a.ReadOnly = a.ReadOnly.Or(No)
	a.Destructive = a.Destructive.Or(Yes)
	a.Idempotent = a.Idempotent.Or(No)
	a.OpenWorld = a.OpenWorld.Or(Yes)
	a.RequiresConfirmation = a.RequiresConfirmation.Or(No)
	a.Freshness = cmp.Or(a.Freshness, Volatile)
	a.Secret = a.Secret.Or(No)
	a.AuditRequired = a.AuditRequired.Or(No)
	a.CostHint = cmp.Or(a.CostHint, new(float64))
	a.Complexity = cmp.Or(a.Complexity, Simple)
	a.SecurityLevel = cmp.Or(a.SecurityLevel, Public)
	return a
}

// ReadOnly is for a tool that lists, searches, fetches or computes. The presets leave open-world unset.
func ReadOnly() Annotations {
	return Annotations{ReadOnly: Yes, Destructive: No, Idempotent: Yes}
}

// Write is for a tool that adds: create, append, upload. Repeating it adds again.
func Write() Annotations {
	return Annotations{ReadOnly: No, Destructive: No, Idempotent: No}
}

// Update is for a tool that sets something to a value; calling it twice changes nothing more.
func Update() Annotations {
	return Annotations{ReadOnly: No, Destructive: No, Idempotent: Yes}
}

// Destructive is for a tool that deletes, overwrites or cannot be undone.
func Destructive() Annotations {
	return Annotations{ReadOnly: No, Destructive: Yes, Idempotent: No}
}
