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

// Remember is for how long an approval stands. The zero value is for one call.
type Remember uint8

// How long an approval stands.
const (
	Once    Remember = iota // for this call alone
	Session                 // until Optiona.SessionLifetime is over or the process ends
	Always                  // until Optiona.AlwaysLifetime is over or the tool's definition changes
)

// String returns "once", "session" or "always".
func (r Remember) String() string { return [...]string{"once", "session", "always"}[min(r, Always)] }

// A Pattern says which arguments a standing approval covers: it names every member and
// its value, or a glob that fits it.
type Pattern = approvals.Pattern

// An Offer is something that may be remembered with an approval. It holds for calls of
// this scope, of this tool, while its definition and its class are the ones that were
// shown; each such call still gets an approval of its own, for one execution.
type Offer struct {
	Pattern Pattern  // nil means exactly these arguments
	Longest Remember // Session or Always
}

// String describes the offer, safe to show to a person.
func (o Offer) String() string {
	if o.Pattern == nil {
		return "exactly these arguments"
	}
	return "calls with " + o.Pattern.String()
}

// offers returns what may be remembered of a call: nothing if the host allows nothing,
// or if its definition has no digest.
func (a *asker) offers(ctx context.Context, call middleware.Call) []Offer {
	if a.Remember == Once || call.Tool.Digest == (middleware.Digest{}) {
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

// remember records an approval that is to stand. What was not offered is not
// remembered, and the approval is for this call alone. An error is the store's.
func (a *asker) remember(ctx context.Context, approved middleware.Call, got answer) error {
	d := got.decision
	if d.Remember == Once || len(got.offers) == 0 {
		return nil
	}
	if d.Offer < 0 || d.Offer >= len(got.offers) || d.Remember > got.offers[d.Offer].Longest ||
		got.offers[d.Offer].Pattern != nil && !got.offers[d.Offer].Pattern.Covers(approved.Arguments) {
		a.Logger.LogAttrs(ctx, slog.LevelWarn, "hitl: what was to be remembered was not offered, so nothing is",
			slog.String("tool", approved.Tool.String()))
		return nil
	}
	kept := approvals.Standing{
		ID: rand.Text(), Scope: approved.Scope, Server: approved.Tool.Server, Tool: approved.Tool.Name(), By: d.By,
		Definition: approved.Tool.Digest.String(), Class: approved.Tool.Safety().String(), Until: time.Now().Add(a.AlwaysLifetime),
		Pattern: got.offers[d.Offer].Pattern,
	}
	if d.Remember == Session {
		kept.Session, kept.Until = a.session, time.Now().Add(a.SessionLifetime)
	}
	if kept.Pattern == nil {
		var err error
		if kept.Arguments, err = approvals.ExactArguments(approved.Arguments); err != nil {
			return err
		}
	}
	return a.Store.Remember(context.WithoutCancel(ctx), kept)
}

// find returns a standing approval that covers the call. It ends those of a definition
// that has changed: they do not come back with the definition.
func (a *asker) find(ctx context.Context, call middleware.Call) (approvals.Standing, bool) {
	if a.Remember == Once {
		return approvals.Standing{}, false
	}
	remembered, err := a.Store.Remembered(ctx, call.Scope, call.Tool.Server, call.Tool.Name())
	if err != nil {
		a.Logger.LogAttrs(ctx, slog.LevelError, "hitl: the store failed, so a person is asked", slog.Any("err", err))
		return approvals.Standing{}, false
	}
	for _, kept := range remembered {
		switch {
		case kept.Definition != call.Tool.Digest.String():
			err := a.Store.Forget(context.WithoutCancel(ctx), kept.Scope, kept.ID)
			a.Logger.LogAttrs(ctx, slog.LevelInfo, "hitl: the definition has changed, so a remembered yes is forgotten",
				slog.String("tool", call.Tool.String()), slog.Any("err", err))
		case kept.Session != "" && kept.Session != a.session, kept.Session == "" && a.Remember < Always, !kept.Covers(call):
		default:
			return kept, true
		}
	}
	return approvals.Standing{}, false
}
