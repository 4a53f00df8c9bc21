package annotation

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Validate reports every fault at once, each naming field and value. Read-only
// together with a required confirmation is allowed: a person may want to be
// asked before a costly or private read.
func (a Annotations) Validate() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("annotation: "+format, args...)) }

	for _, h := range []struct {
		name  Field
		value Hint
	}{
		{ReadOnlyHint, a.ReadOnly}, {DestructiveHint, a.Destructive}, {IdempotentHint, a.Idempotent},
		{OpenWorldHint, a.OpenWorld}, {RequiresConfirmation, a.RequiresConfirmation}, {AuditRequired, a.AuditRequired},
	} {
		if h.value > Yes {
			fault("%s: %d is none of Unset, No, Yes", h.name, h.value)
		}
	}
	if a.ReadOnly == Yes && a.Destructive == Yes {
		fault("%s and %s are both yes: a tool that changes nothing cannot destroy", ReadOnlyHint, DestructiveHint)
	}
	if a.EstimatedDuration < 0 {
		fault("%s: %v is negative", EstimatedDuration, a.EstimatedDuration)
	}
	for _, n := range []struct {
		name  Field
		value *float64
	}{{RateLimitHint, a.RateLimitHint}, {CostHint, a.CostHint}} {
		if n.value != nil && !(finite(*n.value) && *n.value >= 0) {
			fault("%s: %v must be a finite number of at least 0", n.name, *n.value)
		}
	}
	for i, tag := range a.Tags {
		if strings.TrimSpace(tag) == "" {
			fault("%s: number %d, %q, is empty", Tags, i, tag)
		}
	}
	if a.Complexity != "" && !slices.Contains([]Complexity{Simple, Medium, Complex}, a.Complexity) {
		fault("%s: %q is none of simple, medium, complex", ComplexityHint, a.Complexity)
	}
	if a.SecurityLevel != "" && !slices.Contains([]SecurityLevel{Public, Internal, Restricted}, a.SecurityLevel) {
		fault("%s: %q is none of public, internal, restricted", SecurityLevelHint, a.SecurityLevel)
	}
	return errors.Join(errs...)
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
