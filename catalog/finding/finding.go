package catalog

import (
	"slices"
)

// A Finding is something about a server or a tool that its owner or the host
// should know.
type Finding struct {
	Server string
	Tool   string // "" where it is about the server
	Kind   FindingKind
	Text   string
}

// FindingKind is what a [Finding] is about. The words stay as they are, for programs
// that keep them.
type FindingKind string

// The kinds.
const (
	FindingLeftOut       FindingKind = "left-out"       // a tool that cannot be taken, and why
	FindingSchema        FindingKind = "bad-schema"     // a tool that is left out for its input or output schema
	FindingUnreadable    FindingKind = "unreadable"     // annotations, or parts of them
	FindingContradiction FindingKind = "contradiction"  // annotations that say two things
	FindingDoubted       FindingKind = "doubted"        // declared read-only, and the words say otherwise
	FindingUnbelieved    FindingKind = "unbelieved"     // declared milder, and nothing else speaks for it
	FindingRepeatable    FindingKind = "repeatable"     // declared idempotent, and cannot be taken back
	FindingLowered       FindingKind = "lowered"        // by the host's own word
	FindingUnused        FindingKind = "unused"         // a word of the host for a tool that is not there
	FindingUnprepared    FindingKind = "unprepared"     // a session that hides what a server wrote
	FindingStale         FindingKind = "stale"          // a list that could not be read again
	FindingNotAccepted   FindingKind = "not-accepted"   // new or changed since definitions were accepted
	FindingGone          FindingKind = "gone"           // accepted, and no longer listed
	FindingPermission    FindingKind = "bad-permission" // a permission of the host's that cannot be read
)

// String returns the finding on one line.
func (f Finding) String() string {
	if f.Tool == "" {
		return f.Server + ": " + f.Text
	}
	return f.Server + "/" + f.Tool + ": " + f.Text
}

// Findings returns what stands out, sorted. The slice is the caller's.
func (c *Catalog) Findings() []Finding {
	now := c.current.Load()
	return sorted(slices.Concat(now.findings, c.misfits(now.list)))
}
