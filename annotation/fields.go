package annotation

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds on what an untrusted server's numbers can buy. A duration may only
// shorten what a host waits anyway, so 10 s times the timeout's factor stays
// below its default; a rate of 0 would stall the tool for good.
const (
	untrustedDuration = 10 * time.Second
	untrustedRate     = 1.0
	untrustedCost     = 1e6
)

// A field is one row of what can be done with each field. Everything that
// walks over the fields does it through this table, so that a new field has one
// place where its rules stand.
type field struct {
	name  Field
	text  func(a *Annotations) string      // "" where unset
	clear func(a *Annotations)             // make it unset
	set   func(a, over *Annotations)       // take over's value, which is set
	raise func(a, claim *Annotations) bool // move to the stricter side only; report whether it moved
}

var fields = [...]field{
	hint(ReadOnlyHint, No, func(a *Annotations) *Hint { return &a.ReadOnly }),
	hint(DestructiveHint, Yes, func(a *Annotations) *Hint { return &a.Destructive }),
	hint(IdempotentHint, No, func(a *Annotations) *Hint { return &a.Idempotent }),
	hint(OpenWorldHint, Yes, func(a *Annotations) *Hint { return &a.OpenWorld }),
	hint(RequiresConfirmation, Yes, func(a *Annotations) *Hint { return &a.RequiresConfirmation }),
	label(Title, func(a *Annotations) *string { return &a.Title }),
	{
		name:  Tags,
		text:  func(a *Annotations) string { return strings.Join(a.Tags, ", ") },
		clear: func(a *Annotations) { a.Tags = nil },
		set:   func(a, over *Annotations) { a.Tags = union(a.Tags, over.Tags) },
		raise: func(a, claim *Annotations) bool {
			before := len(a.Tags)
			a.Tags = union(a.Tags, claim.Tags)
			return len(a.Tags) > before
		},
	},
	{
		name: EstimatedDuration,
		text: func(a *Annotations) string {
			if a.EstimatedDuration == 0 {
				return ""
			}
			return a.EstimatedDuration.String()
		},
		clear: func(a *Annotations) { a.EstimatedDuration = 0 },
		set:   func(a, over *Annotations) { a.EstimatedDuration = over.EstimatedDuration },
		raise: func(a, claim *Annotations) bool {
			d := min(claim.EstimatedDuration, untrustedDuration)
			if d <= 0 || a.EstimatedDuration != 0 && a.EstimatedDuration <= d {
				return false
			}
			a.EstimatedDuration = d
			return true
		},
	},
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
	level(ComplexityHint, []Complexity{Simple, Medium, Complex}, func(a *Annotations) *Complexity { return &a.Complexity }),
	hint(AuditRequired, Yes, func(a *Annotations) *Hint { return &a.AuditRequired }),
	level(SecurityLevelHint, []SecurityLevel{Public, Internal, Restricted}, func(a *Annotations) *SecurityLevel { return &a.SecurityLevel }),
	label(Category, func(a *Annotations) *string { return &a.Category }),
}

// hint is a tri-state field whose careful value is strict.
func hint(name Field, strict Hint, at func(*Annotations) *Hint) field {
	return field{
		name: name,
		text: func(a *Annotations) string {
			if *at(a) == Unset {
				return ""
			}
			return at(a).String()
		},
		clear: func(a *Annotations) { *at(a) = Unset },
		set:   func(a, over *Annotations) { *at(a) = *at(over) },
		raise: func(a, claim *Annotations) bool {
			if *at(claim) != strict || *at(a) == strict {
				return false
			}
			*at(a) = strict
			return true
		},
	}
}

// label is free text that decides nothing: an untrusted one only fills a gap.
func label(name Field, at func(*Annotations) *string) field {
	return field{
		name:  name,
		text:  func(a *Annotations) string { return *at(a) },
		clear: func(a *Annotations) { *at(a) = "" },
		set:   func(a, over *Annotations) { *at(a) = *at(over) },
		raise: func(a, claim *Annotations) bool {
			if *at(a) != "" || *at(claim) == "" {
				return false
			}
			*at(a) = *at(claim)
			return true
		},
	}
}

// number is an optional number; stricter returns the clamped claim and whether
// it is on the careful side of what there is.
func number(name Field, at func(*Annotations) **float64, stricter func(have *float64, claim float64) (float64, bool)) field {
	return field{
		name: name,
		text: func(a *Annotations) string {
			if *at(a) == nil {
				return ""
			}
			return strconv.FormatFloat(**at(a), 'g', -1, 64)
		},
		clear: func(a *Annotations) { *at(a) = nil },
		set:   func(a, over *Annotations) { *at(a) = *at(over) },
		raise: func(a, claim *Annotations) bool {
			c := *at(claim)
			if c == nil || !finite(*c) {
				return false
			}
			v, ok := stricter(*at(a), *c)
			if ok {
				*at(a) = &v
			}
			return ok
		},
	}
}

// level is an ordered set of words, mildest first.
func level[T ~string](name Field, order []T, at func(*Annotations) *T) field {
	return field{
		name:  name,
		text:  func(a *Annotations) string { return string(*at(a)) },
		clear: func(a *Annotations) { *at(a) = "" },
		set:   func(a, over *Annotations) { *at(a) = *at(over) },
		raise: func(a, claim *Annotations) bool {
			// The mildest word equals the default, so unset counts as it.
			if slices.Index(order, *at(claim)) <= max(0, slices.Index(order, *at(a))) {
				return false
			}
			*at(a) = *at(claim)
			return true
		},
	}
}

// union returns the sorted tags of both, without duplicates, in a slice of its own.
func union(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}
