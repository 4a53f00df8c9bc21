package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	goredis "github.com/redis/go-redis/v9"
)

const (
	// keepEnded is how long an ended question is kept, for late answers.
	keepEnded = time.Hour
	// maxStanding is the maximum number of remembered approvals of one scope.
	maxStanding = 10_000
	// uses followed by its ID is the field that counts a remembered approval's calls.
	uses = "#"
)

// Approvals returns the record of approvals, for hitl.Options.Store: the first answer and the first use
// count, at any replica, by Redis' clock. It holds the state of each approval, and nothing of the call.
// A restart of Redis ends all of them. Remembered approvals need [Options.Key] or [Options.Plain], and
// replicas whose clocks agree. With a Key, one that was revoked does not come back by what is written to Redis: all are
// ended if that is noticed.
func (s *Store) Approvals() approvals.Store {
	s.approves.Store(s.seal.allowed())
	return record{s}
}

type record struct{ *Store }

var (
	add         = strictScript("add")
	advance     = script("advance")
	rememberYes = strictScript("remember")
	findTools   = script("find")
)

// A kept is a remembered approval as it is sealed, with the time when it was remembered: the era, and how many
// revocations it had then.
type kept struct {
	approvals.Standing

	Era  int64 `json:"era"`
	Born int64 `json:"born"`
}

// keys returns the keys of an approval. One that a remembered approval answered is in the same
// cluster slot as that one.
func (r record) keys(id, scope, standing string) []string {
	name := r.seal.name("approval", id)
	if standing == "" {
		return []string{r.key("a", name)}
	}
	return []string{r.key("a", r.seal.name("standing", scope), name), r.standingKey(scope)}
}

func (r record) Add(ctx context.Context, a approvals.Approval) error {
	switch {
	case a.ID == "":
		return errors.New("redis: an approval needs an ID")
	case a.State == approvals.Pending && a.Standing == "", a.State == approvals.Approved && a.Standing != "":
	default:
		return fmt.Errorf("redis: an approval cannot begin as %q", a.State)
	}
	lasts := time.Until(a.Until).Milliseconds()
	got, err := r.run(ctx, ofApprovals, add, r.keys(a.ID, a.Scope, a.Standing), string(a.State), lasts, keepEnded.Milliseconds(), a.Standing).Int()
	if err == nil && got < 0 {
		return &approvals.NoEffectError{ID: a.Standing, Was: approvals.Void, To: a.State}
	}
	if err == nil && got == 0 {
		return fmt.Errorf("redis: the approval %s exists already", a.ID)
	}
	return err
}

func (r record) Advance(ctx context.Context, id string, change approvals.Change) error {
	if change.To == approvals.Approved && change.Until.IsZero() {
		return errors.New("redis: an approval to remember needs an expiry time")
	}
	lasts := time.Until(change.Until).Milliseconds()
	keys := r.keys(id, change.Scope, change.Standing)
	was, err := r.run(ctx, ofApprovals, advance, keys, string(change.To), lasts, keepEnded.Milliseconds(), change.Standing).Text()
	if err != nil {
		return err
	}
	entry, taken := strings.CutPrefix(was, "taken")
	if taken && change.To == approvals.Spent && change.Standing != "" {
		// It may have been taken back since the call found it, and put back by others.
		_, count, err := r.counting(ctx, keys[1], []standingEntry{{id: change.Standing, text: entry}})
		if err != nil {
			return err
		}
		if taken = len(count) == 1; !taken {
			was = string(approvals.Void)
			_ = r.run(ctx, ofApprovals, advance, keys, was, 0, keepEnded.Milliseconds(), "").Err() // spent denies as well
		}
	}
	if taken {
		return nil
	}
	return &approvals.NoEffectError{ID: id, Was: approvals.State(was), To: change.To}
}

// standingKey returns the key of the remembered approvals of a scope. Earlier versions kept theirs, which no log could
// end, under keys of the kind "s"; neither finds those of the other.
func (r record) standingKey(scope string) string {
	return r.key("y", r.seal.name("standing", scope))
}

// toolKey returns the key of the IDs of those of a tool.
func (r record) toolKey(scope, server, tool string) string {
	return r.key("y", r.seal.name("standing", scope), r.seal.name("tool", server, tool))
}

// callKey returns the key of the IDs of those of a tool with these arguments, "" for those by a pattern.
func (r record) callKey(scope, server, tool, arguments string) string {
	return r.key("y", r.seal.name("standing", scope), r.seal.name("call", server, tool, arguments))
}

