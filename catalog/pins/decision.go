package pins

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/middleware"
)

// A Decision is the class that a review gave one definition of a tool.
type Decision struct {
	Class    annotation.Safety `json:"class"` // any but Unknown
	Reason   string            `json:"reason"`
	Reviewer string            `json:"reviewer"` // the person; empty for a model alone, which can only raise
	Date     time.Time         `json:"date"`
	// Conditions state which calls are less than the class, which is that of the worst call; nil means that all calls
	// are of the class.
	Conditions []annotation.Condition `json:"conditions,omitempty"`
	// The model that proposed a class, if one did, what it was sent and what it answered.
	Model  string `json:"model,omitempty"`
	Prompt string `json:"prompt,omitempty"`
	Answer string `json:"answer,omitempty"`
}

// Validate returns what a decision lacks, nil for nothing.
func (d Decision) Validate() error {
	switch {
	case d.Class == annotation.Unknown || d.Class > annotation.Safe || d.Reason == "":
		return errors.New("it needs a reason, and a class: safe, moderate or dangerous")
	case d.Reviewer == "" && (d.Model == "" || d.Class == annotation.Safe):
		return errors.New("it needs a reviewer, since a model alone can only raise")
	case len(d.Conditions) > 0 && d.Reviewer == "":
		return errors.New("it has conditions, which lower, and a model alone can only raise")
	}
	return d.checkConditions()
}

// checkConditions returns what is wrong with the conditions. A class below that of their worst call would lower that
// call, and one above it would make them count for nothing.
func (d Decision) checkConditions() error {
	if len(d.Conditions) == 0 {
		return nil
	}
	if err := (annotation.Annotations{Conditions: d.Conditions}).Validate(); err != nil {
		return err
	}
	worst := annotation.Safe
	for i := range d.Conditions {
		c := &d.Conditions[i]
		if c.OnlyRaises() { // it lowers nothing
			worst = min(worst, c.Absent, c.Other)
			continue
		}
		worst = min(worst, c.Worst())
	}
	if worst != d.Class {
		return fmt.Errorf("its conditions are %s at worst, and its class is %s; give both the same", worst, d.Class)
	}
	return nil
}

// Annotations returns the hints that have the class of the decision, and its conditions.
func (d Decision) Annotations() annotation.Annotations {
	set := annotation.Annotations{
		ReadOnly: annotation.No, Destructive: annotation.No, RequiresConfirmation: annotation.No, Conditions: d.Conditions,
	}
	switch d.Class {
	case annotation.Safe:
		set.ReadOnly = annotation.Yes
	case annotation.Dangerous:
		set.Destructive, set.RequiresConfirmation = annotation.Yes, annotation.Unset
	}
	return set
}

// Decide keeps a decision on the tool, which c lists or holds back, until its definition changes. A person's
// decision also accepts the definition; a model's neither does that nor replaces a person's. Call [Lock.Save]
// afterwards.
func (l *Lock) Decide(c Catalog, tool *middleware.Tool, d Decision) error {
	id := name{tool.Server, tool.Name()}
	p, err := l.pin(id), d.Validate()
	current := p.form != nil && p.digest == tool.Digest
	if err == nil && d.Reviewer == "" && (!current || p.decision != nil && p.decision.Reviewer != "") {
		err = errors.New("only a person can accept a definition, or replace what a person decided")
	}
	if !current {
		changes := l.Changes(c)
		if i := slices.IndexFunc(changes, func(c Change) bool { return c.name() == id && c.now.digest == tool.Digest }); i >= 0 {
			p = changes[i].now
		} else {
			err = cmp.Or(err, errors.New("its server has changed it; look at it again"))
		}
	}
	if err != nil {
		return fmt.Errorf("pins: the decision on %s: %w", safetext.Cut(safetext.Line(id.String()), 200), err)
	}
	if p.decision = &d; d.Reviewer != "" {
		p.class = d.Class
	}
	l.put(c, map[name]pin{id: p})
	return nil
}

// Decided returns what was decided of the definition: by a person as the host's word, by a model alone as a claim.
func (l *Lock) Decided(tool *middleware.Tool) (word, claim annotation.Annotations) {
	if l == nil {
		return word, claim
	}
	p := l.pin(name{tool.Server, tool.Name()})
	if p.decision == nil || p.digest != tool.Digest {
		return word, claim
	}
	set := p.decision.Annotations()
	if p.decision.Reviewer == "" {
		return word, set.Attribute(annotation.Inferred, p.decision.Model)
	}
	return set.Attribute(annotation.Host, p.decision.Reviewer+" on "+p.decision.Date.Format(time.DateOnly)), claim
}
