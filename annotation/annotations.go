// Package annotation describes a tool's behaviour: the hints that its server declared, that the host set or
// that were inferred, with their sources, and the one class that follows from them.
//
// Annotations are values: methods and functions return changed copies. A value may be shared between
// goroutines as long as none of them writes to its Tags, Evidence or pointers.
package annotation

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Hint is a statement that may be missing. MCP's defaults are applied only on request (see
// [Annotations.Defaults]) and never stored, so that "unset" and "no" stay apart.
type Hint uint8

// The three states of a [Hint]. The zero value is Unset.
const (
	Unset Hint = iota
	No
	Yes
)

// HintOf returns Yes for true and No for false.
func HintOf(b bool) Hint {
	if b {
		return Yes
	}
	return No
}

// Or returns h, or fallback if h is Unset.
func (h Hint) Or(fallback Hint) Hint { return cmp.Or(h, fallback) }

// String returns "unset", "no" or "yes".
func (h Hint) String() string { return spell(h, "unset", "no", "yes") }

// spell returns the name of a value, that of the zero value if it has none.
func spell[T ~uint8](value T, names ...string) string {
	if int(value) < len(names) {
		return names[value]
	}
	return names[0]
}

// Complexity is how much work a call is, as the host's routing sees it.
type Complexity string

// The values of [Complexity]. The default, where one is asked for, is Simple.
const (
	Simple  Complexity = "simple"
	Medium  Complexity = "medium"
	Complex Complexity = "complex"
)

// SecurityLevel sets who may use a tool and how much of a call is recorded.
type SecurityLevel string

// The values of [SecurityLevel]. The default, where one is asked for, is Public.
const (
	Public     SecurityLevel = "public"
	Internal   SecurityLevel = "internal"
	Restricted SecurityLevel = "restricted"
)

// Freshness is how long the result of a read stays true. An unset one counts as [Volatile].
type Freshness string

// The values of [Freshness].
const (
	Stable   Freshness = "stable"   // definitions, documentation, history, computations
	Shared   Freshness = "shared"   // others may change it: records, tickets, searches
	Volatile Freshness = "volatile" // the present moment: status, time, logs, files, screens
)

// Annotations is what is known about one tool. The zero value is empty, and its class is [Unknown].
type Annotations struct {
	// Title is a name for people. Empty means none.
	Title string

	// The four hints of MCP (since revision 2025-03-26).
	ReadOnly    Hint // the tool changes nothing
	Destructive Hint // it may take away or overwrite, not only add
	Idempotent  Hint // repeating it with the same arguments has no further effect
	OpenWorld   Hint // it touches things outside the server's own domain

	// RequiresConfirmation is Yes if a person must agree although nothing is destroyed: what is sent, paid
	// or published cannot be taken back. It is not an MCP hint and travels in _meta under [MetaKey].
	RequiresConfirmation Hint

	// Freshness is "" if it is not known, which counts as Volatile.
	Freshness Freshness
	// Secret is Yes if the result is a secret or gives access, such as a signed URL. It is never cached.
	Secret Hint

	// Tags are free labels for search, sorted and without duplicates after Merge.
	Tags []string
	// EstimatedDuration is how long a call usually takes, in milliseconds on the wire; 0 means unknown.
	EstimatedDuration time.Duration
	// RateLimitHint is how many calls a minute the tool allows; nil means unknown, 0 means never.
	RateLimitHint *float64
	// CostHint is the relative cost of a call; nil means unknown, counted as 0.
	CostHint *float64
	// Complexity is "" where it is unknown.
	Complexity Complexity
	// AuditRequired is Yes where a call must be recorded in full or not be made.
	AuditRequired Hint
	// SecurityLevel is "" where it is unknown.
	SecurityLevel SecurityLevel
	// Category is a free label for routing and search.
	Category string

	// Conditions state which calls are less than the hints state of the worst one. The class of the tool does not
	// follow from them; see [Annotations.For].
	Conditions []Condition

	// Evidence names the source of each field. A field without evidence was set by the host in Go.
	Evidence []Evidence
}

