package proxy

// A policy becomes a chain here. When the policy changes, the next call gets a new plan and a new set of tools; calls
// under way, which may wait for a person, end in the chain in which they began. What must not begin anew with a
// policy is not in a plan but in the [Proxy]: the cache, the calls in doubt, the sources of arguments and the record.
// The policy's denials are looked for three times in a call: when its tool is found, once its class is known, and where it
// is sent, see [server.SendCall]. It also raises calls, and answers for a person. What it has about the tool is looked for
// once, and again only if the policy or the definition is another one by then, see [Proxy.ruling].

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/retry/doubt"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A plan is the chain that a policy makes.
type plan struct {
	proxy    *Proxy
	policy   *policy.Policy
	standard chain.Standard
	will     func(*middleware.Tool) string // as the chain describes itself
	mildest  func(*middleware.Tool) annotation.Safety
	refuser  refuser // of the calls that cannot be made

	questions int // that may wait at once

	compared atomic.Int64 // with the tools of how many servers the names in the policy were compared
	warned   sync.Map     // the warnings about them
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

// newPlan returns the plan of a policy.
func (p *Proxy) newPlan(now *policy.Policy) *plan {
	log := p.o.Logger
	judge := preflight.Options{
		Rules: now.Arguments, WorstCase: now.WorstCase, Language: now.LanguageOf, Logger: log,
	}
	if len(now.Paths) > 0 {
		judge.Paths = now.PathsOf
	}
	ask := now.Approvals
	ask.Timeout = cmp.Or(ask.Timeout, answerTime)
	if a := p.o.Access; a != nil { // the scope of a call is its user
		ask.MaxPending = cmp.Or(ask.MaxPending, maxQuestions)
		ask.MaxPendingPerScope = shareOf(a.PerUser.Questions, ask.MaxPending)
	}
	ask.Logger = log
	ask.OnWaiting = func(ctx context.Context, waited time.Duration) {
		if w := waiterIn(ctx); w != nil {
			w.report(waited)
		}
	}
	ask.WaitLimit = func(ctx context.Context) (time.Duration, string) {
		where := p.o.Waits(ctx)
		if w := waiterIn(ctx); w != nil && w.detaches || where == "" {
			return 0, ""
		}
		return cmp.Or(now.Patience, patience), where
	}
	ask.Changes, ask.Preview, ask.Inverse = changes, preview, inverse
	ask.Anew, ask.About, ask.Number, ask.Caller, ask.Client = anew, about, number, behalf, asking
	limits, retries := now.Limits, now.Retry
	limits.Logger, retries.Logger = log, log
	limits.OneQuota = true // a client more is not a call more for the server
	remember := cache.Options{Store: p.store, Lifetime: now.Lifetime, Logger: log}
	p.store.Forget("*", "*") // another policy may have cached it for longer
	if p.o.Share != nil {
		p.o.Share(&remember, &limits, &ask)
	}
	repeated := doubt.Options{Ledger: p.o.Doubt, Trusted: func(server string) bool { return p.trusts(now, server) }, Logger: log}
	traced := flow.Options{Tracker: p.tracker, Trusted: now.TrustsResults, Off: now.FlowOff, Label: now.FlowLabel}
	if ask.Store != nil {
		traced.Endorse, traced.Endorsed = endorsements(ask.Store, cmp.Or(ask.SessionLifetime, endorsedFor))
	}
	made := &plan{proxy: p, policy: now, mildest: judge.Mildest, questions: cmp.Or(ask.MaxPending, maxQuestions)}
	ask.OnUndoable = made.undoable
	std := chain.Standard{
		Preflight: chain.New(preflight.New(judge), made.raise).Then,
		Flow:      flow.New(traced),
		Doubt:     doubt.New(repeated),
		PerCall:   []middleware.Middleware{doubt.Intent(repeated)},
		Confirm:   hitl.New(now.Confirmer(p.o.Confirm, made.ruling), ask),
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
	made.standard, made.will = std, std.Describe().Plan
	if p.o.Observe {
		made.standard.Observe, made.standard.PerCall = made.would, nil
	}
	if p.o.Writes != nil {
		made.standard.PerCall = append(made.standard.PerCall, p.heed)
		made.standard.PerAttempt = append(made.standard.PerAttempt, p.announce)
	}
	made.refuser = made.standard.Then(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		return nil, errors.New("proxy: the call cannot be made") // it comes to no executor
	})).(refuser)
	return made
}

// would returns what is done with the calls of a tool, in words.
func (p *plan) would(tool *middleware.Tool) string {
	words := strings.Split(p.will(p.policy.Raised(tool)), " · ")
	if v, _ := p.policy.Ruling(tool).Decide(tool.Safety()); v == policy.Allow && words[0] == "ask first" {
		words[0] = "run, by the policy"
	}
	return strings.Join(words, " · ")
}

// judged returns a tool as a call with these arguments is judged.
func (p *plan) judged(tool *middleware.Tool, arguments json.RawMessage) (as *middleware.Tool, err error) {
	_, err = p.standard.Preflight(middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		as = call.Tool
		return &mcp.CallToolResult{}, nil
	})).CallTool(context.Background(), middleware.Call{Tool: tool, Arguments: arguments})
	return as, err
}

// trusts reports whether the declarations of a server may lower a class.
func (p *Proxy) trusts(now *policy.Policy, server string) bool {
	return p.o.Trust || slices.Contains(now.Trust, server)
}

// offers reports whether a tool is offered by the configuration of its server.
func (p *Proxy) offers(t *middleware.Tool) bool {
	return !slices.ContainsFunc(p.o.Servers, func(s Server) bool { return s.Name == t.Server && s.Offers != nil && !s.Offers(t.Name()) })
}

