package doubt

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// storePatience bounds what is written to a store after a call, whose context may be done.
	storePatience = 5 * time.Second
	// maxOwed is how many entries are remembered that could not be removed from a store; others stay in doubt.
	maxOwed = 1000
)

// harmless reports whether a tool's calls are never in doubt.
func harmless(t *middleware.Tool) bool {
	return t.Safety() == annotation.Safe || t.Annotations.SafeToRetry()
}

// learn keeps which tool shows whether the calls of another have happened.
func (l *Ledger) learn(read string, of toolName) {
	if l.shared == nil || read == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shows[read] == nil {
		l.shows[read] = make(map[toolName]bool)
	}
	l.shows[read][of] = true
}

// shownBy returns the tools whose calls a read may show, of those that this process has seen.
func (l *Ledger) shownBy(read string) (all []toolName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.shows[read] {
		all = append(all, name)
	}
	return all
}

// sharedOf returns the entries that the store has of a scope and a tool.
func (l *Ledger) sharedOf(ctx context.Context, scope string, of toolName) (all []*entry, err error) {
	if l.shared == nil {
		return nil, nil
	}
	found, err := l.shared.Find(ctx, scope, of.server, of.tool)
	for _, e := range found {
		all = append(all, &entry{Entry: e, shared: true})
	}
	return all, err
}

// put enters calls into the store. Only a nil error means that other replicas hold them.
func (l *Ledger) put(ctx context.Context, all []*entry) error {
	for _, e := range all {
		if err := l.shared.Put(ctx, e.Entry); err != nil {
			return err
		}
	}
	l.mu.Lock()
	owed := l.owed
	l.owed = nil
	l.mu.Unlock()
	for _, e := range owed { // the store answers again
		l.remove(ctx, e)
	}
	return nil
}

// remove takes an entry out of the store, and reports whether it was there. If the store does not answer, the entry is
// removed later, and until then holds repetitions at other replicas.
func (l *Ledger) remove(ctx context.Context, e *entry) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storePatience)
	defer cancel()
	was, err := l.shared.Remove(ctx, e.Entry)
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.owed) < maxOwed {
			l.owed = append(l.owed, e)
		}
	}
	return was
}

// Intent returns a middleware that enters a call into the store of [Options].Ledger before it is made, and takes it out
// when its outcome is known: if this process is lost meanwhile, the call is in doubt at the others. Its place is inside
// the confirmation and outside the cache, such as the first of chain.Standard's PerCall, in a chain that has New with the
// same options. It passes all calls on if the ledger has no store.
func Intent(o Options) middleware.Middleware {
	d := o.doubter()
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		return &intent{doubter: d, next: next}
	}
}

type intent struct {
	*doubter

	next middleware.ToolCaller
}

func (i *intent) Describe() middleware.Description {
	return middleware.Description{Kind: "doubt intent", Next: i.next}
}

func (i *intent) CallTool(ctx context.Context, call middleware.Call) (res *mcp.CallToolResult, err error) {
	if i.Ledger.shared == nil || call.Tool == nil || harmless(call.Tool) {
		return i.next.CallTool(ctx, call)
	}
	ctx, state := callstate.Ensure(ctx)
	flight := newKey()
	effect, err := i.effectOf(state, &call)
	if err != nil {
		return nil, err
	}
	all := i.entriesOf(state, call, effect, flight)
	for _, e := range all {
		e.Replica = i.Ledger.replica
	}
	if err := i.Ledger.put(ctx, all); err != nil {
		i.Ledger.settle(ctx, all)
		return nil, &UnavailableError{Tool: call.Tool, Err: err}
	}
	state.Write(func(r *callstate.Record) { r.Flight = flight })
	err = middleware.OutcomeUnknown(call, errGone)
	defer func() {
		if !unknown(ctx, call, err) {
			i.Ledger.settle(ctx, all)
			state.Write(func(r *callstate.Record) { r.Flight = "" })
		}
	}()
	return fault.Call(ctx, i.next, call)
}

// entriesOf returns what is entered for a call: the effect that it had when it came, and those of the arguments that a person
// was asked about and of their edit, if they are others. The caller may have written over its arguments since.
func (d *doubter) entriesOf(state *callstate.State, call middleware.Call, effect, key string) (all []*entry) {
	effects := []string{effect}
	record := state.Record()
	for _, its := range [][]byte{record.Asked, record.Edited} {
		if call.Arguments = its; its == nil {
			continue
		}
		if other, err := d.effectOf(state, &call); err == nil && !slices.Contains(effects, other) {
			effects = append(effects, other)
		}
	}
	for n, its := range effects {
		all = append(all, d.newEntry(&call, its, key+string(rune('0'+n))))
	}
	return all
}

// enter enters a call whose outcome is unknown: into the store, or here as well if the store does not answer.
func (d *doubter) enter(ctx context.Context, call middleware.Call, effect string) {
	state := callstate.Of(ctx)
	all := d.entriesOf(state, call, effect, state.Record().Flight)
	for _, e := range all {
		if note(ctx, d.Logger, "in doubt", e, ""); d.Ledger.shared == nil {
			d.Ledger.enter(e)
		}
	}
	if d.Ledger.shared == nil {
		return
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), storePatience)
	defer cancel()
	if err := d.Ledger.put(within, all); err != nil {
		d.Logger.LogAttrs(ctx, slog.LevelWarn, "doubt: a call in doubt is held by this process alone, since the store does not answer", slog.Any("err", err))
		for _, e := range all {
			d.Ledger.enter(e)
		}
	}
}

// unknown reports whether the outcome of a call that is not harmless to repeat is unknown.
func unknown(ctx context.Context, call middleware.Call, err error) bool {
	if ctx.Err() != nil { // after the hand-over, if the error does not report that the call was not sent
		if tool := callstate.Of(ctx).Record().Tool; tool != nil {
			call.Tool = tool
		}
		err = middleware.OutcomeUnknown(call, err)
	}
	u, is := errors.AsType[*middleware.OutcomeUnknownError](err)
	return is && (u.Tool == nil || !u.Tool.Annotations.SafeToRetry())
}

// settleRead settles what a read of a scope has shown.
func (d *doubter) settleRead(ctx context.Context, call middleware.Call, began time.Time) {
	entity, name := d.Entity(call), call.Tool.String()
	shown := func(e *entry) bool {
		return e.Scope == call.Scope && e.Time.Before(began) && e.Replica == "" && (e.Read == name || e.Read == "" && d.Reads[e.Server+"/"+e.Tool] == name) &&
			(entity == "" || e.Effect == entityEffect(entity))
	}
	all := d.Ledger.match(shown)
	for _, of := range d.Ledger.shownBy(name) {
		found, _ := d.Ledger.sharedOf(ctx, call.Scope, of) // what is not found stays in doubt
		all = append(all, slices.DeleteFunc(found, func(e *entry) bool { return !shown(e) })...)
	}
	for _, e := range d.Ledger.settle(ctx, all) {
		note(ctx, d.Logger, "settled by a read", e, name)
	}
}