// Defaults returns a with every unset field at its default: MCP's for the four hints (not read-only,
// destructive, not idempotent, open-world), cost 0, complexity simple, security public, no audit, no
// confirmation, volatile, not secret. It is for display; the class follows from the fields as they are.
func (a Annotations) Defaults() Annotations {
	a.ReadOnly = a.ReadOnly.Or(No)
	a.Destructive = a.Destructive.Or(Yes)
	a.Idempotent = a.Idempotent.Or(No)
	a.OpenWorld = a.OpenWorld.Or(Yes)
	a.RequiresConfirmation = a.RequiresConfirmation.Or(No)
	a.Freshness = cmp.Or(a.Freshness, Volatile)
	a.Secret = a.Secret.Or(No)
	a.AuditRequired = a.AuditRequired.Or(No)
	a.CostHint = cmp.Or(a.CostHint, new(float64))
	a.Complexity = cmp.Or(a.Complexity, Simple)
	a.SecurityLevel = cmp.Or(a.SecurityLevel, Public)
	return a
}

// ReadOnly is for a tool that lists, searches, fetches or computes. The presets leave open-world unset.
func ReadOnly() Annotations {
	return Annotations{ReadOnly: Yes, Destructive: No, Idempotent: Yes}
}

// Write is for a tool that adds: create, append, upload. Repeating it adds again.
func Write() Annotations {
	return Annotations{ReadOnly: No, Destructive: No, Idempotent: No}
}

// Update is for a tool that sets something to a value; calling it twice changes nothing more.
func Update() Annotations {
	return Annotations{ReadOnly: No, Destructive: No, Idempotent: Yes}
}

// Destructive is for a tool that deletes, overwrites or cannot be undone.
func Destructive() Annotations {
	return Annotations{ReadOnly: No, Destructive: Yes, Idempotent: No}
}

// Bounds on an untrusted server's numbers: a duration may only shorten a wait, and a rate of 0 would stop the tool.
const (
	untrustedDuration = 10 * time.Second
	untrustedRate     = 1.0
	untrustedCost     = 1e6
)

// A field is one row of the table by which everything walks over the fields.
type field struct {
	name  Field
	at    func(a *Annotations) any // a *Hint, *string, *[]string, *time.Duration, **float64 or *[]Condition
	clear func(a *Annotations)
	set   func(a, over *Annotations)       // take over's value, which is set
	raise func(a, claim *Annotations) bool // move to the stricter side only; report whether it moved
	words []string                         // that are valid, mildest first; nil for any
}

var fields = [...]field{
	hint(ReadOnlyHint, No, func(a *Annotations) *Hint { return &a.ReadOnly }),
	hint(DestructiveHint, Yes, func(a *Annotations) *Hint { return &a.Destructive }),
	hint(IdempotentHint, No, func(a *Annotations) *Hint { return &a.Idempotent }),
	hint(OpenWorldHint, Yes, func(a *Annotations) *Hint { return &a.OpenWorld }),
	hint(RequiresConfirmation, Yes, func(a *Annotations) *Hint { return &a.RequiresConfirmation }),
	level(FreshnessHint, Volatile, []Freshness{Stable, Shared, Volatile}, func(a *Annotations) *string { return (*string)(&a.Freshness) }),
	hint(SecretHint, Yes, func(a *Annotations) *Hint { return &a.Secret }),
	label(Title, func(a *Annotations) *string { return &a.Title }),
	tags(),
	row(EstimatedDuration, func(a *Annotations) *time.Duration { return &a.EstimatedDuration },
		func(have, claim time.Duration) (time.Duration, bool) {
			claim = min(claim, untrustedDuration)
			return claim, claim > 0 && (have == 0 || have > claim)
		}),
	number(RateLimitHint, func(a *Annotations) **float64 { return &a.RateLimitHint },
		func(have *float64, claim float64) (float64, bool) {
			claim = max(claim, untrustedRate)
			return claim, have == nil || *have > claim
		}),
	number(CostHint, func(a *Annotations) **float64 { return &a.CostHint },
		func(have *float64, claim float64) (float64, bool) {
			claim = min(claim, untrustedCost)
			return claim, claim > 0 && (have == nil || *have < claim)
		}),
	level(ComplexityHint, Simple, []Complexity{Simple, Medium, Complex}, func(a *Annotations) *string { return (*string)(&a.Complexity) }),
	hint(AuditRequired, Yes, func(a *Annotations) *Hint { return &a.AuditRequired }),
	level(SecurityLevelHint, Public, []SecurityLevel{Public, Internal, Restricted}, func(a *Annotations) *string { return (*string)(&a.SecurityLevel) }),
	label(Category, func(a *Annotations) *string { return &a.Category }),
	conditionsField(),
}

