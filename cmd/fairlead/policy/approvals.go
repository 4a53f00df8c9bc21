package policy

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
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
	Accepted
	Line int
}

// approved returns the remembered approval that covers a call, nil for none. A call with
// _meta or input is covered by none.
func (p *Policy) approved(r hitl.Request) *Approved {
	for i := range p.Approved {
		a := &p.Approved[i]
		if r.Extra == nil && r.Tool.Digest != (middleware.Digest{}) && a.Tool.Matches(r.Tool.Server, r.Tool.Name()) && time.Now().Before(a.Until) && a.covers(r.Tool.Safety(), r.Tool.Digest) && a.Members.Covers(r.Arguments) {
			return a
		}
	}
	return nil
}

func (r *reader) approvals(v hujson.Value, key string) {
	o, remember, offer := &r.to.Approvals, "", []string{"arguments", "members", "tool"}
	r.into(v, key, keys{
		"by": r.by, "timeout": &o.Timeout, "patience": &r.to.Patience, "remember": text(r, &remember, "once", "session", "always"),
		"writes": &o.Writes, "maxPending": &o.MaxPending, "approved": each(r, &r.to.Approved, r.approved),
		"always": &o.AlwaysLifetime, "offer": texts(r, &offer, offer...),
	})
	o.Remember = map[string]hitl.Remember{"": hitl.Once, "once": hitl.Once, "session": hitl.Session, "always": hitl.Always}[remember]
	o.OfferMembers, o.OfferTool = slices.Contains(offer, "members"), slices.Contains(offer, "tool")
}

// approved reads {"tool": "files/write_file", "members": {"path": {"like": "drafts/*"},
// "content": {"any": true}, "mode": {"is": 1}}, "until": "2027-01-31"}.
func (r *reader) approved(v hujson.Value, key string, a *Approved) {
	var until string
	a.Line = r.line(v.StartOffset)
	read := r.into(v, key, keys{
		"tool": &a.Tool, "until": &until, "class": r.accepted(&a.Accepted), "definition": r.definition(&a.Accepted),
		"members": func(v hujson.Value, key string) {
			r.members(v, key, func(name string, m hujson.ObjectMember, key string) {
				a.Members = append(a.Members, r.member(name, m.Value, key))
			})
		},
	})
	end, err := time.ParseInLocation(time.DateOnly, until, time.Local)
	switch {
	case !read:
	case !a.Tool.Exact() || err != nil:
		r.faultf(v, key, `it needs one "tool", such as "files/write_file", its "members", and "until", such as "2027-01-31"`)
	default:
		a.Until = end.AddDate(0, 0, 1) // the day counts
		if err := a.Members.Check(); err != nil {
			r.faultf(v, key, "%s", strings.TrimPrefix(err.Error(), "approvals: "))
		}
	}
}

// accepted reads the strictest class that an entry covers.
func (r *reader) accepted(a *Accepted) field {
	return func(v hujson.Value, key string) {
		class := ""
		text(r, &class, classes...)(v, key)
		for _, s := range []annotation.Safety{annotation.Safe, annotation.Moderate, annotation.Dangerous} {
			if s.String() == class {
				a.Class = &s
			}
		}
	}
}

// definition reads the digest of the definition that an entry covers.
func (r *reader) definition(a *Accepted) field {
	return func(v hujson.Value, key string) {
		var digest string
		if !r.into(v, key, &digest) {
			return
		}
		if n, err := hex.Decode(a.Definition[:], []byte(digest)); len(digest) != hex.EncodedLen(len(a.Definition)) || err != nil || n != len(a.Definition) || a.Definition == (middleware.Digest{}) {
			r.faultf(v, key, "it has to be the digest of a definition, as explain prints it")
		}
	}
}

// member reads what one member may be.
func (r *reader) member(name string, v hujson.Value, key string) (m approvals.Member) {
	m.Name = name
	r.into(v, key, keys{
		"like": &m.Glob, "any": &m.Any,
		"is": func(v hujson.Value, _ string) {
			v.Standardize()
			m.Value = json.RawMessage(v.Pack())
		},
	})
	return m
}

// approvers are the words for who is asked.
var approvers = []string{"elicit", "web", "terminal", "deny"}

func (r *reader) by(v hujson.Value, key string) {
	texts(r, &r.to.By, approvers...)(v, key)
	if err := CheckApprovers(r.to.By); err != nil {
		r.faultf(v, key, "%v", err)
	}
}

// CheckApprovers returns an error for approvers that cannot be meant.
func CheckApprovers(by []string) error {
	for i, who := range by {
		switch {
		case !slices.Contains(approvers, who):
			return fmt.Errorf("want one of %s, got %q", strings.Join(approvers, ", "), who)
		case slices.Contains(by[:i], who):
			return fmt.Errorf("%s is named twice", who)
		case who == "deny" && len(by) > 1:
			return errors.New("deny asks nobody, and goes with no other")
		}
	}
	return nil
}
