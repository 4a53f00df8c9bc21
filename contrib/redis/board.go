package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	goredis "github.com/redis/go-redis/v9"
)

const (
	// attendance is how long a question hangs that nobody waits for.
	attendance = 10 * time.Second
	// askEvery is how often one who waits looks whether there is an answer.
	askEvery = 500 * time.Millisecond
	// patience is how long one who waits goes on without an answer of Redis.
	patience = 5 * time.Second
	maxOpen  = 1000
	maxID    = 200
)

// Board returns where questions hang that people answer at whichever replica, for
// inbox.Options.Board. It panics where contents may not be stored: without
// [Options.Key] and [Options.Plain]. With a Key, only who has it can answer.
func (s *Store) Board() approvals.Board {
	if !s.seal.allowed() {
		panic("redis: the board holds arguments and answers; give Options.Key, or say with Options.Plain that they may stand in Redis as they are")
	}
	return (*board)(s)
}

type board Store

var (
	post = newScript(`#!lua
if redis.call('EXISTS',KEYS[1])==1 then return 0 end
local t=redis.call('TIME') local now=t[1]*1000+math.floor(t[2]/1000)
redis.call('HSET',KEYS[1],'v','1','q',ARGV[2],'until',string.format('%.0f',now+ARGV[3]),
  'run',string.match(redis.call('INFO','server'),'run_id:(%x+)'))
redis.call('PEXPIRE',KEYS[1],math.max(0,tonumber(ARGV[3]))+ARGV[4])
redis.call('SET',KEYS[2],'1','PX',ARGV[5])
redis.call('ZADD',KEYS[3],now,ARGV[1])
return 1`)

	// state says what a question is: unknown, over, done, left, or open for so long.
	state = `
local function state(key,alive)
  local q=redis.call('HMGET',key,'v','until','run','over','a')
  if q[1]~='1' or q[3]~=string.match(redis.call('INFO','server'),'run_id:(%x+)') then return 'unknown' end
  if q[5] then return 'done',q[5] end
  local t=redis.call('TIME') local now=t[1]*1000+math.floor(t[2]/1000)
  local left=(tonumber(q[2]) or 0)-now
  if q[4] or left<=0 then return 'over' end
  if redis.call('EXISTS',alive)==0 then return 'left',nil,left end
  return 'open',nil,left
end
`
	// What comes back within the time of an answer, one who waits may have been away.
	await = script(state + `
local what,answer,left=state(KEYS[1],KEYS[2])
if what=='open' or what=='left' then redis.call('SET',KEYS[2],'1','PX',ARGV[1]) return {'open','',left} end
return {what,answer or '',0}`)

	answer = newScript("#!lua\n" + state + `
local what=state(KEYS[1],KEYS[2])
if what=='open' then
  redis.call('HSET',KEYS[1],'a',ARGV[2]) redis.call('ZREM',KEYS[3],ARGV[1])
end
return what`)

	takeDown = script(state + `
local what=state(KEYS[1],KEYS[2])
if what=='open' or what=='left' then redis.call('HSET',KEYS[1],'over','1') end
redis.call('ZREM',KEYS[3],ARGV[1])
return 1`)
)

func (b *board) keys(id string) []string {
	s := (*Store)(b)
	name := s.seal.name("question", id)
	return []string{s.key("q", "board", name), s.key("w", "board", name), b.list()}
}

// list is the key of what hangs. Hosts with another secret have another one: they could
// not read what it is about, and would take it down.
func (b *board) list() string {
	s := (*Store)(b)
	return s.key("l", "board", s.seal.name("board"))
}

// Post implements [approvals.Board].
func (b *board) Post(ctx context.Context, n approvals.Notice) error {
	if n.ID == "" || len(n.ID) > maxID {
		return fmt.Errorf("redis: a notice needs an ID of at most %d bytes", maxID)
	}
	s := (*Store)(b)
	sealed, err := s.seal.seal(nil, "question/"+n.ID, n.Question)
	if err != nil {
		return err
	}
	fresh := false
	err = s.do(ctx, ofBoard, func(ctx context.Context) (err error) {
		fresh, err = post.Run(ctx, s.client, b.keys(n.ID), n.ID, sealed, time.Until(n.Until).Milliseconds(), keepEnded.Milliseconds(), attendance.Milliseconds()).Bool()
		return err
	})
	if err == nil && !fresh {
		return fmt.Errorf("redis: the question %s hangs already", n.ID)
	}
	return err
}

