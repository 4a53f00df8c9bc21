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
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
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
	"github.com/fairlead-go/fairlead/internal/resolution"
	"github.com/fairlead-go/fairlead/internal/toolname"
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

// Rules are the host's word on calls by their arguments, by "server/tool":
//
//	preflight.Rules{"github/issue_write": preflight.When("method", "get", "list").Safe()}
type Rules map[string]Rule

// A Rule judges the arguments of one call, or returns false, and then the tool keeps its class. It is called
// concurrently. A rule that panics counts as dangerous, and so does every rule on arguments with two members of one
// object whose names differ only in case.
//
// A rule depends on the arguments alone and returns at once: it has no context and no time limit. To ask elsewhere, use
// a [Resolver].
type Rule func(Arguments) (v Verdict, ok bool)

// A Probe reads the text of one argument and judges the call. A text that it cannot read with certainty is destructive.
type Probe func(text string) Verdict

// A Verdict is what a probe or a rule found. The zero Verdict is dangerous.
type Verdict struct {
	Annotations annotation.Annotations // ReadOnly, Destructive, … as far as the text decides them; zero means unknown, which asks
	Why         string                 // the word or part that decided, for people, on one line
}

// Strictest asks all of the rules; the most dangerous verdict counts.
func Strictest(rules ...Rule) Rule {
	if slices.ContainsFunc(rules, func(r Rule) bool { return r == nil }) || len(rules) == 0 {
		panic("preflight: Strictest needs rules, and none of them nil")
	}
	rules = slices.Clone(rules)
	return func(a Arguments) (strictest Verdict, ok bool) {
		for _, rule := range rules {
			v, said := rule(a)
			switch {
			case !said:
			case !ok || v.Annotations.Safety() < strictest.Annotations.Safety():
				strictest, ok = v, true
			case v.Annotations.Safety() == strictest.Annotations.Safety():
				strictest.Annotations = annotation.Raise(strictest.Annotations, v.Annotations)
			}
		}
		return strictest, ok
	}
}

// Argument applies a probe to one argument, if it is not missing or null. One that is not a text is dangerous.
func Argument(name string, probe Probe) Rule {
	if name == "" || probe == nil {
		panic("preflight: Argument needs a name and a probe")
	}
	return func(a Arguments) (Verdict, bool) {
		text, ok := a.Text(name)
		v := Verdict{Why: "no text, or its name in another case"}
		switch {
		case ok:
			v = probe(text)
		case a.absent(name):
			return Verdict{}, false
		}
		v.Why = strings.TrimSuffix(name+": "+v.Why, ": ")
		return v, true
	}
}

// A Condition is what arguments must be for a rule to speak.
type Condition struct{ tests []test }

type test struct {
	name   string
	values []any
}

// When holds if the argument is one of the values, each a text or a bool. It does not hold for another case or type, or
// without the argument, whatever a schema's default is.
func When(argument string, values ...any) Condition { return Condition{}.And(argument, values...) }

// And is met where both are.
func (c Condition) And(argument string, values ...any) Condition {
	if argument == "" || len(values) == 0 {
		panic(fmt.Sprintf("preflight: the condition on %q has no name or no values", argument))
	}
	for _, v := range values {
		switch v.(type) {
		case string, bool:
		default:
			panic(fmt.Sprintf("preflight: the condition on %q has the value %v, which is neither a text nor a bool", argument, v))
		}
	}
	return Condition{append(slices.Clip(c.tests), test{argument, slices.Clone(values)})}
}

// Safe declares that such a call only reads.
func (c Condition) Safe() Rule { return c.rule(annotation.ReadOnly(), certain) }

// Moderate declares that such a call adds something and takes nothing away.
func (c Condition) Moderate() Rule { return c.rule(annotation.Write(), certain) }

// Dangerous declares such a call destructive. Since it raises, it also counts if the condition may hold: for a value in
// another case or of another type, or a name in another case.
func (c Condition) Dangerous() Rule { return c.rule(annotation.Destructive(), likely) }

// How sure it is that a condition is met, surest last.
const (
	no = iota
	likely
	certain
)

func (c Condition) rule(verdict annotation.Annotations, least int) Rule {
	if len(c.tests) == 0 {
		panic("preflight: the zero Condition is met by everything; begin with When")
	}
	met := Verdict{Annotations: verdict, Why: c.String()}
	return func(a Arguments) (Verdict, bool) {
		for _, t := range c.tests {
			if t.met(a) < least {
				return Verdict{}, false
			}
		}
		return met, true
	}
}

func (t test) met(a Arguments) int {
	raw, ok := a.members[t.name]
	switch {
	case !ok && a.has(t.name):
		return likely
	case !ok:
		return no
	}
	var got any
	_ = json.Unmarshal(raw, &got) // it is canonical
	text, _ := got.(string)
	sure := no
	for _, want := range t.values {
		like, isText := want.(string)
		switch {
		case got == want:
			return certain
		case reflect.TypeOf(got) != reflect.TypeOf(want), isText && strings.EqualFold(strings.TrimSpace(text), strings.TrimSpace(like)):
			sure = likely
		}
	}
	return sure
}

