package hitl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ErrDenied is in the tree of every error that ends a call for want of an approval.
var ErrDenied = errors.New("hitl: denied")

// ErrUnavailable is in the tree of an [ErrDenied] without a decision: the store of approvals failed.
var ErrUnavailable = errors.New("hitl: the store of approvals does not work")

// Instead are three reasons for a denial that each place where people are asked suggests, beside room for their own words.
// They are written for the model.
var Instead = [3]string{
	"Explain first what you want to do, and why.",
	"Find a way that can be undone, or that touches less.",
	"Stop here; the user will go on by hand.",
}

// A DeniedError reports that a call was not made, and why.
type DeniedError struct {
	Tool   *middleware.Tool
	Reason string // the guidance that came with a denial
	By     string // who denied it, a person or a policy; "" for a person without a name
	Err    error  // why there was no answer, nil if a person denied it

	own bool // for this call alone, and not for identical ones: it is about what was edited
}

func (e *DeniedError) Error() string {
	by := "the user"
	if e.By != "" {
		by = safetext.Cut(safetext.Line(e.By), 80)
	}
	switch {
	case e.Err != nil:
		return fmt.Sprintf("hitl: %s was not approved (%v)", e.Tool, e.Err)
	case e.Reason != "":
		return fmt.Sprintf("hitl: %s was denied by %s: %s", e.Tool, by, e.Reason)
	}
	return fmt.Sprintf("hitl: %s was denied by %s", e.Tool, by)
}

// NotSent reports that the call was not sent.
func (*DeniedError) NotSent() bool { return true }

// Permanent reports that the same call would only fail again.
func (*DeniedError) Permanent() bool { return true }

// ForModel returns the guidance that came with a denial, or states that the call was not
// approved and that no question about it is open.
func (e *DeniedError) ForModel() string {
	tool := e.Tool.ModelName()
	switch told := middleware.ForModel(e.Err); {
	case told != "":
		return fmt.Sprintf("%s was not called: %s.", tool, strings.TrimRight(told, "."))
	case e.Err != nil:
		return tool + " was not called: it was not approved, and no question about it is open. Tell the user, and call it again only if they ask for it."
	case e.Reason != "":
		return fmt.Sprintf("%s was not called. The user said no: %s", tool, e.Reason)
	}
	return tool + " was not called. The user said no; do not call it again, ask what to do instead."
}

func (e *DeniedError) Is(target error) bool { return target == ErrDenied }

// Denied reports that the call was not approved.
func (*DeniedError) Denied() bool { return true }

func (e *DeniedError) Unwrap() error { return e.Err }

var (
	errNoConfirmer = fault.Told(errors.New("the chain has no confirmer"), false,
		"it needs an approval, and this host has no way to ask for one. Tell the user, and do not call it again")
	errRevoked = fault.Plain("the approval that answered was taken back, or has ended; call it again to have it asked about")
)

// A storeError keeps the store's own words from a model.
type storeError struct{ err error }

func (storeError) Error() string {
	return "the store of approvals failed; the log of the host has the reason"
}
func (e storeError) Unwrap() error { return e.err }

func (e storeError) Is(target error) bool { return target == ErrUnavailable && e.isOutage() }

// isOutage reports whether the store failed. A step that came too late or was cancelled is not its fault.
func (e storeError) isOutage() bool {
	return !errors.Is(e.err, approvals.ErrNoEffect) && !errors.Is(e.err, context.Canceled)
}

// ForModel states that there is an outage, since a model would take a denial for the user's will.
func (e storeError) ForModel() string {
	if !e.isOutage() {
		return ""
	}
	return "there is an outage: approvals cannot be kept at the moment, so that nobody could decide about it. Tell the user, and call it again later"
}

// A PendingError ends the first leg of a call whose caller asks the person. A [Confirmer] that
// cannot wait returns one with what is to be asked and a state of its own. The client gets an
// input_required result and repeats the call with the answers: the Confirmer gets them, and
// its state, as Request.Input, under the same Request.ID.
//
// Until then, for Options.Timeout, the question is open in the store and counts as one of
// Options.MaxPending. Its first answer is its only one.
type PendingError struct {
	Tool     *middleware.Tool // set by the middleware
	Requests mcp.InputRequestMap
	State    string // comes back with the answers; the client can read and alter it, so seal it
}

func (e *PendingError) Error() string {
	return fmt.Sprintf("hitl: %s waits for a person's answer; call it again with the input that is asked for", e.Tool)
}

// NotSent reports that the call was not sent.
func (*PendingError) NotSent() bool { return true }

// Permanent reports that the same call would only fail again.
func (*PendingError) Permanent() bool { return true }

// ForModel states that the model can do nothing.
func (e *PendingError) ForModel() string {
	return e.Tool.ModelName() + " was not called yet: it waits for the user's agreement. Do not call it again; tell the user."
}

// InputRequired returns what is asked, and what comes back with the answers.
func (e *PendingError) InputRequired() (requests mcp.InputRequestMap, state string) {
	return e.Requests, e.State
}

// A WaitingError ends a call whose question stays open; see Options.WaitLimit.
type WaitingError struct {
	Tool  *middleware.Tool
	Where string    // the person finds the question
	Until time.Time // when the question ends
}

func (e *WaitingError) Error() string {
	return fmt.Sprintf("hitl: %s waits for a person's answer %s until %s; the identical call takes the answer, once", e.Tool, e.Where, e.Until.UTC().Format(clock))
}

// NotSent reports that the call was not sent.
func (*WaitingError) NotSent() bool { return true }

// Permanent reports that the same call would only fail again.
func (*WaitingError) Permanent() bool { return true }

// ForModel returns where the question is open, until when, and what takes the answer.
func (e *WaitingError) ForModel() string {
	return fmt.Sprintf("%s was not called yet: it waits for the user's approval %s until %s. Tell the user. Once they have decided, make exactly the same call again: it takes their answer.",
		e.Tool.ModelName(), e.Where, e.Until.UTC().Format(clock))
}

const clock = "15:04 UTC"
