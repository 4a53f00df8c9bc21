// Package callstate keeps what the packages of a chain know about one call: the record
// of what happened to it, its canonical arguments and their binding, its class, the
// approvals for it, the mark of its audit record and its place in a batch.
//
// A [State] travels in the context under the one key of this package. It is a context itself and never changes
// what an enclosing caller sees of grants, answers and classes: those hold further in only. The record and the
// canonical arguments are shared by all states of one call.
package callstate

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A State is what is known about a call at one point on its way. The nil State holds
// nothing and drops what it is given. All methods are safe for concurrent use.
type State struct {
	context.Context

	call  *shared // what all states of the call share; nil if its record is not read
	outer *State  // what this one was derived from: of the same call or an enclosing one
	over  bool    // the call was handed to its executor

	// What this state adds, nil for nothing: a *middleware.Tool (the class), *answer, Judge,
	// *Grant, Binding (audit's mark), limit, *middleware.Call (sent through the SDK), or
	// what another package keeps of the call. Everything else is looked up further out.
	added any
}

type key struct{}

// Value returns the state itself for the key of this package.
func (s *State) Value(k any) any {
	if k == (key{}) {
		return s
	}
	return s.Context.Value(k)
}

// nearest returns the innermost state of the context, of this call or an enclosing one.
func nearest(ctx context.Context) *State {
	s, _ := ctx.Value(key{}).(*State)
	return s
}

// Of returns the state of the call that ctx belongs to, nil if there is none or if the
// call has been handed to its executor.
func Of(ctx context.Context) *State {
	if s := nearest(ctx); s != nil && !s.over {
		return s
	}
	return nil
}

// derive returns a state further in, of the same call, which adds a fact.
func derive(ctx context.Context, added any) State {
	s := State{Context: ctx, outer: nearest(ctx), added: added}
	if s.outer != nil && !s.outer.over {
		s.call = s.outer.call
	}
	return s
}

// find returns the innermost fact of one type that matches, of enclosing calls as well. A nil match takes any.
func find[T any](s *State, match func(T) bool) (fact T, ok bool) {
	for ; s != nil; s = s.outer {
		if fact, ok := s.added.(T); ok && (match == nil || match(fact)) {
			return fact, true
		}
	}
	return fact, false
}

type shared struct {
	mu      sync.Mutex
	record  Record
	readers []string
	facts   *facts // nil until the first of them is needed

	// Space for most calls.
	decisions [4]Decision
	names     [3]string
	left      State
}

// A Root is the first state of a call. A package that keeps something for each call
// embeds one, which saves an allocation.
type Root struct {
	State

	own shared
}

// Begin returns the first state of a call, with a record of its own.
func Begin(ctx context.Context) *State { return new(Root).begin(ctx) }

func (r *Root) begin(ctx context.Context) *State {
	r.own.record.Decisions, r.own.readers = r.own.decisions[:0], r.own.names[:0]
	r.State = State{Context: ctx, outer: nearest(ctx), call: &r.own}
	return &r.State
}

// Ensure returns the state of the call, a new one if it has none with a record, and the
// context that carries it.
func Ensure(ctx context.Context) (context.Context, *State) {
	if s := Of(ctx); s.HasRecord() {
		return ctx, s
	}
	s := Begin(ctx)
	return s, s
}

// Join returns the state of the call for a reader of its record, and the context that
// carries it. It makes r that state if the context has none, or if a reader of the same name has joined that one,
// which then belongs to an enclosing call.
func (r *Root) Join(ctx context.Context, reader string) (context.Context, *State) {
	if s := Of(ctx); s.admit(reader) {
		return ctx, s
	}
	s := r.begin(ctx)
	s.admit(reader)
	return s, s
}

func (s *State) admit(reader string) bool {
	if s == nil || s.call == nil {
		return false
	}
	s.call.mu.Lock()
	defer s.call.mu.Unlock()
	if slices.Contains(s.call.readers, reader) {
		return false
	}
	s.call.readers = append(s.call.readers, reader)
	return true
}

