// Package note carries what the rooms say of one call, from where it is decided to
// the outer links that record it: the class as it was worked out further in, the
// person's yes, the attempts, and why the call was routed, repeated, remembered or
// not. It rides in the context, since a copy of the call made further in is not
// seen outside.
package note

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
)

// A Note is what has been said of one call so far. It is safe for concurrent use,
// and a nil Note takes everything and holds nothing. It is the context that carries
// it, which costs one allocation less.
type Note struct {
	context.Context

	mu sync.Mutex
	Reading
	readers []string

	// Room for what most calls need, so that it costs no allocations of its own.
	firstFacts   [4]Fact
	firstReaders [2]string
	firstEnd     without
}

// Value returns the note itself for the package's key.
func (n *Note) Value(k any) any {
	if k == (key{}) {
		return n
	}
	return n.Context.Value(k)
}

// A Reading is what a note held when it was read.
type Reading struct {
	// Tool is the call's as it was classed furthest in, nil where nobody classed it.
	Tool *middleware.Tool
	// Approval is the ID of the question that a person said yes to.
	Approval string
	// Attempts is how often the call was handed on by retry; 0 where there is none.
	Attempts int
	// Waited is how long the call waited for people.
	Waited time.Duration
	// Facts are the decisions in the order in which they were made.
	Facts []Fact
}

// A Fact is one decision of one room about the call.
type Fact struct {
	Room string // the kind of the link: "cache", "retry"
	What string // one of few words, fit for a metric: "hit", "miss"
	Why  string // for people; "" where What says it all
}

type key struct{}

// Begin returns a context with an empty note of its own.
func Begin(ctx context.Context) (context.Context, *Note) {
	n := new(Note)
	return n.begin(ctx), n
}

func (n *Note) begin(ctx context.Context) context.Context {
	n.Context, n.Facts, n.readers = ctx, n.firstFacts[:0], n.firstReaders[:0]
	return n
}

// Join returns a context with the call's note, for a reader that may not be the only
// one. It is a new one where there is none, and where there is one that a reader of
// the same kind has: that is the note of an enclosing call.
func Join(ctx context.Context, reader string) (context.Context, *Note) {
	return new(Note).Join(ctx, reader)
}

// Join is the function with a note at hand that nobody has used, for a reader that
// has room for it.
func (n *Note) Join(ctx context.Context, reader string) (context.Context, *Note) {
	if there := Of(ctx); there.admit(reader) {
		return ctx, there
	}
	ctx = n.begin(ctx)
	n.admit(reader)
	return ctx, n
}

func (n *Note) admit(reader string) bool {
	if n == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if slices.Contains(n.readers, reader) {
		return false
	}
	n.readers = append(n.readers, reader)
	return true
}

// Of returns the context's note, nil where nobody reads one.
func Of(ctx context.Context) *Note {
	n, _ := ctx.Value(key{}).(*Note)
	return n
}

// End returns a context without a note, for what is no longer part of the call.
func End(ctx context.Context) context.Context {
	n := Of(ctx)
	if n == nil {
		return ctx
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	end := &n.firstEnd
	if end.Context != nil { // the call is made again
		end = new(without)
	}
	end.Context = ctx
	return end
}

// without is a context whose note is over.
type without struct{ context.Context }

func (w *without) Value(k any) any {
	if k == (key{}) {
		return (*Note)(nil)
	}
	return w.Context.Value(k)
}

// Classed says which tool, and so which class, the call goes on with.
func (n *Note) Classed(tool *middleware.Tool) {
	n.write(func(r *Reading) { r.Tool = tool })
}

// Approved says to which question a person said yes.
func (n *Note) Approved(id string) {
	n.write(func(r *Reading) { r.Approval = id })
}

// Attempt counts one more attempt.
func (n *Note) Attempt() {
	n.write(func(r *Reading) { r.Attempts++ })
}

// Wait adds to how long the call has waited for people.
func (n *Note) Wait(d time.Duration) {
	n.write(func(r *Reading) { r.Waited += d })
}

// Say adds a decision.
func (n *Note) Say(room, what, why string) {
	n.write(func(r *Reading) { r.Facts = append(r.Facts, Fact{room, what, why}) })
}

// write is small, so that what nobody reads costs a comparison.
func (n *Note) write(f func(*Reading)) {
	if n != nil {
		n.locked(f)
	}
}

func (n *Note) locked(f func(*Reading)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(&n.Reading)
}

// Waited returns how long the call has waited for people so far.
func (n *Note) Waited() time.Duration {
	if n == nil {
		return 0
	}
	return n.waited()
}

func (n *Note) waited() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.Reading.Waited
}

// Read returns what the note holds now.
func (n *Note) Read() Reading { return n.ReadInto(nil) }

// ReadInto is Read for one who has room for the facts, of which most calls have few.
func (n *Note) ReadInto(room []Fact) Reading {
	if n == nil {
		return Reading{}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.Reading
	room = append(room, n.Facts...)
	r.Facts = room
	return r
}

// Attempts returns how often the call was handed on so far.
func (n *Note) Attempts() int {
	if n == nil {
		return 0
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.Reading.Attempts
}
