// Package hook answers the hooks of coding agents: programs that an agent runs before and after each use of a tool. A
// call goes through the chain of a policy, as those of the proxy do, but the agent executes it: the chain waits at its
// executor until the agent reports the result, so that the record has the outcome and information flow the text. If the
// chain asks a person, the agent's own dialog may do so: the result that follows is its yes.
package hook

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry/doubt"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Verdict is the answer to an agent about a call. The zero Verdict denies.
type Verdict int

// The verdicts.
const (
	Deny   Verdict = iota // it is not made
	Ask                   // the agent asks its user
	Allow                 // it is made without a question
	Silent                // the agent decides by its own rules
)

// String returns the verdict as agents write it: "deny", "ask" or "allow", and "" for Silent.
func (v Verdict) String() string { return [...]string{"deny", "ask", "allow", ""}[v] }

// A Decision is a verdict with its reason, for the person and the model.
type Decision struct {
	Verdict Verdict
	Reason  string
}

// Options are the settings of [New].
type Options struct {
	// Policy returns what a person has decided, asked again for every call. An error is why that is not known now: each call
	// is denied with it, and an earlier policy does not count. Nil decides nothing.
	Policy func() (*policy.Policy, error)
	// Lock returns the definitions of MCP tools that were accepted, asked again for every call of one: a tool of a server
	// that has any is judged by its definition there, and asks if it has none. Nil, and a nil Lock, leave each tool to what its name gives away.
	Lock func() (*pins.Lock, error)
	// Confirm asks a person in the place of the agent's dialog; nil leaves the question to the agent, and denies where
	// an agent has no dialog for hooks.
	Confirm hitl.Confirmer
	// Store keeps remembered approvals; nil keeps none.
	Store approvals.Store
	// Audit gets a record of each call; nil records nothing.
	Audit audit.Sink
	// Doubt keeps the calls that may have happened; nil means a ledger in memory.
	Doubt *doubt.Ledger
	// Writes announces writes to the user's proxies, so that their caches hold nothing older; nil announces none.
	Writes *proxy.Writes
	// Proxied are the MCP servers that the agents reach through fairlead proxy, by the agents' names for them. The proxy
	// judges, asks about and records their calls, so nothing is decided about them here; their results are taken in.
	Proxied []string
	// Configured returns the files of an agent with an MCP server of that name, seen from the folder where it works,
	// and whether each of them starts fairlead proxy. A server is one of Proxied only if each does, and is judged by Lock
	// only if one file has it; the calls of another one ask. Nil takes each name for its server.
	Configured func(client, server, folder string) (files []string, proxied bool)
	// Observe allows what the policy does not deny, and records what would have been decided.
	Observe bool
	// Patience is how long an event waits for a decision; 0 means 50 seconds, since many agents give up after a minute.
	Patience time.Duration
	// Logger gets what goes wrong; nil is silent.
	Logger *slog.Logger
}

// A Guard decides about the calls of agents. It is safe for concurrent use.
type Guard struct {
	o    Options
	host *proxy.Host

	mu     sync.Mutex
	source *policy.Policy // of derived
	now    *policy.Policy // the policy with the rules for the agents' own tools
	open   []*pending     // calls whose result has not come, the oldest first
	seen   time.Time      // when the last event came
}

// dialogTime is how long the agent's dialog may stand open: its user may come back the next day. A call whose dialog is
// older may still be made, so its outcome is unknown then.
const dialogTime = 24 * time.Hour

// maxOpen is how many calls may wait for their results. Beyond it the oldest counts as lost.
const maxOpen = 4096

