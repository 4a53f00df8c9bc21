package hitl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
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

type query struct {
	id       string
	call     middleware.Call
	extra    json.RawMessage // that is shown
	drafts   []drafts.Draft
	edited   bool              // an earlier answer made the call what it is
	input    *middleware.Input // of the second leg
	place    *waiting.Place
	since    time.Time // when the call began to wait
	began    time.Time
	deadline time.Time
	patience time.Duration          // of the call; 0 until the deadline
	where    string                 // the question is found when that is over
	asked    *waiting.Asked[answer] // nil before the confirmer is asked
	once     string                 // of the call, and of why it is asked about
}

type answer struct {
	decision Decision
	err      error
	offers   []Offer // that were shown
	free     Pattern // as well
}

type agreed struct {
	call     middleware.Call
	shown    annotation.Safety // the class that the person saw; an edit may have lowered it
	id       string            // of the approval
	by       string
	standing string // the remembered approval that answered, "" for a person
	until    time.Time
	drafts   []drafts.Draft // shown with it
	edited   bool           // by a person

	mu    sync.Mutex // for a middleware that leaves a goroutine behind
	spent bool       // recorded as consumed
}

var errSilent = errors.New("no answer in time")

// confirm puts the question to the confirmer, whose goroutine holds the place too.
func (a *asker) confirm(ctx context.Context, q query) *waiting.Asked[answer] {
	q.place.Hold()
	return waiting.Ask(ctx, waiting.Question[answer]{
		Deadline: q.deadline, Silent: errSilent, Outlives: q.patience > 0, Done: q.place.Leave,
		Put: func(ctx context.Context) answer {
			a.Logger.LogAttrs(ctx, slog.LevelInfo, "hitl: asked",
				slog.String("tool", q.call.Tool.String()), slog.String("class", q.call.Tool.Safety().String()))
			request := a.request(ctx, q)
			decision, err := a.ask(ctx, request)
			return answer{decision: decision, err: err, offers: request.Offers, free: request.Free}
		},
		Lost: answer{err: errors.New("the confirmer ended its goroutine")},
		Panicked: func(ctx context.Context, v any) answer {
			a.panicked(ctx, "hitl: the confirmer panicked", redact.Said{Call: q.call, Value: v})
			return answer{err: errors.New("the confirmer panicked; the log of the host has the stack")}
		},
		Left: func(ctx context.Context, got answer) bool { return a.leave(ctx, q, got) },
		Late: func(ctx context.Context, got answer) { a.late(ctx, q, got) },
	})
}

func (a *asker) request(ctx context.Context, q query) Request {
	r := Request{
		ID: q.id, Tool: q.call.Tool, Arguments: bytes.Clone(q.call.Arguments), CallID: q.call.ID, Scope: q.call.Scope, Input: q.input,
		Extra: bytes.Clone(q.extra),
	}
	for _, d := range q.drafts {
		r.Drafts = append(r.Drafts, Draft(d))
	}
	record := callstate.Of(ctx).Record()
	r.InDoubt = record.InDoubt
	if !q.edited {
		r.Sources = record.Sources
	}
	if !a.drafts.Commits(q.call.Tool) && q.extra == nil && !record.Raised() {
		a.offer(ctx, q.call, &r)
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
// ConfirmGroup returns the decision on each request, by its ID. A request that is missing is
// denied, an ID that was not asked about has no effect, and an error denies all. The context
// ends when no call waits for an answer; each request has its own Deadline.
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

// edit returns the call with the arguments that the person wrote, classified again by what classifies calls by
// their arguments in this chain. A tool with another name, server or digest, and an error, deny the call.
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
		return call, errors.New("they are empty; {} means none")
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
	return callstate.JudgeAgain(ctx, call)
}
