// Package preflight classifies a call by its arguments: a tool that reads and deletes is as dangerous as what it is
// to do this time.
//
// The host's own rules come first and decide alone. For other calls a [Resolver] asks the tool's server, if it has
// offered to answer by tools/annotations or the extension io.modelcontextprotocol/tool-resolution. A trusted
// server's answer may lower the class for exactly these arguments; any other answer can only raise it. No answer is
// used twice, and none lowers the class of arguments that a person edits.
//
// The class reaches the guard at the executor bound to the exact bytes of the arguments.
package preflight

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/bounded"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/trim"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/redact"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of [New]. The zero value is ready, and changes the class of one kind of call: if a tool
// needs approval only because an optional parameter names people that it writes to (see
// [annotation.Evidence].Given), a call without it is Moderate.
type Options struct {
	// Rules are the host's rules for calls by their arguments, which decide before any server; nil means none.
	Rules Rules
	// Resolver asks the server of a tool; nil means that none is asked.
	Resolver Resolver
	// Trusted reports, by id, whether a server's answer may lower a class. Nil means that none may.
	Trusted func(server string) bool
	// Timeout is how long one answer may take; 0 means 2 seconds. A failed question is asked once more.
	Timeout time.Duration
	// Logger gets a line for each answer that failed, exceeds its declaration, or changed; nil is silent.
	Logger *slog.Logger
}

// New returns the middleware for the Preflight slot of a chain. It gives each call the class of its arguments, also
// of those that a person edits. A call whose arguments are not one unambiguous JSON object, or which its server
// calls invalid ([*InvalidArgumentsError]), ends here. New panics on a negative timeout and on a rule that is nil or
// whose name is not "server/tool".
func New(o Options) middleware.Middleware {
	fault.RefuseNegative("preflight: Options", o)
	if o.Trusted == nil {
		o.Trusted = func(string) bool { return false }
	}
	o.Timeout = cmp.Or(o.Timeout, 2*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	answers, _ := lru.New[callstate.Binding, annotation.Annotations](maxEarlier) // fails only for a size below 1
	o.Rules.check()
	o.Rules = maps.Clone(o.Rules)
	j := &judge{Options: o, earlier: answers}
	j.asking = &bounded.Bound{Limit: o.Timeout, Name: "preflight: the resolver", Logger: o.Logger, Late: new(atomic.Uint64)}
	m := func(next middleware.ToolCaller) middleware.ToolCaller { return &caller{j, next} }
	j.edits = callstate.JudgeBy(m)
	return m
}

type judge struct {
	Options
	asking *bounded.Bound
	edits  callstate.Judge // the middleware itself, for arguments that a person edits

	mu      sync.Mutex // held from reading an earlier answer to storing the next
	earlier *lru.Cache[callstate.Binding, annotation.Annotations]
}

const maxEarlier = 1024

type caller struct {
	*judge
	next middleware.ToolCaller
}

func (c *caller) Describe() middleware.Description {
	return middleware.Description{Kind: "preflight", Next: c.next, Will: func(tool *middleware.Tool) string {
		if _, ok := c.rule(tool); ok {
			return "judge the arguments"
		}
		return ""
	}}
}

func (c *caller) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	_, judges := c.rule(call.Tool)
	judges = judges || c.Resolver != nil || call.Tool != nil && optional(call.Tool.Annotations) != nil
	if judges && callstate.JudgeOf(ctx) == nil { // a chain.Standard has one of its whole slot
		ctx = callstate.WithJudge(ctx, c.edits)
	}
	found, err := c.classify(ctx, call)
	if found.what != "" {
		callstate.Of(ctx).Decide("preflight", found.what, found.why)
	}
	if err != nil {
		return nil, err
	}
	if found.over != nil {
		ctx = callstate.Answer(ctx, &call, found.over)
	}
	return c.next.CallTool(ctx, call)
}

type finding struct {
	over      callstate.Over // nil where the class stays
	what, why string         // for the note, "" where there is nothing to say
}

func (j *judge) rule(tool *middleware.Tool) (Rule, bool) {
	if tool == nil || len(j.Rules) == 0 {
		return nil, false
	}
	rule, ok := j.Rules[tool.String()]
	return rule, ok
}

