package policy

import (
	"errors"
	"fmt"
	"math"
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
	r.into(v, "", r.policy())
	if err := r.err(); err != nil {
		return nil, err
	}
	p.Warnings = append(p.Warnings, p.unreachable()...)
	return p, nil
}

func (r *reader) policy() keys {
	p := r.to
	return keys{
		"$schema":     new(string),
		"version":     r.within(new(int), 1, 1, "this Fairlead reads version 1"),
		"trust":       texts(r, &p.Trust),
		"readOnly":    &p.ReadOnly,
		"rules":       each(r, &p.Rules, r.rule),
		"tools":       each(r, &p.Tools, r.tool),
		"arguments":   r.arguments,
		"permissions": each(r, &p.Permissions, r.permission),
		"scopes":      each(r, &p.Scopes, r.scope),
		"approvals":   r.approvals,
		"limits":      r.limits,
		"timeout":     keys{"default": &p.Timeout.Default, "cap": &p.Timeout.Cap},
		"retry":       keys{"attempts": &p.Retry.Attempts},
		"cache":       r.lifetimes,
		"budget":      r.budget,
		"flow": keys{
			"trusted": each(r, &p.Trusted, r.pattern),
			"off":     texts(r, &p.FlowOff, flow.UntrustedValue, flow.UnknownAddress, flow.SensitiveOut, flow.Instructed),
		},
		"output": keys{"limit": r.within(&p.OutputLimit, 200, math.MaxInt, "it has to be at least 200, so that something can be said")},
		"lock":   &p.Lock,
		"audit":  &p.Audit,
	}
}

func (r *reader) pattern(v hujson.Value, key string, to *Pattern) {
	var s string
	if !r.into(v, key, &s) {
		return
	}
	p, err := ParsePattern(s)
	if err != nil {
		r.faultf(v, key, "%v", err)
	}
	*to = p
}

func (r *reader) rule(v hujson.Value, key string, rule *Rule) {
	verdict := ""
	rule.Line = r.line(v.StartOffset)
	read := r.into(v, key, keys{"tool": &rule.Tool, "decide": text(r, &verdict, verdicts[1:]...), "reason": &rule.Reason})
	if read && (rule.Tool.written == "" || verdict == "") {
		r.faultf(v, key, `it needs "tool" and "decide"`)
	}
	rule.Verdict = Verdict(slices.Index(verdicts, verdict))
}

var (
	classes = []string{"safe", "moderate", "dangerous"}
	levels  = []annotation.SecurityLevel{annotation.Public, annotation.Internal, annotation.Restricted}
)

func (r *reader) tool(v hujson.Value, key string, o *Override) {
	class := ""
	o.Line = r.line(v.StartOffset)
	a := &o.Annotations
	read := r.into(v, key, keys{
		"tool": &o.Tool, "class": text(r, &class, classes...), "idempotent": &a.Idempotent, "openWorld": &a.OpenWorld,
		"auditRequired": &a.AuditRequired, "freshness": text(r, &a.Freshness, annotation.Stable, annotation.Shared, annotation.Volatile),
		"secret": &a.Secret, "securityLevel": text(r, &a.SecurityLevel, levels...), "usually": &a.EstimatedDuration,
	})
	switch class {
	case "safe":
		a.ReadOnly, a.Destructive, a.RequiresConfirmation = annotation.Yes, annotation.No, annotation.No
	case "moderate":
		a.ReadOnly, a.Destructive, a.RequiresConfirmation = annotation.No, annotation.No, annotation.No
	case "dangerous":
		a.ReadOnly, a.Destructive = annotation.No, annotation.Yes
	}
	if !read {
		return
	}
	if o.Tool.written == "" {
		r.faultf(v, key, `it needs "tool"`)
	}
	if err := a.Validate(); err != nil {
		r.faultf(v, key, "%v", err)
	}
}

// lifetimes reads what is cached: "on", "off" or a time, by pattern.
func (r *reader) lifetimes(v hujson.Value, key string) {
	r.members(v, key, func(_ string, m hujson.ObjectMember, key string) {
		var l Lifetime
		r.into(m.Name, key, &l.Tool)
		switch s, ok := m.Value.Value.(hujson.Literal); {
		case ok && s.String() == "off":
		case ok && s.String() == "on":
			l.Time = -1
		default:
			r.into(m.Value, key, &l.Time)
		}
		r.to.Cache = append(r.to.Cache, l)
	})
}

