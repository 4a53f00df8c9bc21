package annotation

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Summary returns one line for logs and spans, such as
//
//	[Delete User Account | DESTRUCTIVE | requires confirmation | simple complexity | ~250ms | tags: admin]
//
// with every field that is set, and "[no annotations]" where none is.
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

// ConfirmationMessage returns the question that a user interface may put before
// a call: "This action is irreversible. … Proceed?" where a person must confirm,
// "About to …. OK?" for a known write, and "" for a read.
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
		return ask("Nobody knows what this action changes.")
	}
	if a.ReadOnly == Yes && a.Destructive != Yes {
		return ask("This action needs your confirmation.")
	}
	return ask("This action is irreversible.")
}
