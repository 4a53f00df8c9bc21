package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// keys are those of a question: itself, its mark of attendance, and the open questions.
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

func (b board) Remove(ctx context.Context, id string) error {
	return b.run(ctx, ofBoard, takeDown, b.keys(id), id).Err()
}
