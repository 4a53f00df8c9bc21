package policy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/cmd/fairlead/jsonc"
	"github.com/fairlead-go/fairlead/cmd/fairlead/nearest"
	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/safetext"
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

// An Error is what is wrong with a file, with the line and the key.
type Error struct {
	File string
	Line int
	Key  string // "rules[2].tool"
	Text string
}

func (e *Error) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("policy: %s:%d: %s", e.File, e.Line, e.Text)
	}
	return fmt.Sprintf("policy: %s:%d: %s: %s", e.File, e.Line, e.Key, e.Text)
}

// A reader takes a text apart. It goes on after a fault, to report all of them at once.
type reader struct {
	name   string
	raw    []byte
	to     *Policy // what is read so far
	faults []*Error
	wrong  int // how many faults there are, of which the first are kept

	offset, breaks int // how many line breaks stand before what was asked for last
}

const maxFaults = 20

// line is that of an offset. Offsets ascend, so that lines before the last one are counted once.
func (r *reader) line(offset int) int {
	if offset < r.offset {
		r.offset, r.breaks = 0, 0
	}
	r.breaks += bytes.Count(r.raw[r.offset:offset], []byte("\n"))
	r.offset = offset
	return 1 + r.breaks
}

func (r *reader) faultf(v hujson.Value, key, format string, args ...any) {
	if r.wrong++; r.wrong <= maxFaults {
		r.faults = append(r.faults, &Error{r.name, r.line(v.StartOffset), safetext.Line(key), fmt.Sprintf(format, args...)})
	}
}

var comment = regexp.MustCompile(`//[^\n]*|(?s:/\*.*?\*/)`)

func (r *reader) parse() (hujson.Value, error) {
	if !utf8.Valid(r.raw) {
		return hujson.Value{}, &Error{r.name, 1, "", "it is no UTF-8"}
	}
	if line := jsonc.Deep(r.raw); line > 0 {
		return hujson.Value{}, &Error{r.name, line, "", "it is nested too deeply"}
	}
	v, err := hujson.Parse(r.raw)
	if err == nil {
		return v, nil
	}
	if len(bytes.TrimSpace(comment.ReplaceAll(r.raw, nil))) == 0 {
		return v, &Error{r.name, 1, "", `it says nothing; a policy that leaves everything as careful as it is by default is {}`}
	}
	text := strings.TrimPrefix(err.Error(), "hujson: ")
	var line, column int
	if _, scanErr := fmt.Sscanf(text, "line %d, column %d:", &line, &column); scanErr == nil {
		_, text, _ = strings.Cut(text, ": ")
	}
	return v, &Error{r.name, max(line, 1), "", "it is no JSON: " + text}
}

// A field reads the value of a key.
type field = func(v hujson.Value, key string)

// keys are those of an object, each once, and what [reader.into] reads their values into.
type keys map[string]any

// into reads a value into what to points at, by its type, into the keys of an object, or by a field. It
// reports whether there was no fault.
func (r *reader) into(v hujson.Value, key string, to any) bool {
	before := r.wrong
	switch to := to.(type) {
	case field:
		to(v, key)
	case keys:
		r.members(v, key, func(name string, m hujson.ObjectMember, key string) {
			if to[name] != nil {
				r.into(m.Value, key, to[name])
			} else {
				r.faultf(m.Name, key, "the key is unknown; %s", nearestKey(name, to))
			}
		})
	case *string:
		text(r, to)(v, key)
	case *bool:
		literal(r, v, key, "true or false", to)
	case *annotation.Hint:
		var yes bool
		literal(r, v, key, "true or false", &yes)
		*to = annotation.HintOf(yes)
	case *int:
		if literal(r, v, key, "a whole number", to) && *to <= 0 {
			r.faultf(v, key, "it has to be at least 1")
		}
	case *float64:
		if literal(r, v, key, "a number", to) && *to <= 0 {
			r.faultf(v, key, "it has to be more than 0")
		}
	case *time.Duration:
		r.duration(v, key, to)
	default:
		r.pattern(v, key, to.(*Pattern))
	}
	return r.wrong == before
}

