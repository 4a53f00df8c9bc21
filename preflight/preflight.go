// Package preflight classifies a call by its arguments: a tool that reads and deletes is as dangerous as what it is
// to do this time.
//
// The host's own rules come first and decide alone. For other calls the conditions count that are known of the tool
// ([annotation.Condition]), as inference reads them from its schema: by "action", list is safe and delete is
// dangerous; with "filename", a file is written; a text of SQL is read by a probe. They need no settings. A
// chain.Standard without a Preflight applies them as well; a chain of another order needs [New].
//
// Then a [Resolver] asks the tool's server, if it has offered to answer by tools/annotations or the extension
// io.modelcontextprotocol/tool-resolution. A trusted server's answer may lower the class for exactly these arguments;
// any other answer can only raise it. No answer is used twice, and none lowers the class of arguments that a person edits.
//
// The class reaches the guard at the executor bound to the exact bytes of the arguments.
package preflight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/internal/bounded"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/conditions"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/languages"
	"github.com/fairlead-go/fairlead/internal/paths"
	"github.com/fairlead-go/fairlead/internal/trim"
	"github.com/fairlead-go/fairlead/middleware"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of [New]. The zero value is ready, and applies the conditions of tools: the class of a call
// is the strictest that they give. It also changes the class of another kind of call: if a tool needs approval only
// because an optional parameter names people that it writes to (see [annotation.Evidence].Given), a call without it is
// Moderate.
type Options struct {
	// Rules are the host's rules for calls by their arguments, which decide before the tool's conditions and before any
	// server; nil means none.
	Rules Rules
	// WorstCase gives each call the class of its tool's worst one, whatever the tool's conditions are; of these, only
	// those count that can only raise. False applies them.
	WorstCase bool
	// Texts are probes in the place of the usual ones, or for further languages, by the language that a condition names,
	// or by the one that this is a kind of: "shell" for "posix-shell".
	// Nil judges each of [Languages] by its usual probe; a text of another language counts as carried out, so it asks.
	Texts map[string]Probe
	// Language returns the language as which the texts of a tool are judged that a condition names as of one language:
	// the same, another one that has a probe, or "" for none, so that every text asks. It is also asked for the language
	// that one is a kind of, "shell" for "posix-shell", whose answer counts if the first was the same. Nil is the same.
	Language func(tool *middleware.Tool, language string) string
	// Paths returns the folders where a tool may read and write, nil for a tool to which no paths apply. Command lines
	// are judged by them. Another call that is Safe asks if an argument whose name is that of a file or folder (path,
	// source_file, directories) names one outside of Read, and one that is Moderate if it names one outside of Write.
	// Paths that are wrong (see [Paths.Check]) have every call ask. Nil is the same as nil for each tool.
	Paths func(tool *middleware.Tool) *Paths
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
// calls invalid ([*InvalidArgumentsError]), ends here. New panics on a negative timeout, on a probe that is nil, and on a
// rule that is nil or whose name is not "server/tool".
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
	j := &judge{Options: o, earlier: answers, texts: o.texts()}
	j.asking = &bounded.Bound{Limit: o.Timeout, Name: "preflight: the resolver", Logger: o.Logger, Late: new(atomic.Uint64)}
	m := func(next middleware.ToolCaller) middleware.ToolCaller { return &caller{j, next} }
	j.edits = callstate.JudgeBy(m)
	return m
}

// Languages returns the languages that are judged without settings, sorted: "sql", "shell" and others. "http-local" is a
// kind of "http"; "posix-shell" and "powershell" are kinds of "shell".
func Languages() []string { return languages.Names() }

// Mildest returns the class of the least strict call of a tool, as its conditions are applied with the options. It
// is for a list of the calls of a person who may only read: each call has the class of its own arguments.
func (o Options) Mildest(tool *middleware.Tool) annotation.Safety {
	switch {
	case o.WorstCase:
		return tool.Safety()
	case o.Language == nil:
		return conditions.Mildest(tool.Annotations, o.reads)
	}
	return conditions.Mildest(tool.Annotations, func(language string) bool { return o.reads(o.languageOf(tool, language)) })
}

