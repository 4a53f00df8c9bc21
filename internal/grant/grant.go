// Package grant holds what must be unforgeable on a call's way: a person's yes,
// bound to exactly what was shown, and the class that the host's own inference
// gave to a tool. Both ride in the context under keys that only the module's
// packages can reach, and both are read by the guard at the executor.
package grant

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
)

// A Grant is a person's yes to one call. It is good for one hand-over to the
// executor; it is given back only when the executor says that the call was not
// carried out.
type Grant struct {
	context.Context // the one that it was given in, so that both are one piece

	binding Binding
	expires time.Time
	state   atomic.Int32
	tame    bool   // the person saw a class that needs no yes, so it is none to a call that does
	edited  bool   // by a person, who made the arguments what they are
	outer   *Grant // an enclosing call's
	before  func(context.Context) error
}

const (
	unspent int32 = iota
	spent
	void
)

// A Binding is what was agreed to: server, tool, definition, scope and the exact
// bytes of the arguments. Names have their length before them and digests have
// one length, so that no two lists of parts give the same text.
type Binding [sha256.Size]byte

// Bind returns what a yes to this call is bound to. It allocates nothing while the
// names fit into the array.
func Bind(call *middleware.Call) Binding {
	var array [512]byte
	text := array[:0]
	for _, name := range [...]string{call.Tool.Server, call.Tool.Name(), call.Scope} {
		text = binary.LittleEndian.AppendUint64(text, uint64(len(name)))
		text = append(text, name...)
	}
	arguments := sha256.Sum256(call.Arguments)
	text = append(text, call.Tool.Digest[:]...)
	text = append(text, arguments[:]...)
	return sha256.Sum256(text)
}

type grantKey struct{}

// Give returns a context that carries a yes to call for the time given. The
// caller voids the grant when its call to next has returned.
func Give(ctx context.Context, call *middleware.Call, lifetime time.Duration) (context.Context, *Grant) {
	return GiveRecorded(ctx, call, call.Tool.Safety(), lifetime, nil)
}

// GiveRecorded is [Give] with the class that the person saw, and a func that runs each
// time the grant is about to be spent, before the call is handed over. Its error ends
// the grant, and the call.
func GiveRecorded(ctx context.Context, call *middleware.Call, shown annotation.Safety, lifetime time.Duration, before func(context.Context) error) (context.Context, *Grant) {
	g := give(ctx, Bind(call), time.Now().Add(lifetime), before)
	g.tame = !shown.MustConfirm()
	return g, g
}

func give(ctx context.Context, b Binding, expires time.Time, before func(context.Context) error) *Grant {
	outer, _ := ctx.Value(grantKey{}).(*Grant)
	return &Grant{Context: ctx, binding: b, expires: expires, outer: outer, before: before}
}

// Value makes the grant the context that carries it.
func (g *Grant) Value(key any) any {
	if key == (grantKey{}) {
		return g
	}
	return g.Context.Value(key)
}

// again returns a context with a yes of its own to the same call, as long as this
// one lives.
func (g *Grant) again(ctx context.Context) (context.Context, *Grant) {
	once := give(ctx, g.binding, g.expires, nil) // its use is written down already
	once.edited = g.edited
	return once, once
}

// Edit says that the arguments are a person's.
func (g *Grant) Edit() { g.edited = true }

// Edited reports whether a person made the arguments of exactly this call what they
// are.
func Edited(ctx context.Context, call *middleware.Call) bool {
	g := find(ctx, call)
	return g != nil && g.edited
}

// Covers reports whether the context carries a yes to exactly this call that can
// still be spent, so that nobody needs to be asked again.
func Covers(ctx context.Context, call *middleware.Call) bool {
	g := find(ctx, call)
	return g != nil && !g.tooTame(call.Tool) && g.state.Load() == unspent && time.Now().Before(g.expires)
}

// tooTame reports whether the yes was to a tamer class than the tool's.
func (g *Grant) tooTame(tool *middleware.Tool) bool { return g.tame && tool.Safety().MustConfirm() }

// find returns the innermost grant for this call, whatever its state.
func find(ctx context.Context, call *middleware.Call) *Grant {
	g, _ := ctx.Value(grantKey{}).(*Grant)
	if g == nil {
		return nil
	}
	for want := Bind(call); g != nil; g = g.outer {
		if g.binding == want {
			return g
		}
	}
	return nil
}

var errUsed = errors.New("the yes to it has been used or has expired; ask again")

// spend marks the grant as used. It fails where it was used before, is void, has
// expired, or where its use cannot be written down.
func (g *Grant) spend(ctx context.Context) error {
	if !time.Now().Before(g.expires) || !g.state.CompareAndSwap(unspent, spent) {
		return errUsed
	}
	if g.before == nil {
		return nil
	}
	if err := g.before(ctx); err != nil {
		g.Void()
		return err
	}
	if g.state.Load() != spent || !time.Now().Before(g.expires) { // writing takes time
		return errUsed
	}
	return nil
}

// giveBack makes a spent grant good for one more hand-over. A void one stays so.
func (g *Grant) giveBack() { g.state.CompareAndSwap(spent, unspent) }

// Void ends the grant for good.
func (g *Grant) Void() { g.state.Store(void) }

type classKey struct{}

// WithClass returns a context that says which class the host's own inference
// gave to a tool that no catalogue knows. It stands for exactly this definition.
// Further in, the class of a tool can only be raised.
func WithClass(ctx context.Context, tool *middleware.Tool) context.Context {
	if have, ok := ctx.Value(classKey{}).(*middleware.Tool); ok && have.Server == tool.Server &&
		have.Name() == tool.Name() && have.Safety() < tool.Safety() {
		return ctx
	}
	return context.WithValue(ctx, classKey{}, tool)
}

// Classed returns the tool that inference classed, if it is the one that the
// call names: the same definition of the same server.
func Classed(ctx context.Context, named *middleware.Tool) (*middleware.Tool, bool) {
	tool, ok := ctx.Value(classKey{}).(*middleware.Tool)
	if !ok || tool.Server != named.Server || tool.Definition != named.Definition || tool.Digest != named.Digest {
		return nil, false
	}
	return tool, true
}
