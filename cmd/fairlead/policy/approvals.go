package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/tailscale/hujson"
)

func (r *reader) approvals(p *Policy) field {
	return func(v hujson.Value, key string) {
		var remember string
		r.object(v, key, map[string]field{
			"by": r.by(&p.By), "timeout": r.duration(&p.Approvals.Timeout),
			"remember": r.text(&remember, "once", "session", "always"), "writes": r.flag(&p.Approvals.Writes),
			"maxPending": r.count(&p.Approvals.MaxPending),
		})
		p.Approvals.Remember = map[string]hitl.Remember{"": hitl.Once, "once": hitl.Once, "session": hitl.Session, "always": hitl.Always}[remember]
	}
}

// Approvers are who can be asked.
var Approvers = []string{"elicit", "web", "terminal", "deny"}

func (r *reader) by(to *[]string) field {
	return func(v hujson.Value, key string) {
		r.texts(to, Approvers...)(v, key)
		if err := CheckApprovers(*to); err != nil {
			r.faultf(v, key, "%v", err)
		}
	}
}

// CheckApprovers says which of those who are asked cannot be meant.
func CheckApprovers(by []string) error {
	for i, who := range by {
		switch {
		case !slices.Contains(Approvers, who):
			return fmt.Errorf("%q is none of %s", who, strings.Join(Approvers, ", "))
		case slices.Contains(by[:i], who):
			return fmt.Errorf("%s is named twice", who)
		case who == "deny" && len(by) > 1:
			return errors.New("deny asks nobody, and goes with no other")
		}
	}
	return nil
}
