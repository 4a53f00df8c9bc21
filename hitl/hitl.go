// Package hitl asks a person before a call that needs one: human in the loop. Anything but a clear approval is a denial.
//
// Most callers put [New] into the Confirm slot of chain.Standard, with a [Confirmer]: package terminal asks at a
// terminal, inbox on a web page, elicit in a form of the MCP client, and a [ConfirmerFunc] is a dialog of the host's own.
package hitl

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/internal/drafts"
	"github.com/fairlead-go/fairlead/hitl/internal/habits"
	"github.com/fairlead-go/fairlead/hitl/internal/waiting"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/middleware"
)

// A Confirmer puts a question to a person and returns the answer. Confirm returns soon after
// ctx is done; a later answer has no effect. It is safe for concurrent use.
type Confirmer interface {
	Confirm(ctx context.Context, request Request) (Decision, error)
}

// A ConfirmerFunc is a function that asks a person.
type ConfirmerFunc func(ctx context.Context, request Request) (Decision, error)

// Confirm calls f.
func (f ConfirmerFunc) Confirm(ctx context.Context, request Request) (Decision, error) {
	return f(ctx, request)
}

// TwoPeople returns a Confirmer for calls that need two people: it asks one and, after an
// approval, the other. Both have to give names that differ (see [safetext.SameName]), and
// neither may edit. Nothing is remembered. It panics if one of them is nil.
func TwoPeople(first, second Confirmer) Confirmer {
	if first == nil || second == nil {
		panic("hitl: TwoPeople was given a nil Confirmer")
	}
	return ConfirmerFunc(func(ctx context.Context, request Request) (Decision, error) {
		request.Offers, request.Lifetimes = nil, nil
		one, err := first.Confirm(ctx, request)
		if err != nil || one.Verdict != Approved {
			return one, err
		}
		other, err := second.Confirm(ctx, request)
		switch {
		case err != nil || other.Verdict != Approved:
			return other, err
		case safetext.SameName(one.By, "") || safetext.SameName(other.By, "") || safetext.SameName(one.By, other.By):
			return Decision{}, errors.New("it needs two people, and they have not given two names")
		case one.Arguments != nil || other.Arguments != nil:
			return Decision{}, errors.New("it needs two people, and one of them has edited it")
		}
		return Decision{Verdict: Approved, By: one.By + " and " + other.By}, nil
	})
}

// DangerouslyApproveEveryCallWithoutAsking approves every call: for a sandbox in which nothing
// can be lost, and for tests. It is the only way to run dangerous calls without a person. The
// guard, the grants and the record stay as they are.
func DangerouslyApproveEveryCallWithoutAsking() Confirmer {
	return ConfirmerFunc(func(context.Context, Request) (Decision, error) {
		return Decision{Verdict: Approved, By: "nobody: every call is approved without asking"}, nil
	})
}

// A Verdict is a person's answer. The zero value, and any that is not listed here, is a denial.
type Verdict uint8

// The verdicts.
const (
	Denied Verdict = iota
	Approved
	// Apart is not an answer: a [GroupConfirmer] has left the question out of the dialog, and Confirm is asked next. From
	// Confirm it is a denial.
	Apart
)

// A Decision is a person's answer with what belongs to it. The zero value denies.
type Decision struct {
	Verdict Verdict
	// Reason is guidance for the model after a denial: what to do instead.
	Reason string
	// Arguments replace those of the call, where the person edited them before saying yes. Nil means as asked.
	Arguments json.RawMessage
	// By names the person or the policy, and Via how they were reached, such as "terminal", for the record.
	By, Via string
	// Remember is how long an approval counts; the zero value is for this call alone. More
	// than the offer's Longest, or what is not listed, is for this call alone too.
	Remember Remember
	// Lifetime is how long an approval for always lasts, one of Request.Lifetimes; zero, and more than the host's
	// limit, mean that limit.
	Lifetime time.Duration
	// Offer is which of Request.Offers is remembered; the zero value is the first: exactly these arguments, as
	// edited. One that was not shown, or that does not cover the arguments as edited, remembers nothing.
	Offer int
	// Free are the members that are left free in the first offer. One that is not among
	// Request.Free remembers nothing.
	Free []string
}

// A Store keeps what was asked, what came of it and what is remembered.
// Package approvals has one in memory and one in a file.
type Store = approvals.Store

// New returns a middleware that asks confirmer before every Dangerous or Unknown call, and hands a yes on to
// the guard at the executor: good for one execution of exactly this tool with exactly these arguments. Silence,
// an error, a panic, the zero Decision, a full queue and a store that fails are denials, and the call ends with a
// [*DeniedError]. A call that already carries such an approval, from a chain further out, is not asked about again.
//
// Identical calls that come while a question is open wait for its answer. A no is theirs too, and so is a yes
// that the person wanted remembered; a plain yes is for one call, and the next of them is asked about.
//
// A nil confirmer denies everything that needs an approval. New panics on a negative
// number and on a value that has no meaning.
func New(confirmer Confirmer, o Options) middleware.Middleware {
	o.check()
	if f, ok := confirmer.(ConfirmerFunc); ok && f == nil {
		confirmer = nil
	}
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.Lifetime = cmp.Or(o.Lifetime, 5*time.Minute)
	o.MaxPending = cmp.Or(o.MaxPending, 100)
	o.MaxPendingPerScope = cmp.Or(o.MaxPendingPerScope, o.MaxPending)
	o.SessionLifetime = cmp.Or(o.SessionLifetime, 8*time.Hour)
	o.AlwaysLifetime = cmp.Or(o.AlwaysLifetime, 30*24*time.Hour)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Store == nil {
		o.Store = approvals.NewMemory()
	}
	var pairs []drafts.Pair
	for _, p := range o.TwoSteps {
		pairs = append(pairs, drafts.Pair(p))
	}
	q := &questions{people: waiting.NewQueue(o.MaxPending, o.MaxPendingPerScope), drafts: drafts.New(pairs), habits: habits.New()}
	notes := newJournal(o.Logger)
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		return &asker{
			Options: &o, questions: q, recorder: recorder{notes, o.Store}, memory: o.remembers(&q.habits, notes),
			next: next, confirmer: confirmer,
		}
	}
}
