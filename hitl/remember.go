package hitl

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/internal/habits"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/lifecycle"
	"github.com/fairlead-go/fairlead/middleware"
	lru "github.com/hashicorp/golang-lru/v2"
)

// A memory is what people have had remembered for the calls of one chain, and what they are offered to.
type memory struct {
	*Options

	habits  *habits.Habits
	session string // the name of the chain, under which approvals for the session are kept
	notes   journal
	known   *lru.Cache[[3]string, middleware.Digest] // of each scope and tool, the definition of the last call
}

// maxKnown is the maximum number of scopes and tools whose definition is kept.
const maxKnown = 10_000

func (o *Options) remembers(h *habits.Habits, notes journal) memory {
	known, _ := lru.New[[3]string, middleware.Digest](maxKnown) // its one error is a size below 1
	return memory{o, h, rand.Text(), notes, known}
}

// stands approves a call by a remembered approval, if there is one. Each such call is an approval of its own.
func (a *asker) stands(ctx context.Context, call middleware.Call) (yes *agreed, found bool, err error) {
	if a.drafts.Commits(call.Tool) || a.anew(ctx, call) { // arguments of a commit do not hold what it does
		return nil, false, nil
	}
	if extra, err := callstate.Extra(&call); extra != nil || err != nil {
		return nil, false, nil
	}
	if record := callstate.Of(ctx).Record(); record.Raised() { // the approval was given without these sources, or for it to happen once
		return nil, false, nil
	}
	began := time.Now()
	s, found := a.memory.find(ctx, call)
	if !found {
		return nil, false, nil
	}
	until := began.Add(a.Lifetime)
	if s.Until.Before(until) {
		until = s.Until
	}
	q := query{call: call, began: began, life: &life{Question: lifecycle.Question{Asked: entry(rand.Text(), &call, until)}}}
	q.life.Asked.Standing, q.life.Asked.By = s.ID, s.By
	answered, err := a.does(ctx, q, lifecycle.Caller, lifecycle.Answer, lifecycle.Reply{By: s.By})
	if errors.Is(answered.Err, approvals.ErrNoEffect) {
		return nil, false, nil // taken back since it was found
	}
	if err := reads(q, answered, err, nil); err != nil {
		return nil, true, err
	}
	return &agreed{query: q, call: call, shown: call.Tool.Safety(), by: s.By, until: until}, true, nil
}

// Remember is for how long an approval is remembered. The zero value is for one call.
type Remember uint8

// How long an approval is remembered.
const (
	Once    Remember = iota // for this call alone
	Session                 // until Options.SessionLifetime is over or the process ends
	Always                  // until Options.AlwaysLifetime is over or the tool's definition changes
)

// String returns "once", "session" or "always".
func (r Remember) String() string { return [...]string{"once", "session", "always"}[min(r, Always)] }

// A Pattern is which arguments a remembered approval covers: it names every member, with its
// value, a glob that fits it, or as one that may be anything.
type Pattern = approvals.Pattern

// An Offer is something that may be remembered with an approval. It holds for calls of
// this scope, of this tool, while its definition and its class are the ones that were
// shown; each such call still gets an approval of its own, for one execution.
type Offer struct {
	Pattern  Pattern // nil means exactly these arguments, unless Tool is set
	Tool     bool    // any arguments
	Longest  Remember
	Lifetime time.Duration // of Always

	SessionLifetime time.Duration // of Session
}

// String describes the offer, safe to show to a person.
func (o Offer) String() string {
	switch {
	case o.Tool:
		return "any arguments"
	case o.Pattern == nil:
		return "exactly these arguments"
	}
	return o.Pattern.String()
}

// offer puts into a request what may be remembered of a call: nothing if the host allows
// nothing, or if its definition has no digest.
func (m memory) offer(ctx context.Context, call middleware.Call, r *Request) {
	if m.Remember == Once || call.Tool.Digest == (middleware.Digest{}) {
		return
	}
	if m.OfferMembers {
		r.Free = approvals.FreeMembers(call.Arguments)
		r.Suggestion = m.habits.Suggestion(&call)
	}
	exact, _ := approvals.ExactArguments(call.Arguments)
	same := func(earlier json.RawMessage) bool {
		its, err := approvals.ExactArguments(earlier)
		return err == nil && its == exact
	}
	longest := m.longest(&call, same)
	if r.Suggestion != "" || longest < m.Remember && m.approvedBefore(ctx, &call) { // a suggestion names the members left free
		longest = m.Remember
	}
	r.Offers = []Offer{{Longest: longest, Lifetime: m.AlwaysLifetime, SessionLifetime: m.SessionLifetime}}
	if m.Patterns != nil {
		for _, p := range m.Patterns(ctx, call) {
			if p.Covers(call.Arguments) {
				r.Offers = append(r.Offers, Offer{
					Pattern: slices.Clone(p), Longest: m.longest(&call, p.Covers), Lifetime: m.AlwaysLifetime, SessionLifetime: m.SessionLifetime,
				})
			}
		}
	}
	if m.OfferTool {
		r.Offers = append(r.Offers, Offer{Tool: true, Longest: Session, SessionLifetime: m.SessionLifetime})
	}
	if slices.ContainsFunc(r.Offers, func(o Offer) bool { return o.Longest == Always }) {
		r.Lifetimes = approvals.Lifetimes(m.AlwaysLifetime)
	}
}