// newSet returns an empty catalog with the chain in front of it, for a caller.
func (p *plan) newSet(caller access.Caller) (*set, error) {
	return p.newSetOf(caller, p.proxy.o.Lock)
}

// newSetOf is newSet with a lock.
func (p *plan) newSetOf(caller access.Caller, lock catalog.Lock) (*set, error) {
	o := p.proxy.o
	c := catalog.New(catalog.Options{Timeout: slowList, Permission: p.permission, Lock: lock, NoKnown: o.NoKnown, Logger: o.Logger})
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

// granted are the scopes of a caller; words of a token that are not scopes, such as "openid", grant nothing.
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

// shows reports whether the caller may read of a change: only if it sees the tool, as it is and as it was accepted. Of a
// tool that is gone that is not known, and a caller with less than everything does not read of it.
func (s *set) shows(ctx context.Context, c pins.Change) bool {
	viewers := []viewer{s.viewer}
	if s.granted != nil {
		viewers = append(viewers, s.granted)
	}
	if c.Now == nil {
		return len(viewers) == 1 && s.viewer == viewer(s.catalog)
	}
	for _, v := range viewers {
		if _, err := v.CallTool(ctx, middleware.Call{Tool: c.Now}); !errors.Is(err, pins.ErrNotAccepted) {
			return false
		}
	}
	return true
}

// scoped reports whether clients have less than everything.
func (p *plan) scoped() bool { return p.proxy.o.Scopes != nil || p.policy.Scopes != nil }

// permission returns what a caller of a tool needs: by the policy, or by the tool's class.
func (p *plan) permission(t *middleware.Tool) string {
	if needs := p.policy.Needs(t); needs != "" {
		return needs
	}
	byClass := map[annotation.Safety]string{annotation.Safe: ".read", annotation.Moderate: ".write"}
	return t.Server + cmp.Or(byClass[t.Safety()], ".danger")
}

// hide reports why a tool is neither shown nor found by its name under a policy, nil if it is. A tool whose class
// depends on the arguments is shown if it has a call that is not refused; each call is then judged by its own class
// (see refuse).
func (s *set) hide(ctx context.Context, now *policy.Policy, t *middleware.Tool) error {
	return s.refuseClass(ctx, now, t, s.plan.mildest(t))
}

// refuse reports why a call of a tool is refused, nil if it is not: by the caller's token, and by the policy as it is
// now, which may have changed while a person was reading.
func (s *set) refuse(ctx context.Context, t *middleware.Tool) error {
	now := s.plan.proxy.o.Policy()
	return s.refuseClass(ctx, now, t, t.Safety())
}

// refuseClass is refuse for a call of that class, by a policy.
func (s *set) refuseClass(ctx context.Context, now *policy.Policy, t *middleware.Tool, class annotation.Safety) error {
	v, rule := s.plan.proxy.ruling(ctx, now, t).Decide(class)
	var why, by string
	switch {
	case !s.plan.proxy.offers(t):
		why, by = "it is switched off in the configuration of the server's client", "configuration"
	case !s.covers(t):
		why, by = "the scopes of the caller's token do not cover it", "access"
	case v == policy.Deny:
		why, by = cmp.Or(rule.Reason, "the policy denies it"), now.At(rule.Line)
	case (s.plan.proxy.o.ReadOnly || now.ReadOnly) && class != annotation.Safe:
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

// ruling returns what a policy has about a tool. For a client's request it is looked for once, and again if the policy was
// changed while the call waited, or if the tool was defined anew.
func (p *Proxy) ruling(ctx context.Context, now *policy.Policy, t *middleware.Tool) *policy.Ruling {
	u := underWayIn(ctx)
	on := u.ruling.Load()
	if !on.Is(now, t) {
		on = now.Ruling(t)
		p.decided.Add(1)
		u.ruling.Store(on)
	}
	return on
}

// ruling returns what the plan's policy has about a tool.
func (p *plan) ruling(ctx context.Context, t *middleware.Tool) *policy.Ruling {
	return p.proxy.ruling(ctx, p.policy, t)
}

// raise is a middleware that raises calls to ones that ask, if the policy does so.
func (p *plan) raise(next middleware.ToolCaller) middleware.ToolCaller {
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		call.Tool = p.ruling(ctx, call.Tool).Raised(call.Tool)
		return next.CallTool(ctx, call)
	})
}

// Admit refuses before anyone is asked, and again when the arguments have raised a call.
func (s *set) Admit(next middleware.ToolCaller) middleware.ToolCaller {
	admit := s.viewer.Admit(next)
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		if call.Tool != nil { // the guard returns the error
			if err := s.refuse(ctx, call.Tool); err != nil {
				return nil, err
			}
		}
		return admit.CallTool(ctx, call)
	})
}

// Explain reports what a tool is, which rule decides, and what the chain does with its calls, or with a call of these
// arguments unless there are none: then it also reports what of them decided. add puts the tool's server into the
// catalog.
func (p *Proxy) Explain(add func(*catalog.Catalog) error, name string, arguments json.RawMessage) (string, error) {
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
	refused := set.hide(context.Background(), p.o.Policy(), tool) != nil
	if len(arguments) > 0 {
		if tool, err = plan.judged(tool, arguments); err != nil {
			return "", err
		}
		refused = set.refuse(context.Background(), tool) != nil
	}
	var b strings.Builder
	b.WriteString(tool.Explain())
	b.WriteString(plan.policy.Explain(tool))
	will := plan.would(tool)
	if _, shown := set.Lookup(tool.Server, tool.Name()); refused {
		will = "refuse"
	} else if !shown {
		will = "refuse, the scopes do not cover it"
	}
	fmt.Fprintf(&b, "  will: %s\n", will)
	return b.String(), nil
}