// Enter returns the context of a call that enters a chain, with a new state unless ctx has that of a call of
// the same tool. Judge classifies arguments that a person edits; nil for nothing that does.
func Enter(ctx context.Context, call *middleware.Call, judge Judge) context.Context {
	if s := Of(ctx); s.HasRecord() && s.call.same(call.Tool) {
		if judge == nil {
			return ctx
		}
		return WithJudge(ctx, judge)
	}
	s := Begin(ctx)
	s.call.record.Tool = call.Tool
	if judge != nil {
		s.added = judge
	}
	return s
}

// same reports whether the record is that of a call of the tool, or of a call without a tool.
func (c *shared) same(tool *middleware.Tool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	have := c.record.Tool
	return have == nil || tool != nil && have.Server == tool.Server && have.Name() == tool.Name()
}

// Leave returns the context for the executor of the call. A call that the executor makes has a state of its own.
func Leave(ctx context.Context) context.Context {
	s := Of(ctx)
	if s == nil || s.call == nil && JudgeOf(ctx) == nil {
		return ctx
	}
	if s.call != nil {
		s.call.mu.Lock()
		defer s.call.mu.Unlock()
		if left := &s.call.left; left.Context == nil { // it has not been made before
			*left = State{Context: ctx, outer: s, over: true}
			return left
		}
	}
	return &State{Context: ctx, outer: s, over: true}
}

// WithSent returns a context for what sends the call through the SDK.
func WithSent(ctx context.Context, call *middleware.Call) context.Context {
	s := derive(ctx, call)
	s.over, s.call = true, nil
	return &s
}

// Sent returns the ID and the scope of the call that an executor further out is sending, for a chain beneath a
// session of the SDK, whose types do not carry them.
func Sent(ctx context.Context) (id, scope string) {
	if call, ok := find[*middleware.Call](nearest(ctx), nil); ok {
		return call.ID, call.Scope
	}
	return "", ""
}

// Pass makes r the state of the call for a reader of its record, and has it carry what
// the reader keeps of the call.
func (r *Root) Pass(ctx context.Context, reader string, kept any) {
	if ctx, joined := r.Join(ctx, reader); joined != &r.State {
		r.State = derive(ctx, nil)
	}
	r.added = kept
}

// Kept returns what a package keeps of the call, or of an enclosing one, as a value of its
// own type that matches.
func Kept[T any](ctx context.Context, match func(T) bool) (T, bool) {
	return find(nearest(ctx), match)
}

// Keep returns a context that carries what a package keeps of the call, as a value of a type of its own.
func Keep(ctx context.Context, kept any) context.Context {
	s := derive(ctx, kept)
	return &s
}

// Own returns the innermost of what a package keeps of the call, and not of an enclosing one.
func Own[T any](ctx context.Context) (kept T, ok bool) {
	for s := Of(ctx); s != nil && !s.over; s = s.outer {
		if kept, ok := s.added.(T); ok {
			return kept, true
		}
	}
	return kept, false
}

// Sending returns the state of the call that is handed to its executor, nil without one. Facts about its arguments
// are still valid.
func Sending(ctx context.Context) *State {
	s := nearest(ctx)
	if s != nil && s.over {
		s = s.outer
	}
	return s
}

// A Record is what has happened to a call so far.
type Record struct {
	// Tool is the tool as it was classified furthest in, nil if nothing classified it.
	Tool     *middleware.Tool
	Approval Approval
	// InDoubt is when a call with the same effect was made that may have happened, zero for none.
	InDoubt time.Time
	// By names the person who decided last, and Via the way on which the person was asked, both as the confirmer
	// reports them.
	By, Via string
	// Edited are the arguments as a person edited them, nil if they are unchanged.
	Edited []byte
	// Asked are the arguments that a person was to be asked about, a copy that the caller cannot change.
	Asked []byte
	// Attempts is how often the call was handed on by retry, 0 without one.
	Attempts int
	// Waited is how long the call waited for people.
	Waited time.Duration
	// Replica is the one that was called last, "" without routing.
	Replica string
	// Cached is true if the result is an earlier one, or that of another caller.
	Cached bool
	// Age is how old a cached result is, 0 for that of a call in flight, and Freshness how long it stays true.
	Age       time.Duration
	Freshness annotation.Freshness
	// Sources are where the arguments came from, nil unless package flow traced them.
	Sources []Source
	// Decisions are in the order of time.
	Decisions []Decision
}

