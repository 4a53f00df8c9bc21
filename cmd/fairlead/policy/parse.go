package policy

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/tailscale/hujson"
)

const maxFile = 8 << 20

// Parse reads the text of a policy: JSON, maybe with comments and trailing commas. If anything is not
// understood, the error lists each fault with its line and key. The name is for explanations.
func Parse(name string, text []byte) (*Policy, error) {
	p := &Policy{Name: name}
	r := &reader{name: name, raw: text, to: p}
	if len(text) > maxFile {
		return nil, &Error{name, 1, "", fmt.Sprintf("it has %d bytes, more than %d", len(text), maxFile)}
	}
	v, err := r.parse()
	if err != nil {
		return nil, err
	}
	r.policy(v)
	if err := r.err(); err != nil {
		return nil, err
	}
	p.Warnings = append(p.Warnings, p.unreachable()...)
	return p, nil
}

func (r *reader) policy(v hujson.Value) {
	p := r.to
	var schema string
	var version int
	r.object(v, "", map[string]field{
		"$schema":     r.text(&schema),
		"version":     r.counted(&version, func(n int) bool { return n > 1 }, "this Fairlead reads version 1"),
		"trust":       r.texts(&p.Trust),
		"readOnly":    r.flag(&p.ReadOnly),
		"rules":       r.each(r.rule),
		"tools":       r.each(r.tool),
		"arguments":   r.arguments,
		"permissions": r.each(r.permission),
		"scopes":      func(v hujson.Value, key string) { p.HasScopes = true; r.list(v, key, r.scope) },
		"approvals":   r.approvals,
		"limits":      r.limits,
		"timeout":     r.fields(map[string]field{"default": r.duration(&p.Timeout.Default), "cap": r.duration(&p.Timeout.Cap)}),
		"retry":       r.fields(map[string]field{"attempts": r.count(&p.Retry.Attempts)}),
		"cache":       r.lifetimes,
		"budget":      r.budget,
		"flow":        r.flow,
		"output": r.fields(map[string]field{"limit": r.counted(&p.OutputLimit, func(n int) bool { return n < leastOutput },
			"it has to be at least %d, so that something can be said", leastOutput)}),
		"lock":  r.text(&p.Lock),
		"audit": r.text(&p.Audit),
	})
}

const leastOutput = 200

func (r *reader) texts(to *[]string, words ...string) field {
	return r.each(func(v hujson.Value, key string) {
		var s string
		if r.text(&s, words...)(v, key); s != "" {
			*to = append(*to, s)
		}
	})
}

func (r *reader) pattern(to *Pattern) field {
	return func(v hujson.Value, key string) {
		var s string
		if r.text(&s)(v, key); s == "" {
			return
		}
		p, err := ParsePattern(s)
		if err != nil {
			r.faultf(v, key, "%v", err)
			return
		}
		*to = p
	}
}

func (r *reader) rule(v hujson.Value, key string) {
	before, rule, verdict := len(r.faults), Rule{Line: r.line(v.StartOffset)}, ""
	r.object(v, key, map[string]field{
		"tool": r.pattern(&rule.Tool), "decide": r.text(&verdict, verdicts[1:]...), "reason": r.text(&rule.Reason),
	})
	if len(r.faults) == before && (rule.Tool.written == "" || verdict == "") {
		r.faultf(v, key, `it needs "tool" and "decide"`)
	}
	rule.Verdict = Verdict(slices.Index(verdicts, verdict))
	r.to.Rules = append(r.to.Rules, rule)
}

func (r *reader) tool(v hujson.Value, key string) {
	before, o := len(r.faults), Override{Line: r.line(v.StartOffset)}
	var class, level, fresh string
	a := &o.Annotations
	r.object(v, key, map[string]field{
		"tool": r.pattern(&o.Tool), "class": r.text(&class, "safe", "moderate", "dangerous"),
		"idempotent": r.hint(&a.Idempotent), "openWorld": r.hint(&a.OpenWorld), "auditRequired": r.hint(&a.AuditRequired),
		"freshness": r.text(&fresh, "stable", "shared", "volatile"), "secret": r.hint(&a.Secret),
		"securityLevel": r.text(&level, "public", "internal", "restricted"), "usually": r.duration(&a.EstimatedDuration),
	})
	a.SecurityLevel, a.Freshness = annotation.SecurityLevel(level), annotation.Freshness(fresh)
	switch class {
	case "safe":
		a.ReadOnly, a.Destructive, a.RequiresConfirmation = annotation.Yes, annotation.No, annotation.No
	case "moderate":
		a.ReadOnly, a.Destructive, a.RequiresConfirmation = annotation.No, annotation.No, annotation.No
	case "dangerous":
		a.ReadOnly, a.Destructive = annotation.No, annotation.Yes
	}
	if len(r.faults) > before {
		return
	}
	if o.Tool.written == "" {
		r.faultf(v, key, `it needs "tool"`)
	}
	if err := a.Validate(); err != nil {
		r.faultf(v, key, "%v", err)
	}
	r.to.Tools = append(r.to.Tools, o)
}

