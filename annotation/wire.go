package annotation

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/internal/strictjson"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MetaKey is the member of a tool's _meta for fields that MCP does not have, and for the four hints, to keep absent apart from no.
const MetaKey = "io.github.fairlead-go/annotations"

// MarshalJSON writes the set fields under the names of [Field]. Evidence is not written.
func (a Annotations) MarshalJSON() ([]byte, error) {
	out := make(map[Field]any, len(fields))
	for i := range fields {
		f := &fields[i]
		if f.text(&a) == "" {
			continue
		}
		switch p := f.at(&a).(type) {
		case *Hint:
			out[f.name] = *p == Yes
		case *time.Duration:
			out[f.name] = float64(*p) / float64(time.Millisecond)
		default:
			out[f.name] = p
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what a host wrote: an unknown or repeated member or a wrong type is an error.
func (a *Annotations) UnmarshalJSON(data []byte) error {
	parsed, faults := parse(data, true)
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	*a = parsed
	return nil
}

// Parse reads what a server wrote: a member that cannot be read is left out and reported, and unknown
// members are ignored. A hint that is given twice counts with its careful value.
func Parse(data []byte) (Annotations, error) {
	a, faults := parse(data, false)
	return a, errors.Join(faults...)
}

func parse(data []byte, strict bool) (Annotations, []error) {
	var a Annotations
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("annotation: "+format, args...)) }

	members, ok := strictjson.Members(data)
	if !ok || !json.Valid(data) {
		if string(bytes.TrimSpace(data)) != "null" {
			fault("%.40q is no JSON object", data)
		}
		return a, faults
	}
	seen := make(map[Field]bool)
	for _, m := range members {
		name, before := Field(m.Name), a
		known, err := a.decode(name, m.Value)
		switch {
		case err != nil:
			fault("%s: %w", name, err)
		case !known && strict:
			fault("%q is no annotation", name)
		}
		if seen[name] {
			fault("%s is given twice", name)
			a = Raise(a, before.only(name))
		}
		seen[name] = known
	}
	return a, faults
}

func (a Annotations) only(name Field) Annotations {
	for i := range fields {
		if fields[i].name != name {
			fields[i].clear(&a)
		}
	}
	return a
}

// decode reads one member into its field, which is unset if it cannot be read.
func (a *Annotations) decode(name Field, raw json.RawMessage) (known bool, err error) {
	i := slices.IndexFunc(fields[:], func(f field) bool { return f.name == name })
	if i < 0 {
		return false, nil
	}
	switch p := fields[i].at(a).(type) {
	case *Hint:
		var b *bool
		if json.Unmarshal(raw, &b) != nil {
			return true, fmt.Errorf("%.40s is no boolean", raw)
		}
		if b != nil {
			*p = HintOf(*b)
		}
		return true, nil
	case *time.Duration:
		ms, err := decodeNumber(raw)
		// A duration past what the type holds is as good as unknown.
		if ms != nil && *ms < float64(math.MaxInt64)/float64(time.Millisecond) {
			*p = time.Duration(math.Round(*ms * float64(time.Millisecond)))
		}
		return true, err
	case **float64:
		*p, err = decodeNumber(raw)
		return true, err
	case *string:
		if json.Unmarshal(raw, p) != nil {
			err = fmt.Errorf("%.40s is no string", raw)
		}
	case *[]Condition:
		*p, err = decodeConditions(raw)
	case *[]string:
		if json.Unmarshal(raw, p) != nil {
			err = fmt.Errorf("%.40s is no list of strings", raw)
		}
	}
	if err == nil {
		err = a.only(name).Validate()
	}
	if err != nil {
		fields[i].clear(a)
	}
	return true, err
}

func decodeNumber(raw json.RawMessage) (*float64, error) {
	var f *float64
	if err := json.Unmarshal(raw, &f); err != nil || f != nil && (!finite(*f) || *f < 0) {
		return nil, fmt.Errorf("%.40s is no finite number of at least 0", raw)
	}
	return f, nil
}

// FromTool returns what the definition declares: MCP's hints in annotations and the rest under [MetaKey] in
// _meta. The error lists what could not be read; the readable rest counts.
//
// SDKs write readOnlyHint and idempotentHint false when the author stated nothing. The two count as unset if
// the other two hints are absent, or both true, as another SDK adds them.
func FromTool(t *mcp.Tool) (Annotations, error) {
	return declared(t, fromSDK(t.Annotations), t.Annotations != nil)
}

// FromRaw is [FromTool] for a definition whose annotations are there as the server wrote them, nil for none:
// an absent hint differs from a false one, and the fields that the SDK's type drops count as well.
func FromRaw(t *mcp.Tool, annotations json.RawMessage) (Annotations, error) {
	if annotations == nil {
		return declared(t, Annotations{}, false)
	}
	plain, fault := Parse(annotations)
	a, err := declared(t, quiet(plain), true)
	return a, errors.Join(fault, err)
}

// declared completes the annotations of a tool by its title and by the fields under our key.
func declared(t *mcp.Tool, plain Annotations, said bool) (Annotations, error) {
	if plain.Title == "" {
		plain.Title = t.Title
	}
	own, ok := t.Meta[MetaKey]
	if !ok {
		return plain, nil
	}
	raw, err := json.Marshal(own)
	if err != nil {
		return plain, fmt.Errorf("annotation: _meta[%q]: %w", MetaKey, err)
	}
	extra, err := Parse(raw)
	// Hints under our key keep absent apart from false, so they replace the plain ones, but not to the milder side.
	if said && extra.ReadOnly|extra.Destructive|extra.Idempotent|extra.OpenWorld != Unset {
		// A server of ours writes true in both places, so a plain false contradicts it.
		if extra.ReadOnly == Yes && plain.ReadOnly == No {
			extra.ReadOnly = No
		}
		if extra.Idempotent == Yes && plain.Idempotent == No {
			extra.Idempotent = No
		}
		admitted := Annotations{
			Title: plain.Title, Destructive: plain.Destructive, OpenWorld: plain.OpenWorld,
			RequiresConfirmation: plain.RequiresConfirmation, AuditRequired: plain.AuditRequired,
		}
		for _, h := range []*Hint{&admitted.Destructive, &admitted.OpenWorld, &admitted.RequiresConfirmation, &admitted.AuditRequired} {
			if *h == No {
				*h = Unset
			}
		}
		extra = Merge(extra, admitted)
		plain = plain.Without(ReadOnlyHint, DestructiveHint, IdempotentHint, OpenWorldHint)
	}
	return Merge(plain, extra), err
}

func fromSDK(w *mcp.ToolAnnotations) Annotations {
	if w == nil {
		return Annotations{}
	}
	a := Annotations{Title: w.Title, ReadOnly: HintOf(w.ReadOnlyHint), Idempotent: HintOf(w.IdempotentHint)}
	if w.DestructiveHint != nil {
		a.Destructive = HintOf(*w.DestructiveHint)
	}
	if w.OpenWorldHint != nil {
		a.OpenWorld = HintOf(*w.OpenWorldHint)
	}
	return quiet(a)
}

// quiet takes out the two falses that SDKs write by themselves.
func quiet(a Annotations) Annotations {
	if a.ReadOnly == No && a.Idempotent == No &&
		(a.Destructive == Unset && a.OpenWorld == Unset || a.Destructive == Yes && a.OpenWorld == Yes) {
		a.ReadOnly, a.Idempotent = Unset, Unset
	}
	return a
}

// Declare returns a copy of the definition that declares a: the four hints of MCP in annotations, everything
// that is set under [MetaKey] in _meta. An unset hint stays absent if the SDK's type allows it.
func Declare(t *mcp.Tool, a Annotations) *mcp.Tool {
	out := *t
	w := &mcp.ToolAnnotations{Title: a.Title, ReadOnlyHint: a.ReadOnly == Yes, IdempotentHint: a.Idempotent == Yes}
	if a.Destructive != Unset {
		w.DestructiveHint = new(a.Destructive == Yes)
	}
	if a.OpenWorld != Unset {
		w.OpenWorldHint = new(a.OpenWorld == Yes)
	}
	out.Annotations = w
	out.Meta = maps.Clone(t.Meta)
	if out.Meta == nil {
		out.Meta = mcp.Meta{}
	}
	a.Evidence = nil
	out.Meta[MetaKey] = a
	return &out
}

// The audiences of MCP.
const (
	user      mcp.Role = "user"
	assistant mcp.Role = "assistant"
)

const defaultPriority = 0.5

// leastPriority means a priority of 0, which the SDK leaves out.
const leastPriority = 1e-9

// Content is the annotation of a piece of content, a resource or a template. The zero value is for everybody.
type Content struct {
	// Audience is for whom it is; none means for everybody.
	Audience []mcp.Role
	// Priority is between 0 (may be left out) and 1 (needed); nil counts as 0.5.
	Priority *float64
	// LastModified is when it was changed last; zero means unknown.
	LastModified time.Time
}

// ContentOf reads MCP's form. The error names each field that is not valid; such a field counts as missing,
// except that an unknown audience stays, so that the content is only for those that it names. The SDK cannot
// tell a priority of 0 from a missing one, so both are missing.
func ContentOf(a *mcp.Annotations) (Content, error) {
	if a == nil {
		return Content{}, nil
	}
	c := Content{Audience: slices.Clone(a.Audience)}
	if a.Priority != 0 {
		c.Priority = new(a.Priority)
	}
	err := c.Validate()
	if !validPriority(c.Rank()) {
		c.Priority = nil
	}
	if a.LastModified != "" {
		at, bad := time.Parse(time.RFC3339, a.LastModified)
		if bad != nil {
			bad = fmt.Errorf("annotation: lastModified: %.40q is no time as RFC 3339 writes it, 2025-01-12T15:00:58Z", a.LastModified)
			return c, errors.Join(err, bad)
		}
		c.LastModified = at
	}
	return c, err
}

// Validate reports every fault at once, each naming field and value.
func (c Content) Validate() error {
	var errs []error
	for _, role := range c.Audience {
		if role != user && role != assistant {
			errs = append(errs, fmt.Errorf("annotation: audience: %.40q is neither user nor assistant", role))
		}
	}
	if p := c.Rank(); !validPriority(p) {
		errs = append(errs, fmt.Errorf("annotation: priority: %v is not between 0 and 1", p))
	}
	return errors.Join(errs...)
}

func validPriority(p float64) bool { return p >= 0 && p <= 1 } // and no NaN

// For reports whether the content is for the role: no role is named, or this one is.
func (c Content) For(role mcp.Role) bool {
	return len(c.Audience) == 0 || slices.Contains(c.Audience, role)
}

// Rank returns the priority, 0.5 without one.
func (c Content) Rank() float64 {
	if c.Priority == nil {
		return defaultPriority
	}
	return *c.Priority
}

// MCP returns the SDK's form, nil if nothing is known. A priority of 0 is sent as a billionth, since the SDK
// omits a 0 and a reader would take it for 0.5.
func (c Content) MCP() *mcp.Annotations {
	if len(c.Audience) == 0 && c.Priority == nil && c.LastModified.IsZero() {
		return nil
	}
	a := &mcp.Annotations{Audience: slices.Clone(c.Audience)}
	if c.Priority != nil {
		a.Priority = max(*c.Priority, leastPriority)
	}
	if !c.LastModified.IsZero() {
		a.LastModified = c.LastModified.Format(time.RFC3339)
	}
	return a
}

// Safety is the class of a tool, on which all middlewares act. The zero value is Unknown.
type Safety uint8

// The four classes.
const (
	Unknown   Safety = iota // nothing is known; treated as Dangerous
	Dangerous               // it takes away, cannot be undone, or the hints conflict
	Moderate                // a known write that is not destructive
	Safe                    // it reads, and nothing contradicts that
)

// String returns "unknown", "dangerous", "moderate" or "safe".
func (s Safety) String() string { return spell(s, "unknown", "dangerous", "moderate", "safe") }

// MarshalText returns [Safety.String].
func (s Safety) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText returns.
func (s *Safety) UnmarshalText(text []byte) error {
	for *s = Safe; s.String() != string(text); *s-- {
		if *s == Unknown {
			return fmt.Errorf("annotation: %.40q is none of safe, moderate, dangerous, unknown", text)
		}
	}
	return nil
}

// MustConfirm reports whether a call of this class needs a person's yes.
func (s Safety) MustConfirm() bool { return s != Safe && s != Moderate }

// Safety returns the class. No other code reads the hints to decide how dangerous a call is.
func (a Annotations) Safety() Safety {
	return SafetyOf(a.ReadOnly, a.Destructive, a.RequiresConfirmation)
}

// SafetyOf returns the class that follows from three hints. Once one of the first two is known, MCP's default
// counts for the other: absent destructive means destructive. A confirmation that is not required does not
// describe the tool, so alone it leaves the class Unknown.
func SafetyOf(readOnly, destructive, confirmation Hint) Safety {
	switch {
	case max(readOnly, destructive, confirmation) > Yes:
		return Unknown // not a Hint
	case destructive == Yes, confirmation == Yes:
		return Dangerous
	case readOnly == Yes:
		return Safe
	case destructive == No:
		return Moderate
	case readOnly == No:
		return Dangerous
	}
	return Unknown
}

// MustConfirm reports whether a person must agree before the tool is called: Dangerous and Unknown.
func (a Annotations) MustConfirm() bool { return a.Safety().MustConfirm() }

// SafeToRetry reports whether a call that may have happened can be sent again without harm: the tool is Safe,
// or it is Moderate and was declared idempotent (see [Annotations.InferredIdempotent]). A destructive tool is
// not: the second delete may remove something new.
func (a Annotations) SafeToRetry() bool {
	switch a.Safety() {
	case Safe:
		return true
	case Moderate:
		return a.Idempotent == Yes && a.SourceOf(IdempotentHint) != Inferred
	}
	return false
}

// InferredIdempotent reports whether the tool is Moderate and its idempotence was only inferred.
func (a Annotations) InferredIdempotent() bool {
	return a.Safety() == Moderate && a.Idempotent == Yes && a.SourceOf(IdempotentHint) == Inferred
}

// Summary returns one line for logs and spans with every set field, or "[no annotations]":
//
//	[Delete User Account | DESTRUCTIVE | requires confirmation | simple complexity | ~250ms | tags: admin]
func (a Annotations) Summary() string {
	var parts []string
	add := func(ok bool, s string) {
		if ok {
			parts = append(parts, s)
		}
	}
	word := func(h Hint, yes, no string) {
		add(h == Yes, yes)
		add(h == No, no)
	}
	num := func(f *float64) string { return strconv.FormatFloat(*f, 'g', -1, 64) }

	add(a.Title != "", a.Title)
	word(a.ReadOnly, "read-only", "not read-only")
	word(a.Destructive, "DESTRUCTIVE", "not destructive")
	word(a.Idempotent, "idempotent", "not idempotent")
	word(a.OpenWorld, "open world", "closed world")
	word(a.RequiresConfirmation, "requires confirmation", "no confirmation required")
	add(a.Freshness != "", string(a.Freshness))
	word(a.Secret, "SECRET", "not secret")
	add(a.Complexity != "", string(a.Complexity)+" complexity")
	add(a.EstimatedDuration != 0, fmt.Sprintf("~%dms", a.EstimatedDuration.Milliseconds()))
	if a.RateLimitHint != nil {
		parts = append(parts, "at most "+num(a.RateLimitHint)+"/min")
	}
	if a.CostHint != nil {
		parts = append(parts, "cost "+num(a.CostHint))
	}
	word(a.AuditRequired, "audit required", "no audit required")
	add(a.SecurityLevel != "", string(a.SecurityLevel))
	add(a.Category != "", "category: "+a.Category)
	add(len(a.Tags) > 0, "tags: "+strings.Join(a.Tags, ", "))

	if len(parts) == 0 {
		return "[no annotations]"
	}
	return "[" + strings.Join(parts, " | ") + "]"
}

// ConfirmationMessage returns the question for a user interface before a call: "This action is irreversible.
// … Proceed?" if a person must confirm, "About to …. OK?" for a known write, and "" for a read.
func (a Annotations) ConfirmationMessage(description string) string {
	text := strings.TrimSuffix(strings.TrimSpace(description), ".")
	ask := func(what string) string {
		if text == "" {
			return what + " Proceed?"
		}
		return what + " " + text + ". Proceed?"
	}
	switch a.Safety() {
	case Safe:
		return ""
	case Moderate:
		return "About to " + cmp.Or(text, "change something") + ". OK?"
	case Unknown:
		return ask("It is unknown what this action changes.")
	}
	if a.ReadOnly == Yes && a.Destructive != Yes {
		return ask("This action needs your confirmation.")
	}
	return ask("This action is irreversible.")
}