func (r record) Remember(ctx context.Context, y approvals.Standing) error {
	if err := y.Check(); err != nil {
		return err
	}
	if !r.seal.allowed() {
		return errNotAllowed
	}
	key := r.standingKey(y.Scope)
	now, err := r.begun(ctx)
	if err != nil {
		return err
	}
	if old, err := r.entry(ctx, key, y.ID); err != nil {
		return err
	} else if old != "" { // which is not to come back
		if now, err = r.revoke(ctx, y.Scope, y.ID, r.expiry(key, y.ID, old)); err != nil {
			return err
		}
	}
	form, err := json.Marshal(kept{y, now.Era, now.Count})
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	sealed, err := r.seal.seal(nil, key+"/"+y.ID, form)
	if err != nil {
		return err
	}
	// The scope is listed before its first approval is stored, so that List misses none.
	err = r.do(ctx, ofApprovals, r.scopes(), func(ctx context.Context) error {
		return r.client.ZAddGT(ctx, r.scopes(), goredis.Z{Score: float64(y.Until.UnixMilli()), Member: key}).Err()
	})
	if err != nil {
		return err
	}
	lasts := max(time.Until(y.Until).Milliseconds(), 1)
	keys := []string{key, r.toolKey(y.Scope, y.Server, y.Tool), r.callKey(y.Scope, y.Server, y.Tool, y.Arguments)}
	stored, err := r.run(ctx, ofApprovals, rememberYes, keys, y.ID, sealed, maxStanding, lasts).Bool()
	if err == nil && !stored {
		return fmt.Errorf("redis: %d approvals of this scope are remembered already; forget some", maxStanding)
	}
	return err
}

// scopes returns the key of the list of scopes with remembered approvals.
func (r record) scopes() string {
	return r.key("l", "standing", r.seal.name("standing"), "scopes")
}

func (r record) Remembered(ctx context.Context, scope, server, tool string) ([]approvals.Standing, error) {
	key := r.standingKey(scope)
	if server == "" && tool == "" {
		return r.standing(ctx, key)
	}
	return r.ofTool(ctx, key, server, tool, r.toolKey(scope, server, tool))
}

// Find implements [approvals.Finder].
func (r record) Find(ctx context.Context, scope, server, tool, arguments string) ([]approvals.Standing, error) {
	covers := []string{arguments, approvals.AnyArguments, ""}
	var lists []string
	for _, its := range covers {
		lists = append(lists, r.callKey(scope, server, tool, its))
	}
	all, err := r.ofTool(ctx, r.standingKey(scope), server, tool, lists...)
	return slices.DeleteFunc(all, func(y approvals.Standing) bool { return !slices.Contains(covers, y.Arguments) }), err
}

// ofTool returns the remembered approvals of a tool under a key whose IDs are in some lists.
func (r record) ofTool(ctx context.Context, key, server, tool string, lists ...string) ([]approvals.Standing, error) {
	if !r.seal.allowed() {
		return nil, nil
	}
	got, err := r.run(ctx, ofApprovals, findTools, append([]string{key}, lists...)).StringSlice()
	if err != nil {
		return nil, err
	}
	var entries []standingEntry
	for e := range slices.Chunk(got, 3) {
		entries = append(entries, standingEntry{e[0], e[1], e[2]})
	}
	all, err := r.found(ctx, key, entries)
	return slices.DeleteFunc(all, func(y approvals.Standing) bool { return y.Server != server || y.Tool != tool }), err
}

// List implements [approvals.Store].
func (r record) List(ctx context.Context) (all []approvals.Standing, err error) {
	var keys []string
	err = r.do(ctx, ofApprovals, r.scopes(), func(ctx context.Context) (err error) {
		if err = r.client.ZRemRangeByScore(ctx, r.scopes(), "-inf", strconv.FormatInt(time.Now().UnixMilli(), 10)).Err(); err != nil {
			return err
		}
		keys, err = r.client.ZRange(ctx, r.scopes(), 0, -1).Result()
		return err
	})
	for _, key := range keys {
		found, failed := r.standing(ctx, key)
		all, err = append(all, found...), errors.Join(err, failed)
	}
	return all, err
}