// Wait implements [approvals.Board].
func (b *board) Wait(ctx context.Context, id string) ([]byte, error) {
	s := (*Store)(b)
	heard := time.Now()
	for {
		pause := askEvery
		what, sealed, left, err := b.look(ctx, id)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil && time.Since(heard) > patience:
			return nil, err
		case err != nil:
		case what == "done":
			given, ok := s.seal.open("answer/"+id, []byte(sealed))
			if !ok {
				return nil, fmt.Errorf("redis: the answer to %s was not written by a replica of this host, so it is none", id)
			}
			return given, nil
		case what == "unknown":
			return nil, &approvals.NoEffectError{ID: id, To: approvals.Approved}
		case what != "open":
			return nil, &approvals.NoEffectError{ID: id, Was: approvals.Void, To: approvals.Approved}
		default:
			heard, pause = time.Now(), min(pause, left)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// look says what a question is, and that somebody waits for it.
func (b *board) look(ctx context.Context, id string) (what, sealed string, left time.Duration, err error) {
	s := (*Store)(b)
	var got []any
	err = s.do(ctx, ofBoard, func(ctx context.Context) (err error) {
		got, err = await.Run(ctx, s.client, b.keys(id)[:2], attendance.Milliseconds()).Slice()
		return err
	})
	if err != nil {
		return "", "", 0, err
	}
	if len(got) != 3 {
		return "", "", 0, errors.New("redis: the board's script gave no answer that can be read")
	}
	what, _ = got[0].(string)
	sealed, _ = got[1].(string)
	millis, _ := got[2].(int64)
	return what, sealed, time.Duration(millis) * time.Millisecond, nil
}

// Answer implements [approvals.Board].
func (b *board) Answer(ctx context.Context, id string, given []byte) error {
	s := (*Store)(b)
	sealed, err := s.seal.seal(nil, "answer/"+id, given)
	if err != nil {
		return err
	}
	what := ""
	err = s.do(ctx, ofBoard, func(ctx context.Context) (err error) {
		what, err = answer.Run(ctx, s.client, b.keys(id), id, sealed).Text()
		return err
	})
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

// Open implements [approvals.Board].
func (b *board) Open(ctx context.Context) ([]approvals.Notice, error) {
	s := (*Store)(b)
	var open []approvals.Notice
	err := s.do(ctx, ofBoard, func(ctx context.Context) error {
		list := b.list()
		ids, err := s.client.ZRange(ctx, list, 0, maxOpen-1).Result()
		if err != nil || len(ids) == 0 {
			return err
		}
		pipe := s.client.Pipeline()
		hanging := make([]*goredis.SliceCmd, len(ids))
		living := make([]*goredis.DurationCmd, len(ids))
		attended := make([]*goredis.IntCmd, len(ids))
		for i, id := range ids {
			keys := b.keys(id)
			hanging[i] = pipe.HMGet(ctx, keys[0], "v", "q", "a", "over")
			living[i] = pipe.PTTL(ctx, keys[0])
			attended[i] = pipe.Exists(ctx, keys[1])
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
		var gone []any
		for i, id := range ids {
			n, there := b.notice(id, hanging[i].Val(), living[i].Val()-keepEnded)
			switch {
			case !there:
				gone = append(gone, id)
			case attended[i].Val() == 1:
				open = append(open, n)
			}
		}
		if len(gone) > 0 {
			return s.client.ZRem(ctx, list, gone...).Err()
		}
		return nil
	})
	return open, err
}

// notice reads a question that has so much time left; false where it is over, or none
// of ours.
func (b *board) notice(id string, fields []any, left time.Duration) (approvals.Notice, bool) {
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i], _ = f.(string)
	}
	if len(fields) != 4 || texts[0] != "1" || fields[2] != nil || fields[3] != nil || left <= 0 {
		return approvals.Notice{}, false
	}
	question, ok := b.seal.open("question/"+id, []byte(texts[1]))
	return approvals.Notice{ID: id, Until: time.Now().Add(left), Question: question}, ok
}

// TakeDown implements [approvals.Board].
func (b *board) TakeDown(ctx context.Context, id string) error {
	s := (*Store)(b)
	return s.do(ctx, ofBoard, func(ctx context.Context) error {
		return takeDown.Run(ctx, s.client, b.keys(id), id).Err()
	})
}
