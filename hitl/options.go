package hitl

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
)

// A TwoStep pairs a tool that makes a draft with the one that commits it. A commit that names
// drafts is refused unless each was made in this chain and scope. A person is shown them and
// asked, whatever the class, and about a commit without drafts too. The approval ends once a
// draft has changed or was committed, and is never remembered.
type TwoStep struct {
	Server        string // the id that the host gave it
	Draft, Commit string // names of its tools
	ID            string // the member of the draft's answer with its id; "" means "id"
	// Names is the member of the commit's arguments that holds the draft's id, or a
	// list of them; "" means "draft_id".
	Names string
}

// Options are the settings of [New]. The zero value is ready.
type Options struct {
	// Timeout is how long a person has; 0 means 30 seconds. Silence is a denial.
	Timeout time.Duration
	// Lifetime is how long an approval may wait for its use; 0 means 5 minutes.
	Lifetime time.Duration
	// Writes asks before Moderate calls too, not only before Dangerous and Unknown ones.
	Writes bool
	// WaitLimit returns how long a call waits for its answer, and where the person finds the
	// question then, such as "on the approvals page". After that time the call ends with a
	// [*WaitingError], and the question stays open until Timeout is over: the identical call
	// takes the answer, once, also in another process with the same Store. Nil, and a time of
	// 0, mean that a call waits until Timeout.
	WaitLimit func(ctx context.Context) (wait time.Duration, where string)
	// OnWaiting is called every five seconds while a call waits for an answer, with the time that it has waited,
	// so that a host can report it to its client: elicit.Progress does. Nil reports nothing.
	OnWaiting func(ctx context.Context, waited time.Duration)
	// MaxPending is how many calls may wait for an answer at once; 0 means 100. The
	// call after that is denied at once.
	MaxPending int
	// MaxPendingPerScope is how many of them may be of one scope; 0 means as many as MaxPending allows, so that
	// one scope can fill the places of all: a host of several tenants sets it.
	MaxPendingPerScope int
	// Remember is the most that a person may choose: [Session] or [Always]. The zero
	// value, [Once], means that every call is asked about.
	Remember Remember
	// SessionLifetime is how long an approval for the session counts; 0 means 8 hours. It
	// ends with the chain in which it was given, in any case.
	SessionLifetime time.Duration
	// AlwaysLifetime is how long an approval for always counts; 0 means 30 days. It ends
	// with the tool's definition, in any case.
	AlwaysLifetime time.Duration
	// AlwaysAtOnce offers to remember an approval for always at the first question. By default that is offered once one
	// person has approved three calls in a row that it would have covered, also in earlier processes if the Store is an
	// [approvals.History] and the arguments were the same; for the session it is offered at once.
	AlwaysAtOnce bool
	// Patterns returns what else to offer for being remembered, if it covers the call, within
	// the time of the question. A panic denies the call. Nil offers nothing more.
	Patterns func(ctx context.Context, call middleware.Call) []Pattern
	// OfferMembers offers that members of the arguments be left free, and suggests it once
	// one person has approved three such calls in a row. OfferTool offers any arguments, for
	// the session. By default these are not offered.
	OfferMembers, OfferTool bool
	// About returns why a call is wanted and how it can be undone, within the time of the
	// question. A panic denies the call. Nil means that neither is shown.
	About func(ctx context.Context, call middleware.Call) (why, undo string)
	// Changes returns the texts that a call would change, as they are and as they become, within the time of the question:
	// a host that can look up what is there now shows a person the difference. A panic denies the call. Nil adds nothing
	// to what the arguments alone show.
	Changes func(ctx context.Context, call middleware.Call) []Change
	// Preview tries a call without an effect, within the time of the question, and returns what that has shown; nil for a
	// call that is not tried. A panic denies the call. Nil tries nothing.
	Preview func(ctx context.Context, call middleware.Call) *Preview
	// Inverse returns the call that takes a call back, false for none. The person is shown its name if About has no other
	// way, and the record of a call that has succeeded has its arguments. A panic denies the call. Nil finds none.
	Inverse func(ctx context.Context, call middleware.Call) (Inverse, bool)
	// OnUndoable is called after each call that has succeeded and that Inverse can take back, also after one that nobody
	// was asked about, before its result is returned. A panic is logged. Nil reports nothing.
	OnUndoable func(ctx context.Context, call middleware.Call, by Undo)
	// Anew reports whether a person is asked about a call whatever its class is and whatever is remembered. Nothing is
	// offered to be remembered then, and the request has Anew set. A panic ends the call. Nil is for no call.
	Anew func(ctx context.Context, call middleware.Call) bool
	// Client returns the program or the agent that asks for a call, as it names itself, such as "claude-code 2.1". A
	// panic denies the call. "" and nil mean the client of the MCP server that has the chain, if there is one.
	Client func(ctx context.Context, call middleware.Call) string
	// Caller returns on whose behalf a call is made, as the host has verified it. A panic denies the call. Nil leaves that out.
	Caller func(ctx context.Context, call middleware.Call) Caller
	// Number returns which call of its client a call is since that connected, from 1, for display; 0 is not known. A
	// panic denies the call. Nil knows none.
	Number func(ctx context.Context, call middleware.Call) int
	// Validate checks arguments that a person edited, for example by the tool's schema. An
	// error denies the call. Nil means that they only have to be one unambiguous JSON object.
	Validate func(ctx context.Context, tool *middleware.Tool, arguments json.RawMessage) error
	// TwoSteps pair tools that make a draft with those that commit it; nil means none.
	TwoSteps []TwoStep
	// Store keeps what was asked and what is remembered; nil means a memory of its own.
	// A question that it cannot record is denied.
	Store Store
	// Logger gets a line for each question and answer; nil is silent.
	Logger *slog.Logger
}

func (o Options) check() {
	fault.RefuseNegative("hitl: Options", o)
	if o.Remember > Always {
		panic("hitl: Options.Remember must be Once, Session or Always")
	}
	for _, pair := range o.TwoSteps {
		if pair.Draft == "" || pair.Commit == "" || pair.Draft == pair.Commit {
			panic("hitl: each of Options.TwoSteps needs a Draft and a Commit that differ")
		}
	}
}
