// Package infer reads from a tool's name, title, description and schema what the tool does, and returns it as
// annotations, each with its evidence and the rule that decided. Most callers use [Tools]. All functions are pure.
//
// The evidence is asymmetric. A read verb that leads the name makes a tool Safe, as does, for a name without a
// verb, the main verb of the description; a verb that adds or changes makes it Moderate; every other word only
// raises. A tool that is not understood stays Unknown.
package infer

import (
	"cmp"
	"context"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/schema"
	"github.com/fairlead-go/fairlead/middleware"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tool returns what the words of one definition imply, without the annotations that it declares. Evidence for the
// complexity is always there; only a nil definition gives the zero value.
func Tool(def *mcp.Tool) annotation.Annotations {
	if def == nil {
		return annotation.Annotations{}
	}
	return infer(def, cut(def.Name), 0)
}

// Tools is [Tool] for all tools of one server. It passes over words that begin every name, such as browser_.
func Tools(defs []*mcp.Tool) []annotation.Annotations {
	names := make([][]word, 0, len(defs))
	for _, def := range defs {
		if def != nil {
			names = append(names, cut(def.Name))
		}
	}
	shared := sharedPrefix(names)
	out := make([]annotation.Annotations, len(defs))
	for i, def := range defs {
		if def != nil {
			out[i] = infer(def, names[0], shared)
			names = names[1:]
		}
	}
	return out
}

func infer(def *mcp.Tool, name []word, shared int) annotation.Annotations {
	t := tool{title: def.Title, v: judge(name[shared:])}
	t.r.name = def.Name
	t.r.read(def.Description)
	t.c.listens = !t.v.firm || t.v.effect == reads
	if def.InputSchema != nil {
		t.c.walk(schema.Decoded(def.InputSchema), 0)
	}
	t.decide()
	return t.annotate(def, name)
}

// sharedPrefix counts the words that all names begin with, but no plain verb and no last word of a name.
func sharedPrefix(names [][]word) int {
	for n := 0; len(names) > 1; n++ {
		for _, name := range names {
			if n+1 >= len(name) || name[n].base != names[0][n].base || name[n].form != names[0][n].form {
				return n
			}
		}
		if w := &names[0][n]; w.is(verbs) && w.sense&noun == 0 && w.form == base {
			return n
		}
	}
	return 0
}

// Options are the settings of [New]. The zero value is ready.
type Options struct {
	// Size is how many definitions are remembered, at least 1. Zero means 4096.
	Size int
}

// New returns a middleware that classifies tools without evidence in their annotations. The call goes on with a
// copy of the tool that has a digest and the inferred annotations, over which those that the host wrote win. Any
// other tool passes unchanged, and so does one without a definition that can be written as JSON, which stays
// Unknown. Without a catalogue, chain.Guard takes the class from here. New panics on a negative size.
func New(opts Options) middleware.Middleware {
	size := cmp.Or(opts.Size, 4096)
	if size < 0 {
		panic("infer: Options.Size is negative; it is how many definitions are remembered")
	}
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		known, _ := lru.New[key, *classified](size) // which fails only for a size below 1
		return &caller{next: next, known: known}
	}
}

type caller struct {
	next  middleware.ToolCaller
	known *lru.Cache[key, *classified]
}

// A key names a definition by its pointer, which keeps another one from taking the same place.
type key struct {
	server     string
	definition *mcp.Tool
	digest     middleware.Digest
}

// A classified tool is what was made from the last tool with a definition.
type classified struct {
	from, to *middleware.Tool
	inferred annotation.Annotations
}

func (c *caller) Describe() middleware.Description {
	return middleware.Description{Kind: "infer", Next: c.next}
}

func (c *caller) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if tool := call.Tool; tool != nil && tool.Definition != nil && len(tool.Annotations.Evidence) == 0 {
		if classed := c.classed(tool); classed != nil {
			call.Tool = classed
			ctx = callstate.WithClass(ctx, classed)
			callstate.Of(ctx).Write(func(r *callstate.Record) { r.Tool = classed })
		}
	}
	return c.next.CallTool(ctx, call)
}

