package policy

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/tailscale/hujson"
)

// An Approved is a remembered approval that the file holds: of one tool, for arguments that
// its pattern covers, until a date.
type Approved struct {
	Tool    Pattern
	Members hitl.Pattern
	Until   time.Time
	Line    int
}

// approved returns the remembered approval that covers a call, nil for none. A call with
// _meta or input is covered by none.
func (p *Policy) approved(r hitl.Request) *Approved {
	for i := range p.Approved {
		a := &p.Approved[i]
		if r.Extra == nil && r.Tool.Digest != (middleware.Digest{}) && a.Tool.Matches(r.Tool.Server, r.Tool.Name()) && time.Now().Before(a.Until) && a.Members.Covers(r.Arguments) {
			return a
		}
	}
	return nil
}

func (r *reader) approvals(v hujson.Value, key string) {
	var remember string
	offer := []string{"arguments", "members", "tool"}
	r.object(v, key, map[string]field{
		"by": r.by, "timeout": r.duration(&r.to.Approvals.Timeout), "patience": r.duration(&r.to.Patience),
		"remember": r.text(&remember, "once", "session", "always"), "writes": r.flag(&r.to.Approvals.Writes),
		"maxPending": r.count(&r.to.Approvals.MaxPending), "approved": r.each(r.approved),
		"always": r.duration(&r.to.Approvals.AlwaysLifetime), "offer": func(v hujson.Value, key string) {
			words := offer
			offer = nil
			r.texts(&offer, words...)(v, key)
		},
	})
	r.to.Approvals.Remember = map[string]hitl.Remember{"": hitl.Once, "once": hitl.Once, "session": hitl.Session, "always": hitl.Always}[remember]
	r.to.Approvals.OfferMembers, r.to.Approvals.OfferTool = slices.Contains(offer, "members"), slices.Contains(offer, "tool")
}

// approved reads {"tool": "files/write_file", "members": {"path": {"like": "drafts/*"},
// "content": {"any": true}, "mode": {"is": 1}}, "until": "2027-01-31"}.
func (r *reader) approved(v hujson.Value, key string) {
	before, a, until := len(r.faults), Approved{Line: r.line(v.StartOffset)}, ""
	r.object(v, key, map[string]field{
		"tool": r.pattern(&a.Tool), "until": r.text(&until),
		"members": func(v hujson.Value, key string) {
			r.members(v, key, func(name string, m hujson.ObjectMember, key string) {
				a.Members = append(a.Members, r.member(name, m.Value, key))
			})
		},
	})
	end, err := time.ParseInLocation(time.DateOnly, until, time.Local)
	switch {
	case len(r.faults) > before:
	case !a.Tool.Exact() || err != nil:
		r.faultf(v, key, `it needs one "tool", such as "files/write_file", its "members", and "until", such as "2027-01-31"`)
	default:
		a.Until = end.AddDate(0, 0, 1) // the day counts
		if err := a.Members.Check(); err != nil {
			r.faultf(v, key, "%s", strings.TrimPrefix(err.Error(), "approvals: "))
		}
	}
	r.to.Approved = append(r.to.Approved, a)
}

// member reads what one member may be.
func (r *reader) member(name string, v hujson.Value, key string) (m approvals.Member) {
	m.Name = name
	r.object(v, key, map[string]field{
		"like": r.text(&m.Glob), "any": r.flag(&m.Any),
		"is": func(v hujson.Value, _ string) {
			v.Standardize()
			m.Value = json.RawMessage(v.Pack())
		},
	})
	return m
}
