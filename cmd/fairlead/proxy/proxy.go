// Package proxy is a chain between MCP clients and servers. Only tools/list and tools/call go through
// it; everything else passes.
package proxy

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/tail"
	"github.com/fairlead-go/fairlead/doubt"
	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/redact"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Server is behind the proxy: a URL, a command that speaks MCP on its standard streams, or a stream.
type Server struct {
	Name    string
	URL     string
	Header  map[string]string // of each request to the URL
	Command []string
	Env     []string // beside the proxy's own, "NAME=value"
	Dir     string   // "" is the proxy's own
	Stderr  *tail.Tail

	// Open returns a new connection to a server in this process; nil means a URL or a command.
	Open func() (io.ReadWriteCloser, error)
	// RoundTripper sends the requests to the URL; nil means a pool of connections.
	RoundTripper http.RoundTripper
}

// Options are the settings of [New].
type Options struct {
	// Servers are those behind the proxy, at least one.
	Servers []Server
	// Policy is what a person has decided, asked again for every call; nil decides nothing.
	Policy func() *policy.Policy
	// Confirm asks a person; nil denies what needs one.
	Confirm hitl.Confirmer
	// Waits returns where a person finds the question of a call that has ended, such as "on the approvals
	// page", and "" for a call that waits until its question ends. Nil means that all wait.
	Waits func(ctx context.Context) string
	// Share changes the options of middlewares before they are made, for what replicas share; nil is none.
	Share func(*cache.Options, *ratelimit.Options, *hitl.Options)
	// Audit gets a record of each call; nil records nothing.
	Audit audit.Sink
	// Doubt keeps the calls that may have happened; nil means a ledger in memory.
	Doubt *doubt.Ledger
	// Telemetry measures calls; nil measures nothing.
	Telemetry Telemetry
	// Lock pins the tools' definitions; nil takes what is listed.
	Lock *pins.Lock
	// Trust lets the declarations of all servers lower a class; by default they only raise it.
	Trust bool
	// ReadOnly shows the Safe tools alone.
	ReadOnly bool
	// Annotate lists the tools with the hints that count here, and beside them what their servers declared;
	// the default passes definitions on as they were written.
	Annotate bool
	// Observe sends each call once and as it came, without a question, and records what would have been done. What
	// the policy denies stays denied.
	Observe bool
	// Scopes are what the clients may do; nil with the policy's unset means everything.
	Scopes []catalog.Scope
	// Access lets clients of other machines in; nil takes those of this machine alone.
	Access *access.Access
	// Page is the page of approvals, which Access serves below /approvals/; nil is none.
	Page http.Handler
	// Drain is how long calls that a server has may take to end once the proxy is to stop; 0 means none.
	Drain time.Duration
	// Stderr gets what the servers' processes write there; nil is os.Stderr.
	Stderr io.Writer
	// Logger gets the proxy's log; nil is silent.
	Logger *slog.Logger
}

// A Telemetry measures calls, attempts, and waits for a person, as contrib/otel does.
type Telemetry interface {
	Call(next middleware.ToolCaller) middleware.ToolCaller
	Attempt(next middleware.ToolCaller) middleware.ToolCaller
	Confirmer(next hitl.Confirmer) hitl.Confirmer
}

// A Proxy is a chain in front of servers, for any number of clients.
type Proxy struct {
	o       Options
	log     *slog.Logger
	explain middleware.Middleware
	late    time.Duration // after which one server is not waited for any more

	trail   *audit.Trail  // nil without a record
	tracker *flow.Tracker // of what each client's session got from where
	store   *cache.Store  // of what the servers have answered, whichever client asked
	random  string
	last    atomic.Int64

	mu      sync.Mutex
	current *plan
}

// An UnreachableError is returned for a server that cannot be reached or started.
type UnreachableError struct {
	Server string
	Err    error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("the server %q cannot be reached: %v", e.Server, redact.Error(e.Err)) // it may hold the server's last words
}

