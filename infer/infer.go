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
	_ "embed" // for the word list
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/infer/internal/text"
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

// A keeping is what a word implies about how long the result of a read stays true.
type keeping uint16

const (
	opens   keeping = 1 << iota // a secret, or something that opens one
	token                       // likewise, if the name ends in it
	hands                       // likewise, anywhere in a description
	moment                      // the present moment
	scene                       // likewise, in the first sentence of a description
	fixed                       // a definition
	works                       // a verb that computes
	teaches                     // documentation, in the first sentence of a description
	seeks                       // a verb that searches
	lists                       // a verb that lists
	record                      // what others may change
	plain                       // any other word
	reveals                     // a parameter that has a secret shown
	passing                     // does not name anything: get, all
	bound                       // a preposition: what is named is before it
)

// keepings are the names that the word list has for them.
var keepings = map[string]keeping{
	"opens": opens, "token": token, "hands": hands, "moment": moment, "scene": scene, "fixed": fixed, "works": works,
	"teaches": teaches, "seeks": seeks, "lists": lists, "record": record, "reveals": reveals, "passing": passing, "bound": bound,
}

// freshWords lists words in the singular by their keeping. A hyphen is between words that follow each other.
//
//go:embed freshness.txt
var freshWords string

// freshIndex holds the keepings of words, and of two words that follow each other, with their plurals.
var freshIndex = sync.OnceValue(func() map[string]keeping {
	listed, all := make(map[string]keeping), make(map[string]keeping)
	for line := range strings.Lines(freshWords) {
		name, words, _ := strings.Cut(line, ":")
		for entry := range strings.FieldsSeq(words) {
			listed[strings.Replace(entry, "-", " ", 1)] |= keepings[name]
		}
	}
	for entry, k := range listed {
		all[text.Inflect(entry, "s")] |= k
	}
	maps.Copy(all, listed) // a plural that is listed is a word of its own
	return all
})

// A look is what the words of a text imply.
type look struct {
	place place
	words [16]string // the first one of each keeping
	last  string     // the last word
	all   keeping    // of all the words
	lead  keeping    // of the first
	head  keeping    // of the last one before a preposition that names something
	bound bool       // the preposition has come
}

func (l *look) add(w string) {
	var room [64]byte // for the last word and this one, in small letters
	two := append(append(append(room[:0], l.last...), ' '), w...)
	for i, c := range two {
		if 'A' <= c && c <= 'Z' {
			two[i] += 'a' - 'A'
		}
	}
	k := cmp.Or(freshIndex()[string(two)], freshIndex()[string(two[len(l.last)+1:])], plain)
	l.last = w
	if l.all == 0 {
		l.lead = k
	}
	l.bound = l.bound || k&bound != 0 && l.head != 0
	if !l.bound && k&(passing|bound) == 0 {
		l.head = k
	}
	for news := k &^ l.all; news != 0; news &= news - 1 {
		l.words[bits.TrailingZeros16(uint16(news))] = w
	}
	l.all |= k
}

func (l *look) read(description string) {
	for w := range strings.FieldsFuncSeq(description, func(r rune) bool { return !unicode.IsLetter(r) }) {
		l.add(w)
	}
}

