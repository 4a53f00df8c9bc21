package approvals

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// A Board is where questions hang that a person may answer at any replica of a host. [NewBoard] makes one in
// this process; storetest checks whether another keeps these promises:
//
//   - The first answer is the only one. Whoever waits for it gets it, at whichever
//     replica, and so does who begins to wait when it was given.
//   - A question whose time is over, that was taken down, or whose replica has not
//     waited for it for some seconds, is not shown and takes no answer.
//   - An answer does nothing by itself: without a call that waits it has no effect.
//   - What cannot be read, comes from elsewhere or has another version is not there.
//
// It is safe for concurrent use. An error is a denial of the call that the question is about.
type Board interface {
	// Post publishes a question. An ID that was used already is an error.
	Post(ctx context.Context, n Notice) error
	// Wait returns the answer once it is there, [ErrNoEffect] where none can come any
	// more, or the end of the context.
	Wait(ctx context.Context, id string) ([]byte, error)
	// Answer gives the answer. One that comes too late, or second, or to a question
	// that nobody knows or waits for, changes nothing and is a [*NoEffectError].
	Answer(ctx context.Context, id string, answer []byte) error
	// Open returns the questions that wait, oldest first.
	Open(ctx context.Context) ([]Notice, error)
	// Remove ends a question that has no answer yet.
	Remove(ctx context.Context, id string) error
}

// A Notice is a question on a [Board].
type Notice struct {
	ID    string
	Until time.Time // when its time is over
	// Question is what is shown, for whoever shows it to read. It holds arguments.
	Question []byte
}

// How long a memory's answers are known to those who come late, and a question hangs that nobody waits for.
const (
	keepAnswers = time.Hour
	unattended  = 10 * time.Second
)

// A memoryBoard is a Board in memory.
type memoryBoard struct {
	mu      sync.Mutex
	notices map[string]*posted
	posted  int // ever
}

type posted struct {
	Notice

	number  int
	answer  []byte
	over    chan struct{} // closed when it has an answer or was taken down
	ended   bool
	waiting int
	left    time.Time // when the last one stopped waiting
}

// NewBoard returns an empty board in memory, gone when the process ends. A question is known for an hour after its
// time, for answers that come late.
func NewBoard() Board { return &memoryBoard{notices: make(map[string]*posted)} }

func (p *posted) open(now time.Time) bool {
	return !p.ended && now.Before(p.Until) && (p.waiting > 0 || now.Sub(p.left) < unattended)
}

// end wakes those who wait. The question is no longer shown.
func (p *posted) end() {
	p.ended, p.Question = true, nil
	close(p.over)
}

// Post implements [Board].
func (b *memoryBoard) Post(_ context.Context, n Notice) error {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.notices, func(_ string, p *posted) bool {
		if !now.Before(p.Until) {
			p.Question = nil // it is no longer shown
		}
		return now.Sub(p.Until) > keepAnswers
	})
	switch {
	case n.ID == "":
		return errors.New("approvals: a notice needs an ID")
	case b.notices[n.ID] != nil:
		return fmt.Errorf("approvals: the question %s is already posted", n.ID)
	}
	n.Question = bytes.Clone(n.Question)
	b.posted++
	b.notices[n.ID] = &posted{Notice: n, number: b.posted, over: make(chan struct{}), left: now}
	return nil
}

// Wait implements [Board].
func (b *memoryBoard) Wait(ctx context.Context, id string) ([]byte, error) {
	b.mu.Lock()
	p := b.notices[id]
	if p == nil {
		b.mu.Unlock()
		return nil, &NoEffectError{ID: id, To: Approved}
	}
	p.waiting++
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		p.waiting--
		p.left = time.Now()
	}()
	timer := time.NewTimer(time.Until(p.Until))
	defer timer.Stop()
	select {
	case <-p.over:
	case <-timer.C:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.answer == nil {
		return nil, &NoEffectError{ID: id, Was: Pending, To: Approved}
	}
	return bytes.Clone(p.answer), nil
}

// Answer implements [Board].
func (b *memoryBoard) Answer(_ context.Context, id string, answer []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.notices[id]
	switch {
	case p == nil:
		return &NoEffectError{ID: id, To: Approved}
	case p.answer != nil:
		return &NoEffectError{ID: id, Was: Done, To: Approved}
	case !p.open(time.Now()):
		return &NoEffectError{ID: id, Was: Void, To: Approved}
	}
	p.answer = append([]byte{}, answer...)
	p.end()
	return nil
}

// Open implements [Board].
func (b *memoryBoard) Open(context.Context) ([]Notice, error) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	var open []Notice
	for _, p := range slices.SortedFunc(maps.Values(b.notices), func(x, y *posted) int { return x.number - y.number }) {
		if p.open(now) {
			n := p.Notice
			n.Question = bytes.Clone(n.Question)
			open = append(open, n)
		}
	}
	return open, nil
}

// Remove implements [Board].
func (b *memoryBoard) Remove(_ context.Context, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.notices[id]; p != nil && !p.ended {
		p.end()
	}
	return nil
}
