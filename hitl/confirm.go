package hitl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl/internal/drafts"
	"github.com/fairlead-go/fairlead/hitl/internal/waiting"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/turn"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/redact"
)

// A query is one question to a person.
type query struct {
	id       string
	call     middleware.Call
	extra    json.RawMessage // that is shown
	drafts   []drafts.Draft
	edited   bool              // an earlier answer made the call what it is
	input    *middleware.Input // of the second leg
	place    *waiting.Place
	began    time.Time
	deadline time.Time
	over     <-chan struct{} // closed when the outcome is recorded
}

type answer struct {
	decision Decision
	err      error
	offers   []Offer // that were shown
	late     *answer // one that came just when the time was over
}

// agreed is a call that was approved, as it was approved.
type agreed struct {
	call     middleware.Call
	shown    annotation.Safety // the class that the person saw; an edit may have lowered it
	id       string            // of the approval
	by       string
	standing bool // by a standing approval
	until    time.Time
	drafts   []drafts.Draft // shown with it
	edited   bool           // by a person

	mu    sync.Mutex // for a middleware that leaves a goroutine behind
	spent bool       // recorded as consumed
}

var errSilent = errors.New("no answer in time")

// confirm asks on a goroutine of its own, since a confirmer may ignore its context;
// that goroutine holds the place too. The answer counts only if it is there before the
// question ends.
func (a *asker) confirm(ctx context.Context, q query) answer {
	ctx, cancel := context.WithDeadlineCause(ctx, q.deadline, errSilent)
	defer cancel()
	answered := make(chan answer)
	q.place.Hold()
	go func() {
		got := answer{err: errors.New("the confirmer ended its goroutine")}
		defer func() {
			if v := recover(); v != nil {
				a.panicked(ctx, "hitl: the confirmer panicked", redact.Said{Call: q.call, Value: v})
				got = answer{err: errors.New("the confirmer panicked; the log of the host has the stack")}
			}
			q.place.Leave()
			select {
			case answered <- got:
			case <-q.over:
				a.late(ctx, q, got)
			}
		}()
		a.asked(ctx, &q.call)
		request := a.request(ctx, q)
		decision, err := a.ask(ctx, request)
		got = answer{decision: decision, err: err, offers: request.Offers}
	}()
	select {
	case got := <-answered:
		// Both at once: too late is too late, be it the question's end or the caller's.
		if deadline, _ := ctx.Deadline(); !time.Now().Before(deadline) {
			return answer{err: q.ended(ctx), late: &got}
		}
		return got
	case <-ctx.Done():
		return answer{err: context.Cause(ctx)}
	}
}

// ended returns why a question whose deadline has passed is over. The context's own
// timer may not have run yet.
func (q query) ended(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !time.Now().Before(q.deadline):
		return errSilent
	}
	return &middleware.NotSentError{Err: context.DeadlineExceeded} // the caller's time, not the question's
}

// request returns what the confirmer gets; the bytes are its own.
func (a *asker) request(ctx context.Context, q query) Request {
	r := Request{
		ID: q.id, Tool: q.call.Tool, Arguments: bytes.Clone(q.call.Arguments), CallID: q.call.ID, Scope: q.call.Scope, Input: q.input,
		Extra: bytes.Clone(q.extra),
	}
	for _, d := range q.drafts {
		r.Drafts = append(r.Drafts, Draft(d))
	}
	if !a.drafts.Commits(q.call.Tool) && q.extra == nil {
		r.Offers = a.offers(ctx, q.call)
	}
	r.Deadline, _ = ctx.Deadline()
	if a.About != nil {
		r.Why, r.Undo = a.About(ctx, q.call)
	}
	return r
}

// A GroupConfirmer is a [Confirmer] that can put several questions in one dialog. If it
// is given to [New], the calls of one batch (package batch) that need an approval are put
// to it together; one alone still goes to Confirm.
//
// ConfirmGroup returns the decision on each request, by its ID. A request that is missing
// is denied, an ID that was not asked about has no effect, and an error denies all. Each
// decision is good for its own request and nothing else, in any order. The context ends
// when no call waits for any of the answers; each request has its own Deadline, after
// which an answer to it has no effect.
type GroupConfirmer interface {
	Confirmer
	ConfirmGroup(ctx context.Context, requests []Request) (map[string]Decision, error)
}

// ask puts a question, together with the others of its turn if the confirmer can.
func (a *asker) ask(ctx context.Context, request Request) (Decision, error) {
	ticket := turn.Of(ctx)
	together, ok := a.confirmer.(GroupConfirmer)
	if ticket == nil || !ok || request.Input != nil {
		ticket.Asking()
		return a.confirmer.Confirm(ctx, request)
	}
	return a.groups.Ask(ctx, ticket, request.ID, request, func(ctx context.Context, requests []Request) (map[string]Decision, error) {
		if len(requests) == 1 {
			decision, err := together.Confirm(ctx, requests[0])
			return map[string]Decision{requests[0].ID: decision}, err
		}
		return together.ConfirmGroup(ctx, requests)
	})
}

// edit returns the call with the arguments that the person wrote, classified again by
// what classifies calls by their arguments in this chain. A tool with another name, server
// or digest, and an error, deny the call.
func (a *asker) edit(ctx context.Context, call middleware.Call, arguments json.RawMessage) (_ middleware.Call, err error) {
	defer func() {
		if v := recover(); v != nil {
			a.panicked(ctx, "hitl: the check of an edit panicked", redact.Said{Call: call, Value: v})
			err = errors.New("their check panicked; the log of the host has the stack")
		}
	}()
	before, _ := a.drafts.IDs(&call)
	call.Arguments = bytes.Clone(arguments)
	if len(bytes.TrimSpace(call.Arguments)) == 0 {
		return call, errors.New("they are empty; {} says that there are none")
	}
	if _, err := callstate.Form(callstate.Of(ctx), &call); err != nil {
		return call, fmt.Errorf("they cannot be sent: %w", err)
	}
	if after, err := a.drafts.IDs(&call); err != nil || !slices.Equal(before, after) {
		return call, errors.New("they name other drafts than were shown")
	}
	if a.Validate != nil {
		if err := a.Validate(ctx, call.Tool, bytes.Clone(call.Arguments)); err != nil {
			return call, fmt.Errorf("they are not valid: %w", err)
		}
	}
	judge := callstate.JudgeOf(ctx)
	if judge == nil {
		return call, nil
	}
	tool, err := judge(ctx, call)
	switch {
	case err != nil:
		return call, fmt.Errorf("they cannot be classed: %w", err)
	case tool == nil || tool.Server != call.Tool.Server || tool.Name() != call.Tool.Name() || tool.Digest != call.Tool.Digest:
		return call, errors.New("they were classed as those of another tool")
	}
	call.Tool = tool
	return call, nil
}