// Unwrap returns what was wrong.
func (e *UnreachableError) Unwrap() error { return e.Err }

// ballast counts as memory in use, so that the process of a proxy, which holds little, collects garbage at
// each 20 MB and not at each 4. Nothing is written to it, so that it takes no memory itself.
var ballast = sync.OnceValue(func() []byte { return make([]byte, 16<<20) })

// New returns a proxy. No server is started before there is a client.
func New(o Options) (*Proxy, error) {
	if len(o.Servers) == 0 {
		return nil, errors.New("proxy: name a server")
	}
	ballast()
	p := &Proxy{
		o: o, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), random: rand.Text()[:8], late: lateAfter,
		explain: output.New(output.Options{Logger: o.Logger}), store: cache.NewStore(cache.StoreOptions{Entries: 8000}),
		tracker: flow.NewTracker(flow.Limits{}),
	}
	p.o.Servers = slices.Clone(o.Servers)
	for i := range p.o.Servers {
		p.o.Servers[i].Stderr = &tail.Tail{Out: cmp.Or[io.Writer](o.Stderr, os.Stderr)}
	}
	if o.Telemetry != nil && o.Confirm != nil {
		p.o.Confirm = o.Telemetry.Confirmer(o.Confirm)
	}
	if o.Waits == nil {
		p.o.Waits = func(context.Context) string { return "" }
	}
	if o.Policy == nil {
		none := new(policy.Policy)
		p.o.Policy = func() *policy.Policy { return none }
	}
	if o.Doubt == nil {
		p.o.Doubt = doubt.NewLedger(doubt.LedgerOptions{Logger: o.Logger})
	}
	if o.Audit != nil {
		p.trail = audit.New(o.Audit, audit.Options{Logger: o.Logger})
	}
	if _, err := p.plan().newSet(access.Caller{}); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Proxy) plan() *plan {
	now := p.o.Policy()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil || p.current.policy != now {
		p.current = p.newPlan(now)
	}
	return p.current
}

// newID is an ID of a request of ours, which nobody else can guess.
func (p *Proxy) newID() json.RawMessage {
	return json.RawMessage(`"fairlead-` + p.random + "-" + strconv.FormatInt(p.last.Add(1), 10) + `"`)
}

// open opens a link to the server.
func (s Server) open(log *slog.Logger, to sink) (link, error) {
	switch {
	case s.URL != "":
		return newRemote(s, log, to), nil
	case s.Open != nil:
		return openStream(s, log, to)
	}
	return startChild(s, log, to)
}

// ServeLines serves one client, one message a line, until its input ends or ctx is done. Then no call is
// sent any more, and the answers of those that were sent are waited for, see [Options.Drain].
func (p *Proxy) ServeLines(ctx context.Context, in io.Reader, out io.Writer) error {
	w := newLineWriter(out)
	defer w.stop()
	reading, gone := context.WithCancel(context.WithoutCancel(ctx)) // what waits for a client that does not read would wait for ever
	defer gone()
	s, err := p.newSession("", access.Caller{}, func(m *message, _ string) {
		_ = w.send(reading, m) // a client that has gone gets no answer
	})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		ended <- eachMessage(in, s.fromClient, func([]byte) {
			p.log.WarnContext(ctx, "proxy: the client wrote something that is no message; it was left out")
		})
	}()
	select {
	case err = <-ended:
		if errors.Is(err, io.EOF) {
			err = nil
		}
	case <-ctx.Done():
		s.drain(p.o.Drain)
		defer time.AfterFunc(endPatience, gone).Stop()
		s.close(errStopping)
		w.finish(reading)
		return nil
	case <-s.ctx.Done():
		err = context.Cause(s.ctx)
	}
	gone()
	s.close(errClientGone)
	return err
}