// New returns a guard.
func New(o Options) (*Guard, error) {
	g := &Guard{o: o}
	if g.o.Policy == nil {
		none := new(policy.Policy)
		g.o.Policy = func() (*policy.Policy, error) { return none, nil }
	}
	first, err := g.o.Policy()
	if err != nil {
		return nil, err
	}
	g.derive(first)
	g.o.Patience = cmp.Or(o.Patience, 50*time.Second)
	p, err := proxy.New(proxy.Options{
		Servers: []proxy.Server{{Name: "agent"}}, Policy: g.policy, Confirm: hitl.ConfirmerFunc(g.confirm), Audit: o.Audit, Doubt: o.Doubt, Writes: o.Writes, Observe: o.Observe, Logger: o.Logger,
		Share: func(_ *cache.Options, _ *ratelimit.Options, ask *hitl.Options) {
			ask.Store, ask.Client = o.Store, asking
		},
	})
	if err != nil {
		return nil, err
	}
	g.host = p.Host(middleware.ToolCallerFunc(g.execute), o.Confirm == nil)
	return g, nil
}

// policy returns the host's policy, with questions about writes too and the rules for the agents' own tools. While it has a
// mistake, before denies all calls, and what goes on is by the policy of before.
func (g *Guard) policy() *policy.Policy {
	source, err := g.o.Policy()
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil && g.source != source {
		g.derive(source)
	}
	return g.now
}

// derive makes the host's policy.
func (g *Guard) derive(source *policy.Policy) {
	derived := *source
	derived.Approvals.Writes = true
	derived.Approvals.MaxPending = maxOpen
	if g.o.Confirm == nil {
		derived.Approvals.Timeout = 2 * dialogTime // the call is given up before
	}
	derived.Arguments = rules()
	maps.Copy(derived.Arguments, source.Arguments)
	g.source, g.now = source, &derived
}

// A stage is how far a call came in the chain.
type stage struct {
	decision Decision
	class    annotation.Safety
	strict   bool // a person must see it, whatever the agent's mode is
}

type pendingKey struct{} // of a *pending

// againKey is the member of _meta that makes a call differ from an identical one whose result has not come.
const againKey = "io.github.fairlead-go/again"

// Handle answers an event of a client: with what is written on standard output, nothing if the agent is to decide by its
// own rules. An error means that the event could not be judged, so that a call must not be made.
func (g *Guard) Handle(ctx context.Context, client string, text []byte) ([]byte, error) {
	c, err := of(client)
	if err != nil {
		return nil, err
	}
	e, err := c.read(text)
	if err != nil {
		return nil, err
	}
	switch e.kind {
	case before:
		d, err := g.before(ctx, e)
		if err != nil {
			return nil, err
		}
		return c.answer(e, d), nil
	case permission:
		if g.permits(e) {
			return c.answer(e, Decision{Verdict: Allow}), nil
		}
	case after, failed:
		g.after(e) //nolint:contextcheck // it takes in what has happened
	case words:
		g.host.User(e.scope(), e.words)
	case ended:
		g.drop(func(p *pending) bool { return p.event.scope() == e.scope() && p.event.agent == e.agent })
		if e.name == "SessionEnd" || e.name == "sessionEnd" {
			g.host.End(e.scope())
		}
	}
	return nil, nil
}