// An Approval is how a call was approved; the zero value is not approved.
type Approval struct {
	ID       string // of the question, under which the store of approvals has it
	By       string // who approved, as the confirmer named the person
	Standing bool   // by a remembered approval
}

// A Decision is one decision about the call.
type Decision struct {
	Stage string // the kind of the middleware: "cache", "retry"
	What  string // one of few words, fit for a metric: "hit", "miss"
	Why   string // for people; "" if What is enough
}

// Memory returns in words what a decision about a hit of the cache leaves out, and why a call was observed, "" for
// others: words are made only for a reader.
func (r *Record) Memory(d Decision) string {
	if d.Stage == "observe" {
		return d.Why
	}
	if d.Stage != "cache" || d.What != "hit" {
		return ""
	}
	return fmt.Sprintf("from the cache, %v old, %s", r.Age.Round(time.Millisecond), cmp.Or(r.Freshness, annotation.Volatile))
}

// Decide adds a decision.
func (s *State) Decide(stage, what, why string) {
	s.Write(func(r *Record) { r.Decisions = append(r.Decisions, Decision{stage, what, why}) })
}

// HasRecord reports whether anything reads the record. Text for it need not be made otherwise.
func (s *State) HasRecord() bool { return s != nil && s.call != nil }

// Write changes the record by f, if anything reads it. It is small, so that a call without one costs a comparison.
func (s *State) Write(f func(*Record)) {
	if s.HasRecord() {
		s.call.write(f)
	}
}

func (c *shared) write(f func(*Record)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.record)
}

// Record returns what has happened so far. Its decisions are read-only.
func (s *State) Record() (r Record) {
	s.Write(func(now *Record) {
		r = *now
		r.Decisions = slices.Clip(r.Decisions) // later ones are written behind these
	})
	return r
}

// Tool returns the tool as it was classified furthest in, and tool if nothing did.
func (s *State) Tool(tool *middleware.Tool) *middleware.Tool {
	s.Write(func(r *Record) {
		if r.Tool != nil {
			tool = r.Tool
		}
	})
	return tool
}

// Last returns the last decision of a stage, the zero value without one.
func (r *Record) Last(stage string) Decision {
	for _, d := range slices.Backward(r.Decisions) {
		if d.Stage == stage {
			return d
		}
	}
	return Decision{}
}

// A Source is where one argument of a call came from, as package flow found it. All its texts are safe to show.
type Source struct {
	Argument string `json:"argument"` // its place in the arguments: "recipient", "flights[0].date"
	Kind     string `json:"kind"`     // what it means to the tool: "account", "url"
	Value    string `json:"-"`        // the argument, cut
	// From is "user", "host", "result" or "unknown".
	From string `json:"from"`
	// Tool, Call and Ago name the result: its tool as "server/tool", the ID of its call, and
	// how many calls ago it came.
	Tool    string `json:"tool,omitempty"`
	Call    string `json:"call,omitempty"`
	Ago     int    `json:"ago,omitempty"`
	Trusted bool   `json:"trusted,omitempty"` // the host trusts the tool's results
	How     string `json:"how,omitempty"`     // how the result has the value if not as it is: "encoded", "in two parts"
	Around  string `json:"-"`                 // the text around the value
	Rule    string `json:"rule,omitempty"`    // the rule that asks about the argument
	Note    string `json:"-"`                 // what else there is to say
}

