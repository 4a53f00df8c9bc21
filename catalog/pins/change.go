package pins

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/middleware"
)

// A ChangeKind is how a tool has changed since definitions were accepted.
type ChangeKind string

// The kinds of a [Change].
const (
	New     ChangeKind = "new"     // no tool of this name was accepted
	Changed ChangeKind = "changed" // its definition, or its class has become less strict
	Removed ChangeKind = "removed" // its server no longer lists it
)

// A Change is a difference between what a server listed, when [Lock.Changes] was called, and what was accepted.
type Change struct {
	Server, Tool string
	Kind         ChangeKind
	// Was is the class with which it was accepted, Is its class now; Unknown without one.
	Was, Is annotation.Safety

	// Now is the tool as its server lists it; nil for one that was removed. No model may see it.
	Now *middleware.Tool

	accepted, now pin
}

func (c Change) name() name { return name{c.Server, c.Tool} }

// same reports whether two changes lead to the same definition with the same class.
func (c Change) same(o Change) bool {
	return c.name() == o.name() && c.Is == o.Is && c.now.digest == o.now.digest
}

// String returns the change on one line, without any text that the server wrote:
//
//	crm/list_customers: changed since it was accepted (annotations, description; safe → dangerous)
func (c Change) String() string { return c.name().String() + ": " + c.reason() }

func (c Change) reason() string {
	switch {
	case c.Kind == New:
		return fmt.Sprintf("new, nobody has accepted it (%s)", c.Is)
	case c.Kind == Removed:
		return "was accepted, and its server no longer lists it"
	case c.accepted.digest == c.now.digest:
		return fmt.Sprintf("its class has become less strict since it was accepted (%s → %s)", c.Was, c.Is)
	}
	what := strings.Join(fields(c.accepted.form, c.now.form), ", ")
	if c.Was != c.Is {
		what += fmt.Sprintf("; %s → %s", c.Was, c.Is)
	}
	return "changed since it was accepted (" + what + ")"
}

// Diff returns the change on many lines, safe to show to a person: the class with its reasons if it changed, and
// each field that differs. Long values are cut to the difference.
func (c Change) Diff() string {
	var b strings.Builder
	b.WriteString(c.String() + "\n")
	if c.Now != nil && (c.Was != c.Is || c.Kind == New) {
		_, reasons, _ := strings.Cut(c.Now.Explain(), "\n")
		b.WriteString("  class\n")
		if c.Kind != New {
			fmt.Fprintf(&b, "    - %s\n", c.Was)
		}
		fmt.Fprintf(&b, "    + %s\n", c.Is)
		for reason := range strings.Lines(reasons) {
			b.WriteString("    " + safetext.Text(reason))
		}
	}
	if c.Kind != Removed {
		writeDiff(&b, c.accepted.form, c.now.form)
	}
	return b.String()
}

// ErrNotAccepted is in the tree of every error about a tool whose definition was not accepted.
var ErrNotAccepted = errors.New("pins: definition not accepted")

// A NotAcceptedError refuses a call of a new or changed tool. Its text holds nothing that the server wrote.
type NotAcceptedError struct {
	Change Change
}

func (e *NotAcceptedError) Error() string {
	return fmt.Sprintf("pins: refused: %s; the host must look at Lock.Changes and accept it", e.Change)
}

// NotSent reports that the call was not sent.
func (*NotAcceptedError) NotSent() bool { return true }

// Permanent reports that the same call would only fail again.
func (*NotAcceptedError) Permanent() bool { return true }

// Reason returns what has changed, without the name of the tool.
func (e *NotAcceptedError) Reason() string { return e.Change.reason() }

// WasAccepted returns the class with which an earlier definition of the tool was accepted, and whether one was.
func (e *NotAcceptedError) WasAccepted() (class annotation.Safety, before bool) {
	return e.Change.Was, e.Change.Kind != New
}

func (*NotAcceptedError) ForModel() string {
	return "The tool was not called: it is new or has changed, and the host has not accepted it yet. Use another tool, or tell the user."
}

func (e *NotAcceptedError) Is(target error) bool { return target == ErrNotAccepted }
