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

	for i := range fields {
		switch p := fields[i].at(&a).(type) {
		case *Hint:
			if *p > Yes {
				fault("%s: %d is none of Unset, No, Yes", fields[i].name, *p)
			}
		case **float64:
			if *p != nil && !(finite(**p) && **p >= 0) {
				fault("%s: %v must be a finite number of at least 0", fields[i].name, **p)
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
	if a.Complexity != "" && !slices.Contains(complexities, string(a.Complexity)) {
		fault("%s: %q is none of simple, medium, complex", ComplexityHint, a.Complexity)
	}
	if a.Freshness != "" && !slices.Contains(freshnesses, string(a.Freshness)) {
		fault("%s: %q is none of stable, shared, volatile", FreshnessHint, a.Freshness)
	}
	if a.SecurityLevel != "" && !slices.Contains(securityLevels, string(a.SecurityLevel)) {
		fault("%s: %q is none of public, internal, restricted", SecurityLevelHint, a.SecurityLevel)
	}
	return errors.Join(errs...)
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