// String returns the condition as people read it: "method is get or list".
func (c Condition) String() string {
	var parts []string
	for _, t := range c.tests {
		values := make([]string, len(t.values))
		for i, v := range t.values {
			values[i] = fmt.Sprint(v)
		}
		parts = append(parts, t.name+" is "+strings.Join(values, " or "))
	}
	return strings.Join(parts, " and ")
}

func (r Rules) check() {
	for name, rule := range r {
		server, tool, ok := strings.Cut(name, "/")
		switch err := toolname.Check(tool); {
		case !ok || server == "":
			panic(fmt.Sprintf(`preflight: Options.Rules[%q]: write "server/tool", for example "github/issue_write"`, name))
		case err != nil:
			panic(fmt.Sprintf(`preflight: Options.Rules[%q]: there can be no such tool: %v; write "server/tool"`, name, err))
		case rule == nil:
			panic(fmt.Sprintf("preflight: Options.Rules[%q]: the rule is nil", name))
		}
	}
}

// Arguments are the arguments of one call, one JSON object without a repeated member.
type Arguments struct {
	members map[string]json.RawMessage
}

// parse refuses arguments that two readers could read differently.
func parse(ctx context.Context, call middleware.Call) (Arguments, error) {
	form, err := callstate.Form(callstate.Of(ctx), &call)
	if err != nil {
		return Arguments{}, err
	}
	var a Arguments
	return a, json.Unmarshal(form, &a.members) // it is an object
}

// Text returns an argument that is a text. It does not where the argument is missing or of another type.
func (a Arguments) Text(name string) (text string, ok bool) {
	raw := a.members[name]
	ok = len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil
	return text, ok
}

// Bool returns an argument that is true or false, as [Arguments.Text] does a text.
func (a Arguments) Bool(name string) (value, ok bool) {
	raw := string(a.members[name])
	return raw == "true", raw == "true" || raw == "false"
}

// Raw returns the JSON of an argument, with sorted members and without white space, and whether it is there.
func (a Arguments) Raw(name string) (json.RawMessage, bool) {
	raw, ok := a.members[name]
	return slices.Clone(raw), ok
}

func (a Arguments) absent(name string) bool {
	return !a.has(name) || string(a.members[name]) == "null"
}

func (a Arguments) given(name string) bool {
	switch string(a.members[name]) {
	case "[]", `""`:
		return false
	}
	return !a.absent(name)
}

// has reports whether there is an argument of that name in any case.
func (a Arguments) has(name string) bool {
	for have := range a.members {
		if strings.EqualFold(have, name) {
			return true
		}
	}
	return false
}

// A Resolver asks a tool's server what a call with exactly these arguments would do. ok is false if the server has not
// offered to answer, and then it was not asked. Missing hints are unset. It returns soon after ctx is done;
// mount.Resolver is one.
//
// An error with a method InvalidArguments() bool that returns true ends the call. One with a method Permanent() bool
// that returns true is not asked again.
type Resolver interface {
	Resolve(ctx context.Context, call middleware.Call) (answer annotation.Annotations, ok bool, err error)
}

// ask asks the call's server, once more where it failed.
func (j *judge) ask(ctx context.Context, call middleware.Call) (answer annotation.Annotations, ok bool, err error) {
	for range attempts {
		answer, ok, err = j.once(ctx, call)
		if ctx.Err() != nil {
			return answer, false, fault.GivenUp(ctx)
		}
		if _, later := middleware.RetryAfter(err); err == nil || later || invalid(err) || middleware.Permanent(err) {
			break
		}
	}
	return answer, ok, err
}

const attempts = 2

// once asks within a time of its own, so that the call keeps its own.
func (j *judge) once(ctx context.Context, call middleware.Call) (annotation.Annotations, bool, error) {
	type answered struct {
		answer annotation.Annotations
		ok     bool
	}
	late := time.Now().Add(j.Timeout)
	a, err := bounded.Do(callstate.Leave(ctx), j.asking, func(ctx context.Context) (a answered, err error) {
		defer func() {
			if v := recover(); v != nil {
				err = j.panicked(ctx, call, "the resolver", v)
			}
		}()
		a.answer, a.ok, err = j.Resolver.Resolve(ctx, call)
		return a, err
	}, nil)
	// Both at once: too late is too late. The context's own timer may not have run yet.
	if !time.Now().Before(late) && (err == nil || errors.Is(err, context.DeadlineExceeded)) {
		return annotation.Annotations{}, false, fmt.Errorf("no answer within %v", j.Timeout)
	}
	return a.answer, a.ok, err
}

// An InvalidArgumentsError reports that the tool's server called the arguments invalid. The call was not sent.
type InvalidArgumentsError struct {
	fault.Final

	Tool *middleware.Tool
	Err  error
}

func (e *InvalidArgumentsError) Error() string {
	return fmt.Sprintf("preflight: %s was not called, since its server says that the arguments are invalid; correct them and call again: %s", e.Tool, trim.Bytes(e.Err.Error(), maxMessage))
}