// row is the row of a field of any type. stricter returns what a claim leads to, and whether that is stricter.
func row[T any](name Field, at func(*Annotations) *T, stricter func(have, claim T) (T, bool)) field {
	return field{
		name:  name,
		at:    func(a *Annotations) any { return at(a) },
		clear: func(a *Annotations) { *at(a) = *new(T) },
		set:   func(a, over *Annotations) { *at(a) = *at(over) },
		raise: func(a, claim *Annotations) bool {
			v, ok := stricter(*at(a), *at(claim))
			if ok {
				*at(a) = v
			}
			return ok
		},
	}
}

// hint is a tri-state field whose careful value is strict.
func hint(name Field, strict Hint, at func(*Annotations) *Hint) field {
	return row(name, at, func(have, claim Hint) (Hint, bool) { return strict, claim == strict && have != strict })
}

// label is free text that decides nothing: an untrusted one only fills a gap.
func label(name Field, at func(*Annotations) *string) field {
	return row(name, at, func(have, claim string) (string, bool) { return claim, have == "" && claim != "" })
}

func tags() field {
	at := func(a *Annotations) *[]string { return &a.Tags }
	f := row(Tags, at, func(have, claim []string) ([]string, bool) {
		all := union(have, claim)
		return all, len(all) > len(have)
	})
	f.set = func(a, over *Annotations) { a.Tags = union(a.Tags, over.Tags) }
	return f
}

// number is an optional number; stricter gets a finite claim.
func number(name Field, at func(*Annotations) **float64, stricter func(have *float64, claim float64) (float64, bool)) field {
	return row(name, at, func(have, claim *float64) (*float64, bool) {
		if claim == nil || !finite(*claim) {
			return nil, false
		}
		v, ok := stricter(have, *claim)
		return &v, ok
	})
}

// level is an ordered set of words, least strict first. Any other word counts as unset.
func level[T ~string](name Field, unset T, levels []T, at func(*Annotations) *string) field {
	var order []string
	for _, level := range levels {
		order = append(order, string(level))
	}
	f := row(name, at, func(have, claim string) (string, bool) {
		if !slices.Contains(order, have) {
			have = string(unset)
		}
		return claim, slices.Index(order, claim) > slices.Index(order, have)
	})
	f.words = order
	return f
}

func (f *field) text(a *Annotations) string {
	switch p := f.at(a).(type) {
	case *Hint:
		if *p != Unset {
			return p.String()
		}
	case *string:
		return *p
	case *[]string:
		return strings.Join(*p, ", ")
	case *time.Duration:
		if *p != 0 {
			return p.String()
		}
	case **float64:
		if *p != nil {
			return strconv.FormatFloat(**p, 'g', -1, 64)
		}
	case *[]Condition:
		all := make([]string, len(*p))
		for i := range *p {
			all[i] = (*p)[i].String()
		}
		return strings.Join(all, "; ")
	}
	return ""
}

func union(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

// Validate reports all faults. Read-only with a required confirmation is allowed, for a costly or private read.
func (a Annotations) Validate() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("annotation: "+format, args...)) }

	for i := range fields {
		switch p := fields[i].at(&a).(type) {
		case *Hint:
			if *p > Yes {
				fault("%s: %d is none of Unset, No, Yes", fields[i].name, *p)
			}
		case *string:
			if words := fields[i].words; *p != "" && words != nil && !slices.Contains(words, *p) {
				fault("%s: %q is none of %s", fields[i].name, *p, strings.Join(words, ", "))
			}
		case **float64:
			if *p != nil && !(finite(**p) && **p >= 0) {
				fault("%s: %v must be a finite number of at least 0", fields[i].name, **p)
			}
		case *[]Condition:
			if err := validate(*p); err != nil {
				fault("%s: %w", fields[i].name, err)
			}
		}
	}
	if a.ReadOnly == Yes && a.Destructive == Yes {
		fault("%s and %s are both yes: a tool that changes nothing cannot destroy", ReadOnlyHint, DestructiveHint)
	}
	if worst := a.worst(); worst < a.Safety() {
		fault("%s: they make a call %s, and the hints are those of a tool that is %s; the hints state the worst call", Conditions, worst, a.Safety())
	}
	if a.EstimatedDuration < 0 {
		fault("%s: %v is negative", EstimatedDuration, a.EstimatedDuration)
	}
	for i, tag := range a.Tags {
		if strings.TrimSpace(tag) == "" {
			fault("%s: number %d, %q, is empty", Tags, i, tag)
		}
	}
	return errors.Join(errs...)
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// Merge combines the layers, weakest first. Each set field of a later layer replaces that of the earlier
// ones, and tags are united. Use [Annotations.Without] to take a value away.
//
// The three deciding hints of a layer stay consistent: a later ReadOnly yes also lifts an earlier destructive
// yes and confirmation unless the layer repeats them, a later Destructive yes lifts a read-only yes, and a
// later Destructive no lifts a confirmation that has no reason but the destructive yes beside it. So a
// conflict can only come from within one layer.
//
// A layer that states one of the three takes away the conditions under it, as it outranks the hints from which they
// came; what a server declares does so only if it changes the class.
func Merge(layers ...Annotations) Annotations {
	var out Annotations
	for i := range layers {
		out = merge(out, layers[i])
	}
	return out
}

