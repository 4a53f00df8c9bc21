package policy

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/tailscale/hujson"
)

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
	r.checkFiles()
	if err := r.err(); err != nil {
		return nil, err
	}
	p.Warnings = append(p.Warnings, p.unreachable()...)
	p.Warnings = append(p.Warnings, p.unsaid()...)
	return p, nil
}

// policy returns the keys of a policy. The schema for editors has the same; a test compares them.
func (r *reader) policy() keys {
	p := r.to
	return keys{
		"$schema":     new(string),
		"version":     r.within(new(int), 1, 1, "this Fairlead reads version 1"),
		"trust":       each(r, &p.Trust, r.server),
		"readOnly":    &p.ReadOnly,
		"worstCase":   &p.WorstCase,
		"rules":       each(r, &p.Rules, r.rule),
		"tools":       each(r, &p.Tools, r.tool),
		"arguments":   r.arguments,
		"probes":      r.probes,
		"paths":       r.paths,
		"permissions": each(r, &p.Permissions, r.permission),
		"scopes":      each(r, &p.Scopes, r.scope),
		"approvals":   r.approvals,
		"limits":      r.limits,
		"timeout":     keys{"default": &p.Timeout.Default, "cap": &p.Timeout.Cap},
		"retry":       keys{"attempts": &p.Retry.Attempts},
		"cache":       r.lifetimes,
		"previews":    each(r, &p.Previewed, r.pattern),
		"budget":      r.budget,
		"flow": keys{
			"trusted": each(r, &p.Trusted, r.pattern),
			"label":   &p.FlowLabel,
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
	} else {
		r.to.uses = append(r.to.uses, use{key: safetext.Line(key), line: r.line(v.StartOffset), pattern: p})
	}
	*to = p
}

// server reads the name of a server.
func (r *reader) server(v hujson.Value, key string, to *string) {
	text(r, to)(v, key)
	r.usesServer(v, key, *to)
}

// usesServer notes the name of a server, or that none can have it.
func (r *reader) usesServer(v hujson.Value, key, name string) {
	switch {
	case name == "":
	case strings.ContainsAny(name, `*?[]\^`) || !serverPart().MatchString(name):
		r.faultf(v, key, "no server can be called %q; write its whole name: letters, digits, '.', '-' and single '_'", safetext.Cut(name, 80))
	default:
		r.to.uses = append(r.to.uses, use{key: safetext.Line(key), line: r.line(v.StartOffset), pattern: Pattern{Server: name}, server: true})
	}
}

func (r *reader) rule(v hujson.Value, key string, rule *Rule) {
	verdict := ""
	rule.Line = r.line(v.StartOffset)
	read := r.into(v, key, keys{
		"tool": &rule.Tool, "decide": text(r, &verdict, verdicts[1:]...), "reason": &rule.Reason,
		"class": r.accepted(&rule.Accepted), "definition": r.definition(&rule.Accepted),
	})
	if read && (rule.Tool.written == "" || verdict == "") {
		r.faultf(v, key, `it needs "tool" and "decide"`)
	}
	rule.Verdict = Verdict(slices.Index(verdicts, verdict))
	if rule.Accepted != (Accepted{}) && rule.Verdict != Allow {
		r.faultf(v, key, `"class" and "definition" go with "decide": "allow"; the others count for every class and definition`)
	}
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
var permission = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_:/-]+(\.[A-Za-z0-9_:/-]+)*$`) })

func (r *reader) permission(v hujson.Value, key string, one *Permission) {
	read := r.into(v, key, keys{"tool": &one.Tool, "permission": &one.Permission})
	valid := permission().MatchString(one.Permission) && len(one.Permission) <= 200 && !strings.HasSuffix(one.Permission, ".all")
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
				r.usesServer(m.Name, key, name)
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
