package callstate

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
)

// A Grant is the approval of one call. It is good for one hand-over to the executor. It
// is returned only if the executor reports that the call was not carried out.
type Grant struct {
	Point // the one that carries it, so that both are one piece

	binding Binding
	expires time.Time
	use     atomic.Int32
	mild    bool // given to a class that needs no approval, so it approves none that does
	edited  bool // the person changed the arguments
	before  func(context.Context) error
}

const (
	unused int32 = iota
	consumed
	void
)

// WithGrant returns a context that carries an approval of the call for the time given. The caller voids it when
// its call to next has returned. The person saw the class shown. If before is not nil it runs each time the
// grant is about to be consumed, before the call is handed over; an error of it ends the grant, and the call.
func WithGrant(ctx context.Context, call *middleware.Call, shown annotation.Safety, lifetime time.Duration, before func(context.Context) error) (context.Context, *Grant) {
	g := &Grant{binding: BindCall(ctx, call), expires: time.Now().Add(lifetime), mild: !shown.MustConfirm(), before: before}
	g.derive(ctx)
	g.holds.grant = g
	return &g.State, g
}

// Again returns the context for the executor, with an approval of its own for the same
// call, as long as this one lives: a chain further in guards the call with it. Its hand-overs are preceded by the same
// check, since they may be long after this one.
func (g *Grant) Again(ctx context.Context) (context.Context, *Grant) {
	once := &Grant{binding: g.binding, expires: g.expires, edited: g.edited, before: g.before}
	once.derive(ctx)
	once.holds.grant = once
	once.leave()
	return &once.State, once
}

// Edit records that a person changed the arguments.
func (g *Grant) Edit() { g.edited = true }

// Edited reports whether a person made the arguments of exactly this call what they are.
func Edited(ctx context.Context, call *middleware.Call) bool {
	g := Find(ctx, call)
	return g != nil && g.edited
}

// Covers reports whether the context carries an approval of exactly this call that can still be consumed, so that no
// person is asked again.
func Covers(ctx context.Context, call *middleware.Call) bool {
	g := Find(ctx, call)
	return g != nil && !g.TooMild(call.Tool) && g.use.Load() == unused && time.Now().Before(g.expires)
}

// TooMild reports whether the approval was given to a less strict class than the tool's.
func (g *Grant) TooMild(tool *middleware.Tool) bool { return g.mild && tool.Safety().MustConfirm() }

// Find returns the grant for exactly this call, whatever its state, nil without one.
func Find(ctx context.Context, call *middleware.Call) *Grant {
	g := nearest(ctx).within().grant
	if g == nil || g.binding != BindCall(ctx, call) {
		return nil
	}
	return g
}

var errUsed = errors.New("its approval has been used or has expired; ask again")

// Consume marks the grant as used. It fails if the grant was used before, is void, has
// expired, or if its use cannot be recorded.
func (g *Grant) Consume(ctx context.Context) error {
	if !time.Now().Before(g.expires) || !g.use.CompareAndSwap(unused, consumed) {
		return errUsed
	}
	if g.before == nil {
		return nil
	}
	if err := g.before(ctx); err != nil {
		g.Void()
		return err
	}
	if g.use.Load() != consumed || !time.Now().Before(g.expires) { // recording takes time
		return errUsed
	}
	return nil
}

// Return makes a consumed grant good for one more hand-over. A void one stays void.
func (g *Grant) Return() { g.use.CompareAndSwap(consumed, unused) }

// Void ends the grant for good.
func (g *Grant) Void() { g.use.Store(void) }