// standing returns the remembered approvals under a key.
func (r record) standing(ctx context.Context, key string) ([]approvals.Standing, error) {
	if !r.seal.allowed() {
		return nil, nil
	}
	var all map[string]string
	err := r.do(ctx, ofApprovals, key, func(ctx context.Context) (err error) {
		all, err = r.client.HGetAll(ctx, key).Result()
		return err
	})
	if err != nil {
		return nil, err
	}
	var entries []standingEntry
	for id, text := range all {
		if !strings.HasPrefix(id, uses) {
			entries = append(entries, standingEntry{id, text, all[uses+id]})
		}
	}
	return r.found(ctx, key, entries)
}

// A standingEntry is a remembered approval as it is in Redis.
type standingEntry struct{ id, text, uses string }

// found returns the approvals that count of some entries, by their time, and deletes the other ones.
func (r record) found(ctx context.Context, key string, entries []standingEntry) ([]approvals.Standing, error) {
	over, found, err := r.counting(ctx, key, entries)
	if err != nil {
		return nil, err
	}
	if len(over) > 0 {
		_ = r.delete(ctx, key, over...)
	}
	slices.SortFunc(found, func(x, y approvals.Standing) int { return x.Until.Compare(y.Until) })
	return found, nil
}

// counting returns the approvals that count of some entries, and the fields of those that never will again.
func (r record) counting(ctx context.Context, key string, entries []standingEntry) (over []string, found []approvals.Standing, err error) {
	var opened []kept
	for _, e := range entries {
		y, ok := r.opened(key, e)
		if !ok || !r.runs.live(e.text) || !time.Now().Before(y.Until) {
			over = append(over, e.id, uses+e.id)
			continue
		}
		opened = append(opened, y)
	}
	if len(opened) == 0 {
		return over, nil, nil
	}
	now, ok, err := r.current(ctx)
	if err != nil || !ok { // without a head nothing counts
		return over, nil, err
	}
	for _, y := range opened {
		if y.Era == now.Era && y.Born > now.Count {
			// The head was read after the entry, so it was newer once.
			return over, nil, r.inTurn(ctx, func() error {
				raw, _, ok, err := r.follow(ctx)
				if err == nil && ok {
					_, _, err = r.end(ctx, raw, "an approval was remembered after all that the head counts")
				}
				return err
			})
		}
		if !r.revoked.counts(r.revokedName(y.Scope, y.ID), y.Era, y.Born) {
			over = append(over, y.ID, uses+y.ID)
			continue
		}
		found = append(found, y.Standing)
	}
	return over, found, nil
}

// opened returns the approval that an entry is, and false if no replica has written it there.
func (r record) opened(key string, e standingEntry) (y kept, ok bool) {
	if len(e.text) < runSize {
		return kept{}, false
	}
	form, ok := r.seal.open(key+"/"+e.id, []byte(e.text[runSize:]))
	if !ok || json.Unmarshal(form, &y) != nil || y.ID != e.id || r.standingKey(y.Scope) != key {
		return kept{}, false
	}
	y.Uses, _ = strconv.Atoi(e.uses) // a missing one is 0
	return y, true
}

// entry returns a remembered approval as it is in Redis, "" if it is not there.
func (r record) entry(ctx context.Context, key, id string) (text string, err error) {
	err = r.do(ctx, ofApprovals, key, func(ctx context.Context) error {
		all, err := r.client.HMGet(ctx, key, id).Result() // which has nil for what is missing
		if err == nil && all[0] != nil {
			text, _ = all[0].(string)
		}
		return err
	})
	return text, err
}

// expiry returns until when the revocation of an entry has to count.
func (r record) expiry(key, id, text string) time.Time {
	if y, ok := r.opened(key, standingEntry{id: id, text: text}); ok {
		return y.Until
	}
	return time.Now().Add(keepRevoked)
}

func (r record) Forget(ctx context.Context, scope, id string) error {
	waits := string(approvals.Approved)
	if err := r.run(ctx, ofApprovals, advance, r.keys(id, "", ""), string(approvals.Void), 0, keepEnded.Milliseconds(), "", waits).Err(); err != nil {
		return err
	}
	if !r.seal.allowed() {
		return nil // nothing is remembered
	}
	key := r.standingKey(scope)
	text, err := r.entry(ctx, key, id)
	if err != nil {
		return err
	}
	if text == "" && r.revoked.knows(r.revokedName(scope, id)) {
		return nil
	}
	if _, err := r.revoke(ctx, scope, id, r.expiry(key, id, text)); err != nil {
		return err
	}
	return r.delete(ctx, key, id, uses+id)
}

func (r record) delete(ctx context.Context, key string, ids ...string) error {
	return r.do(ctx, ofApprovals, key, func(ctx context.Context) error { return r.client.HDel(ctx, key, ids...).Err() })
}
