// Package drafts keeps what tools drafted until other tools commit it.
//
// A commit names drafts by their ids, so its arguments do not hold what it does. The registry therefore keeps what each
// drafting tool answered ([Registry.Note]), which is shown to the person ([Registry.Named]), and lets an approval take
// exactly those drafts, if they are still what was shown and no other approval has taken them ([Registry.Take]).
package drafts

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Pair has the fields of hitl.TwoStep.
type Pair struct {
	Server, Draft, Commit string
	ID, Names             string
}

// A Draft has the fields of hitl.Draft.
type Draft struct{ ID, Shown, Digest string }

// Limits on what can be shown to a person.
const (
	maxBytes  = 64 << 10 // of one draft
	maxItems  = 100      // of one commit
	maxDrafts = 1000     // that are kept; the oldest is dropped
)

// These are about the drafts that a call names, and the model can mend it.
var (
	errCommitted = fault.Plain("the draft has been committed already, or is about to be")
	errRedrafted = fault.Plain("the draft has changed since it was shown; ask again")
)

// A Registry has the drafts that were made and not committed. It is safe for concurrent use.
type Registry struct {
	pairs []Pair

	mu     sync.Mutex // of what the drafts are used by
	drafts *lru.Cache[key, *draft]
}

type key struct{ scope, server, tool, id string }

type draft struct {
	Draft

	usedBy string // the approval that commits it
}

// New returns a registry of the drafts of these pairs.
func New(pairs []Pair) *Registry {
	drafts, _ := lru.New[key, *draft](maxDrafts) // its one error is a size below 1
	return &Registry{pairs: pairs, drafts: drafts}
}

// pair returns the pair whose drafts the tool commits, nil for none.
func (r *Registry) pair(tool *middleware.Tool) *Pair {
	i := slices.IndexFunc(r.pairs, func(p Pair) bool { return tool != nil && tool.Server == p.Server && tool.Name() == p.Commit })
	if i < 0 {
		return nil
	}
	return &r.pairs[i]
}

// Commits reports whether the tool commits drafts.
func (r *Registry) Commits(tool *middleware.Tool) bool { return r.pair(tool) != nil }

// Note keeps what a tool answered if it makes drafts. An error means that the draft
// cannot be shown, and so cannot be committed.
func (r *Registry) Note(call *middleware.Call, res *mcp.CallToolResult) error {
	var errs error
	for _, p := range r.pairs {
		if call.Tool == nil || call.Tool.Server != p.Server || call.Tool.Name() != p.Draft || res == nil || res.IsError {
			continue
		}
		made, err := read(res, cmp.Or(p.ID, "id"))
		if err != nil {
			errs = errors.Join(errs, err)
			continue
		}
		r.drafts.Add(key{call.Scope, p.Server, p.Draft, made.ID}, made) // in place of an older one of the same id
	}
	return errs
}

// read returns the draft that a result holds: its id, and all that the tool answered.
func read(res *mcp.CallToolResult, member string) (*draft, error) {
	var parts []string
	for _, c := range res.Content {
		text, ok := c.(*mcp.TextContent)
		if !ok {
			return nil, fmt.Errorf("it holds a %T", c)
		}
		parts = append(parts, text.Text)
	}
	object := []byte(strings.Join(parts, ""))
	if res.StructuredContent != nil {
		var err error
		if object, err = json.Marshal(res.StructuredContent); err != nil {
			return nil, err
		}
		if len(parts) != 1 || !canonical.Same([]byte(parts[0]), object) {
			parts = append(parts, string(object))
		}
	}
	shown := strings.Join(parts, "\n")
	if len(shown) > maxBytes {
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(shown), maxBytes)
	}
	ids, err := idsIn(object, member)
	if err == nil && len(ids) != 1 {
		err = fmt.Errorf("it has no %q", member)
	}
	if err != nil {
		return nil, err
	}
	return &draft{Draft: Draft{ids[0], shown, middleware.Digest(sha256.Sum256([]byte(shown))).String()}}, nil
}

// idsIn returns the ids that a member of an object holds: one, a list, or none if the
// object has no such member in any case.
func idsIn(object []byte, member string) ([]string, error) {
	form, err := canonical.AppendObject(nil, object)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(form, &members); err != nil {
		return nil, err
	}
	for other := range members { // many servers ignore the case
		if other != member && strings.EqualFold(other, member) {
			return nil, fmt.Errorf("%q stands there in another case", member)
		}
	}
	value, ok := members[member]
	if !ok {
		return nil, nil
	}
	list := []json.RawMessage{value}
	if value[0] == '[' {
		if err := json.Unmarshal(value, &list); err != nil {
			return nil, err
		}
	}
	var ids []string
	for _, v := range list {
		number, text := v[0] == '-' || '0' <= v[0] && v[0] <= '9', v[0] == '"' && string(v) != `""`
		if !number && !text {
			return nil, fmt.Errorf("%q holds no id", member)
		}
		ids = append(ids, string(v)) // a string with its quotes: "7" and 7 differ
	}
	if len(ids) == 0 || len(ids) > maxItems {
		return nil, fmt.Errorf("%q holds %d ids, and 1 to %d can be shown", member, len(ids), maxItems)
	}
	return ids, nil
}

// IDs returns the ids of the drafts that a call commits.
func (r *Registry) IDs(call *middleware.Call) ([]string, error) {
	p := r.pair(call.Tool)
	if p == nil {
		return nil, nil
	}
	return idsIn(call.Arguments, cmp.Or(p.Names, "draft_id"))
}

// Named returns the drafts that a call commits, none for a call that names none.
func (r *Registry) Named(call *middleware.Call) ([]Draft, error) {
	ids, err := r.IDs(call)
	if err != nil {
		return nil, fault.Plain("it is unclear which drafts it commits: %v", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var named []Draft
	for _, id := range ids {
		made := r.made(call, id)
		switch {
		case made == nil:
			return nil, fault.Plain("the draft %.80s was not made here; make it again with %s", id, r.pair(call.Tool).Draft)
		case made.usedBy != "":
			return nil, errCommitted
		}
		named = append(named, made.Draft)
	}
	return named, nil
}

// made returns the draft of an id, nil for one that was not made in this scope. The caller holds the lock.
func (r *Registry) made(call *middleware.Call, id string) *draft {
	made, _ := r.drafts.Peek(key{call.Scope, call.Tool.Server, r.pair(call.Tool).Draft, id}) // nil for none
	return made
}

// Take marks the drafts of a call as committed by an approval, all or none. It is an
// error if one has changed since it was shown, or was committed.
func (r *Registry) Take(call *middleware.Call, shown []Draft, approval string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range shown {
		made := r.made(call, d.ID)
		switch {
		case made == nil || made.Digest != d.Digest:
			return errRedrafted
		case made.usedBy != "" && made.usedBy != approval:
			return errCommitted
		}
	}
	for _, d := range shown {
		r.made(call, d.ID).usedBy = approval
	}
	return nil
}

// Return lets the drafts be committed again, after a call that certainly did not happen.
func (r *Registry) Return(call *middleware.Call, shown []Draft, approval string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range shown {
		if made := r.made(call, d.ID); made != nil && made.usedBy == approval {
			made.usedBy = ""
		}
	}
}
