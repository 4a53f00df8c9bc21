package flow

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/flow/internal/folded"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
)

// An Endorsement is a value that a person approved in a question about its source. It is not asked about again in its
// session as an argument of its kind, until it is taken back or its source states another one. It approves no call: what
// the class asks about is asked about.
type Endorsement struct {
	ID      string
	Session string
	Scope   string    // of the call that was approved
	Server  string    // its tool
	Tool    string    // as well
	Digest  string    // of the tool's definition
	Kind    string    // what the argument means: "account", "recipient"
	Value   string    // quoted, safe to show to a person
	From    string    // the tool whose result had it, "" if it was not known
	By      string    // who approved
	Since   time.Time // when

	source uint64 // the call whose result had it, see callKey; 0 for none
	norm   []byte // the value in folded form
}

// maxEndorsed is how many values of a session are endorsed. Beyond that each is asked about.
const maxEndorsed = 256

// maxEndorsable is how many bytes of a value a person reads to the end.
const maxEndorsable = maxShown

// Endorsements returns what was endorsed in a session, the oldest first.
func (t *Tracker) Endorsements(session string) []Endorsement {
	s := t.session(session)
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Endorsement, 0, len(s.endorsed))
	for _, e := range s.endorsed {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b Endorsement) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) })
	return all
}

// Withdraw takes an endorsement of a session back, by its ID. One that is not there has no effect.
func (t *Tracker) Withdraw(session, id string) {
	s := t.session(session)
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.endorsed, func(_ string, e Endorsement) bool { return e.ID == id })
}

// endorsable reports whether one approval can cover a value from then on: one that the person can read to its end, and
// that means the same in each call. A command and a text do not.
func endorsable(kind argumentKind, rule Rule, value string) bool {
	if rule != UntrustedValue && rule != UnknownAddress || len(value) > maxEndorsable {
		return false
	}
	return kind != kindCommand && kind != kindText
}

func endorsedKey(kind argumentKind, value string) string { return string(kind) + "\x00" + value }

// endorsed reports whether a person has approved a value as an argument of its kind.
func (tr *trace) endorsed(kind argumentKind, value string, rule Rule) bool {
	if len(tr.s.endorsed) == 0 || !endorsable(kind, rule, value) {
		return false
	}
	_, ok := tr.s.endorsed[endorsedKey(kind, value)]
	return ok
}

// endorses notes a value that a rule asks about, for the case that the person approves, and reports whether an approval
// covers it.
func (tr *trace) endorses(kind argumentKind, value string, rule Rule, o *origin) bool {
	if !endorsable(kind, rule, value) || len(tr.endorsing) >= maxSources {
		return false
	}
	e := Endorsement{Kind: string(kind), Value: quote(value, maxShown), norm: slices.Clone(tr.s.look.norm)}
	if r := o.result; r != nil {
		e.From, e.source = r.tool.String(), r.key
	}
	if tr.endorsing == nil {
		tr.endorsing = make(map[string]Endorsement)
	}
	tr.endorsing[endorsedKey(kind, value)] = e
	return true
}

// article returns the kind with its article.
func (k argumentKind) article() string {
	if strings.ContainsRune("aeio", rune(k[0])) {
		return "an " + string(k)
	}
	return "a " + string(k)
}

// endorse takes in the answer of a person: what was asked about and approved is endorsed, and what the person wrote in
// place of it is theirs.
func (c *caller) endorse(ctx context.Context, state *callstate.State, name string, s *session, call *middleware.Call, given json.RawMessage, asked map[string]Endorsement) {
	record := state.Record()
	if record.Approval.ID == "" || record.Approval.Standing {
		return
	}
	if record.Edited != nil {
		s.typed(given, record.Edited)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		e := asked[key]
		e.ID, e.Session, e.Scope, e.By, e.Since = rand.Text(), name, call.Scope, record.Approval.By, time.Now()
		e.Server, e.Tool, e.Digest = call.Tool.Server, call.Tool.Name(), call.Tool.Digest.String()
		if c.Endorse != nil && c.Endorse(context.WithoutCancel(ctx), e) != nil {
			continue // it could not be listed, so it is asked about again
		}
		s.mu.Lock()
		if s.endorsed == nil {
			s.endorsed = make(map[string]Endorsement)
		}
		if len(s.endorsed) < maxEndorsed {
			s.endorsed[key] = e
		}
		s.mu.Unlock()
	}
}

// typed adds the values of edited arguments that a person wrote: those that the call did not have.
func (s *session) typed(before, after json.RawMessage) {
	had := strings.Split(texts(before), "\n")
	s.mu.Lock()
	defer s.mu.Unlock()
	for value := range strings.SplitSeq(texts(after), "\n") {
		if value != "" && !slices.Contains(had, value) {
			s.user = append(s.user, folded.New(value, false))
			s.userBytes += len(value)
		}
	}
}

// renew drops what was taken back where the approvals are listed.
func (c *caller) renew(ctx context.Context, s *session, scope string) {
	s.mu.Lock()
	none := len(s.endorsed) == 0
	s.mu.Unlock()
	if none || c.Endorsed == nil {
		return
	}
	ids, err := c.Endorsed(ctx, scope)
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.endorsed, func(_ string, e Endorsement) bool {
		return e.Scope == scope && (err != nil || !slices.Contains(ids, e.ID))
	})
}

var keySeed = maphash.MakeSeed()

// callKey identifies the object that a call reads: its tool and arguments. It is 0 for a text of a channel.
func callKey(call *middleware.Call) uint64 {
	var h maphash.Hash
	h.SetSeed(keySeed)
	for _, part := range [][]byte{[]byte(call.Tool.String()), call.Arguments} {
		_, _ = h.Write(part)
		_ = h.WriteByte(0)
	}
	return cmp.Or(h.Sum64(), 1)
}

// restated ends the endorsements of values that the same object had and has no more.
func (s *session) restated(r *result) {
	if len(s.endorsed) == 0 {
		return
	}
	var norm []byte
	maps.DeleteFunc(s.endorsed, func(_ string, e Endorsement) bool {
		if e.source == 0 || e.source != r.key {
			return false
		}
		if norm == nil {
			norm = folded.New(r.raw, true).Norm
		}
		return !bytes.Contains(norm, e.norm)
	})
}