// reads reports whether a language has a probe.
func (o Options) reads(language string) bool {
	return o.Texts[language] != nil || languages.Of(language) != nil
}

// languageOf returns the language as which the texts of a tool are judged. What the host has set for a language holds for
// its kinds, so that no text is judged more mildly since inference has found its kind.
func (o Options) languageOf(tool *middleware.Tool, language string) string {
	as, family := o.Language(tool, language), languages.Family(language)
	if as != language || family == "" {
		return as
	}
	if of := o.Language(tool, family); of != family {
		return of
	}
	return as
}

// texts returns what judges the texts of arguments. A probe that panics has called the text dangerous.
func (o Options) texts() annotation.Judge {
	for language, probe := range o.Texts {
		if language == "" || probe == nil {
			panic(fmt.Sprintf("preflight: Options.Texts[%q] has no language or no probe", language))
		}
	}
	texts, log := maps.Clone(o.Texts), o.Logger
	return func(language, text string) (class annotation.Safety, why string) {
		probe, ok := texts[language]
		if !ok {
			probe, ok = texts[languages.Family(language)]
		}
		if !ok {
			return languages.Judge(language, text)
		}
		defer func() {
			if v := recover(); v != nil {
				log.LogAttrs(context.Background(), slog.LevelError, "preflight: a probe panicked",
					slog.String("language", language), slog.String("stack", string(debug.Stack())))
				class, why = annotation.Dangerous, "its probe panicked; the log of the host has the stack"
			}
		}()
		v := probe(text)
		return max(v.Annotations.Safety(), annotation.Dangerous), v.Why // what it does not know is carried out
	}
}

// textsOf returns what judges the texts of a tool, by its roots if it has some.
func (j *judge) textsOf(tool *middleware.Tool, roots *paths.Roots) annotation.Judge {
	if j.Language == nil && roots == nil {
		return j.texts
	}
	return func(language, text string) (annotation.Safety, string) {
		as := language
		if j.Language != nil {
			as = j.languageOf(tool, language)
		}
		if as == "" {
			return annotation.Unknown, ""
		}
		if roots != nil && j.Texts[as] == nil && j.Texts[languages.Family(as)] == nil {
			if v, ok := languages.In(as, text, roots); ok {
				return max(annotation.Dangerous, v.Annotations.Safety()), v.Why
			}
		}
		return j.texts(as, text)
	}
}

type judge struct {
	Options
	asking *bounded.Bound
	texts  annotation.Judge
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
	return middleware.Description{Kind: "preflight", Next: c.next, Plan: func(tool *middleware.Tool) string {
		if _, ok := c.rule(tool); ok || c.hasPaths(tool) {
			return "judge the arguments"
		}
		if c.WorstCase {
			return ""
		}
		return conditions.Will(tool)
	}}
}

func (c *caller) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	_, judges := c.rule(call.Tool)
	judges = judges || c.Resolver != nil || c.hasPaths(call.Tool) || c.conditional(call.Tool) || c.raising(call.Tool) || call.Tool != nil && optional(call.Tool.Annotations) != nil
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

// conditional reports whether a tool has conditions that count.
func (j *judge) conditional(tool *middleware.Tool) bool { return !j.WorstCase && conditions.Has(tool) }

// raising reports whether a tool has conditions that count in the worst case too.
func (j *judge) raising(tool *middleware.Tool) bool {
	return j.WorstCase && conditions.HasRaising(tool)
}