// lifetimes reads what is cached: "on", "off" or a time, by pattern.
func (r *reader) lifetimes(v hujson.Value, key string) {
	r.members(v, key, func(name string, m hujson.ObjectMember, key string) {
		tool, err := ParsePattern(name)
		if err != nil {
			r.faultf(m.Name, key, "%v", err)
			return
		}
		l := Lifetime{Tool: tool}
		switch s, ok := m.Value.Value.(hujson.Literal); {
		case ok && s.String() == "off":
		case ok && s.String() == "on":
			l.Time = -1
		default:
			r.duration(&l.Time)(m.Value, key)
		}
		r.to.Cache = append(r.to.Cache, l)
	})
}

func (r *reader) hint(to *annotation.Hint) field {
	return func(v hujson.Value, key string) {
		if yes, ok := literal[bool](r, v, key, "true or false"); ok {
			*to = annotation.HintOf(yes)
		}
	}
}

// permission is the form of what a tool may need, without the wildcards of scopes.
var permission = regexp.MustCompile(`^[A-Za-z0-9_:/-]+(\.[A-Za-z0-9_:/-]+)*$`)

func (r *reader) permission(v hujson.Value, key string) {
	before, one := len(r.faults), Permission{}
	r.object(v, key, map[string]field{"tool": r.pattern(&one.Tool), "permission": r.text(&one.Permission)})
	if len(r.faults) > before {
		return
	}
	if !permission.MatchString(one.Permission) || len(one.Permission) > 200 || strings.HasSuffix(one.Permission, ".all") || one.Tool.written == "" {
		r.faultf(v, key, `it needs "tool", and a "permission" such as "customers.read"`)
	}
	r.to.Permissions = append(r.to.Permissions, one)
}

func (r *reader) scope(v hujson.Value, key string) {
	var s catalog.Scope
	if _, isObject := v.Value.(*hujson.Object); isObject {
		var level string
		r.object(v, key, map[string]field{"permission": r.text(&s.Permission), "upTo": r.text(&level, "public", "internal", "restricted")})
		s.Ceiling = annotation.SecurityLevel(level)
	} else {
		r.text(&s.Permission)(v, key)
	}
	if s.Permission == "" {
		return
	}
	if _, err := new(catalog.Catalog).View(s); err != nil {
		r.faultf(v, key, "%s", strings.TrimPrefix(err.Error(), "catalog: the scopes of a view: "))
	}
	r.to.Scopes = append(r.to.Scopes, s)
}

func (r *reader) limits(v hujson.Value, key string) {
	o := &r.to.Limits
	r.object(v, key, map[string]field{
		"perMinute": r.amount(&o.PerMinute), "burst": r.count(&o.Burst), "maxWait": r.duration(&o.MaxWait),
		"servers": func(v hujson.Value, key string) {
			o.Servers = make(map[string]ratelimit.Limit)
			r.members(v, key, func(name string, m hujson.ObjectMember, key string) {
				var l ratelimit.Limit
				r.object(m.Value, key, map[string]field{"perMinute": r.amount(&l.PerMinute), "burst": r.count(&l.Burst)})
				if l.PerMinute == 0 {
					r.faultf(m.Value, key, `it needs "perMinute"`)
				}
				o.Servers[name] = l
			})
		},
	})
	if o.Burst > 0 && o.PerMinute == 0 {
		r.faultf(v, key, `"burst" belongs to "perMinute"`)
	}
}

func (r *reader) budget(v hujson.Value, key string) {
	b := new(budget.Options)
	r.object(v, key, map[string]field{
		"calls": r.count(&b.Session.Calls), "cost": r.amount(&b.Session.Cost), "time": r.duration(&b.Session.Time),
		"idle": r.duration(&b.Idle), "pause": r.duration(&b.Pause),
		"repeats": r.counted(&b.Repeats, func(n int) bool { return n > mostRepeats }, "it may be %d at most", mostRepeats),
	})
	r.to.Budget = b
}

func (r *reader) flow(v hujson.Value, key string) {
	var off []string
	r.object(v, key, map[string]field{
		"trusted": r.each(func(v hujson.Value, key string) {
			var trusted Pattern
			if r.pattern(&trusted)(v, key); trusted.written != "" {
				r.to.Trusted = append(r.to.Trusted, trusted)
			}
		}),
		"off": r.texts(&off, string(flow.UntrustedValue), string(flow.UnknownAddress), string(flow.SensitiveOut), string(flow.Instructed)),
	})
	for _, rule := range off {
		r.to.FlowOff = append(r.to.FlowOff, flow.Rule(rule))
	}
}

const mostRepeats = 100

