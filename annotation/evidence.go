package annotation

import "strconv"

// A Field names one field of [Annotations] as it is written in JSON.
type Field string

// The fields, in the order in which they are explained.
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

// A Source says who stated something.
type Source uint8

// The sources. The zero value is Host: what carries no evidence was written by
// the host in Go. In precedence, weakest first: Inferred, Declared, Rule, Host;
// Resolved stands for one call only.
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

// Strength says how much a piece of evidence weighs.
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
	Place    string   `json:"place,omitempty"` // where it stood: "leads the name", "in the description", …
	Rule     string   `json:"rule,omitempty"`  // the rule that decided, for Inferred
	By       string   `json:"by,omitempty"`    // who: the server's id for Declared
}

// String returns a phrase such as `inferred: "delete" leads the name`.
func (e Evidence) String() string {
	s := e.Source.String()
	if e.By != "" {
		s += " by " + e.By
	}
	if e.Word != "" || e.Place != "" {
		s += ":"
	}
	if e.Word != "" {
		s += " " + strconv.Quote(e.Word)
	}
	if e.Place != "" {
		s += " " + e.Place
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

// SourceOf returns who stated the field, [Host] where there is no evidence.
func (a Annotations) SourceOf(f Field) Source {
	e, _ := a.EvidenceOf(f)
	return e.Source // the zero value is Host
}

// Attribute returns a copy whose evidence says that source (by, where not
// empty) stated every field that is set. Use it on a layer before Merge.
func (a Annotations) Attribute(source Source, by string) Annotations {
	a.Evidence = nil
	for f := range fields {
		if v := fields[f].text(&a); v != "" {
			a.Evidence = append(a.Evidence, Evidence{Field: fields[f].name, Value: v, Source: source, Strength: Strong, By: by})
		}
	}
	return a
}