// Relay connects a client, one message a line, with one server, and passes on every message as it is, until either ends
// or ctx is done. Each is shown first, one at a time in its direction. The error is about the server.
func Relay(ctx context.Context, s Server, in io.Reader, out, stderr io.Writer, log *slog.Logger, sent, received func([]byte)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s.Stderr = &tail.Tail{Out: stderr}
	w := newLineWriter(out)
	defer w.stop()
	back := func(m *message) {
		received(m.encode())
		_ = w.send(context.WithoutCancel(ctx), m) // a client that has gone gets no answer
	}
	l, err := s.open(log, sink{
		message: func(m *message, _ string) { back(m) },
		failed:  func(id string, err error) { back((&message{ID: []byte(id)}).failTo(wireError(err))) },
		ended: func(err error) {
			stop(fmt.Errorf("the server %q ended before its client did: %w%s", s.Name, err, s.Stderr.LastWords()))
		},
	})
	if err != nil {
		return &UnreachableError{Server: s.Name, Err: err}
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = eachMessage(in, func(m *message) {
			sent(m.encode())
			if err := l.send(ctx, m); err != nil && m.isRequest() {
				back(m.failTo(wireError(err)))
			}
		}, func([]byte) { log.WarnContext(ctx, "the client wrote something that is no message; it was left out") })
	}()
	select {
	case <-gone:
	case <-ctx.Done():
		if err = context.Cause(ctx); errors.Is(err, context.Canceled) {
			err = nil
		}
	}
	l.close() // after which the server has answered what it had
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	w.finish(late)
	return err
}

// A plan is the chain that a policy makes.
type plan struct {
	proxy    *Proxy
	policy   *policy.Policy
	standard chain.Standard
	will     func(*middleware.Tool) string // as the chain describes itself
}

const (
	// answerTime is how long a person has.
	answerTime = 15 * time.Minute
	// patience is how long a call waits for a person if Options.Waits names a place. Many clients give up
	// a request after a minute, which ends its question too.
	patience = 45 * time.Second
	// slowList is how long a server may take to list its tools.
	slowList = time.Minute
)

func (p *Proxy) newPlan(now *policy.Policy) *plan {
	log := p.o.Logger
	judge := preflight.New(preflight.Options{Rules: now.Arguments, Logger: log})
	ask := now.Approvals
	ask.Timeout = cmp.Or(ask.Timeout, answerTime)
	ask.Logger = log
	ask.Waiting = func(ctx context.Context, waited time.Duration) {
		if w, ok := ctx.Value(waitingKey{}).(waiter); ok {
			w.report(waited)
		}
	}
	ask.Patience = func(ctx context.Context) (time.Duration, string) {
		where := p.o.Waits(ctx)
		if w, _ := ctx.Value(waitingKey{}).(waiter); w.detaches || where == "" {
			return 0, ""
		}
		return cmp.Or(now.Patience, patience), where
	}
	limits, retries := now.Limits, now.Retry
	limits.Logger, retries.Logger = log, log
	limits.OneQuota = true // a client more is not a call more for the server
	remember := cache.Options{Store: p.store, Lifetime: now.Lifetime, Logger: log}
	p.store.Forget("*", "*") // another policy may have cached it for longer
	if p.o.Share != nil {
		p.o.Share(&remember, &limits, &ask)
	}
	std := chain.Standard{
		Preflight: chain.New(judge, now.Raise).Then,
		Flow:      flow.New(flow.Options{Tracker: p.tracker, Trusted: now.TrustsResults, Off: now.FlowOff}),
		Doubt:     doubt.New(doubt.Options{Ledger: p.o.Doubt, Trusted: func(server string) bool { return p.trusts(now, server) }, Logger: log}),
		Confirm:   hitl.New(now.Confirmer(p.o.Confirm), ask),
		Retry:     retry.New(retries),
		RateLimit: ratelimit.New(limits),
		Timeout:   timeout.New(now.Timeout),
		Cache:     cache.New(remember),
	}
	if now.Budget != nil {
		spend := *now.Budget
		spend.Logger = log
		std.Budget = budget.New(spend)
	}
	if now.OutputLimit > 0 {
		std.Output = output.New(output.Options{Limit: now.OutputLimit, Logger: log})
	}
	if t := p.o.Telemetry; t != nil {
		std.Telemetry, std.PerAttempt = t.Call, []middleware.Middleware{t.Attempt}
	}
	if p.trail != nil {
		std.Audit = p.trail
	}
	made := &plan{proxy: p, policy: now, standard: std}
	made.will = std.Describe().Will
	if p.o.Observe {
		made.standard.Observe = made.would
	}
	return made
}

