package hitl

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/redact"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A TwoStep pairs a tool that makes a draft with the one that commits it. A commit
// that names a draft is refused unless this chain saw the draft being made, in the
// same scope and since it began; then a person is shown what the draft's tool
// answered and asked, whatever the class. One that names several shows them all.
// The yes is bound to the drafts as they were shown: it is worth nothing once one
// of them has changed or was committed. It is never remembered.
//
// A commit that names no draft at all is a direct one, and is asked about.
type TwoStep struct {
	Server        string // the id that the host gave it
	Draft, Commit string // names of its tools
	// ID is the member of the draft's answer, a JSON object, that holds its id; "" means
	// "id".
	ID string
	// Names is the member of the commit's arguments that holds the draft's id, or a
	// list of them; "" means "draft_id".
	Names string
}

// A Draft is one item that a call is to commit.
type Draft struct {
	ID     string
	Shown  string // what the tool answered: the server's text, escape it
	Digest string // SHA-256 of Shown, in hexadecimal
}

// Limits on what can be shown to a person.
const (
	maxDraftBytes = 64 << 10 // of one draft
	maxItems      = 100      // of one commit
	maxDrafts     = 1000     // that are remembered, the oldest is dropped
)

// A desk has the drafts that were made and not committed.
type desk struct {
	pairs []TwoStep

	mu     sync.Mutex
	drafts map[draftKey]*draft
	order  []draftKey // oldest first
}

type draftKey struct{ scope, server, tool, id string }

type draft struct {
	shown, digest string
	usedBy        string // the approval that commits it
}

// commits returns the pair of which the tool is the commit, nil for other tools.
func (d *desk) commits(tool *middleware.Tool) *TwoStep {
	for i, pair := range d.pairs {
		if tool != nil && tool.Server == pair.Server && tool.Name() == pair.Commit {
			return &d.pairs[i]
		}
	}
	return nil
}

// note keeps what a draft's tool answered.
func (d *desk) note(ctx context.Context, log *slog.Logger, call *middleware.Call, res *mcp.CallToolResult) {
	for _, pair := range d.pairs {
		if call.Tool == nil || call.Tool.Server != pair.Server || call.Tool.Name() != pair.Draft || res == nil || res.IsError {
			continue
		}
		id, shown, err := read(res, cmp.Or(pair.ID, "id"))
		if err != nil {
			log.LogAttrs(ctx, slog.LevelWarn, "hitl: a draft cannot be shown, so it cannot be committed",
				slog.String("tool", call.Tool.String()), slog.Any("err", redact.Said{Call: *call, Value: err}))
			continue
		}
		d.keep(draftKey{call.Scope, pair.Server, pair.Draft, id}, &draft{shown: shown, digest: hash([]byte(shown))})
	}
}

// keep puts a draft in the place of an older one with its id.
func (d *desk) keep(key draftKey, made *draft) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, again := d.drafts[key]; !again {
		d.order = append(d.order, key)
	}
	d.drafts[key] = made
	if len(d.order) > maxDrafts {
		delete(d.drafts, d.order[0])
		d.order = d.order[1:]
	}
}

// read returns a draft's id and all that its tool answered.
func read(res *mcp.CallToolResult, member string) (id, shown string, err error) {
	var parts []string
	for _, c := range res.Content {
		text, ok := c.(*mcp.TextContent)
		if !ok {
			return "", "", fmt.Errorf("it holds a %T", c)
		}
		parts = append(parts, text.Text)
	}
	object := []byte(strings.Join(parts, ""))
	if res.StructuredContent != nil {
		if object, err = json.Marshal(res.StructuredContent); err != nil {
			return "", "", err
		}
		if len(parts) != 1 || !same([]byte(parts[0]), object) {
			parts = append(parts, string(object))
		}
	}
	if shown = strings.Join(parts, "\n"); len(shown) > maxDraftBytes {
		return "", "", fmt.Errorf("it has %d bytes, more than %d", len(shown), maxDraftBytes)
	}
	ids, err := idsIn(object, member)
	if err == nil && len(ids) != 1 {
		err = fmt.Errorf("it has no %q", member)
	}
	if err != nil {
		return "", "", err
	}
	return ids[0], shown, nil
}

// same reports whether two texts are the same JSON.
func same(a, b []byte) bool {
	x, errX := canonical.Append(nil, a)
	y, errY := canonical.Append(nil, b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// idsIn returns the ids that a member of an object holds: one, a list, or none
// where it is not there in any case.
func idsIn(object []byte, member string) ([]string, error) {
	form, err := canonical.AppendObject(nil, object)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(form, &members); err != nil {
		return nil, err
	}
	for other := range members { // many a server does not mind the case
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
		switch {
		case v[0] == '-' || '0' <= v[0] && v[0] <= '9':
			ids = append(ids, string(v))
		case v[0] == '"' && string(v) != `""`:
			ids = append(ids, string(v)) // with its quotes: "7" and 7 differ
		default:
			return nil, fmt.Errorf("%q holds no id", member)
		}
	}
	if len(ids) == 0 || len(ids) > maxItems {
		return nil, fmt.Errorf("%q holds %d ids, and 1 to %d can be shown", member, len(ids), maxItems)
	}
	return ids, nil
}

// names returns the ids of the drafts that a call is to commit.
func (d *desk) names(call middleware.Call) ([]string, error) {
	pair := d.commits(call.Tool)
	if pair == nil {
		return nil, nil
	}
	return idsIn(call.Arguments, cmp.Or(pair.Names, "draft_id"))
}

// named returns the drafts that a call is to commit, none for one that names none.
func (d *desk) named(call middleware.Call) ([]Draft, error) {
	ids, err := d.names(call)
	if err != nil {
		return nil, &draftError{fmt.Sprintf("it is unclear which drafts it commits: %v", err)}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var drafts []Draft
	for _, id := range ids {
		made := d.drafts[d.key(call, id)]
		switch {
		case made == nil:
			return nil, &draftError{fmt.Sprintf("the draft %.80s was not made here; make it again with %s", id, d.commits(call.Tool).Draft)}
		case made.usedBy != "":
			return nil, errCommitted
		}
		drafts = append(drafts, Draft{ID: id, Shown: made.shown, Digest: made.digest})
	}
	return drafts, nil
}

var (
	errCommitted = &draftError{"the draft has been committed already, or is about to be"}
	errRedrafted = &draftError{"the draft has changed since it was shown; ask again"}
)

func (d *desk) key(call middleware.Call, id string) draftKey {
	return draftKey{call.Scope, call.Tool.Server, d.commits(call.Tool).Draft, id}
}

// use takes the drafts of a call that is about to be handed over, all or none.
func (d *desk) use(yes *agreed) error {
	if len(yes.draft) == 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, shown := range yes.draft {
		made := d.drafts[d.key(yes.call, shown.ID)]
		switch {
		case made == nil || made.digest != shown.Digest:
			return errRedrafted
		case made.usedBy != "" && made.usedBy != yes.id:
			return errCommitted
		}
	}
	for _, shown := range yes.draft {
		d.drafts[d.key(yes.call, shown.ID)].usedBy = yes.id
	}
	return nil
}

// used lets the drafts be committed again where the call was certainly not made.
func (d *desk) used(yes *agreed, err error) {
	if len(yes.draft) == 0 || !middleware.NotSent(err) && !middleware.Refused(err) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, shown := range yes.draft {
		if made := d.drafts[d.key(yes.call, shown.ID)]; made != nil && made.usedBy == yes.id {
			made.usedBy = ""
		}
	}
}