// unreachable names the rules that never decide anything.
func (p *Policy) unreachable() []string {
	var wide []int // rules that may cover others than themselves
	first := make(map[string]int)
	for i, r := range p.Rules {
		if !r.Tool.Exact() {
			wide = append(wide, i)
		}
		if _, there := first[r.Tool.written]; !there {
			first[r.Tool.written] = i
		}
	}
	if len(wide)*len(p.Rules) > maxCompared {
		return []string{p.Name + ": it has too many patterns to be searched for unreachable rules; all of them count"}
	}
	var all []string
	for i, r := range p.Rules {
		for _, j := range append(slices.Clip(wide), first[r.Tool.written]) {
			if other := p.Rules[j]; i != j && other.settles(r, j < i) {
				all = append(all, fmt.Sprintf("%s: unreachable rule: %s %q decides nothing, since line %d says %s to all of that already",
					p.At(r.Line), r.Verdict, r.Tool, other.Line, other.Verdict))
				break
			}
		}
		if len(all) >= maxFaults {
			break
		}
	}
	return all
}

const maxCompared = 5_000_000

// settles reports whether a rule leaves another nothing to decide.
func (r Rule) settles(other Rule, earlier bool) bool {
	switch {
	case r.Verdict < other.Verdict || !r.Tool.covers(other.Tool):
		return false
	case r.Verdict > other.Verdict:
		return true
	case r.Verdict == Allow && (other.Tool.Exact() && !r.Tool.Exact() || other.Tool.namesServer() && !r.Tool.namesServer()):
		return false // it allows more of what it names
	}
	return earlier || !other.Tool.covers(r.Tool)
}

// lookEvery is how often a [Live] looks at its file at most.
const lookEvery = time.Second

var approvers = []string{"elicit", "web", "terminal", "deny"}

func (r *reader) by(v hujson.Value, key string) {
	r.texts(&r.to.By, approvers...)(v, key)
	if err := CheckApprovers(r.to.By); err != nil {
		r.faultf(v, key, "%v", err)
	}
}

// CheckApprovers returns an error for approvers that cannot be meant.
func CheckApprovers(by []string) error {
	for i, who := range by {
		switch {
		case !slices.Contains(approvers, who):
			return fmt.Errorf("%q is none of %s", who, strings.Join(approvers, ", "))
		case slices.Contains(by[:i], who):
			return fmt.Errorf("%s is named twice", who)
		case who == "deny" && len(by) > 1:
			return errors.New("deny asks nobody, and goes with no other")
		}
	}
	return nil
}

var oneTool = regexp.MustCompile(`^[^/]+/[A-Za-z0-9_.-]{1,128}$`)

// arguments reads for each tool a rule over its arguments, or a list of rules: the strictest counts.
func (r *reader) arguments(v hujson.Value, key string) {
	r.to.Arguments = make(preflight.Rules)
	r.members(v, key, func(name string, m hujson.ObjectMember, key string) {
		var rules []preflight.Rule
		read := r.argumentRule(&rules)
		if _, isList := m.Value.Value.(*hujson.Array); isList {
			read = r.each(read)
		}
		switch read(m.Value, key); {
		case !oneTool.MatchString(name):
			r.faultf(m.Name, key, `it names no tool; write "server/tool", such as "github/issue_write"`)
		case len(rules) == 0:
			r.faultf(m.Value, key, "it needs a rule")
		default:
			r.to.Arguments[name] = preflight.Strictest(rules...)
		}
	})
}

// argumentRule reads {"when": {"method": ["get"]}, "class": "safe"}.
func (r *reader) argumentRule(to *[]preflight.Rule) field {
	return func(v hujson.Value, key string) {
		var when preflight.Condition
		var class string
		before := len(r.faults)
		r.object(v, key, map[string]field{"when": r.when(&when), "class": r.text(&class, "safe", "moderate", "dangerous")})
		rule := map[string]func() preflight.Rule{"safe": when.Safe, "moderate": when.Moderate, "dangerous": when.Dangerous}[class]
		switch {
		case rule != nil && when.String() != "":
			*to = append(*to, rule())
		case len(r.faults) == before:
			r.faultf(v, key, `it needs "when", with at least one argument, and "class"`)
		}
	}
}

// when reads for each argument the texts and the truth values that it may have.
func (r *reader) when(to *preflight.Condition) field {
	return func(v hujson.Value, key string) {
		r.members(v, key, func(name string, m hujson.ObjectMember, key string) {
			var values []any
			r.list(m.Value, key, func(v hujson.Value, key string) {
				value, ok := literal[any](r, v, key, "a text, true or false")
				if _, isNumber := value.(float64); isNumber {
					r.faultf(v, key, "it has to be a text, true or false")
				} else if ok {
					values = append(values, value)
				}
			})
			if name == "" || len(values) == 0 {
				r.faultf(m.Name, key, "it needs the name of an argument, and at least one value")
				return
			}
			*to = to.And(name, values...)
		})
	}
}
