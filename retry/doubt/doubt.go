// Package doubt holds the repetition of a call that may have happened already.
//
// If the outcome of a call that is not harmless to repeat is unknown, the next call with the
// same effect is held: the model gets what is in doubt and which read shows it. If the model
// repeats the call, a person is asked, and sees when the first call was made.
package doubt

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/bounded"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of [New]. The zero value is ready.
type Options struct {
	// Ledger keeps what is in doubt, for every chain that has it; nil means a ledger in
	// memory for each value that New returns.
	Ledger *Ledger
	// Entity names what a call changes, such as "order 7". Calls of one tool with the
	// same entity have the same effect, whatever their arguments. Nil, or "", means that
	// calls with the same arguments have the same effect.
	Entity func(call middleware.Call) string
	// Reads name the tool that shows whether a call has happened, "server/tool" for each
	// "server/tool". A result of it that came from the server after the call settles the
	// doubt, and with an Entity only if the read has the same one or none. A tool without
	// an entry may name a tool of its own server in its _meta, under "io.github.fairlead-go/settledBy".
	Reads map[string]string
	// Trusted reports whether that member counts in the definitions of a server; nil means that it does not.
	Trusted func(server string) bool
	// Reconcile finds out whether a call has happened, when another with the same effect is to be made. An
	// error, a panic and no answer in 10 seconds mean that it is unknown. Nil means that it always is.
	Reconcile func(ctx context.Context, first Call, again middleware.Call) (Outcome, error)
	// Logger gets a line for each call that is in doubt, held or settled; nil is silent.
	Logger *slog.Logger
}

// readKey is the member of a tool's _meta that names the tool of the same server which
// shows whether a call has happened.
const readKey = "io.github.fairlead-go/settledBy"

// An Outcome is what [Options].Reconcile found out. The zero value is Unknown.
type Outcome uint8

// The outcomes.
const (
	Unknown     Outcome = iota
	Happened            // the call that repeats it is refused, once
	NotHappened         // the call that repeats it goes on
)

// New returns a middleware that holds the repetition of a call in doubt. Its place is
// outside the confirmation. Calls that are made at the same time do not hold each other.
func New(o Options) middleware.Middleware {
	d := o.doubter()
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		its := *d
		its.next = next
		return &its
	}
}

// doubter returns a doubter without a next, with the defaults of the options.
func (o Options) doubter() *doubter {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Ledger == nil {
		o.Ledger = NewLedger(LedgerOptions{Logger: o.Logger})
	}
	if o.Trusted == nil {
		o.Trusted = func(string) bool { return false }
	}
	if o.Entity == nil {
		o.Entity = func(middleware.Call) string { return "" }
	}
	asking := &bounded.Bound{Limit: 10 * time.Second, Name: "doubt: Options.Reconcile", Logger: o.Logger, Late: new(atomic.Uint64)}
	for of, read := range o.Reads {
		if server, tool, ok := strings.Cut(of, "/"); ok {
			o.Ledger.learn(read, toolName{server, tool})
		}
	}
	return &doubter{Options: o, asking: asking}
}

// A doubter holds a repetition once: the first time the model learns what is in doubt and which read shows it; after
// that a person decides, since the call is raised to one that needs an approval.
type doubter struct {
	Options

	next   middleware.ToolCaller
	asking *bounded.Bound
}

func (d *doubter) Describe() middleware.Description {
	return middleware.Description{Kind: "doubt", Next: d.next}
}

func (d *doubter) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	switch {
	case call.Tool == nil: // the guard refuses it
		return d.next.CallTool(ctx, call)
	case call.Tool.Safety() == annotation.Safe:
		return d.read(ctx, call)
	}
	ctx, state := callstate.Ensure(ctx)
	effect, err := d.effectOf(state, &call)
	if err != nil {
		return nil, err
	}
	first, err := d.Ledger.find(ctx, &call, effect)
	if err == nil {
		first, err = d.reconciled(ctx, call, first)
	}
	if err != nil {
		return nil, err
	}
	if len(first) == 0 {
		return d.make(ctx, call, effect, nil)
	}
	last := first[len(first)-1]
	if read := d.readOf(call.Tool); d.Ledger.hold(ctx, first, read) {
		err := &HeldError{Tool: call.Tool, Since: last.Time, Read: read}
		note(ctx, d.Logger, "held", last, err.Error())
		return nil, err
	}
	note(ctx, d.Logger, "repeated", last, "")
	state.Write(func(r *callstate.Record) { r.InDoubt = last.Time })
	ctx, call = raised(ctx, call, last.Time)
	return d.make(ctx, call, effect, first)
}

// newKey returns a key for entries of a call.
func newKey() string { return rand.Text() }

var errGone = errors.New("doubt: its goroutine has ended")

// make makes a call with an effect, and records what came of it even if its goroutine is ended.
func (d *doubter) make(ctx context.Context, call middleware.Call, effect string, first []*entry) (res *mcp.CallToolResult, err error) {
	err = middleware.OutcomeUnknown(call, errGone)
	defer func() { d.over(ctx, call, effect, first, res, err) }()
	return fault.Call(ctx, d.next, call)
}