// would is what is done with the calls of a tool.
func (p *plan) would(tool *middleware.Tool) string {
	words := strings.Split(p.will(p.policy.Raised(tool)), " · ")
	if v, _ := p.policy.Decide(tool.Server, tool.Name(), tool.Safety()); v == policy.Allow && words[0] == "ask first" {
		words[0] = "run, by the policy"
	}
	return strings.Join(words, " · ")
}

func (p *Proxy) trusts(now *policy.Policy, server string) bool {
	return p.o.Trust || slices.Contains(now.Trust, server)
}

// newSet is an empty catalogue with the chain in front of it, for a caller.
func (p *plan) newSet(caller access.Caller) (*set, error) {
	o := p.proxy.o
	c := catalog.New(catalog.Options{Timeout: slowList, Permission: p.permission, Lock: o.Lock, Logger: o.Logger})
	for _, s := range o.Servers {
		if p.proxy.trusts(p.policy, s.Name) {
			c.Trust(s.Name)
		}
	}
	err := p.policy.Apply(c)
	s := &set{viewer: c, plan: p, catalog: c, added: make(map[*server]bool), last: make(map[*server]*listing)}
	if err == nil && o.Scopes != nil {
		s.viewer, err = c.View(o.Scopes...)
	} else if err == nil && p.policy.Scopes != nil {
		s.viewer, err = c.View(p.policy.Scopes...)
	}
	if err == nil && caller.Limited {
		s.granted, err = c.View(granted(c, caller)...)
	}
	if err != nil {
		return nil, err
	}
	s.caller = p.standard.Then(s)
	return s, nil
}

// granted are the scopes of a caller; words of a token that are none, such as "openid", grant nothing.
func granted(c *catalog.Catalog, caller access.Caller) (all []catalog.Scope) {
	for _, word := range caller.Scopes {
		s := catalog.Scope{Permission: word}
		if _, err := c.View(s); err == nil {
			all = append(all, s)
		}
	}
	return all
}

// covers reports whether the scopes of the caller's token cover a tool.
func (s *set) covers(t *middleware.Tool) bool {
	if s.granted == nil {
		return true
	}
	_, ok := s.granted.Lookup(t.Server, t.Name())
	return ok
}

func (p *plan) scoped() bool { return p.proxy.o.Scopes != nil || p.policy.Scopes != nil }

// permission is what a caller of a tool needs: by the policy, or by the tool's class.
func (p *plan) permission(t *middleware.Tool) string {
	if needs := p.policy.Needs(t); needs != "" {
		return needs
	}
	byClass := map[annotation.Safety]string{annotation.Safe: ".read", annotation.Moderate: ".write"}
	return t.Server + cmp.Or(byClass[t.Safety()], ".danger")
}

// refusing returns a function that reports why a tool is neither shown nor called, nil if it is: by the caller's
// token, and by the policy as it is now, which may have changed while a person was reading.
func (s *set) refusing() func(*middleware.Tool) error {
	p := s.plan
	now := p.proxy.o.Policy()
	return func(t *middleware.Tool) error {
		v, rule := now.Decide(t.Server, t.Name(), t.Safety())
		var why, by string
		switch {
		case !s.covers(t):
			why, by = "the scopes of the caller's token do not cover it", "access"
		case v == policy.Deny:
			why, by = cmp.Or(rule.Reason, "the policy denies it"), now.At(rule.Line)
		case (p.proxy.o.ReadOnly || now.ReadOnly) && t.Safety() != annotation.Safe:
			why, by = "only what reads may be called here", "read-only"
		default:
			return nil
		}
		return &refusal{
			error: fmt.Errorf("proxy: the call of %s was refused (%s): %s; do not call it again", t, by, why),
			told:  fmt.Sprintf("%s was not called: %s. Do not call it again; tell the user.", t.ModelName(), why),
			by:    by,
		}
	}
}

