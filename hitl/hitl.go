// Package hitl asks a person before a call that needs one: human in the loop.
// Anything but a clear approval is a denial.
package hitl

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/internal/drafts"
	"github.com/fairlead-go/fairlead/hitl/internal/entries"
	"github.com/fairlead-go/fairlead/hitl/internal/habits"
	"github.com/fairlead-go/fairlead/hitl/internal/waiting"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/safetext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Confirmer puts a question to a person and returns the answer. Confirm returns soon after
// ctx is done; a later answer has no effect. It is safe for concurrent use.
type Confirmer interface {
	Confirm(ctx context.Context, request Request) (Decision, error)
}

// A ConfirmerFunc is a function that asks a person.
type ConfirmerFunc func(ctx context.Context, request Request) (Decision, error)

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
		request.Offers, request.Ends = nil, nil
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

// A Request is what a person is asked about. Tool.Definition has
// the server's texts: escape them before you show it.
type Request struct {
	ID        string           // the question's own, under which the store keeps it
	Tool      *middleware.Tool // class and evidence: Tool.Explain()
	Arguments json.RawMessage  // the exact bytes that will be sent after an approval
	// Extra is what the call sends beside its arguments, nil for nothing: a JSON object with
	// what it has of _meta, inputResponses and requestState. Progress tokens, trace context
	// and what else belongs to the transport are left out. An approval covers the rest.
	Extra json.RawMessage
	// Sources are where the arguments came from, nil unless the chain has package flow. After an edit there are
	// none. A call with a source that has a Rule has no Offers, and no remembered approval covers it.
	Sources  []Source
	CallID   string    // the model's, for display
	Scope    string    // whose call it is
	Why      string    // why the call is wanted, by Options.About
	Undo     string    // how it can be taken back, by Options.About
	Deadline time.Time // when silence becomes a denial, or the caller has gone
	// InDoubt is when a call with the same effect was made that may have happened, zero
	// for none (package doubt). Caution has it, and nothing is offered to be remembered.
	InDoubt time.Time
	// Drafts are what the call is to commit, each as its tool answered: the server's
	// text. A person who is not shown them cannot agree to them.
	Drafts []Draft
	// Offers are what may be remembered with an approval, the first one exactly these
	// arguments; none if nothing may be. Free are the members that the person may leave free
	// in the first, each with what it may be then.
	Offers []Offer
	Free   Pattern
	// Ends are how long an approval for always may last, the host's limit last, which holds if nothing is chosen.
	Ends []approvals.End
	// Suggestion is what to remember, if the last approvals of this tool follow a rule, as a
	// sentence that is safe to show; "" for none.
	Suggestion string
	// Input is what came back with the second leg of a question that ended with a
	// [*PendingError]; nil where the question is new. It is anybody's text, and not sent.
	Input *middleware.Input
}

// Digest returns a digest of what a person is shown and approves: all of the request but
// its deadline and its Input.
func (r Request) Digest() string {
	r.Deadline, r.Input = time.Time{}, nil
	form, err := json.Marshal(struct { //nolint:musttag // only its digest is used
		Request

		Tool      []string
		Arguments []byte // exactly, as no RawMessage is written
		Extra     []byte
	}{r, []string{r.Tool.Server, r.Tool.Name(), r.Tool.Digest.String(), r.Tool.Explain()}, r.Arguments, r.Extra})
	if err != nil {
		panic(err) // a pattern that Pattern.Covers accepted is valid JSON, and the rest is text
	}
	return entries.Hash(form)
}

// Reasons returns what the call's class rests on, one reason a line, as the tool's [middleware.Tool.Explain]
// has it without its heading: the tool and its class. A line for each of the Sources follows.
func (r Request) Reasons() []string {
	// The tool's name is the server's text, so the heading ends by its length.
	rest := strings.TrimPrefix(r.Tool.Explain(), fmt.Sprintf("%s: %s\n", r.Tool, r.Tool.Safety()))
	reasons := strings.Split(strings.TrimSuffix(rest, "\n"), "\n")
	for _, s := range r.Sources {
		reasons = append(reasons, s.String())
	}
	return reasons
}

// A Choice is an approval that a person may choose.
type Choice struct {
	// Name is "once", or what is remembered ("arguments", "members" or "tool") and for how
	// long ("session" or "always"), such as "arguments-session".
	Name     string
	Text     string // a sentence that is safe to show
	Decision Decision
}

// Choices returns the approvals that the person may choose from: for this call alone, and
// then each offer, for the session and for always if it may stand so long.
func (r Request) Choices() []Choice {
	choices := []Choice{{"once", "this call alone", Decision{Verdict: Approved}}}
	named := make(map[string]int)
	for i, o := range r.Offers {
		kind, arguments := "arguments", ""
		switch {
		case o.Tool:
			kind, arguments = "tool", approvals.AnyArguments
		case o.Pattern != nil:
			kind = "members"
		}
		if named[kind]++; named[kind] > 1 {
			kind = fmt.Sprintf("%s-%d", kind, named[kind])
		}
		what := approvals.Standing{Server: r.Tool.Server, Tool: r.Tool.Name(), Pattern: o.Pattern, Arguments: arguments}.String()
		for remember := Session; remember <= o.Longest; remember++ {
			until := "for this session"
			if remember == Always {
				until = "until " + time.Now().Add(o.Lifetime).Format("2 January 2006") + " at the latest"
			}
			choices = append(choices, Choice{kind + "-" + remember.String(), what + ", " + until, Decision{Verdict: Approved, Remember: remember, Offer: i}})
		}
	}
	return choices
}