// String returns the source on one line.
func (s Source) String() string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(s.Argument+" "+s.Value) + ": ")
	switch s.From {
	case "user":
		b.WriteString("from you")
	case "host":
		b.WriteString("from the host")
	case "result":
		trust := "untrusted"
		if s.Trusted {
			trust = "trusted"
		}
		calls := "1 call"
		if s.Ago != 1 {
			calls = fmt.Sprintf("%d calls", s.Ago)
		}
		fmt.Fprintf(&b, "from %s, %s ago, %s", s.Tool, calls, trust)
		if s.How != "" {
			b.WriteString(", " + s.How)
		}
		b.WriteString("; not from you")
	default:
		b.WriteString("from nowhere known")
	}
	if s.Note != "" {
		b.WriteString(" (" + s.Note + ")")
	}
	if s.Around != "" {
		b.WriteString("; around it: " + s.Around)
	}
	return b.String()
}

// References returns sources without the texts of arguments and results.
func References(sources []Source) []Source {
	out := slices.Clone(sources)
	for i := range out {
		out[i].Value, out[i].Around, out[i].Note = "", "", ""
	}
	return out
}

// Raised reports whether a rule about the source of an argument asks about the call, or
// whether the same call may have happened already.
func (r *Record) Raised() bool {
	if !r.InDoubt.IsZero() {
		return true
	}
	return slices.ContainsFunc(r.Sources, func(s Source) bool { return s.Rule != "" })
}

// Observe is called with "form", "binding" or "lookup" each time that the canonical arguments or the binding of
// a call are computed or a catalog is consulted. It is for tests, which set it before the first call.
var Observe = func(string) {}

// A Binding is what an answer about a call covers: server, tool, definition, scope and the exact bytes of the
// arguments. An approval covers more; see [BindCall]. Names have their length before them and digests have one
// length, so that no two lists of parts give the same text.
type Binding [sha256.Size]byte

// facts are what was computed from the arguments that the call had last.
type facts struct {
	text []byte // a private copy, so that a change of the bytes is noticed; nil before the first

	form   []byte
	err    error
	formed bool
	given  bool // formRoom has been handed out

	binding             Binding
	bound               bool
	server, name, scope string
	digest              middleware.Digest

	textRoom, formRoom [maxInline]byte
}

// maxInline is how long arguments may be that need no allocation of their own.
const maxInline = 256

// of returns the facts of these arguments. The lock is held.
func (c *shared) of(arguments []byte) *facts {
	if c.facts == nil {
		c.facts = new(facts)
	}
	f := c.facts
	if f.text == nil || !bytes.Equal(f.text, arguments) {
		f.text = append(f.textRoom[:0], arguments...)
		f.formed, f.bound = false, false
	}
	return f
}

// Bind returns the binding of a call. If the record of the call is read, the binding is computed once, and again
// only after a change of the call.
func Bind(s *State, call *middleware.Call) Binding {
	if !s.HasRecord() {
		return bind(call)
	}
	s.call.mu.Lock()
	defer s.call.mu.Unlock()
	f, tool := s.call.of(call.Arguments), call.Tool
	if !f.bound || f.server != tool.Server || f.name != tool.Name() || f.scope != call.Scope || f.digest != tool.Digest {
		f.server, f.name, f.scope, f.digest = tool.Server, tool.Name(), call.Scope, tool.Digest
		f.binding, f.bound = bind(call), true
	}
	return f.binding
}

func bind(call *middleware.Call) Binding {
	Observe("binding")
	var array [1024]byte
	text := append(array[:0], call.Tool.Digest[:]...)
	for _, name := range [...]string{call.Tool.Server, call.Tool.Name(), call.Scope} {
		text = binary.LittleEndian.AppendUint64(text, uint64(len(name)))
		text = append(text, name...)
	}
	text = append(text, call.Arguments...) // last, so that its length is known
	return sha256.Sum256(text)
}

// Form returns the canonical form of the call's arguments, or an [*ArgumentsError] if they are not one
// unambiguous JSON object. The form is read-only. If the record of the call is read, it is computed once.
func Form(s *State, call *middleware.Call) ([]byte, error) {
	if !s.HasRecord() {
		return AppendForm(nil, s, call)
	}
	s.call.mu.Lock()
	defer s.call.mu.Unlock()
	f := s.call.of(call.Arguments)
	if !f.formed {
		Observe("form")
		into := f.formRoom[:0]
		if f.given {
			into = nil
		}
		f.form, f.err = canonical.AppendObject(into, call.Arguments)
		f.formed, f.given = true, true
	}
	if f.err != nil {
		return nil, &ArgumentsError{call.Tool, f.err}
	}
	return f.form, nil
}