// ForModel leaves out the server's own words, which may reveal internals.
func (e *InvalidArgumentsError) ForModel() string {
	return e.Tool.ModelName() + " was not called: its server says that the arguments are invalid. Compare them with what the tool takes, and call it again with others."
}

func (e *InvalidArgumentsError) Unwrap() error { return e.Err }

func invalid(err error) bool {
	var e interface{ InvalidArguments() bool }
	return errors.As(err, &e) && e.InvalidArguments()
}

// deciding are the fields that arguments decide. The others are the tool's.
var deciding = []annotation.Field{
	annotation.ReadOnlyHint, annotation.DestructiveHint, annotation.IdempotentHint, annotation.RequiresConfirmation,
}

// over lays a verdict of the host's over what is known of the tool. A field that it leaves open is unknown.
func (v Verdict) over() callstate.Over {
	layer := hints(v.Annotations)
	if layer.Safety() == annotation.Unknown {
		layer.RequiresConfirmation = annotation.Yes // so that the reason is shown
	}
	layer = layer.Attribute(annotation.Rule, "")
	for i := range layer.Evidence {
		layer.Evidence[i].Word, layer.Evidence[i].Place = trim.Bytes(v.Why, maxReason), "among the arguments"
	}
	return func(a annotation.Annotations) annotation.Annotations {
		return annotation.Merge(a.Without(deciding...), layer)
	}
}

// hints returns what decides the class, and the open world.
func hints(a annotation.Annotations) annotation.Annotations {
	return annotation.Annotations{
		ReadOnly: a.ReadOnly, Destructive: a.Destructive, Idempotent: a.Idempotent, OpenWorld: a.OpenWorld,
		RequiresConfirmation: a.RequiresConfirmation,
	}
}

// layer completes a server's answer by MCP's strict defaults. Worse are the hints that the tool declares less strict.
func layer(tool *middleware.Tool, answer annotation.Annotations) (complete annotation.Annotations, worse []annotation.Field) {
	a := hints(answer)
	if a.RequiresConfirmation == annotation.No { // it is not a hint of MCP, and can only be added
		a.RequiresConfirmation = annotation.Unset
	}
	declared, _ := annotation.FromTool(tool.Definition) // what it cannot say it does not promise
	worse = resolution.Exceeds(declared, a)
	d := a.Defaults()
	complete = a
	complete.ReadOnly, complete.OpenWorld = d.ReadOnly, d.OpenWorld
	if a.ReadOnly != annotation.Yes { // of a read the other two say nothing
		complete.Destructive, complete.Idempotent = d.Destructive, d.Idempotent
	}
	said := a.Attribute(annotation.Resolved, tool.Server)
	complete = complete.Attribute(annotation.Resolved, tool.Server)
	for i := range complete.Evidence {
		e := &complete.Evidence[i]
		_, spoken := said.EvidenceOf(e.Field)
		switch {
		case slices.Contains(worse, e.Field):
			e.Place = "for these arguments, against what it declares of all"
		case spoken:
			e.Place = "for these arguments"
		default:
			e.Place = "left it out, so MCP's default counts"
		}
	}
	return complete, worse
}

// raising lays an answer over what is known, to the stricter side only.
func raising(layer annotation.Annotations) callstate.Over {
	return func(a annotation.Annotations) annotation.Annotations { return annotation.Raise(a, layer) }
}

// believing merges a trusted server's answer, which does not lower what the host set of the tool.
func believing(layer annotation.Annotations) callstate.Over {
	return func(a annotation.Annotations) annotation.Annotations {
		return annotation.Raise(annotation.Merge(a, layer), hosts(a))
	}
}

func hosts(a annotation.Annotations) annotation.Annotations {
	var others []annotation.Field
	for _, f := range append(slices.Clone(deciding), annotation.OpenWorldHint) {
		if source := a.SourceOf(f); source != annotation.Host && source != annotation.Rule {
			others = append(others, f)
		}
	}
	word := hints(a)
	word.Evidence = a.Evidence
	return word.Without(others...)
}

// unanswered is for a server that failed to answer: the static class counts if stated; else a person is asked.
func unanswered(tool *middleware.Tool, said string) callstate.Over {
	declared, _ := annotation.FromTool(tool.Definition)
	if stated(declared) || stated(hosts(tool.Annotations)) {
		return nil
	}
	ask := annotation.Annotations{RequiresConfirmation: annotation.Yes}.Attribute(annotation.Resolved, tool.Server)
	ask.Evidence[0].Word, ask.Evidence[0].Place = said, "came instead of an answer"
	return raising(ask)
}

func stated(a annotation.Annotations) bool {
	return a.ReadOnly != annotation.Unset || a.Destructive != annotation.Unset || a.RequiresConfirmation != annotation.Unset
}

// How long a text of another may be: among the reasons, and in an error for the model.
const (
	maxReason  = 200
	maxMessage = 2000
)