// End returns how long the one of Ends with a name is, and 0 for no name.
func (r Request) End(name string) (lifetime time.Duration, ok bool) {
	for _, e := range r.Ends {
		if e.Name == name {
			return e.Lifetime, true
		}
	}
	return 0, name == ""
}

// Leave returns the request with the named members left free in its first offer, for a
// dialog that shows what is remembered then. It is false if one of them cannot be.
func (r Request) Leave(names []string) (Request, bool) {
	p := approvals.Freed(r.Arguments, names)
	if p == nil || len(r.Free) == 0 || len(r.Offers) == 0 {
		return r, false
	}
	r.Offers = slices.Clone(r.Offers)
	r.Offers[0].Pattern = p
	return r, true
}

// Caution returns what is known against the call, on one line that is safe to show, and "" for nothing: that
// the same call may have happened already, and that the arguments may not run as they read, since they have
// characters that can be taken for others, which [safetext.Line] escapes.
func (r Request) Caution() string {
	var known []string
	if !r.InDoubt.IsZero() {
		known = append(known, fmt.Sprintf("the same call, %v ago, may have happened: its outcome is unknown, and this one may do it again",
			time.Since(r.InDoubt).Round(time.Second)))
	}
	form, _ := canonical.AppendObject(nil, r.Arguments) // ambiguous ones are not sent
	if safetext.Doubtful(r.Tool.String()) || safetext.Doubtful(string(form)) || safetext.Doubtful(string(r.Extra)) {
		known = append(known, `it has characters that can be taken for others; they are written as \u and their number`)
	}
	return strings.Join(known, "; ")
}

// A Source is where one argument came from.
type Source = callstate.Source

// A Verdict is a person's answer. The zero value, and any that is not listed here, is a denial.
type Verdict uint8

// The verdicts.
const (
	Denied Verdict = iota
	Approved
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
	// Lifetime is how long an approval for always lasts, one of Request.Ends; zero, and more than the host's
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

// A Draft is one item that a call is to commit.
type Draft struct {
	ID     string
	Shown  string // what the tool answered: the server's text, escape it
	Digest string // SHA-256 of Shown, in hexadecimal
}

// ErrDenied is in the tree of every error that ends a call for want of an approval.
var ErrDenied = errors.New("hitl: denied")

// A DeniedError reports that a call was not made, and why.
type DeniedError struct {
	fault.Final

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

func (e *DeniedError) Unwrap() error { return e.Err }

var (
	errNoConfirmer = fault.Told(errors.New("the chain has no confirmer"), false,
		"it needs an approval, and this host has no way to ask for one. Tell the user, and do not call it again")
	errRevoked = fault.Plain("the approval that answered was taken back, or has ended; call it again to have it asked about")
)

// A storeError keeps the store's own words from a model.
type storeError struct{ err error }

func (storeError) Error() string   { return "it could not be written down; the log of the host says why" }
func (e storeError) Unwrap() error { return e.err }

// A PendingError ends the first leg of a call whose caller asks the person. A [Confirmer] that
// cannot wait returns one with what is to be asked and a state of its own. The client gets an
// input_required result and repeats the call with the answers: the Confirmer gets them, and
// its state, as Request.Input, under the same Request.ID.
//
// Until then, for Options.Timeout, the question is open in the store and counts as one of
// Options.MaxPending. Its first answer is its only one.
type PendingError struct {
	fault.Final

	Tool     *middleware.Tool // set by the middleware
	Requests mcp.InputRequestMap
	State    string // comes back with the answers; the client can read and alter it, so seal it
}

func (e *PendingError) Error() string {
	return fmt.Sprintf("hitl: %s waits for a person's answer; call it again with the input that is asked for", e.Tool)
}

// ForModel states that the model can do nothing.
func (e *PendingError) ForModel() string {
	return e.Tool.ModelName() + " was not called yet: it waits for the user's agreement. Do not call it again; tell the user."
}

// InputRequired returns what is asked, and what comes back with the answers.
func (e *PendingError) InputRequired() (requests mcp.InputRequestMap, state string) {
	return e.Requests, e.State
}

// A WaitingError ends a call whose question stays open; see Options.Patience.
type WaitingError struct {
	fault.Final

	Tool  *middleware.Tool
	Where string    // the person finds the question
	Until time.Time // when the question ends
}

func (e *WaitingError) Error() string {
	return fmt.Sprintf("hitl: %s waits for a person's answer %s until %s; the identical call takes the answer, once", e.Tool, e.Where, e.Until.UTC().Format(clock))
}

// ForModel returns where the question is open, until when, and what takes the answer.
func (e *WaitingError) ForModel() string {
	return fmt.Sprintf("%s was not called yet: it waits for the user's approval %s until %s. Tell the user. Once they have decided, make exactly the same call again: it takes their answer.",
		e.Tool.ModelName(), e.Where, e.Until.UTC().Format(clock))
}

const clock = "15:04 UTC"

// stateMark marks our states, apart from those of a server's tool.
const stateMark = "fairlead.hitl."

// answered takes apart the state of a call that answers a question of ours: the
// question's ID, which anybody may have made up, and what the confirmer gets.
func answered(in *middleware.Input) (id string, input *middleware.Input, ok bool) {
	if in == nil || !strings.HasPrefix(in.State, stateMark) {
		return "", nil, false
	}
	id, state, _ := strings.Cut(in.State[len(stateMark):], ".")
	return id, &middleware.Input{Responses: in.Responses, State: state}, true
}

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