// AppendForm appends the form to dst, as [Form] returns it.
func AppendForm(dst []byte, s *State, call *middleware.Call) ([]byte, error) {
	if s.HasRecord() {
		form, err := Form(s, call)
		return append(dst, form...), err
	}
	Observe("form")
	out, err := canonical.AppendObject(dst, call.Arguments)
	if err != nil {
		return dst, &ArgumentsError{call.Tool, err}
	}
	return out, nil
}

// An ArgumentsError reports arguments that the model wrote and can correct. Err reports that the call was not sent.
type ArgumentsError struct {
	Tool *middleware.Tool
	Err  error
}

func (e *ArgumentsError) Error() string {
	return fmt.Sprintf("the arguments of %s are refused: %v; send one JSON object, each member once", e.Tool, e.Err)
}

func (e *ArgumentsError) Unwrap() error { return e.Err }

func (e *ArgumentsError) ForModel() string {
	return fmt.Sprintf("The arguments for %s are refused: %v. Send one JSON object, each member once.", e.Tool.ModelName(), e.Err)
}

// transport reports whether a member of _meta is about one request's transport, which no approval covers.
func transport(name string) bool {
	switch name {
	case "progressToken", "traceparent", "tracestate", "baggage",
		mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities, "io.modelcontextprotocol/logLevel":
		return true
	}
	return false
}

// HasMeta reports whether there are members of _meta that are not the transport's.
func HasMeta(meta mcp.Meta) bool {
	for name := range meta {
		if !transport(name) {
			return true
		}
	}
	return false
}

// Extra returns what the call sends beside its arguments as one JSON object in canonical
// form, with the members _meta, inputResponses and requestState: nil for nothing. Members
// of _meta that are the transport's are left out.
func Extra(call *middleware.Call) (json.RawMessage, error) {
	var extra struct {
		Meta      map[string]any       `json:"_meta,omitempty"`
		Responses mcp.InputResponseMap `json:"inputResponses,omitempty"`
		State     string               `json:"requestState,omitempty"`
	}
	if HasMeta(call.Meta) {
		extra.Meta = maps.Clone(call.Meta)
		maps.DeleteFunc(extra.Meta, func(name string, _ any) bool { return transport(name) })
	}
	if call.Input != nil {
		extra.Responses, extra.State = call.Input.Responses, call.Input.State
	}
	if extra.Meta == nil && len(extra.Responses) == 0 && extra.State == "" {
		return nil, nil
	}
	raw, err := json.Marshal(extra)
	if err == nil {
		raw, err = canonical.Append(nil, raw)
	}
	if err != nil {
		return nil, &extraError{err}
	}
	return raw, nil
}

// BindCall returns what an approval of the call is bound to: its binding and what it sends
// beside the arguments. A call for which that cannot be computed has a zero binding.
func BindCall(ctx context.Context, call *middleware.Call) Binding {
	b := Bind(Of(ctx), call)
	extra, err := Extra(call)
	switch {
	case err != nil:
		return Binding{}
	case extra == nil:
		return b
	}
	return sha256.Sum256(append(b[:], extra...))
}

type extraError struct{ err error }

func (e *extraError) Error() string {
	return fmt.Sprintf("the call's _meta or input cannot be sent as JSON: %v", e.err)
}
func (e *extraError) Unwrap() error   { return e.err }
func (e *extraError) NotSent() bool   { return true }
func (e *extraError) Permanent() bool { return true }

// A Grant is the approval of one call. It is good for one hand-over to the executor. It
// is returned only if the executor reports that the call was not carried out.
type Grant struct {
	State // the one that carries it, so that both are one piece

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
	g.State = derive(ctx, g)
	return &g.State, g
}