// longest returns for how long an offer may be remembered: for always only once the last calls of the tool, which it
// would have covered, were approved one by one.
func (m memory) longest(call *middleware.Call, covers func(json.RawMessage) bool) Remember {
	if m.Remember == Always && !m.AlwaysAtOnce && !m.habits.Cover(call, covers) {
		return Session
	}
	return m.Remember
}

// approvedBefore reports whether the store, which may be older than the process, has the approvals of the same call that
// are enough for always. It has hashes of exact bytes, so that another spelling of the same arguments does not count.
func (m memory) approvedBefore(ctx context.Context, call *middleware.Call) bool {
	history, ok := m.Store.(approvals.History)
	if !ok {
		return false
	}
	row, err := history.Approved(ctx, call.Scope, call.Tool.Server, call.Tool.Name())
	if err != nil {
		m.Logger.LogAttrs(ctx, slog.LevelError, "hitl: the store failed, so always is not offered", slog.Any("err", err))
		return false
	}
	now := entry("", call, time.Time{})
	return len(row) >= habits.Enough && !slices.ContainsFunc(row, func(a approvals.Approval) bool {
		return a.Arguments != now.Arguments || a.Definition != now.Definition || a.Class != now.Class || !safetext.SameName(a.By, row[0].By)
	})
}

// rule returns an approval that is to be remembered, nil for none. What was not offered is not
// remembered, and the approval is for this call alone.
func (m memory) rule(ctx context.Context, approved middleware.Call, got answer) *approvals.Standing {
	d := got.decision
	if d.Remember == Once || len(got.offers) == 0 {
		return nil
	}
	kept := approvals.Standing{
		ID: rand.Text(), Scope: approved.Scope, Server: approved.Tool.Server, Tool: approved.Tool.Name(), By: d.By,
		Definition: approved.Tool.Digest.String(), Class: approved.Tool.Safety().String(), Since: time.Now(),
		Until: time.Now().Add(min(cmp.Or(d.Lifetime, m.AlwaysLifetime), m.AlwaysLifetime)),
	}
	if d.Remember == Session {
		kept.Session, kept.Until = m.session, time.Now().Add(m.SessionLifetime)
	}
	if err := got.fill(&kept, approved); err != nil || !kept.Covers(approved) {
		m.Logger.LogAttrs(ctx, slog.LevelWarn, "hitl: what was to be remembered was not offered, so nothing is",
			slog.String("tool", approved.Tool.String()))
		return nil
	}
	return &kept
}

var errNotOffered = errors.New("it was not offered")

func (got answer) fill(kept *approvals.Standing, approved middleware.Call) (err error) {
	d := got.decision
	if d.Lifetime < 0 || d.Offer < 0 || d.Offer >= len(got.offers) || d.Remember > got.offers[d.Offer].Longest {
		return errNotOffered
	}
	switch o := got.offers[d.Offer]; {
	case len(d.Free) > 0:
		if d.Offer != 0 || d.Arguments != nil || len(got.free) == 0 { // the folders that were shown are those of the call
			return errNotOffered
		}
		kept.Pattern = approvals.WithFree(approved.Arguments, d.Free)
	case o.Pattern != nil:
		kept.Pattern = o.Pattern
	case o.Tool:
		kept.Arguments = approvals.AnyArguments
	default:
		kept.Arguments, err = approvals.ExactArguments(approved.Arguments)
	}
	return err
}

// candidates returns the remembered approvals that may cover the call. Those of other arguments are left out if the store
// can, but for the first call of a definition, which ends all of the definition before.
func (m memory) candidates(ctx context.Context, call middleware.Call) ([]approvals.Standing, error) {
	place := [3]string{call.Scope, call.Tool.Server, call.Tool.Name()}
	last, known := m.known.Get(place)
	exact, err := approvals.ExactArguments(call.Arguments)
	if err == nil && known && last == call.Tool.Digest {
		return approvals.Find(ctx, m.Store, place[0], place[1], place[2], exact)
	}
	all, err := m.Store.Remembered(ctx, place[0], place[1], place[2])
	if err == nil {
		m.known.Add(place, call.Tool.Digest)
	}
	return all, err
}

// find returns a remembered approval that covers the call. It ends those of a definition
// that has changed: they do not come back with the definition.
func (m memory) find(ctx context.Context, call middleware.Call) (approvals.Standing, bool) {
	if m.Remember == Once {
		return approvals.Standing{}, false
	}
	remembered, err := m.candidates(ctx, call)
	if err != nil {
		m.notes.notRead(ctx, &call, err) // and a person is asked
		return approvals.Standing{}, false
	}
	m.notes.read(ctx)
	for _, kept := range remembered {
		switch {
		case kept.Definition != call.Tool.Digest.String():
			err := m.Store.Forget(context.WithoutCancel(ctx), kept.Scope, kept.ID)
			m.Logger.LogAttrs(ctx, slog.LevelInfo, "hitl: the definition has changed, so a remembered yes is forgotten",
				slog.String("tool", call.Tool.String()), slog.Any("err", err))
		case kept.Session != "" && kept.Session != m.session, kept.Session == "" && m.Remember < Always, !kept.Covers(call):
		default:
			return kept, true
		}
	}
	return approvals.Standing{}, false
}
