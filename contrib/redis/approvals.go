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

const (
	// attendance is how long a question stays on the board without a waiter.
	attendance = 10 * time.Second
	// askEvery is how often a waiter asks for the answer.
	askEvery = 500 * time.Millisecond
	// patience is how long a waiter continues while Redis does not answer.
	patience = 5 * time.Second
	maxOpen  = 1000
	maxID    = 200
)

// Board returns a board of questions that people answer at any replica, for inbox.Options.Board. It
// panics without [Options.Key] and [Options.Plain]. With a Key, only hosts that have it can answer.
func (s *Store) Board() approvals.Board {
	if !s.seal.allowed() {
		panic("redis: the board holds arguments and answers; give Options.Key, or allow plain text with Options.Plain")
	}
	return board{s}
}

type board struct{ *Store }

var (
	post = strictScript("post")
	// await returns the answer also to a waiter that was away for a while.
	await    = script("await")
	answer   = strictScript("answer")
	takeDown = script("takedown")
	shown    = script("shown")
)

// A state is what a question has come to, with the question or its answer, and the time that it has left.
type state struct {
	what, text string
	left       time.Duration
}

// states returns what a script returns of questions, each of which has two keys.
func (b board) states(ctx context.Context, script *goredis.Script, keys []string, args ...any) ([]state, error) {
	got, err := b.run(ctx, ofBoard, script, keys, args...).Slice()
	if err == nil && len(got) != len(keys)/2*3 {
		err = errors.New("redis: the board's script returned a malformed answer")
	}
	if err != nil {
		return nil, err
	}
	all := make([]state, 0, len(keys)/2)
	for q := range slices.Chunk(got, 3) {
		what, _ := q[0].(string)
		text, _ := q[1].(string)
		millis, _ := q[2].(int64)
		all = append(all, state{what, text, time.Duration(millis) * time.Millisecond})
	}
	return all, nil
}

func (b board) keys(id string) []string {
	name := b.seal.name("question", id)
	return []string{b.key("q", "board", name), b.key("w", "board", name), b.list()}
}

// list returns the key of the open questions. Hosts with another secret, which could not read them,
// have another key.
func (b board) list() string { return b.key("l", "board", b.seal.name("board")) }

func (b board) Post(ctx context.Context, n approvals.Notice) error {
	if n.ID == "" || len(n.ID) > maxID {
		return fmt.Errorf("redis: a notice needs an ID of at most %d bytes", maxID)
	}
	sealed, err := b.seal.seal(nil, "question/"+n.ID, n.Question)
	if err != nil {
		return err
	}
	lasts := time.Until(n.Until).Milliseconds()
	fresh, err := b.run(ctx, ofBoard, post, b.keys(n.ID), n.ID, sealed, lasts, keepEnded.Milliseconds(), attendance.Milliseconds()).Bool()
	if err == nil && !fresh {
		return fmt.Errorf("redis: the question %s is on the board already", n.ID)
	}
	return err
}

func (b board) Wait(ctx context.Context, id string) ([]byte, error) {
	heard := time.Now()
	for {
		pause := askEvery
		found, err := b.states(ctx, await, b.keys(id)[:2], attendance.Milliseconds()) // which marks it as waited for
		var q state
		if err == nil {
			q = found[0]
		}
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil && time.Since(heard) > patience:
			return nil, err
		case err != nil:
		case q.what == "done":
			given, ok := b.seal.open("answer/"+id, []byte(q.text))
			if !ok {
				return nil, fmt.Errorf("redis: the answer to %s was not written by a replica of this host and is ignored", id)
			}
			return given, nil
		case q.what == "unknown":
			return nil, &approvals.NoEffectError{ID: id, To: approvals.Approved}
		case q.what != "open":
			return nil, &approvals.NoEffectError{ID: id, Was: approvals.Void, To: approvals.Approved}
		default:
			heard, pause = time.Now(), min(pause, q.left)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (b board) Answer(ctx context.Context, id string, given []byte) error {
	sealed, err := b.seal.seal(nil, "answer/"+id, given)
	if err != nil {
		return err
	}
	what, err := b.run(ctx, ofBoard, answer, b.keys(id), id, sealed).Text()
	was := approvals.Void
	switch {
	case err != nil:
		return err
	case what == "open":
		return nil
	case what == "unknown":
		was = ""
	case what == "done":
		was = approvals.Done
	}
	return &approvals.NoEffectError{ID: id, Was: was, To: approvals.Approved}
}

func (b board) Open(ctx context.Context) ([]approvals.Notice, error) {
	var ids []string
	err := b.do(ctx, ofBoard, b.list(), func(ctx context.Context) (err error) {
		ids, err = b.client.ZRange(ctx, b.list(), 0, maxOpen-1).Result()
		return err
	})
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	var keys []string
	for _, id := range ids {
		keys = append(keys, b.keys(id)[:2]...)
	}
	found, err := b.states(ctx, shown, keys, keepEnded.Milliseconds())
	var open []approvals.Notice
	var gone []any
	for i, q := range found {
		question, ok := b.seal.open("question/"+ids[i], []byte(q.text))
		switch {
		case !ok: // or over
			gone = append(gone, ids[i])
		case q.what == "open":
			open = append(open, approvals.Notice{ID: ids[i], Until: time.Now().Add(q.left), Question: question})
		}
	}
	if len(gone) > 0 {
		err = b.do(ctx, ofBoard, b.list(), func(ctx context.Context) error { return b.client.ZRem(ctx, b.list(), gone...).Err() })
	}
	return open, err
}

func (b board) TakeDown(ctx context.Context, id string) error {
	return b.run(ctx, ofBoard, takeDown, b.keys(id), id).Err()
}