// Admit refuses before anyone is asked, and again when the arguments have raised a call.
func (s *set) Admit(next middleware.ToolCaller) middleware.ToolCaller {
	return s.gate(s.viewer.Admit(next))
}

func (s *set) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return s.gate(s.viewer).CallTool(ctx, call)
}

func (s *set) gate(next middleware.ToolCaller) middleware.ToolCaller {
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		if call.Tool != nil { // the guard returns the error
			if err := s.refusing()(call.Tool); err != nil {
				return nil, err
			}
		}
		return next.CallTool(ctx, call)
	})
}

// Explain reports what a tool is, which rule decides, and what the chain does with its calls. add puts
// the tool's server into the catalog.
func (p *Proxy) Explain(add func(*catalog.Catalog) error, name string) (string, error) {
	plan := p.plan()
	set, err := plan.newSet(access.Caller{})
	if err != nil {
		return "", err
	}
	defer func() { _ = set.catalog.Close() }() // it has nothing to say
	if err := add(set.catalog); err != nil {
		return "", err
	}
	tool, err := set.catalog.Find(name)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(tool.Explain())
	b.WriteString(plan.policy.Explain(tool))
	will := plan.would(tool)
	if _, shown := set.Lookup(tool.Server, tool.Name()); set.refusing()(tool) != nil {
		will = "refuse"
	} else if !shown {
		will = "refuse, the scopes do not cover it"
	}
	fmt.Fprintf(&b, "  will: %s\n", will)
	return b.String(), nil
}

// A Fate is what is done with a call.
type Fate int

// The fates, in the order of strictness.
const (
	Allowed Fate = iota // it is made without a question
	Asked               // a person is asked first
	Refused             // it is neither made nor asked about
)

// A Trial runs recorded calls through the chain of a policy. Nothing is sent, and no person is asked. Anything that depends on
// other calls is left out: limits, budget, cache, retries and remembered approvals of a store.
type Trial struct {
	policy *policy.Policy
	sets   map[annotation.Safety]*set // a tool can have calls of several classes
	fate   Fate                       // of the call under way
}

// NewTrial returns a trial of a policy with the tools of the calls, which are tools of their classes, unless the
// policy itself classifies them.
func NewTrial(p *policy.Policy, calls []audit.Record) (*Trial, error) {
	still := *p
	still.Limits, still.Budget, still.Cache = ratelimit.Options{}, nil, nil
	t := &Trial{policy: p, sets: make(map[annotation.Safety]*set)}
	tools := make(map[annotation.Safety]map[string][]*mcp.Tool)
	var servers []Server
	for _, c := range calls {
		class := t.class(c)
		if tools[class] == nil {
			tools[class] = make(map[string][]*mcp.Tool)
		}
		if !slices.ContainsFunc(servers, func(s Server) bool { return s.Name == c.Server }) {
			servers = append(servers, Server{Name: c.Server})
		}
		if of := tools[class][c.Server]; !slices.ContainsFunc(of, func(tool *mcp.Tool) bool { return tool.Name == c.Tool }) {
			tools[class][c.Server] = append(of, recorded(c.Tool, class))
		}
	}
	if len(servers) == 0 {
		return nil, errors.New("the record has no calls")
	}
	proxy, err := New(Options{
		Servers: servers, Policy: func() *policy.Policy { return &still }, Trust: true,
		Audit: audit.SinkFunc(func(context.Context, audit.Record) error { return nil }),
		Confirm: hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			t.fate = Asked
			return hitl.Decision{}, errors.New("proxy: the call was only tried")
		}),
	})
	if err != nil {
		return nil, err
	}
	made := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		t.fate = Allowed
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	})
	for class, of := range tools {
		if t.sets[class], err = proxy.plan().newSet(access.Caller{}); err != nil {
			return nil, err
		}
		for server, all := range of {
			if err := t.sets[class].catalog.AddTools(server, made, all...); err != nil {
				return nil, fmt.Errorf("the recorded calls of server %q: %w", server, err)
			}
		}
	}
	return t, nil
}

