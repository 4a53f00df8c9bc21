package annotation

import (
	"slices"
	"strconv"
	"strings"
)

// Merge combines the layers, weakest first. Each set field of a later layer replaces that of the earlier
// ones, and tags are united. Use [Annotations.Without] to take a value away.
//
// The three deciding hints of a layer stay consistent: a later ReadOnly yes also lifts an earlier destructive
// yes and confirmation unless the layer repeats them, a later Destructive yes lifts a read-only yes, and a
// later Destructive no lifts a confirmation that has no reason but the destructive yes beside it. So a
// conflict can only come from within one layer.
func Merge(layers ...Annotations) Annotations {
	var out Annotations
	for i := range layers {
		out = merge(out, layers[i])
	}
	return out
}

func merge(a, over Annotations) Annotations {
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
// gap, numbers are clamped. So no claim leads to a class below that of a.
func Raise(a, claim Annotations) Annotations {
	evidence := slices.Clone(a.Evidence)
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
