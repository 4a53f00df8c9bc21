package annotation

import (
	"strconv"
	"strings"
)

// A Source is the origin of a statement.
type Source uint8

// The sources. The zero value is Host: what carries no evidence was written by the host in Go. In
// precedence, weakest first: Inferred, Declared, Reviewed, Rule, Host; Resolved counts for one call only.
const (
	Host     Source = iota // the host's word on this tool
	Inferred               // worked out from the tool's own words
	Declared               // by the server
	Rule                   // the host's word on every tool that matches a pattern, or on arguments
	Resolved               // for these arguments
	Reviewed               // stated by somebody who read this definition of a public server (package catalog/known)
)

// String returns the word used in explanations.
func (s Source) String() string {
	return spell(s, "host", "inferred", "declared", "host rule", "resolved", "reviewed")
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
	// Argument is a JSON pointer to the text of a Language that decided the class of one call, as in a Condition; both are
	// "" unless it was one.
	Argument string `json:"argument,omitempty"`
	Language string `json:"language,omitempty"`
}

// String returns a phrase such as `inferred: "delete" leads the name`.
func (e Evidence) String() string {
	s := e.Source.String()
	if e.By != "" {
		s += " by " + e.By
	}
	if place := e.Where(); place != "" {
		s += ": " + place
	}
	if e.Given != "" {
		s += ", for calls that have " + strings.ReplaceAll(e.Given, " ", " or ")
	}
	return s
}

// Where returns the word and its place, such as `"delete" leads the name`, and "" without either.
func (e Evidence) Where() string {
	if e.Word == "" {
		return e.Place
	}
	return strings.TrimSpace(strconv.Quote(e.Word) + " " + e.Place)
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

// Because returns the evidence that decides the class, and whether there is any.
func (a Annotations) Because() (Evidence, bool) {
	decides := ReadOnlyHint
	switch {
	case a.Destructive == Yes:
		decides = DestructiveHint
	case a.RequiresConfirmation == Yes:
		decides = RequiresConfirmation
	case a.ReadOnly == Unset && a.Destructive == No:
		decides = DestructiveHint
	}
	return a.EvidenceOf(decides)
}

// Doubtful reports whether the class rests on a word in passing alone: the evidence that decides it is inferred and
// weak, and no condition states what the class depends on. An Unknown class is not doubtful.
func (a Annotations) Doubtful() bool {
	e, ok := a.Because()
	return ok && a.Safety() != Unknown && len(a.Conditions) == 0 && e.Source == Inferred && e.Strength == Weak
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
			if a.Evidence == nil {
				a.Evidence = make([]Evidence, 0, 4) // what most servers declare
			}
			a.Evidence = append(a.Evidence, Evidence{Field: fields[f].name, Value: v, Source: source, Strength: Strong, By: by})
		}
	}
	return a
}
