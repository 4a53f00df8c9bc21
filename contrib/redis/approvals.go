package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
)

const (
	// keepEnded is how long a late answer still hears what came of its question.
	keepEnded = time.Hour
	// maxStanding is how many yeses of one scope are remembered.
	maxStanding = 10_000
)

// Approvals returns the record of what people were asked, for hitl.Options.Store:
// the first answer and the first use count, at whichever replica, by Redis' clock.
// It holds how far each approval has come and nothing of what it is about. What
// Redis knew before it started again is over, a yes that stands too. To remember
// one it needs [Options.Key] or [Options.Plain], and replicas whose clocks agree.
func (s *Store) Approvals() approvals.Store { return (*record)(s) }

type record Store

var (
	add = newScript(`#!lua
if redis.call('EXISTS',KEYS[1])==1 then return 0 end
local t=redis.call('TIME') local now=t[1]*1000+math.floor(t[2]/1000)
redis.call('HSET',KEYS[1],'v','1','state',ARGV[1],'until',string.format('%.0f',now+ARGV[2]),
  'run',string.match(redis.call('INFO','server'),'run_id:(%x+)'))
redis.call('PEXPIRE',KEYS[1],math.max(0,tonumber(ARGV[2]))+ARGV[3])
return 1`)

	// What stands in a yes of before a restart may have been used since.
	advance = script(`
local steps={pending={approved=1,denied=1,void=1},approved={spent=1,void=1},spent={done=1,void=1}}
local a=redis.call('HMGET',KEYS[1],'v','state','until','run')
if a[1]~='1' or a[4]~=string.match(redis.call('INFO','server'),'run_id:(%x+)') then return {0,''} end
local to=ARGV[1]
if not (steps[a[2]] and steps[a[2]][to]) then return {0,a[2]} end
local t=redis.call('TIME') local now=t[1]*1000+math.floor(t[2]/1000)
if (to=='approved' or to=='spent') and not (now<(tonumber(a[3]) or 0)) then return {0,a[2]} end
redis.call('HSET',KEYS[1],'state',to)
if to=='approved' then
  redis.call('HSET',KEYS[1],'until',string.format('%.0f',now+ARGV[2]))
  redis.call('PEXPIRE',KEYS[1],math.max(0,tonumber(ARGV[2]))+ARGV[3])
end
return {1,''}`)

	// That a yes was taken back may have been lost with a restart, so it bears the run too.
	rememberYes = newScript(`#!lua
if redis.call('HLEN',KEYS[1])>=tonumber(ARGV[3]) then return 0 end
local run=string.sub(string.match(redis.call('INFO','server'),'run_id:(%x+)'),1,16)
redis.call('HSET',KEYS[1],ARGV[1],run..ARGV[2])
if redis.call('PTTL',KEYS[1])<tonumber(ARGV[4]) then redis.call('PEXPIRE',KEYS[1],ARGV[4]) end
return 1`)
)

func (r *record) key(id string) string {
	s := (*Store)(r)
	return s.key("a", s.seal.name("approval", id))
}

// Add implements [approvals.Store].
func (r *record) Add(ctx context.Context, a approvals.Approval) error {
	switch {
	case a.ID == "":
		return errors.New("redis: an approval needs an ID")
	case a.State == approvals.Pending && a.Standing == "", a.State == approvals.Approved && a.Standing != "":
	default:
		return fmt.Errorf("redis: an approval cannot begin as %q", a.State)
	}
	s := (*Store)(r)
	fresh := false
	err := s.do(ctx, ofApprovals, func(ctx context.Context) (err error) {
		fresh, err = add.Run(ctx, s.client, []string{r.key(a.ID)}, string(a.State), time.Until(a.Until).Milliseconds(), keepEnded.Milliseconds()).Bool()
		return err
	})
	if err == nil && !fresh {
		return fmt.Errorf("redis: the approval %s is known already", a.ID)
	}
	return err
}

// Advance implements [approvals.Store].
func (r *record) Advance(ctx context.Context, id string, change approvals.Change) error {
	if change.To == approvals.Approved && change.Until.IsZero() {
		return errors.New("redis: a yes needs a time when it expires")
	}
	s := (*Store)(r)
	var got []any
	err := s.do(ctx, ofApprovals, func(ctx context.Context) (err error) {
		got, err = advance.Run(ctx, s.client, []string{r.key(id)}, string(change.To), time.Until(change.Until).Milliseconds(), keepEnded.Milliseconds()).Slice()
		return err
	})
	if err != nil {
		return err
	}
	if len(got) == 2 && got[0] == int64(1) {
		return nil
	}
	was := ""
	if len(got) == 2 {
		was, _ = got[1].(string)
	}
	return &approvals.NoEffectError{ID: id, Was: approvals.State(was), To: change.To}
}

func (r *record) standingKey(scope string) string {
	s := (*Store)(r)
	return s.key("s", s.seal.name("standing", scope))
}

// Remember implements [approvals.Store].
func (r *record) Remember(ctx context.Context, y approvals.Standing) error {
	s, key := (*Store)(r), r.standingKey(y.Scope)
	switch {
	case y.ID == "" || y.Tool == "" || y.Definition == "" || y.Class == "":
		return errors.New("redis: a standing yes needs an ID, a tool, its definition and its class")
	case (y.Arguments == "") == (y.Pattern == nil):
		return errors.New("redis: a standing yes is to exact arguments or to a pattern")
	}
	form, err := json.Marshal(y)
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	sealed, err := s.seal.seal(nil, key+"/"+y.ID, form)
	if err != nil {
		return err
	}
	kept := false
	err = s.do(ctx, ofApprovals, func(ctx context.Context) (err error) {
		kept, err = rememberYes.Run(ctx, s.client, []string{key}, y.ID, sealed, maxStanding, max(time.Until(y.Until).Milliseconds(), 1)).Bool()
		return err
	})
	if err == nil && !kept {
		return fmt.Errorf("redis: %d yeses of this scope are remembered already; forget some", maxStanding)
	}
	return err
}

// Remembered implements [approvals.Store].
func (r *record) Remembered(ctx context.Context, scope, server, tool string) ([]approvals.Standing, error) {
	s, key := (*Store)(r), r.standingKey(scope)
	if !s.seal.allowed() {
		return nil, nil
	}
	var all map[string]string
	err := s.do(ctx, ofApprovals, func(ctx context.Context) (err error) {
		all, err = s.client.HGetAll(ctx, key).Result()
		return err
	})
	if err != nil {
		return nil, err
	}
	var found []approvals.Standing
	var over []string
	for id, entry := range all {
		if !s.runs.live(entry) {
			over = append(over, id)
			continue
		}
		var y approvals.Standing
		form, ok := s.seal.open(key+"/"+id, []byte(entry[runSize:]))
		if !ok || json.Unmarshal(form, &y) != nil || y.ID != id || y.Scope != scope || !time.Now().Before(y.Until) {
			over = append(over, id)
			continue
		}
		if server == "" && tool == "" || y.Server == server && y.Tool == tool {
			found = append(found, y)
		}
	}
	if len(over) > 0 {
		_ = s.do(ctx, ofApprovals, func(ctx context.Context) error { return s.client.HDel(ctx, key, over...).Err() })
	}
	slices.SortFunc(found, func(x, y approvals.Standing) int { return x.Until.Compare(y.Until) })
	return found, nil
}

// Forget implements [approvals.Store].
func (r *record) Forget(ctx context.Context, scope, id string) error {
	s := (*Store)(r)
	return s.do(ctx, ofApprovals, func(ctx context.Context) error { return s.client.HDel(ctx, r.standingKey(scope), id).Err() })
}
