package hitl

import (
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/middleware"
)

// Remember is for how long a yes stands. The zero value is for one call.
type Remember uint8

// How long a yes stands.
const (
	Once    Remember = iota // for this call alone
	Session                 // until Options.SessionLifetime is over or the process ends
	Always                  // until Options.AlwaysLifetime is over or the tool's definition changes
)

// A Pattern says which arguments a remembered yes covers: it names every member
// and its value, or a glob that fits it.
type Pattern = approvals.Pattern

// An Offer is something that may be remembered with a yes. It holds for calls of
// this scope, of this tool, while its definition and its class are the ones that
// were shown; each such call still gets a yes of its own, for one execution.
type Offer struct {
	Pattern Pattern  // nil means exactly these arguments
	Longest Remember // Session or Always
}

// String says what is offered, safe to show to a person.
func (o Offer) String() string {
	if o.Pattern == nil {
		return "exactly these arguments"
	}
	return "calls with " + o.Pattern.String()
}

// offers are what may be remembered of a call: nothing where the host allows
// nothing, where a definition has no digest, and of a commit, whose arguments do
// not hold what it does.
func (a *asker) offers(ctx context.Context, call middleware.Call, drafts bool) []Offer {
	if a.Remember == Once || drafts || call.Tool.Digest == (middleware.Digest{}) || a.drafts.commits(call.Tool) != nil {
		return nil
	}
	offers := []Offer{{Longest: a.Remember}}
	if a.Patterns == nil {
		return offers
	}
	for _, p := range a.Patterns(ctx, call) {
		if p.Covers(call.Arguments) {
			offers = append(offers, Offer{Pattern: slices.Clone(p), Longest: a.Remember})
		}
	}
	return offers
}

// remember writes down a yes that is to stand. What was not offered is not
// remembered, and the yes is for this call alone. An error is the store's.
func (a *asker) remember(ctx context.Context, approved middleware.Call, got answer) error {
	d := got.decision
	if d.Remember == Once || len(got.offers) == 0 {
		return nil
	}
	if d.Offer < 0 || d.Offer >= len(got.offers) || d.Remember > got.offers[d.Offer].Longest ||
		got.offers[d.Offer].Pattern != nil && !got.offers[d.Offer].Pattern.Covers(approved.Arguments) {
		a.Logger.LogAttrs(ctx, slog.LevelWarn, "hitl: what was to be remembered was not offered, so nothing is", slog.String("tool", approved.Tool.String()))
		return nil
	}
	s := approvals.Standing{
		ID: rand.Text(), Scope: approved.Scope, Server: approved.Tool.Server, Tool: approved.Tool.Name(), By: d.By,
		Definition: approved.Tool.Digest.String(), Class: approved.Tool.Safety().String(), Until: time.Now().Add(a.AlwaysLifetime),
	}
	if d.Remember == Session {
		s.Session, s.Until = a.session, time.Now().Add(a.SessionLifetime)
	}
	if s.Pattern = got.offers[d.Offer].Pattern; s.Pattern == nil {
		exact, err := approvals.ExactArguments(approved.Arguments)
		if err != nil {
			return err
		}
		s.Arguments = exact
	}
	return a.Store.Remember(context.WithoutCancel(ctx), s)
}

// standing answers for the person by a yes that stands, if there is one. Each such
// call is an approval of its own.
func (a *asker) standing(ctx context.Context, call middleware.Call) (yes *agreed, found bool, err error) {
	if a.Remember == Once || a.drafts.commits(call.Tool) != nil {
		return nil, false, nil
	}
	began := time.Now()
	remembered, err := a.Store.Remembered(ctx, call.Scope, call.Tool.Server, call.Tool.Name())
	if err != nil {
		a.Logger.LogAttrs(ctx, slog.LevelError, "hitl: the store failed, so a person is asked", slog.Any("err", err))
		return nil, false, nil
	}
	for _, s := range remembered {
		switch {
		case s.Definition != call.Tool.Digest.String():
			a.forget(ctx, call, s)
		case s.Session != "" && s.Session != a.session, s.Session == "" && a.Remember < Always, !s.Covers(call):
		default:
			yes, err := a.stands(ctx, call, s, began)
			return yes, true, err
		}
	}
	return nil, false, nil
}

// forget ends a yes to a definition that is no more: it does not come back with
// the definition.
func (a *asker) forget(ctx context.Context, call middleware.Call, s approvals.Standing) {
	err := a.Store.Forget(context.WithoutCancel(ctx), s.Scope, s.ID)
	a.Logger.LogAttrs(ctx, slog.LevelInfo, "hitl: the definition has changed, so a remembered yes is forgotten",
		slog.String("tool", call.Tool.String()), slog.Any("err", err))
}

func (a *asker) stands(ctx context.Context, call middleware.Call, s approvals.Standing, began time.Time) (*agreed, error) {
	id, until := rand.Text(), began.Add(a.Lifetime)
	if s.Until.Before(until) {
		until = s.Until
	}
	approved := approval(id, &call, nil, until)
	approved.State, approved.Standing, approved.By = approvals.Approved, s.ID, s.By
	if err := a.Store.Add(context.WithoutCancel(ctx), approved); err != nil {
		return nil, a.storeFailed(ctx, &call, err)
	}
	a.decided(ctx, &call, outcome{what: "remembered", by: s.By, took: time.Since(began)})
	return &agreed{call: call, shown: call.Tool.Safety(), id: id, by: s.By, standing: true, until: until}, nil
}
