package annotation

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

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

// Bounds on an untrusted server's numbers: a duration may only shorten a wait, and a rate of 0 would stop the tool.
const (
	untrustedDuration = 10 * time.Second
	untrustedRate     = 1.0
	untrustedCost     = 1e6
)

// A field is one row of the table that everything uses to walk over the fields: Merge, Raise, Validate, the wire and the
// evidence. What a claim of an untrusted server may do to a field is in its raise, which moves the field to the side
// that lets a tool do less, whatever else the claim states. A new field of [Annotations] is a new row here,
// and the properties in lattice_test.go and merge_test.go hold for it too.
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

// text returns the value of the field as text, "" if it is unset.
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
				fault("%s: want Unset, No or Yes, got %d", fields[i].name, *p)
			}
		case *string:
			if words := fields[i].words; *p != "" && words != nil && !slices.Contains(words, *p) {
				fault("%s: want one of %s, got %q", fields[i].name, strings.Join(words, ", "), *p)
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