func merge(a, over Annotations) Annotations {
	before := a
	if over.ReadOnly == Yes {
		if over.Destructive == Unset {
			a = a.Without(DestructiveHint)
		}
		if over.RequiresConfirmation == Unset {
			a = a.Without(RequiresConfirmation)
		}
	}
	if over.Destructive == Yes && over.ReadOnly == Unset && a.ReadOnly == Yes {
		a = a.Without(ReadOnlyHint)
	}
	if over.Destructive == No && over.RequiresConfirmation == Unset && a.confirmationFollows() {
		a = a.Without(RequiresConfirmation)
	}
	evidence := slices.Clone(a.Evidence)
	for i := range fields {
		f := &fields[i]
		if f.text(&over) == "" {
			continue
		}
		f.set(&a, &over)
		evidence = stated(evidence, over.Evidence, f.name)
	}
	a.Evidence = evidence
	if len(over.Conditions) == 0 && len(a.Conditions) > 0 && over.outranks(before, a) {
		return a.Without(Conditions)
	}
	return a
}

// confirmationFollows reports whether each reason of a's confirmation is also a reason for its destructive yes.
func (a Annotations) confirmationFollows() bool {
	if a.Destructive != Yes || a.RequiresConfirmation != Yes {
		return false
	}
	reason := func(e Evidence) Evidence { return Evidence{Source: e.Source, Word: e.Word, By: e.By} }
	destructive, confirmed := make(map[Evidence]bool), false
	for _, e := range a.Evidence {
		if e.Field == DestructiveHint {
			destructive[reason(e)] = true
		}
	}
	for _, e := range a.Evidence {
		if e.Field != RequiresConfirmation {
			continue
		}
		if !destructive[reason(e)] {
			return false
		}
		confirmed = true
	}
	return confirmed || len(destructive) == 0 // without evidence both are the host's word
}

// Raise applies an untrusted claim to a. Each field moves only to its stricter side: read-only and idempotent
// to no; destructive, open-world, confirmation, secret and audit to yes; duration and rate down; cost,
// complexity and security level up; freshness to volatile. Tags are added, title and category only fill a
// gap, numbers are clamped. Conditions are added to others, or to a safe tool. So no claim leads to a class below that
// of a. A stricter hint that changes the class, or is not a server's, takes a's conditions away.
func Raise(a, claim Annotations) Annotations {
	evidence := slices.Clone(a.Evidence)
	a.settle()
	raised := a
	for i := range fields {
		f := &fields[i]
		if f.raise(&raised, &claim) {
			evidence = stated(evidence, claim.Evidence, f.name)
		}
	}
	// A read that, by the claim, writes and only adds would count as destructive without the second half.
	if a.ReadOnly == Yes && raised.ReadOnly == No && raised.Destructive == Unset && claim.Destructive == No {
		raised.Destructive = No
		evidence = stated(evidence, claim.Evidence, DestructiveHint)
	}
	raised.Evidence = evidence
	if len(a.Conditions) > 0 && (claim.insists() || raised.Safety() != a.Safety()) {
		return raised.Without(Conditions)
	}
	return raised
}

// Yield returns what a claim adds to a statement that outweighs it: the fields that word sets, and what
// [Merge] would lift, are unset in it. Tags stay. Raise the rest of an untrusted claim over everything
// else, last, so that it does not excuse what the host stated of another field.
func (a Annotations) Yield(word Annotations) Annotations {
	word.Tags = nil
	var said []Field
	for i := range fields {
		if fields[i].text(&word) != "" {
			said = append(said, fields[i].name)
		}
	}
	if len(said) == 0 {
		return a
	}
	return merge(a, word).Without(said...)
}

// stated replaces the evidence of one field. Tags are united, so for them both count.
func stated(evidence, by []Evidence, name Field) []Evidence {
	if name != Tags {
		evidence = slices.DeleteFunc(evidence, func(e Evidence) bool { return e.Field == name })
	}
	for _, e := range by {
		if e.Field == name {
			evidence = append(evidence, e)
		}
	}
	return evidence
}

