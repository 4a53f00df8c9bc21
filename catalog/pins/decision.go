package pins

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/safetext"
)

// A Decision is the class that a review gave one definition of a tool.
type Decision struct {
	Class    annotation.Safety `json:"class"` // any but Unknown
	Reason   string            `json:"reason"`
	Reviewer string            `json:"reviewer"` // the person; empty for a model alone, which can only raise
	Date     time.Time         `json:"date"`
	// The model that proposed a class, if one did, what it was sent and what it answered.
	Model  string `json:"model,omitempty"`
	Prompt string `json:"prompt,omitempty"`
	Answer string `json:"answer,omitempty"`
}

// check returns what a decision lacks.
func (d Decision) check() error {
	switch {
	case d.Class == annotation.Unknown || d.Class > annotation.Safe || d.Reason == "":
		return errors.New("it needs a reason, and a class: safe, moderate or dangerous")
	case d.Reviewer == "" && (d.Model == "" || d.Class == annotation.Safe):
		return errors.New("it needs a reviewer, since a model alone can only raise")
	}
	return nil
}

// Decide keeps a decision on the tool, which c lists or holds back, until its definition changes. A person's
// decision also accepts the definition; a model's neither does that nor replaces a person's. Call [Lock.Save]
// afterwards.
func (l *Lock) Decide(c Catalog, tool *middleware.Tool, d Decision) error {
	id := name{tool.Server, tool.Name()}
	p, err := l.pin(id), d.check()
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
	set := annotation.Annotations{ReadOnly: annotation.No, Destructive: annotation.No, RequiresConfirmation: annotation.No}
	switch p.decision.Class {
	case annotation.Safe:
		set.ReadOnly = annotation.Yes
	case annotation.Dangerous:
		set.Destructive, set.RequiresConfirmation = annotation.Yes, annotation.Unset
	}
	if p.decision.Reviewer == "" {
		return word, set.Attribute(annotation.Inferred, p.decision.Model)
	}
	return set.Attribute(annotation.Host, p.decision.Reviewer+" on "+p.decision.Date.Format(time.DateOnly)), claim
}