// classed returns the tool with its inferred annotations and a digest, nil if its definition is no JSON.
func (c *caller) classed(tool *middleware.Tool) *middleware.Tool {
	k := key{tool.Server, tool.Definition, tool.Digest}
	last, ok := c.known.Get(k)
	if ok && last.from == tool {
		return last.to
	}
	if !ok {
		digested := tool
		if tool.Digest == (middleware.Digest{}) {
			var err error
			if digested, err = middleware.NewTool(tool.Server, tool.Definition, annotation.Annotations{}); err != nil {
				return nil
			}
		}
		last = &classified{to: digested, inferred: Tool(digested.Definition)}
	}
	to := *last.to
	to.Annotations = annotation.Merge(last.inferred, tool.Annotations)
	c.known.Add(k, &classified{from: tool, to: &to, inferred: last.inferred})
	return &to
}

const longDescription = 100

func (t *tool) annotate(def *mcp.Tool, name []word) annotation.Annotations {
	a := annotation.Annotations{Evidence: make([]annotation.Evidence, 0, 4)}
	f, rule := t.so, t.rule
	say := func(field annotation.Field, value string, why finding) {
		a.Evidence = append(a.Evidence, annotation.Evidence{
			Field: field, Value: value, Source: annotation.Inferred, Word: why.word, Place: string(why.place), Strength: why.place.strength(), Rule: rule,
		})
	}
	switch {
	case f.effect == unknown:
		say(annotation.ReadOnlyHint, "unset", f)
	case f.effect == reads:
		a.ReadOnly = annotation.Yes
		say(annotation.ReadOnlyHint, "yes", f)
	default:
		a.ReadOnly, a.Destructive = annotation.No, annotation.HintOf(f.effect >= takes)
		say(annotation.ReadOnlyHint, "no", f)
		say(annotation.DestructiveHint, a.Destructive.String(), f)
	}
	if f.effect == leaves || f.gives != "" {
		a.RequiresConfirmation = annotation.Yes
		say(annotation.RequiresConfirmation, "yes", f)
		a.Evidence[len(a.Evidence)-1].Given = f.rests
		if f.gives != "" {
			a.Evidence[len(a.Evidence)-1].Place += " and " + string(f.gives)
		}
	}
	rule = "" // those below follow from words alone
	if t.idempotent(f) {
		a.Idempotent = annotation.Yes
		say(annotation.IdempotentHint, "yes", t.v.finding)
	}
	open, why := t.openWorld(name)
	if a.OpenWorld = open; open != annotation.Unset {
		say(annotation.OpenWorldHint, open.String(), why)
	}
	a.Complexity, why = t.complexity(def, name)
	say(annotation.ComplexityHint, string(a.Complexity), why)
	fresh, secret, why := freshness(def, name)
	if fresh == "" || a.ReadOnly == annotation.No && !secret { // of a write it only matters whether it is a secret
		return a
	}
	a.Freshness = fresh
	say(annotation.FreshnessHint, string(fresh), why)
	if secret {
		a.Secret = annotation.Yes
		say(annotation.SecretHint, "yes", why)
	}
	return a
}

// idempotent reports whether the name's settled verb neither deletes nor creates. An update needs a target parameter.
func (t *tool) idempotent(f finding) bool {
	created := t.r.main.effect == adds || t.r.also.effect == adds
	if t.v.verb.sense&settled == 0 || !f.effect.writes() || f.effect.dangerous() || created {
		return false
	}
	return t.c.named || t.v.word != "update"
}

// openWorld returns whether the tool reaches outside, by the name before the description and outside before inside.
func (t *tool) openWorld(name []word) (annotation.Hint, finding) {
	out, in := first(name, outside), first(name, inside)
	switch {
	case out != "":
		return annotation.Yes, finding{place: inName, word: out}
	case in != "":
		return annotation.No, finding{place: inName, word: in}
	case t.r.open != "":
		return annotation.Yes, finding{place: inDescription, word: t.r.open}
	case t.v.verb.sense&(compute|weak) == compute:
		return annotation.No, t.v.finding
	}
	return annotation.Unset, finding{}
}

// complexity returns complex for one of seven stems, and otherwise medium for a long description.
func (t *tool) complexity(def *mcp.Tool, name []word) (annotation.Complexity, finding) {
	stem := first(name, involved)
	switch {
	case stem != "":
		return annotation.Complex, finding{place: inName, word: stem}
	case t.r.stem != "":
		return annotation.Complex, finding{place: inDescription, word: t.r.stem}
	case utf8.RuneCountInString(def.Description) > longDescription:
		return annotation.Medium, finding{place: longText}
	}
	return annotation.Simple, finding{place: shortText}
}
