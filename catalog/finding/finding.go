// Package finding names what stands out about a server or a tool, as catalog.Catalog.Findings reports it.
package finding

// A Finding is something about a server or a tool that its owner or the host should know.
type Finding struct {
	Server string
	Tool   string // "" if it is about the server
	Kind   Kind
	Text   string
}

// A Kind is what a [Finding] is about. The words stay as they are, for programs that keep them.
type Kind string

// The kinds.
const (
	LeftOut       Kind = "left-out"       // a tool that cannot be taken, and why
	Schema        Kind = "bad-schema"     // a tool that is left out for its input or output schema
	Unchecked     Kind = "unchecked"      // answers that pass unchecked, since the output schema cannot be compiled
	Unreadable    Kind = "unreadable"     // annotations, or parts of them
	Contradiction Kind = "contradiction"  // annotations that say two things
	Suspect       Kind = "doubted"        // declared read-only, and by its words destructive
	SuspectWrite  Kind = "doubted-write"  // declared read-only, and by its words a write that destroys nothing
	Overruled     Kind = "overruled"      // declared read-only, and a person has decided otherwise
	Untrusted     Kind = "unbelieved"     // declared less strict, without other evidence
	Repeatable    Kind = "repeatable"     // declared idempotent, and cannot be taken back
	Lowered       Kind = "lowered"        // by the host's own override
	Unused        Kind = "unused"         // an override for a tool that is not there
	Unprepared    Kind = "unprepared"     // a session that hides what a server wrote
	Stray         Kind = "stray-output"   // lines on the standard output of a server that are not messages
	Null          Kind = "null-member"    // answers with null where the output schema takes none
	Stale         Kind = "stale"          // a list that could not be read again
	NotAccepted   Kind = "not-accepted"   // new or changed since definitions were accepted
	Gone          Kind = "gone"           // accepted, and no longer listed
	Permission    Kind = "bad-permission" // a permission of the host's that cannot be read
)

// String returns the finding on one line.
func (f Finding) String() string {
	if f.Tool == "" {
		return f.Server + ": " + f.Text
	}
	return f.Server + "/" + f.Tool + ": " + f.Text
}