// members reads each member of an object. One that is given twice is a fault, and not read.
func (r *reader) members(v hujson.Value, at string, read func(name string, m hujson.ObjectMember, key string)) {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		r.faultf(v, at, "it has to be an object, in braces")
		return
	}
	seen := make(map[string]bool)
	for _, m := range o.Members {
		name := m.Name.Value.(hujson.Literal).String()
		key := strings.TrimPrefix(at+"."+name, ".")
		if seen[name] {
			r.faultf(m.Name, key, "it is given twice")
			continue
		}
		seen[name] = true
		read(name, m, key)
	}
}

// maxEntries is how long a list may be. A longer one is refused whole.
const maxEntries = 10_000

// each is a field that is a list, maybe an empty one, of what read takes.
func each[T any](r *reader, to *[]T, read func(v hujson.Value, key string, to *T)) field {
	return func(v hujson.Value, at string) {
		a, ok := v.Value.(*hujson.Array)
		switch {
		case !ok:
			r.faultf(v, at, "it has to be a list, in brackets")
			return
		case len(a.Elements) > maxEntries:
			r.faultf(v, at, "it has %d entries, more than %d", len(a.Elements), maxEntries)
			return
		}
		*to = make([]T, 0, len(a.Elements))
		for i, e := range a.Elements {
			before, one := r.wrong, *new(T)
			if read(e, fmt.Sprintf("%s[%d]", at, i), &one); r.wrong == before {
				*to = append(*to, one)
			}
		}
	}
}

// literal reads a value of one type, and reports any other.
func literal[T any](r *reader, v hujson.Value, key, what string, to *T) bool {
	l, isLiteral := v.Value.(hujson.Literal)
	if !isLiteral || string(l) == "null" || json.Unmarshal(l, to) != nil {
		r.faultf(v, key, "it has to be %s", what)
		return false
	}
	return true
}

// text is a field that is one of the words, any text where there are none.
func text[S ~string](r *reader, to *S, words ...S) field {
	return func(v hujson.Value, key string) {
		var s S
		switch {
		case !literal(r, v, key, "a text", &s):
		case s == "":
			r.faultf(v, key, "it is empty")
		case len(words) > 0 && !slices.Contains(words, s):
			known := make([]string, len(words))
			for i, word := range words {
				known[i] = string(word)
			}
			r.faultf(v, key, "%q is none of %s", safetext.Cut(string(s), 80), strings.Join(known, ", "))
		default:
			*to = s
		}
	}
}

// texts is a list of them.
func texts[S ~string](r *reader, to *[]S, words ...S) field {
	return each(r, to, func(v hujson.Value, key string, to *S) { text(r, to, words...)(v, key) })
}

// within is a field that is a count with a further rule.
func (r *reader) within(to *int, least, most int, fault string) field {
	return func(v hujson.Value, key string) {
		if r.into(v, key, to) && (*to < least || *to > most) {
			r.faultf(v, key, "%s", fault)
		}
	}
}

func (r *reader) duration(v hujson.Value, key string, to *time.Duration) {
	const what = `a time with its unit, such as "30s", "1h30m", "1 day" or "2 weeks"`
	var s string
	if !literal(r, v, key, what, &s) {
		return
	}
	d, err := time.ParseDuration(inHours(s))
	switch {
	case err != nil:
		r.faultf(v, key, "%q is no time; it has to be %s", safetext.Cut(s, 40), what)
	case d <= 0:
		r.faultf(v, key, "it has to be more than 0")
	}
	*to = d
}

// inHours returns a text of days or weeks, such as "30 days", in hours, and any other as it is.
func inHours(s string) string {
	n, unit, _ := strings.Cut(s, " ")
	hours := map[string]int{"day": 24, "week": 7 * 24}[strings.TrimSuffix(unit, "s")]
	if i, err := strconv.ParseUint(n, 10, 16); err == nil && hours > 0 {
		return fmt.Sprintf("%dh", int(i)*hours)
	}
	return s
}

func (r *reader) err() (all error) {
	slices.SortStableFunc(r.faults, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
	for _, fault := range r.faults {
		all = errors.Join(all, fault)
	}
	return all
}

// nearestKey names the key that was probably meant.
func nearestKey(name string, fields keys) string {
	known := slices.Sorted(maps.Keys(fields))
	if best := nearest.Of(name, known); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "known are " + strings.Join(known, ", ")
}
