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
)

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
		what, sealed, left, err := b.look(ctx, id)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil && time.Since(heard) > patience:
			return nil, err
		case err != nil:
		case what == "done":
			given, ok := b.seal.open("answer/"+id, []byte(sealed))
			if !ok {
				return nil, fmt.Errorf("redis: the answer to %s was not written by a replica of this host and is ignored", id)
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

// look returns a question, and marks it as waited for.
func (b board) look(ctx context.Context, id string) (what, sealed string, left time.Duration, err error) {
	got, err := b.run(ctx, ofBoard, await, b.keys(id)[:2], attendance.Milliseconds()).Slice()
	if err != nil {
		return "", "", 0, err
	}
	if len(got) != 3 {
		return "", "", 0, errors.New("redis: the board's script returned a malformed answer")
	}
	what, _ = got[0].(string)
	sealed, _ = got[1].(string)
	millis, _ := got[2].(int64)
	return what, sealed, time.Duration(millis) * time.Millisecond, nil
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
	var open []approvals.Notice
	err := b.do(ctx, ofBoard, b.list(), func(ctx context.Context) error {
		list := b.list()
		ids, err := b.client.ZRange(ctx, list, 0, maxOpen-1).Result()
		if err != nil || len(ids) == 0 {
			return err
		}
		pipe := b.client.Pipeline()
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
			return b.client.ZRem(ctx, list, gone...).Err()
		}
		return nil
	})
	return open, err
}

// notice reads a question with so much time left; false if it is over, or not of this host.
func (b board) notice(id string, fields []any, left time.Duration) (approvals.Notice, bool) {
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

func (b board) TakeDown(ctx context.Context, id string) error {
	return b.run(ctx, ofBoard, takeDown, b.keys(id), id).Err()
}
