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
// replicas whose clocks agree.
func (s *Store) Approvals() approvals.Store { return record{s} }

type record struct{ *Store }

var (
	add         = strictScript("add")
	advance     = script("advance")
	rememberYes = strictScript("remember")
)

// keys returns the keys of an approval. One that a remembered approval answered is in the same
// cluster slot as that one.
func (r record) keys(id, scope, standing string) []string {
	name := r.seal.name("approval", id)
	if standing == "" {
		return []string{r.key("a", name)}
	}
	about := r.seal.name("standing", scope)
	return []string{r.key("a", about, name), r.key("s", about)}
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
	was, err := r.run(ctx, ofApprovals, advance, r.keys(id, change.Scope, change.Standing), string(change.To), lasts, keepEnded.Milliseconds(), change.Standing).Text()
	if err != nil || was == "taken" {
		return err
	}
	return &approvals.NoEffectError{ID: id, Was: approvals.State(was), To: change.To}
}

func (r record) standingKey(scope string) string {
	return r.key("s", r.seal.name("standing", scope))
}

func (r record) Remember(ctx context.Context, y approvals.Standing) error {
	if err := y.Check(); err != nil {
		return err
	}
	key := r.standingKey(y.Scope)
	form, err := json.Marshal(y)
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
	kept, err := r.run(ctx, ofApprovals, rememberYes, []string{key}, y.ID, sealed, maxStanding, lasts).Bool()
	if err == nil && !kept {
		return fmt.Errorf("redis: %d approvals of this scope are remembered already; forget some", maxStanding)
	}
	return err
}

// scopes returns the key of the list of scopes with remembered approvals.
func (r record) scopes() string {
	return r.key("l", "standing", r.seal.name("standing"))
}

func (r record) Remembered(ctx context.Context, scope, server, tool string) ([]approvals.Standing, error) {
	all, err := r.standing(ctx, r.standingKey(scope))
	return slices.DeleteFunc(all, func(y approvals.Standing) bool {
		return y.Scope != scope || (server != "" || tool != "") && (y.Server != server || y.Tool != tool)
	}), err
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
	var found []approvals.Standing
	var over []string
	for id, entry := range all {
		if strings.HasPrefix(id, uses) {
			continue
		}
		if !r.runs.live(entry) {
			over = append(over, id, uses+id)
			continue
		}
		var y approvals.Standing
		form, ok := r.seal.open(key+"/"+id, []byte(entry[runSize:]))
		if !ok || json.Unmarshal(form, &y) != nil || y.ID != id || r.standingKey(y.Scope) != key || !time.Now().Before(y.Until) {
			over = append(over, id, uses+id)
			continue
		}
		y.Uses, _ = strconv.Atoi(all[uses+id]) // a missing one is 0
		found = append(found, y)
	}
	if len(over) > 0 {
		_ = r.delete(ctx, key, over...)
	}
	slices.SortFunc(found, func(x, y approvals.Standing) int { return x.Until.Compare(y.Until) })
	return found, nil
}

func (r record) Forget(ctx context.Context, scope, id string) error {
	waits := string(approvals.Approved)
	if err := r.run(ctx, ofApprovals, advance, r.keys(id, "", ""), string(approvals.Void), 0, keepEnded.Milliseconds(), "", waits).Err(); err != nil {
		return err
	}
	return r.delete(ctx, r.standingKey(scope), id, uses+id)
}

func (r record) delete(ctx context.Context, key string, ids ...string) error {
	return r.do(ctx, ofApprovals, key, func(ctx context.Context) error { return r.client.HDel(ctx, key, ids...).Err() })
}