// over enters a call whose outcome is unknown, and settles what it has repeated.
func (d *doubter) over(ctx context.Context, call middleware.Call, effect string, first []*entry, res *mcp.CallToolResult, err error) {
	switch {
	case unknown(ctx, call, err):
		d.Ledger.settle(ctx, first)
		d.enter(ctx, call, effect)
	case err == nil && !res.NeedsInput():
		for _, e := range d.Ledger.settle(ctx, first) {
			note(ctx, d.Logger, "settled by a person", e, callstate.Of(ctx).Record().By)
		}
	}
}

// newEntry returns the entry of a call, in the store under a key.
func (d *doubter) newEntry(call *middleware.Call, effect, key string) *entry {
	now := time.Now().UTC()
	return &entry{shared: d.Ledger.shared != nil, Entry: Entry{
		Call: Call{ID: call.ID, Scope: call.Scope, Server: call.Tool.Server, Tool: call.Tool.Name(), Time: now},
		Key:  key, Effect: effect, Read: d.readOf(call.Tool), Until: now.Add(d.Ledger.lifetime),
	}}
}

// reconciled asks the host about each call in doubt, and returns those that still are. The error holds a repetition.
func (d *doubter) reconciled(ctx context.Context, call middleware.Call, all []*entry) (open []*entry, err error) {
	if d.Reconcile == nil {
		return all, nil
	}
	for _, e := range all {
		outcome, err := bounded.Do(ctx, d.asking, func(ctx context.Context) (Outcome, error) { return d.Reconcile(ctx, e.Call, call) }, nil)
		switch {
		case ctx.Err() != nil:
			return nil, fault.GivenUp(ctx)
		case err != nil || outcome != Happened && outcome != NotHappened:
			open = append(open, e)
			continue
		case len(d.Ledger.settle(ctx, []*entry{e})) == 0:
			continue // by another call
		}
		if note(ctx, d.Logger, "settled by reconcile", e, ""); outcome == Happened {
			return nil, &HeldError{Tool: call.Tool, Since: e.Time, Happened: true}
		}
	}
	return open, nil
}

// read makes a call that reads, and settles what its result shows. The result must be the server's, of a read that began
// after the call in doubt.
func (d *doubter) read(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if d.Ledger.empty() && len(d.Ledger.shownBy(call.Tool.String())) == 0 {
		return d.next.CallTool(ctx, call)
	}
	ctx, state := callstate.Ensure(ctx)
	began := time.Now()
	res, err := d.next.CallTool(ctx, call)
	if err == nil && res != nil && !res.IsError && !res.NeedsInput() && !state.Record().Cached {
		d.settleRead(ctx, call, began)
	}
	return res, err
}

// readOf returns which tool shows whether a call has happened, as "server/tool", "" if none is known.
func (d *doubter) readOf(tool *middleware.Tool) (read string) {
	if read = d.Reads[tool.String()]; read != "" || tool.Definition == nil || !d.Trusted(tool.Server) {
		return read
	}
	if its, ok := tool.Definition.Meta[readKey].(string); ok && its != "" {
		read = tool.Server + "/" + its
		d.Ledger.learn(read, toolName{tool.Server, tool.Name()})
	}
	return read
}

// effectOf returns what calls of one tool with the same effect share.
func (d *doubter) effectOf(state *callstate.State, call *middleware.Call) (effect string, err error) {
	form, err := callstate.Form(state, call)
	if err != nil {
		return "", err
	}
	if entity := d.Entity(*call); entity != "" {
		return entityEffect(entity), nil
	}
	return effectBy('a', form), nil
}

// effectBy returns an effect of a kind: 'a' by the arguments, 'e' by the entity.
func effectBy(kind byte, what []byte) string {
	sum := sha256.Sum256(what)
	return string(kind) + base64.RawURLEncoding.EncodeToString(sum[:])
}

func entityEffect(entity string) string { return effectBy('e', []byte(entity)) }

// raised returns the call as one that a person is asked about.
func raised(ctx context.Context, call middleware.Call, since time.Time) (context.Context, middleware.Call) {
	if call.Tool.Safety().MustConfirm() {
		return ctx, call
	}
	ask := annotation.Annotations{RequiresConfirmation: annotation.Yes}.Attribute(annotation.Resolved, "")
	ask.Evidence[0].Word, ask.Evidence[0].Place = since.Format(time.RFC3339), "was a call with the same effect, which may have happened"
	ctx = callstate.Answer(ctx, &call, func(a annotation.Annotations) annotation.Annotations { return annotation.Raise(a, ask) })
	return ctx, call
}

func note(ctx context.Context, log *slog.Logger, what string, e *entry, why string) {
	callstate.Of(ctx).Decide("doubt", what, why)
	log.LogAttrs(ctx, slog.LevelInfo, "doubt: "+what, e.attrs()...)
}