// Again returns the context for the executor, with an approval of its own for the same
// call, as long as this one lives: a chain further in guards the call with it.
func (g *Grant) Again(ctx context.Context) (context.Context, *Grant) {
	once := &Grant{binding: g.binding, expires: g.expires, edited: g.edited}
	once.State = derive(ctx, once)
	once.over, once.State.call = true, nil
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

// Find returns the innermost grant for exactly this call, whatever its state, nil without one.
func Find(ctx context.Context, call *middleware.Call) *Grant {
	s := nearest(ctx)
	if _, ok := find[*Grant](s, nil); !ok {
		return nil
	}
	want := BindCall(ctx, call)
	g, _ := find(s, func(g *Grant) bool { return g.binding == want })
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

// WithClass returns a context that carries the class which inference gave to a tool without a catalog. It holds for
// exactly this definition. Further in, the class of a tool can only be raised.
func WithClass(ctx context.Context, tool *middleware.Tool) context.Context {
	have, ok := find[*middleware.Tool](nearest(ctx), nil)
	if ok && have.Server == tool.Server && have.Name() == tool.Name() && have.Safety() < tool.Safety() {
		return ctx
	}
	return Keep(ctx, tool)
}

// Classified returns the tool that inference classified, if it is the one that the call
// names: the same definition of the same server.
func Classified(ctx context.Context, named *middleware.Tool) (*middleware.Tool, bool) {
	tool, ok := find[*middleware.Tool](nearest(ctx), nil)
	return tool, ok && tool.Server == named.Server && tool.Definition == named.Definition && tool.Digest == named.Digest
}

// An Over returns the annotations of one call from those of its tool. It is applied to the call's own annotations
// and, at the executor, to the accepted ones, so that a less strict copy of the tool gains nothing.
type Over func(annotation.Annotations) annotation.Annotations

// A Judge classifies a call by its arguments.
type Judge func(ctx context.Context, call middleware.Call) (*middleware.Tool, error)

type answer struct {
	binding Binding
	static  *middleware.Tool // without the answer
	found   annotation.Annotations
	over    Over
}

// WithAnswer returns a context that carries which class the call has with exactly its arguments, from a source
// that may lower it: the host's own rules, and a server that the host trusts. The call's tool is the static
// one, changed by over. Further in, an answer to the same call can only be raised.
func WithAnswer(ctx context.Context, call *middleware.Call, static *middleware.Tool, over Over) context.Context {
	a := &answer{binding: Bind(Of(ctx), call), static: static, found: call.Tool.Annotations, over: over}
	if have := answerTo(ctx, call); have != nil {
		if have.found.Safety() < a.found.Safety() {
			return ctx
		}
		a.static = have.static
	}
	return Keep(ctx, a)
}

// Answer gives a call the class that it has with exactly its arguments, and returns a context that carries it.
func Answer(ctx context.Context, call *middleware.Call, over Over) context.Context {
	static, tool := Static(ctx, call.Tool), *call.Tool
	tool.Annotations = over(tool.Annotations)
	call.Tool = &tool
	ctx = WithAnswer(ctx, call, static, over)
	Of(ctx).Write(func(r *Record) { r.Tool = call.Tool })
	return ctx
}

// JudgeBy returns a judge that classifies a call as the middleware does.
func JudgeBy(m middleware.Middleware) Judge {
	return func(ctx context.Context, call middleware.Call) (tool *middleware.Tool, err error) {
		call.Tool = Static(ctx, call.Tool) // not as it was with the arguments before
		_, err = m(middleware.ToolCallerFunc(func(_ context.Context, judged middleware.Call) (*mcp.CallToolResult, error) {
			tool = judged.Tool
			return &mcp.CallToolResult{}, nil
		})).CallTool(ctx, call)
		return tool, err
	}
}

// WithJudge returns a context that carries a judge for arguments that a person edits.
func WithJudge(ctx context.Context, judge Judge) context.Context { return Keep(ctx, judge) }

// JudgeAgain returns the call with the tool of the judge that the context carries, and as it
// is without one. Another tool is an error.
func JudgeAgain(ctx context.Context, call middleware.Call) (middleware.Call, error) {
	judge := JudgeOf(ctx)
	if judge == nil {
		return call, nil
	}
	tool, err := judge(ctx, call)
	switch {
	case err != nil:
		return call, fmt.Errorf("they cannot be classed: %w", err)
	case tool == nil || tool.Server != call.Tool.Server || tool.Name() != call.Tool.Name() || tool.Digest != call.Tool.Digest:
		return call, errors.New("they were classed as those of another tool")
	}
	call.Tool = tool
	return call, nil
}

// JudgeOf returns the judge that the context carries, nil without one.
func JudgeOf(ctx context.Context) Judge {
	judge, _ := Own[Judge](ctx)
	return judge
}

type limit func(*middleware.Tool) bool

// WithLimit returns a context for a caller that may use only the tools that sees returns
// true for, whichever executor of the catalog the call comes to.
func WithLimit(ctx context.Context, sees func(*middleware.Tool) bool) context.Context {
	return Keep(ctx, limit(sees))
}

// Sees reports whether the caller may use a tool.
func Sees(ctx context.Context, tool *middleware.Tool) bool {
	for s := Of(ctx); s != nil && !s.over; s = s.outer {
		if sees, ok := s.added.(limit); ok && !sees(tool) {
			return false
		}
	}
	return true
}

// Static returns a tool as it was before an answer about one call changed it, or the tool itself.
func Static(ctx context.Context, tool *middleware.Tool) *middleware.Tool {
	a, ok := find(nearest(ctx), func(a *answer) bool {
		return a.static.Server == tool.Server && a.static.Name() == tool.Name() && a.static.Digest == tool.Digest
	})
	if ok {
		return a.static
	}
	return tool
}

// Answered returns what preflight found about exactly this call.
func Answered(ctx context.Context, call *middleware.Call) (annotation.Annotations, bool) {
	if a := answerTo(ctx, call); a != nil {
		return a.found, true
	}
	return annotation.Annotations{}, false
}

// answerTo returns the answer to exactly this call, nil without one. Without any answer it computes no binding.
func answerTo(ctx context.Context, call *middleware.Call) *answer {
	s := nearest(ctx)
	if _, ok := find[*answer](s, nil); !ok {
		return nil
	}
	want := Bind(Of(ctx), call)
	a, _ := find(s, func(a *answer) bool { return a.binding == want })
	return a
}

// Judged returns the accepted tool as preflight's answer changes it for these arguments. An answer to a call
// that was changed after it counts only if it raises: what was found to be dangerous does not become safe by
// other bytes, another scope, server or definition. A call that must be recorded stays so.
func Judged(ctx context.Context, call *middleware.Call, accepted *middleware.Tool) *middleware.Tool {
	s := nearest(ctx)
	if _, ok := find[*answer](s, nil); !ok {
		return accepted
	}
	its := *call
	its.Tool = accepted
	tool := *accepted
	if exactly := answerTo(ctx, &its); exactly != nil {
		tool.Annotations = exactly.over(accepted.Annotations)
	} else {
		for ; s != nil; s = s.outer {
			if a, ok := s.added.(*answer); ok && a.static.Name() == tool.Name() && a.found.Safety() < tool.Safety() {
				tool.Annotations = annotation.Raise(tool.Annotations, a.found)
			}
		}
	}
	if accepted.Annotations.AuditRequired == annotation.Yes {
		tool.Annotations.AuditRequired = annotation.Yes
	}
	return &tool
}

// WithMark returns a context that carries audit's mark: exactly this call is recorded, before it is made.
func WithMark(ctx context.Context, call *middleware.Call) context.Context {
	return Keep(ctx, Bind(Of(ctx), call))
}

// Marked reports whether exactly this call is recorded.
func Marked(ctx context.Context, call *middleware.Call) bool {
	recorded, ok := find[Binding](nearest(ctx), nil)
	return ok && recorded == Bind(Of(ctx), call)
}
