package hitl

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/hitl/internal/waiting"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/incoming"
	"github.com/fairlead-go/fairlead/internal/turn"
)

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
			return answer{decision: decision, err: err, offers: request.Offers, free: request.Free, previewed: request.Preview != nil}
		},
		Lost: answer{err: errors.New("the confirmer ended its goroutine")},
		Panicked: func(ctx context.Context, v any) answer {
			a.panicked(ctx, "hitl: the confirmer panicked", redact.Value{Call: q.call, Value: v})
			return answer{err: errors.New("the confirmer panicked; the log of the host has the stack")}
		},
		Left: func(ctx context.Context, got answer) bool { return a.leave(ctx, q, got) },
		Late: func(ctx context.Context, got answer) { a.late(ctx, q, got) },
	})
}

// maxInverse is how many bytes of the name of an inverse are shown.
const maxInverse = 120

func (a *asker) request(ctx context.Context, q query) Request {
	r := Request{
		ID: q.life.Asked.ID, Tool: q.call.Tool, Arguments: bytes.Clone(q.call.Arguments), CallID: q.call.ID, Scope: q.call.Scope, Input: q.input,
		Extra: bytes.Clone(q.extra), ClientIDs: callstate.ClientIDs(&q.call),
	}
	for _, d := range q.drafts {
		r.Drafts = append(r.Drafts, Draft(d))
	}
	record := callstate.Of(ctx).Record()
	r.InDoubt = record.InDoubt
	if !q.edited {
		r.Sources = slices.Clone(record.Sources) // the confirmer may be of the host
	}
	r.Anew = a.anew(ctx, q.call)
	if !a.drafts.Commits(q.call.Tool) && q.extra == nil && !record.Raised() && !r.Anew {
		a.memory.offer(ctx, q.call, &r)
	}
	r.Deadline, _ = ctx.Deadline()
	if a.About != nil {
		r.Why, r.Undo = a.About(ctx, q.call)
	}
	if a.Changes != nil {
		r.Changes = a.Changes(ctx, q.call)
	}
	if a.Preview != nil {
		r.Preview = a.Preview(ctx, q.call)
	}
	if a.Inverse != nil && r.Undo == "" {
		if by, ok := a.Inverse(ctx, q.call); ok {
			// The catalog knows the names alone, and not what the server keeps.
			r.Undo = "may be undone by " + safetext.Word(by.Server+"/"+by.Tool, maxInverse) + ", the opposite by its name"
			if by.Server == q.call.Tool.Server && by.Tool == q.call.Tool.Name() {
				r.Undo = "may be undone by " + safetext.Word(by.Server+"/"+by.Tool, maxInverse) + " the other way round"
			}
		}
	}
	if r.Client = clientOf(ctx); a.Client != nil {
		r.Client = cmp.Or(a.Client(ctx, q.call), r.Client)
	}
	if a.Caller != nil {
		r.Caller = a.Caller(ctx, q.call)
	}
	if a.Number != nil {
		r.Number = a.Number(ctx, q.call)
	}
	r.Asked = q.since
	r.Turn, r.Turns = turn.Of(ctx).Place()
	return r
}

// clientOf returns the client of an MCP server as it names itself, "" without one.
func clientOf(ctx context.Context) string {
	req := incoming.Of(ctx)
	if req == nil || req.Params == nil {
		return ""
	}
	info := req.ClientInfo()
	if info == nil {
		return ""
	}
	return strings.TrimSpace(info.Name + " " + info.Version)
}

// A GroupConfirmer is a [Confirmer] that can put several questions in one dialog. If it
// is given to [New], the calls of one batch (package batch) that need an approval are put
// to it together; one alone still goes to Confirm.
//
// ConfirmGroup returns the decision on each request, by its ID. A request that is missing is
// denied, an ID that was not asked about has no effect, and an error denies all. One with the
// verdict [Apart] was not shown, and goes to Confirm. The context
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
	decision, err := a.groups.Ask(ctx, ticket, request.ID, request, func(ctx context.Context, requests []Request) (map[string]Decision, error) {
		if len(requests) == 1 {
			return map[string]Decision{requests[0].ID: {Verdict: Apart}}, nil
		}
		return together.ConfirmGroup(ctx, requests)
	})
	if err == nil && decision.Verdict == Apart {
		return a.confirmer.Confirm(ctx, request)
	}
	return decision, err
}