// freshness returns how long the result of a read stays true ("" if unknown), whether it is a secret, and why.
func freshness(def *mcp.Tool, words []word) (says annotation.Freshness, secret bool, why finding) {
	name, first, rest, parameters := look{place: inName}, look{place: inDescription}, look{place: inDescription}, look{place: inSchema}
	for i := range words {
		name.add(words[i].base)
	}
	description := def.Description[:min(len(def.Description), 8000)]
	sentence, _, _ := strings.Cut(description, "\n")
	sentence, _, _ = strings.Cut(sentence, ". ")
	first.read(sentence)
	rest.read(description[len(sentence):])
	schema, _ := def.InputSchema.(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	if len(properties) > 0 {
		for _, label := range slices.Sorted(maps.Keys(properties)) {
			for _, w := range cut(label) {
				parameters.add(w.base)
			}
		}
	}
	in := func(l *look, k keeping) bool {
		if l.all&k == 0 {
			return false
		}
		why = finding{place: l.place, word: strings.ToLower(l.words[bits.TrailingZeros16(uint16(l.all&k))])}
		return true
	}
	defined := name.head&fixed != 0
	switch {
	case name.head&token != 0 && in(&name, token), in(&first, hands), in(&rest, hands), in(&parameters, reveals), !defined && (in(&name, opens) || in(&first, opens)):
		return annotation.Volatile, true, why
	case strings.ContainsFunc(sentence, unfamiliar):
		return "", false, finding{}
	case in(&first, teaches), defined && name.lead&seeks == 0 && in(&name, fixed):
		return annotation.Stable, false, why
	case in(&name, moment):
		return annotation.Volatile, false, why
	case (name.lead|name.head)&works != 0 && in(&name, works):
		return annotation.Stable, false, why
	case in(&first, scene):
		return annotation.Volatile, false, why
	case in(&name, record), name.lead&seeks != 0 && in(&name, seeks):
		return annotation.Shared, false, why
	case in(&name, fixed), first.lead&works != 0 && in(&first, works), first.head&fixed != 0 && in(&first, fixed):
		return annotation.Stable, false, why
	case in(&first, moment):
		return annotation.Volatile, false, why
	case in(&first, record|fixed), name.head&plain != 0 && in(&name, lists):
		return annotation.Shared, false, why
	}
	return "", false, finding{}
}

func unfamiliar(r rune) bool { return r >= 0x2E80 }

// Limits on what is looked at of a schema. Anything beyond them gives no cue.
const (
	maxSchemaDepth = 6
	maxSchemaNodes = 20000
	maxChoice      = 128
)

// cues are what the parameters give away.
type cues struct {
	action   finding // the gravest value of a parameter that chooses what is done
	noun     finding // the same, for a value that may be a noun: an email, a trash
	chosen   bool    // there is such a parameter, and every value could be read
	command  finding // a parameter that is itself a command
	code     finding // a parameter that may be one, or a short word for something: a country's code
	forced   finding // a parameter that overrides a protection
	switched finding // a switch that takes something away
	people   finding // a parameter that names people who are written to
	optional string  // all such parameters, "" if one is required
	required bool    // one of them is
	body     finding // a required parameter that holds what is to be written
	tried    finding // a parameter that only a tool which changes something has
	said     finding // the gravest effect that the description of a parameter has
	carries  string  // a parameter that carries a method, an operation, a body or code
	named    bool    // a parameter names what is acted on
	listens  bool    // descriptions of parameters are read
	nodes    int
}

// walk goes through the properties of a schema, by name, and of those nested in it. It follows no references.
func (c *cues) walk(schema any, depth int) {
	object, _ := schema.(map[string]any)
	if c.nodes++; depth > maxSchemaDepth || c.nodes > maxSchemaNodes {
		return
	}
	properties, _ := object["properties"].(map[string]any)
	required, _ := object["required"].([]any)
	for _, label := range slices.Sorted(maps.Keys(properties)) {
		property, _ := properties[label].(map[string]any)
		if ws := cut(label); len(ws) > 0 {
			must := slices.ContainsFunc(required, func(v any) bool { return v == label })
			c.property(ws, property, depth == 0, must)
			if depth == 0 && ws[0].may(addressee) {
				c.addressed(label, must)
			}
		}
		c.walk(property, depth+1)
	}
	for _, key := range [...]string{"oneOf", "anyOf", "allOf"} {
		choices, _ := object[key].([]any)
		for _, choice := range choices {
			c.walk(choice, depth+1)
		}
	}
}

// property looks at a parameter: at any depth what it may choose, carry or say, at the top what it is as well.
func (c *cues) property(ws []word, property map[string]any, top, required bool) {
	first, last := &ws[0], &ws[len(ws)-1]
	kind, _ := property["type"].(string)
	if last.may(chooser) {
		c.choice(property)
	}
	if last.may(chooser | body | strict | asked) {
		c.carries = last.base
	}
	if description, _ := property["description"].(string); c.listens {
		c.listen(description, kind == "boolean", last.may(strict))
	}
	at := func(e effect, w *word) finding { return finding{effect: e, place: inSchema, word: w.base} }
	switch isSwitch := kind == "boolean"; {
	case !top:
	case !isSwitch && len(ws) > 1 && first.may(outlet) && last.holds():
		c.tried = c.tried.worse(at(adds, first))
	case first.may(addressee):
		c.people = at(leaves, first)
	case last.may(namer):
		c.named = true
	case isSwitch && len(ws) == 1 && last.may(switcher):
		c.switched = c.switched.worse(at(takes, last))
	case isSwitch && first.may(trial):
		c.tried = c.tried.worse(at(changes, first))
	case isSwitch && last.may(force):
		c.forced = c.forced.worse(at(takes, last))
	case isSwitch:
	case last.may(strict) && len(ws) < 3 && kind != "object" && property["enum"] == nil: // sql, shell_command
		f := at(commands, last)
		if f.gives = givesPower; last.base == "code" {
			c.code = f
		} else {
			c.command = f
		}
	case last.may(body) && required:
		c.body = c.body.worse(at(adds, last))
	}
}

func (c *cues) addressed(label string, required bool) {
	c.required = c.required || required || strings.ContainsAny(label, " \t\n")
	c.optional = strings.TrimLeft(c.optional+" "+label, " ")
	if c.required {
		c.optional = ""
	}
}

// listen reads the description of a parameter: what a switch does when it is on, and whether code is run.
func (c *cues) listen(description string, isSwitch, isCode bool) {
	var r reading
	p := parser{scan: text.Scanner{Text: description}}
	for begins := true; p.next(); begins = false {
		r.passing(p.words)
		if isSwitch && begins {
			r.later(p.words)
		}
		if isCode && first(p.words, run) != "" {
			r.also = r.also.worse(finding{effect: commands, word: "code", gives: givesPower})
		}
	}
	if f := r.also.worse(r.done); f.effect > max(c.said.effect, adds) {
		c.said = f.at(ofParameter)
	}
}

// choice reads the values of a parameter such as "action" like names of tools.
func (c *cues) choice(property map[string]any) {
	values, _ := property["enum"].([]any)
	for _, value := range values {
		name, _ := value.(string)
		v := judge(cut(name[:min(len(name), maxChoice)]))
		switch {
		case v.head != 0, v.effect == unknown, !v.firm && (v.verb.sense&weak != 0 || !v.effect.dangerous()):
		case v.verb.sense&noun != 0:
			c.noun = c.noun.worse(v.at(inChoice))
		default:
			c.chosen = true
			c.action = c.action.worse(v.at(inChoice))
		}
	}
}