// before decides about a call.
func (g *Guard) before(ctx context.Context, e *event) (Decision, error) {
	if g.proxied(e) {
		return Decision{Verdict: Silent}, nil
	}
	if _, err := g.o.Policy(); err != nil {
		return Decision{Deny, fmt.Sprintf("%s was not called: the policy cannot be used, and an earlier one does not count. Tell the user to correct it: %v", safetext.Line(e.tool), err)}, nil
	}
	server, tool, err := g.hosted(e)
	if err != nil {
		return Decision{}, err
	}
	arguments, err := e.arguments()
	if err != nil {
		return Decision{}, err
	}
	p := &pending{event: e, key: e.key(), reached: make(chan stage, 3), result: make(chan *mcp.CallToolResult, 1), done: make(chan struct{})}
	g.host.Known(e.folder)
	call := middleware.Call{ID: cmp.Or(e.call, rand.Text()), Scope: e.scope(), Arguments: arguments}
	inChain, stop := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), pendingKey{}, p))
	p.stop = stop
	if g.add(p) { // the chain would ask about both at once
		call.Meta = mcp.Meta{againKey: rand.Text()} // its ID may be that of the other one
	}
	go func() {
		defer close(p.done)
		defer stop()
		if _, err := g.host.Call(inChain, server, tool, safetext.Line(e.tool), call); err != nil {
			p.reached <- stage{decision: Decision{Deny, output.Text(output.Failure(nil, err))}}
		}
		g.remove(p)
	}()
	late := time.NewTimer(g.o.Patience)
	defer late.Stop()
	select {
	case s := <-p.reached:
		d := e.decide(s)
		p.silent.Store(d.Verdict == Silent)
		if p.allowed.Store(s.decision.Verdict == Allow); d.Verdict == Deny { // no result will be reported
			g.drop(p.is)
		}
		return d, nil
	case <-ctx.Done():
		g.drop(p.is)
		return Decision{}, errors.New("the agent does not wait for the decision any more")
	case <-late.C:
		g.drop(p.is)
		return Decision{}, fmt.Errorf("nobody has decided within %v", g.o.Patience)
	}
}

// proxied reports whether a call goes to a server behind fairlead proxy.
func (g *Guard) proxied(e *event) bool {
	server, _, ok := e.server()
	return ok && slices.Contains(g.o.Proxied, server) && g.doubtful(e) == ""
}

// permits reports whether the dialog about a call that the agent is going to show is needless, since the chain has let
// that call through. In any other case the person is asked.
func (g *Guard) permits(e *event) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return e.mode != "plan" && slices.ContainsFunc(g.open, func(p *pending) bool {
		return p.event.scope() == e.scope() && p.event.what() == e.what() && p.allowed.Load()
	})
}

// decide returns the answer to the agent for the stage that a call has reached.
func (e *event) decide(s stage) Decision {
	d := s.decision
	silent := e.mode == "plan" || e.mode == "acceptEdits" || e.mode == "bypassPermissions" || e.mode == "dontAsk"
	switch {
	case d.Verdict == Allow && e.mode == "plan" && s.class != annotation.Safe:
		return Decision{Verdict: Silent}
	case d.Verdict == Allow && !e.client.allows:
		return Decision{Verdict: Silent}
	case d.Verdict != Ask:
		return d
	case s.class == annotation.Moderate && !s.strict && (silent || !e.client.asks):
		return Decision{Verdict: Silent} // the agent's own rules are for this
	case !e.client.asks:
		return Decision{Deny, d.Reason + "\n" + e.client.title + " has no question for hooks. Tell the user: they can run it themselves, allow it in the policy, or start the hook with --approve web and decide on the approvals page."}
	}
	return d
}

// confirm asks the person: here, or by the agent's dialog, whose yes is the result that follows.
func (g *Guard) confirm(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
	p, ok := ctx.Value(pendingKey{}).(*pending)
	if !ok {
		return hitl.Decision{}, errors.New("hook: the question belongs to no event")
	}
	class := r.Tool.Safety()
	strict := !r.InDoubt.IsZero() || len(r.Sources) > 0 && r.Caution() != ""
	for _, s := range r.Sources {
		strict = strict || s.Rule != ""
	}
	if g.o.Confirm != nil && (class != annotation.Moderate || strict) {
		return g.o.Confirm.Confirm(ctx, r)
	}
	p.reached <- stage{decision: Decision{Ask, question(p.event, r)}, class: class, strict: strict}
	defer time.AfterFunc(dialogTime, func() { g.lose(p.is) }).Stop()
	res, err := p.wait(ctx)
	switch {
	case err != nil:
		return hitl.Decision{}, err
	case res == nil && p.lost.Load(): // the executor returns that its outcome is unknown
		p.result <- nil
		return hitl.Decision{Verdict: hitl.Approved, Via: "the agent, whose answer is not known"}, nil
	case res == nil:
		return hitl.Decision{Reason: "no result came: the person said no, or the agent did not make the call"}, nil
	}
	p.result <- res // for the executor
	by, via := "the user of "+p.event.client.title, "the agent's dialog"
	if p.silent.Load() {
		by, via = p.event.client.title, "the agent's own rules"
	}
	return hitl.Decision{Verdict: hitl.Approved, By: by, Via: via}, nil
}