// Without returns a copy without the named fields.
func (a Annotations) Without(names ...Field) Annotations {
	for i := range fields {
		if slices.Contains(names, fields[i].name) {
			fields[i].clear(&a)
		}
	}
	a.Evidence = slices.DeleteFunc(slices.Clone(a.Evidence), func(e Evidence) bool { return slices.Contains(names, e.Field) })
	return a
}

// A Field names one field of [Annotations] as it is written in JSON.
type Field string

// The fields, in the order of their explanation.
const (
	ReadOnlyHint         Field = "readOnlyHint"
	DestructiveHint      Field = "destructiveHint"
	IdempotentHint       Field = "idempotentHint"
	OpenWorldHint        Field = "openWorldHint"
	RequiresConfirmation Field = "requiresConfirmation"
	FreshnessHint        Field = "freshness"
	SecretHint           Field = "secret"
	Title                Field = "title"
	Tags                 Field = "tags"
	EstimatedDuration    Field = "estimatedDuration"
	RateLimitHint        Field = "rateLimitHint"
	CostHint             Field = "costHint"
	ComplexityHint       Field = "complexity"
	AuditRequired        Field = "auditRequired"
	SecurityLevelHint    Field = "securityLevel"
	Category             Field = "category"
	Conditions           Field = "conditions"
)

// A Source is the origin of a statement.
type Source uint8

// The sources. The zero value is Host: what carries no evidence was written by the host in Go. In
// precedence, weakest first: Inferred, Declared, Rule, Host; Resolved counts for one call only.
const (
	Host     Source = iota // the host's word on this tool
	Inferred               // worked out from the tool's own words
	Declared               // said by the server
	Rule                   // the host's word on every tool that matches a pattern, or on arguments
	Resolved               // said for these arguments
)

// String returns the word used in explanations.
func (s Source) String() string {
	return spell(s, "host", "inferred", "declared", "host rule", "resolved")
}

// MarshalText returns [Source.String].
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Strength is the weight of a piece of evidence.
type Strength uint8

// The strengths of inferred evidence. The zero value is Weak.
const (
	Weak   Strength = iota // a word in passing
	Strong                 // the word that leads the name, a warning, a statement of intent
)

// String returns "weak" or "strong".
func (s Strength) String() string { return spell(s, "weak", "strong") }

// MarshalText returns [Strength.String].
func (s Strength) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Evidence is one reason for the value of one field.
type Evidence struct {
	Field    Field    `json:"field"`
	Value    string   `json:"value"`           // "yes", "no", or the value as text
	Source   Source   `json:"source"`          // who stated it
	Strength Strength `json:"strength"`        // how much it weighs, for a reader; no rule rests on it
	Word     string   `json:"word,omitempty"`  // the word that decided, for Inferred
	Place    string   `json:"place,omitempty"` // where it was: "leads the name", "in the description", …
	Rule     string   `json:"rule,omitempty"`  // the rule that decided, for Inferred
	By       string   `json:"by,omitempty"`    // who: the server's id for Declared
	// Given names optional parameters, separated by blanks: the value only holds for calls that have one.
	Given string `json:"given,omitempty"`
}

// String returns a phrase such as `inferred: "delete" leads the name`.
func (e Evidence) String() string {
	s, place := e.Source.String(), e.Place
	if e.By != "" {
		s += " by " + e.By
	}
	if e.Word != "" {
		place = strings.TrimSpace(strconv.Quote(e.Word) + " " + place)
	}
	if place != "" {
		s += ": " + place
	}
	if e.Given != "" {
		s += ", for calls that have " + strings.ReplaceAll(e.Given, " ", " or ")
	}
	return s
}

// EvidenceOf returns the first evidence of a field, and whether there is any.
func (a Annotations) EvidenceOf(f Field) (Evidence, bool) {
	for _, e := range a.Evidence {
		if e.Field == f {
			return e, true
		}
	}
	return Evidence{}, false
}

// SourceOf returns who stated the field, [Host] without evidence.
func (a Annotations) SourceOf(f Field) Source {
	e, _ := a.EvidenceOf(f)
	return e.Source // the zero value is Host
}

// Attribute returns a copy whose evidence names source (and by) for every set field. Use it before Merge.
func (a Annotations) Attribute(source Source, by string) Annotations {
	a.Evidence = nil
	for f := range fields {
		if v := fields[f].text(&a); v != "" {
			a.Evidence = append(a.Evidence, Evidence{Field: fields[f].name, Value: v, Source: source, Strength: Strong, By: by})
		}
	}
	return a
}
