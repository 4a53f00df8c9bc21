package hitl

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/internal/drafts"
	"github.com/fairlead-go/fairlead/hitl/internal/habits"
	"github.com/fairlead-go/fairlead/hitl/internal/waiting"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
)

// Options are the settings of [New]. The zero value is ready.
type Options struct {
	// Timeout is how long a person has; 0 means 30 seconds. Silence is a denial.
	Timeout time.Duration
	// Lifetime is how long an approval may wait for its use; 0 means 5 minutes.
	Lifetime time.Duration
	// Writes asks before Moderate calls too, not only before Dangerous and Unknown ones.
	Writes bool
	// Patience returns how long a call waits for its answer, and where the person finds the
	// question then, such as "on the approvals page". After that time the call ends with a
	// [*WaitingError], and the question stays open until Timeout is over: the identical call
	// takes the answer, once, also in another process with the same Store. Nil, and a time of
	// 0, mean that a call waits until Timeout.
	Patience func(ctx context.Context) (wait time.Duration, where string)
	// Waiting is called every five seconds while a call waits for an answer, with the time that it has waited,
	// so that a host can report it to its client: elicit.Progress does. Nil reports nothing.
	Waiting func(ctx context.Context, waited time.Duration)
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
	// ends with what the middleware was applied to, in any case.
	SessionLifetime time.Duration
	// AlwaysLifetime is how long an approval for always counts; 0 means 30 days. It ends
	// with the tool's definition, in any case.
	AlwaysLifetime time.Duration
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
	// Validate checks arguments that a person edited, for example by the tool's schema. An
	// error denies the call. Nil means that they only have to be one unambiguous JSON object.
	Validate func(ctx context.Context, tool *middleware.Tool, arguments json.RawMessage) error
	// TwoSteps pair tools that make a draft with those that commit it; nil means none.
	TwoSteps []TwoStep
	// Store keeps what was asked and what is remembered; nil means a memory of its own
	// for each application of the middleware. A question that it cannot record is denied.
	Store Store
	// Logger gets a line for each question and answer; nil is silent.
	Logger *slog.Logger
}

func (o Options) check() {
	fault.RefuseNegative("hitl: Options", o)
	if o.Remember > Always {
		panic("hitl: Options.Remember is none of Once, Session and Always")
	}
	for _, pair := range o.TwoSteps {
		if pair.Draft == "" || pair.Commit == "" || pair.Draft == pair.Commit {
			panic("hitl: each of Options.TwoSteps needs a Draft and a Commit that differ")
		}
	}
}

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
	people := waiting.NewQueue(o.MaxPending, o.MaxPendingPerScope)
	var pairs []drafts.Pair
	for _, p := range o.TwoSteps {
		pairs = append(pairs, drafts.Pair(p))
	}
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		o := o
		if o.Store == nil {
			o.Store = approvals.NewMemory()
		}
		return &asker{Options: o, next: next, confirmer: confirmer, people: people, drafts: drafts.New(pairs), habits: habits.New(), session: rand.Text()}
	}
}
