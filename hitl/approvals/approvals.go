// Package approvals keeps what people were asked, what came of it, and which approvals
// are remembered. It decides nothing: a call needs a grant, which is in the memory of
// the process that asked and is good only while the store has its approval.
package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Store keeps approvals and remembered approvals. It is safe for concurrent use. A change is
// durable, and seen by every process, once its method has returned nil. An error of any method
// is a denial of the call that it was for.
type Store interface {
	// Add writes down a new approval: one that is Pending, or one that is Approved because
	// of a remembered approval, whose Uses it counts. An ID that is known already is an error,
	// and ErrNoEffect a remembered approval that is not there any more.
	Add(ctx context.Context, a Approval) error
	// Advance changes an approval's state, if the table of [State] has that step and its
	// time is not over, and to Spent only while the remembered approval that answered is there.
	// Of concurrent steps the first one wins. Any other step has no effect, is recorded as
	// such if the store keeps a record, and returns an error that is [ErrNoEffect].
	Advance(ctx context.Context, id string, change Change) error
	// Remember records a remembered approval.
	Remember(ctx context.Context, s Standing) error
	// Remembered returns the remembered approvals of a scope that have not expired, for one
	// tool of one server, or for all where server and tool are empty.
	Remembered(ctx context.Context, scope, server, tool string) ([]Standing, error)
	// List returns the remembered approvals of all scopes that have not expired.
	List(ctx context.Context) ([]Standing, error)
	// Forget ends a remembered approval of this scope, and makes the approval with its ID, if it is
	// Approved, Void. One that is not there is no error.
	Forget(ctx context.Context, scope, id string) error
}

// A State is how far an approval has come:
//
//	pending  → approved, denied, void
//	approved → spent, void
//	spent    → done, void
//
// Denied, done and void are final. No step goes back, and none is spent twice.
type State string

// The states.
const (
	Pending  State = "pending"  // the question is open
	Approved State = "approved" // not used yet
	Denied   State = "denied"
	Spent    State = "spent" // the call is being handed over, or was
	Done     State = "done"  // the call has returned
	Void     State = "void"  // there was no answer, the approval was not used, or the process ended
)

var steps = map[State][]State{
	Pending:  {Approved, Denied, Void},
	Approved: {Spent, Void},
	Spent:    {Done, Void},
}

// CanBecome reports whether the table has the step from s to next.
func (s State) CanBecome(next State) bool { return slices.Contains(steps[s], next) }

// Open reports whether something may still come of an approval in this state.
func (s State) Open() bool { return len(steps[s]) > 0 }

// An Approval is one question and what came of it. Of the arguments it holds a hash, never the text.
type Approval struct {
	ID         string    `json:"id"` // unguessable
	State      State     `json:"state"`
	Server     string    `json:"server"`
	Tool       string    `json:"tool"`
	Definition string    `json:"definition"` // the digest of the tool's definition
	Class      string    `json:"class"`
	Scope      string    `json:"scope"`
	CallID     string    `json:"callId,omitempty"`
	Arguments  string    `json:"arguments"`          // SHA-256 of the exact bytes, in hexadecimal
	Extra      string    `json:"extra,omitempty"`    // the same of what is sent beside the arguments, "" for nothing
	Drafts     []Draft   `json:"drafts,omitempty"`   // that were shown with it
	Standing   string    `json:"standing,omitempty"` // the remembered approval that answered, if one did
	By         string    `json:"by,omitempty"`
	Edited     bool      `json:"edited,omitempty"`
	Until      time.Time `json:"until"` // when the question ends; of an approval, when it expires
}

// A Draft names what a call is to commit, and pins its content.
type Draft struct {
	ID     string `json:"id"`
	Digest string `json:"digest"` // SHA-256 of what was shown, in hexadecimal
}

// A Change is a step of an approval.
type Change struct {
	To State `json:"to"`
	// By names who answered.
	By string `json:"by,omitempty"`
	// Until is when the approval expires; only for Approved, and needed there.
	Until time.Time `json:"until,omitzero"`
	// Scope and Standing are those of an approval that a standing one answered.
	Scope    string `json:"-"`
	Standing string `json:"-"`
	// Edited is set if other arguments were approved than were asked about; Arguments is their hash.
	Edited    bool   `json:"edited,omitempty"`
	Arguments string `json:"arguments,omitempty"`
}

// ErrNoEffect is in the tree of the error of every step that the table does not have, or that comes too late.
var ErrNoEffect = errors.New("approvals: no effect")

// A NoEffectError has the reason for which an answer had no effect.
type NoEffectError struct {
	ID  string
	Was State // "" if the store has no such approval
	To  State
}

func (e *NoEffectError) Error() string {
	switch {
	case e.Was == "":
		return fmt.Sprintf("approvals: no effect: %s is not known, or was decided long ago", e.ID)
	case e.Was.CanBecome(e.To):
		return fmt.Sprintf("approvals: no effect: the time of %s is over, it cannot become %s", e.ID, e.To)
	}
	return fmt.Sprintf("approvals: no effect: %s is %s, it cannot become %s", e.ID, e.Was, e.To)
}

func (e *NoEffectError) Is(target error) bool { return target == ErrNoEffect }