// execute stands where a call is made, and returns what the agent reports.
func (g *Guard) execute(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	p, ok := ctx.Value(pendingKey{}).(*pending)
	if !ok {
		return nil, errors.New("hook: the call belongs to no event")
	}
	p.reached <- stage{decision: Decision{Allow, allowed(call.Tool)}, class: call.Tool.Safety()}
	res, err := p.wait(ctx)
	if err == nil && res == nil {
		err = errors.New("hook: the agent reported no result")
	}
	return res, err
}

// after hands the result of a call to its chain.
func (g *Guard) after(e *event) {
	g.mu.Lock()
	var p *pending
	if i := slices.IndexFunc(g.open, func(p *pending) bool { return p.event.scope() == e.scope() && p.key == e.key() }); i >= 0 {
		p = g.open[i]
	}
	g.mu.Unlock()
	res := &mcp.CallToolResult{IsError: e.kind == failed, Content: []mcp.Content{&mcp.TextContent{Text: e.output}}}
	if p == nil {
		if !g.proxied(e) { // it may have been a write
			g.host.Wrote()
		}
		server, tool := e.hosted() // for the name of the source alone
		g.host.Result(server, tool, middleware.Call{ID: e.call, Scope: e.scope(), Arguments: e.input}, res)
		return
	}
	select {
	case p.result <- res:
	default: // it has one
	}
	<-p.done
}

// Close ends all calls whose results have not come: their outcome is unknown.
func (g *Guard) Close() { g.lose(func(*pending) bool { return true }) }

// Idle returns how long no event has come before a tool, and whether calls wait for their results.
func (g *Guard) Idle() (time.Duration, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Since(g.seen), len(g.open) > 0
}

// inFolder returns the arguments with the folder where the agent works.
func inFolder(input json.RawMessage, folder string) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(input, &members); err != nil {
		return nil, fmt.Errorf("the arguments cannot be read: %w", err)
	}
	if _, taken := members[folderArgument]; taken {
		return nil, fmt.Errorf("the arguments have a member %q, which is ours", folderArgument)
	}
	if folder == "" {
		return input, nil
	}
	quoted, err := json.Marshal(folder)
	if err != nil {
		return nil, err
	}
	members[folderArgument] = quoted
	return json.Marshal(members)
}

// Explain returns what would be decided about an event before a tool, with the class of the call and its reasons. Nothing
// is kept.
func (g *Guard) Explain(ctx context.Context, client string, text []byte) (string, error) {
	c, err := of(client)
	if err != nil {
		return "", err
	}
	e, err := c.read(text)
	if err != nil {
		return "", err
	}
	if e.kind != before {
		return fmt.Sprintf("%s: nothing is decided about %s\n", c.title, safetext.Line(e.name)), nil
	}
	server, tool, err := g.hosted(e)
	if err != nil {
		return "", err
	}
	arguments, err := e.arguments()
	if err != nil {
		return "", err
	}
	judged, err := g.host.Judged(server, tool, arguments) //nolint:contextcheck // it reads what it is given
	if err != nil {
		return "", err
	}
	d, err := g.before(ctx, e)
	if err != nil {
		return "", err
	}
	verdict := cmp.Or(d.Verdict.String(), "leave it to "+c.title)
	return fmt.Sprintf("%s  so: %s\n", judged.Explain(), verdict), nil
}