// permission is the form of what a tool may need, without the wildcards of scopes.
var permission = regexp.MustCompile(`^[A-Za-z0-9_:/-]+(\.[A-Za-z0-9_:/-]+)*$`)

func (r *reader) permission(v hujson.Value, key string, one *Permission) {
	read := r.into(v, key, keys{"tool": &one.Tool, "permission": &one.Permission})
	valid := permission.MatchString(one.Permission) && len(one.Permission) <= 200 && !strings.HasSuffix(one.Permission, ".all")
	if read && (!valid || one.Tool.written == "") {
		r.faultf(v, key, `it needs "tool", and a "permission" such as "customers.read"`)
	}
}

func (r *reader) scope(v hujson.Value, key string, s *catalog.Scope) {
	var to any = &s.Permission
	if v.Value.Kind() == '{' {
		to = keys{"permission": to, "upTo": text(r, &s.Ceiling, levels...)}
	}
	if !r.into(v, key, to) {
		return
	}
	if _, err := new(catalog.Catalog).View(*s); err != nil {
		r.faultf(v, key, "%s", strings.TrimPrefix(err.Error(), "catalog: the scopes of a view: "))
	}
}

func (r *reader) limits(v hujson.Value, key string) {
	o := &r.to.Limits
	r.into(v, key, keys{
		"perMinute": &o.PerMinute, "burst": &o.Burst, "maxWait": &o.MaxWait,
		"servers": func(v hujson.Value, key string) {
			o.Servers = make(map[string]ratelimit.Limit)
			r.members(v, key, func(name string, m hujson.ObjectMember, key string) {
				var l ratelimit.Limit
				r.into(m.Value, key, keys{"perMinute": &l.PerMinute, "burst": &l.Burst})
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
	r.into(v, key, keys{
		"calls": &b.Session.Calls, "cost": &b.Session.Cost, "time": &b.Session.Time, "idle": &b.Idle, "pause": &b.Pause,
		"repeats": r.within(&b.Repeats, 1, 100, "it may be 100 at most"),
	})
	r.to.Budget = b
}

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
	texts(r, &r.to.By, approvers...)(v, key)
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
		read := each(r, &rules, r.argumentRule)
		if m.Value.Value.Kind() != '[' {
			rules = make([]preflight.Rule, 1)
			read = func(v hujson.Value, key string) { r.argumentRule(v, key, &rules[0]) }
		}
		switch read(m.Value, key); {
		case !oneTool.MatchString(name):
			r.faultf(m.Name, key, `it names no tool; write "server/tool", such as "github/issue_write"`)
		case len(rules) == 0 || rules[0] == nil:
			r.faultf(m.Value, key, "it needs a rule")
		default:
			r.to.Arguments[name] = preflight.Strictest(rules...)
		}
	})
}

// argumentRule reads {"when": {"method": ["get"]}, "class": "safe"}.
func (r *reader) argumentRule(v hujson.Value, key string, to *preflight.Rule) {
	var when preflight.Condition
	var class string
	read := r.into(v, key, keys{"when": r.when(&when), "class": text(r, &class, classes...)})
	rule := map[string]func() preflight.Rule{"safe": when.Safe, "moderate": when.Moderate, "dangerous": when.Dangerous}[class]
	switch {
	case rule != nil && when.String() != "":
		*to = rule()
	case read:
		r.faultf(v, key, `it needs "when", with at least one argument, and "class"`)
	}
}

// when reads for each argument the texts and the truth values that it may have.
func (r *reader) when(to *preflight.Condition) field {
	return func(v hujson.Value, key string) {
		r.members(v, key, func(name string, m hujson.ObjectMember, key string) {
			var values []any
			each(r, &values, func(v hujson.Value, key string, value *any) {
				const what = "a text, true or false"
				literal(r, v, key, what, value)
				if _, isNumber := (*value).(float64); isNumber {
					r.faultf(v, key, "it has to be %s", what)
				}
			})(m.Value, key)
			if name == "" || len(values) == 0 {
				r.faultf(m.Name, key, "it needs the name of an argument, and at least one value")
				return
			}
			*to = to.And(name, values...)
		})
	}
}