func (j *judge) classify(ctx context.Context, call middleware.Call) (finding, error) {
	if call.Tool == nil || call.Tool.Definition == nil {
		return finding{}, nil
	}
	rule, ruled := j.rule(call.Tool)
	given, conditional, raising := optional(call.Tool.Annotations), j.conditional(call.Tool), j.raising(call.Tool)
	if !ruled && !conditional && !raising && given == nil && !j.hasPaths(call.Tool) {
		return j.answered(ctx, call, finding{})
	}
	arguments, err := parse(ctx, call)
	if err != nil {
		return finding{what: "refused"}, err
	}
	if ruled {
		if v, ok := j.apply(ctx, call, rule, arguments); ok {
			return finding{v.over(), "rule", v.Why}, nil
		}
	}
	roots, outside := j.rootsOf(call.Tool, arguments)
	if outside != "" {
		return askAbout(outside), nil
	}
	var found finding
	switch {
	case conditional:
		found = finding{what: "condition"}
		found.over, found.why = conditions.Apply(&call, j.textsOf(call.Tool, roots))
	case raising:
		if found.over, found.why = conditions.Raise(&call, j.textsOf(call.Tool, roots)); found.over != nil {
			found.what = "condition"
		}
	case given != nil && !slices.ContainsFunc(given, arguments.given):
		found = finding{unaddressed, "not addressed", "the call has no " + strings.Join(given, " or ")}
	}
	if why := found.strays(call.Tool, roots, arguments); why != "" {
		return askAbout(why), nil
	}
	if conditional || raising || found.over == nil {
		return j.answered(ctx, call, found)
	}
	return found, nil
}

// askAbout is the finding on a call that names a path outside the roots.
func askAbout(why string) finding {
	why = trim.Bytes(new(redact.Redactor).Text(why), maxReason)
	return finding{Verdict{Annotations: annotation.Destructive(), Why: why}.over(), "path", why}
}

// strays returns why a call asks by the paths of its arguments, if it would not by what was found.
func (f finding) strays(tool *middleware.Tool, roots *paths.Roots, a Arguments) string {
	known := tool.Annotations
	if f.over != nil {
		known = f.over(known)
	}
	class := known.Safety()
	if roots == nil || class.MustConfirm() {
		return ""
	}
	texts := make(map[string]bool)
	for _, c := range tool.Annotations.Conditions {
		if c.Language != "" {
			texts[strings.TrimPrefix(c.Argument, "/")] = true
		}
	}
	if runsCommands(tool) { // the class is that of the text, whose folder was looked at
		class = annotation.Safe
	}
	return filesFault(roots, a, texts, class == annotation.Moderate)
}

// answered asks the server of a call for its answer, and lays it over what was found by the tool's conditions.
func (j *judge) answered(ctx context.Context, call middleware.Call, found finding) (finding, error) {
	if j.Resolver == nil {
		return found, nil
	}
	judged := call
	if found.over != nil {
		tool := *call.Tool
		tool.Annotations = found.over(tool.Annotations)
		judged.Tool = &tool
	}
	trusted := j.Trusted(call.Tool.Server)
	if !trusted && judged.Tool.Safety().MustConfirm() { // its answer can only raise, and nothing is above that
		return found, nil
	}
	if _, err := callstate.Form(callstate.Of(ctx), &call); err != nil {
		return finding{what: "refused"}, err
	}
	answer, err := j.resolve(ctx, judged, trusted)
	return answer.upon(found), err
}

// upon returns the finding after another one: both count, the one that was found first underneath.
func (f finding) upon(first finding) finding {
	switch {
	case first.over == nil:
		return f
	case f.over == nil:
		if f.what == "" {
			f.what, f.why = first.what, first.why
		}
		return finding{first.over, f.what, f.why}
	}
	over := f.over
	f.over = func(a annotation.Annotations) annotation.Annotations { return over(first.over(a)) }
	return f
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
		said := redact.Value{Call: call, Value: err}.String()
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
		slog.String("tool", call.Tool.String()), slog.Any("panic", redact.Value{Call: call, Value: v}), slog.String("stack", string(debug.Stack())))
	return errors.New(what + " panicked; the log of the host has the stack")
}

func (j *judge) warn(ctx context.Context, tool *middleware.Tool, message string, attrs ...slog.Attr) {
	j.Logger.LogAttrs(ctx, slog.LevelWarn, message,
		append([]slog.Attr{slog.String("server", tool.Server), slog.String("tool", tool.Name())}, attrs...)...)
}