func (j *judge) classify(ctx context.Context, call middleware.Call) (finding, error) {
	if call.Tool == nil || call.Tool.Definition == nil {
		return finding{}, nil
	}
	rule, ruled := j.rule(call.Tool)
	if given := optional(call.Tool.Annotations); ruled || given != nil {
		arguments, err := parse(ctx, call)
		if err != nil {
			return finding{what: "refused"}, err
		}
		if ruled {
			if v, ok := j.apply(ctx, call, rule, arguments); ok {
				return finding{v.over(), "rule", v.Why}, nil
			}
		}
		if given != nil && !slices.ContainsFunc(given, arguments.given) {
			return finding{unaddressed, "not addressed", "the call has no " + strings.Join(given, " or ")}, nil
		}
	}
	if j.Resolver == nil {
		return finding{}, nil
	}
	trusted := j.Trusted(call.Tool.Server)
	if !trusted && call.Tool.Safety().MustConfirm() { // its answer can only raise, and nothing is above that
		return finding{}, nil
	}
	if _, err := callstate.Form(callstate.Of(ctx), &call); err != nil {
		return finding{what: "refused"}, err
	}
	return j.resolve(ctx, call, trusted)
}

func optional(a annotation.Annotations) (names []string) {
	if a.RequiresConfirmation != annotation.Yes || a.Destructive != annotation.No {
		return nil
	}
	for _, e := range a.Evidence {
		if e.Field != annotation.RequiresConfirmation {
			continue
		}
		if e.Given == "" || e.Source != annotation.Inferred {
			return nil
		}
		names = append(names, strings.Fields(e.Given)...)
	}
	return names
}

func unaddressed(a annotation.Annotations) annotation.Annotations {
	if optional(a) == nil {
		return a
	}
	return a.Without(annotation.RequiresConfirmation)
}

func (j *judge) apply(ctx context.Context, call middleware.Call, rule Rule, a Arguments) (v Verdict, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			v, ok = Verdict{Why: j.panicked(ctx, call, "the rule", p).Error()}, true
		}
	}()
	if v, ok = rule(a); ok {
		v.Why = new(redact.Redactor).Text(v.Why) // it may be a part of an argument
	}
	return v, ok
}

// resolve makes of the server's answer what may count.
func (j *judge) resolve(ctx context.Context, call middleware.Call, trusted bool) (finding, error) {
	answer, ok, err := j.ask(ctx, call)
	switch {
	case ctx.Err() != nil:
		return finding{}, fault.GivenUp(ctx)
	case invalid(err):
		return finding{what: "invalid arguments"}, &InvalidArgumentsError{Tool: call.Tool, Err: err}
	case err != nil:
		said := redact.Said{Call: call, Value: err}.String()
		j.warn(ctx, call.Tool, "preflight: no answer", slog.String("err", said))
		said = trim.Bytes(said, maxReason)
		return finding{unanswered(call.Tool, said), "no answer", said}, nil
	case !ok:
		return finding{}, nil
	}
	found, worse := layer(call.Tool, answer)
	if len(worse) > 0 {
		j.warn(ctx, call.Tool, "preflight: the answer is worse than what the server declares of every call", slog.Any("hints", worse))
	}
	over := raising
	if trusted && len(worse) == 0 {
		over = believing
	}
	class := func(a annotation.Annotations) annotation.Safety { return over(a)(call.Tool.Annotations).Safety() }
	strictest, differs := j.strictest(callstate.Bind(callstate.Of(ctx), &call), found, class)
	why := ""
	if differs {
		why = "the server has answered differently for the same arguments; the strictest answer counts"
		j.warn(ctx, call.Tool, "preflight: "+why)
	}
	return finding{over(strictest), "answer", why}, nil
}

// strictest returns the stricter of this answer and an earlier one to the same call, and whether their classes differ.
func (j *judge) strictest(call callstate.Binding, now annotation.Annotations, class func(annotation.Annotations) annotation.Safety) (_ annotation.Annotations, differs bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	before, ok := j.earlier.Get(call)
	if ok && class(before) < class(now) {
		return before, true
	}
	j.earlier.Add(call, now)
	return now, ok && class(before) != class(now)
}

// panicked logs a panic of the rule's or the resolver's. The error does not repeat it.
func (j *judge) panicked(ctx context.Context, call middleware.Call, what string, v any) error {
	j.Logger.LogAttrs(ctx, slog.LevelError, "preflight: "+what+" panicked",
		slog.String("tool", call.Tool.String()), slog.Any("panic", redact.Said{Call: call, Value: v}), slog.String("stack", string(debug.Stack())))
	return errors.New(what + " panicked; the log of the host has the stack")
}

func (j *judge) warn(ctx context.Context, tool *middleware.Tool, message string, attrs ...slog.Attr) {
	j.Logger.LogAttrs(ctx, slog.LevelWarn, message,
		append([]slog.Attr{slog.String("server", tool.Server), slog.String("tool", tool.Name())}, attrs...)...)
}