// class is the recorded class of a call. It is Unknown if it followed from a rule over arguments, unless the policy
// has one too, and the arguments to apply it to are not recorded.
func (t *Trial) class(r audit.Record) (class annotation.Safety) {
	ruled := slices.ContainsFunc(r.Decisions, func(d audit.Decision) bool { return d.Stage == "preflight" && d.What == "rule" })
	if ruled && (Arguments(r) != nil || t.policy.Arguments[r.Server+"/"+r.Tool] == nil) || class.UnmarshalText([]byte(r.Class)) != nil {
		return annotation.Unknown
	}
	return class
}

// recorded is a tool that declares a class. That of an Unknown one may follow from its name instead, see Try.
func recorded(name string, class annotation.Safety) *mcp.Tool {
	tool := &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}
	a, known := map[annotation.Safety]annotation.Annotations{
		annotation.Safe:      annotation.ReadOnly(),
		annotation.Moderate:  {ReadOnly: annotation.No, Destructive: annotation.No, RequiresConfirmation: annotation.No},
		annotation.Dangerous: annotation.Destructive(),
	}[class]
	if !known {
		return tool
	}
	return annotation.Declare(tool, a)
}

// Try returns what is done with one of the calls, which has no arguments if they were not recorded.
func (t *Trial) Try(ctx context.Context, r audit.Record) (Fate, error) {
	class := t.class(r)
	tool, err := t.sets[class].catalog.Find(r.Server + "/" + r.Tool)
	if err != nil {
		return 0, fmt.Errorf("%s/%s: %w", r.Server, r.Tool, err)
	}
	inferred := tool.Annotations.SourceOf(annotation.ReadOnlyHint) == annotation.Inferred
	if class == annotation.Unknown && inferred && !tool.Safety().MustConfirm() { // the description, which is not recorded, said otherwise
		raised := *tool
		raised.Annotations = annotation.Raise(tool.Annotations, annotation.Annotations{RequiresConfirmation: annotation.Yes}.Attribute(annotation.Resolved, "the record"))
		tool = &raised
	}
	t.fate = Refused
	_, _ = t.sets[class].caller.CallTool(ctx, middleware.Call{Tool: tool, Arguments: Arguments(r)}) // it is in the fate
	if t.fate == Allowed && t.held(r) {
		return Asked, nil // which no rule answers, see policy.Confirmer
	}
	return t.fate, nil
}

// Arguments returns the arguments of a recorded call, nil if they were not recorded.
func Arguments(r audit.Record) json.RawMessage {
	if !strings.HasPrefix(string(r.Arguments), "{") {
		return nil
	}
	return r.Arguments
}

// Repeated reports whether a decision is that a person is asked about a call since it may have happened before.
func Repeated(d audit.Decision) bool { return d.Stage == "doubt" && d.What == "repeated" }

// held reports whether a call is asked about whatever a rule allows: it was in doubt, or an argument had an
// untrusted source that the policy does not trust either.
func (t *Trial) held(r audit.Record) bool {
	return slices.ContainsFunc(r.Decisions, Repeated) ||
		slices.ContainsFunc(r.Sources, func(s audit.Source) bool {
			server, tool, _ := strings.Cut(s.Tool, "/")
			return s.Rule != "" && !slices.Contains(t.policy.FlowOff, flow.Rule(s.Rule)) &&
				!slices.ContainsFunc(t.policy.Trusted, func(p policy.Pattern) bool { return p.Matches(server, tool) })
		})
}
