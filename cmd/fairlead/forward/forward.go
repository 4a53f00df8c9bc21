// Package forward sends copies of records to places beside the audit file: a collector of OpenTelemetry, or a syslog
// server. The file alone decides whether a call may be made. A place that is away delays and refuses nothing: copies wait
// in memory up to a limit, and those beyond it are lost, and counted.
package forward

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/fairlead-go/fairlead/audit"
)

const (
	// MaxBytes is how many bytes of copies wait for one place; further copies are lost.
	MaxBytes = 16 << 20

	perCopy    = 1 << 10 // bytes of a copy beside its text, at most
	batch      = 256     // copies that are sent at once
	batchBytes = 1 << 20 // likewise, unless the first has more
	tries      = 5       // of one copy that a place answers, and does not take
	patience   = 10 * time.Second
	firstPause = time.Second // after a failure
	mostPause  = 15 * time.Second
)

// A Copy is a record on its way to a place.
type Copy struct {
	// Record has no arguments, results or other texts of the call.
	Record audit.Record
	// Text is the record as JSON, as the file has it but for its number and hash.
	Text []byte
	// Short is Text without the arguments, results and other texts of the call; nil if that is the same.
	Short []byte
}

func (c *Copy) size() int { return len(c.Text) + len(c.Short) + perCopy }

// A Place takes copies. One goroutine uses it.
type Place interface {
	// Send sends copies in their order, and returns how many of them the place has, and why not all.
	Send(ctx context.Context, copies []Copy) (sent int, err error)
	Close() error
}

// A Queue holds the copies for one place until that has them. Make one with [New]. It is safe for concurrent use.
type Queue struct {
	name   string
	place  Place
	log    *slog.Logger
	report func(ctx context.Context, err error)
	stop   context.CancelFunc
	ended  chan struct{}
	added  chan struct{} // a copy was, or the queue closes

	mu      sync.Mutex
	waiting []Copy
	bytes   int
	lost    int64
	closing bool
	losing  int // copies, since the log has it
}

// New returns a queue that sends to a place until it is closed. Report gets what became of each attempt: an error while
// the place is away.
func New(name string, place Place, log *slog.Logger, report func(ctx context.Context, err error)) *Queue {
	ctx, stop := context.WithCancel(context.Background())
	q := &Queue{
		name: name, place: place, log: cmp.Or(log, slog.New(slog.DiscardHandler)), report: report, stop: stop,
		ended: make(chan struct{}), added: make(chan struct{}, 1),
	}
	go q.run(ctx)
	return q
}

// A Use is what a queue holds, and what it has lost.
type Use struct{ Waiting, Bytes, Lost int64 }

// Use returns what the queue holds now.
func (q *Queue) Use() Use {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Use{int64(len(q.waiting)), int64(q.bytes), q.lost}
}

// Name returns what the place is called in the log, in /readyz and in metrics.
func (q *Queue) Name() string { return q.name }

// Add puts a copy of a record into the queue. It does not wait.
func (q *Queue) Add(r audit.Record) {
	c, err := copied(r)
	q.mu.Lock()
	defer q.mu.Unlock()
	if err == nil && q.bytes+c.size() > MaxBytes {
		err = fmt.Errorf("%d bytes wait already", q.bytes)
	}
	if err == nil && q.closing {
		err = errors.New("the proxy ends")
	}
	if err != nil {
		q.lose(1, err)
		return
	}
	q.waiting = append(q.waiting, c)
	q.bytes += c.size()
	q.wake()
}

func (q *Queue) wake() {
	select {
	case q.added <- struct{}{}:
	default: // it is awake
	}
}

// copied returns a record as it is sent.
func copied(r audit.Record) (c Copy, err error) {
	r.Time = r.Time.UTC() // as in the file
	if c.Text, err = json.Marshal(r); err != nil {
		return c, err
	}
	whole := len(r.Arguments) + len(r.Input) + len(r.Result) + len(r.Client) + len(r.Error) + len(r.Evidence) + len(r.Sources) + len(r.Decisions)
	undo := r.Undo != nil
	r.Arguments, r.Input, r.Result, r.Client, r.Error, r.Evidence, r.Sources, r.Decisions, r.Undo = nil, nil, nil, nil, "", nil, nil, nil, nil
	c.Record = r
	if whole > 0 || undo {
		c.Short, err = json.Marshal(r)
	}
	return c, err
}

// lose counts copies that the place will not get. One line of the log has the first of them. The caller holds the lock.
func (q *Queue) lose(n int, why error) {
	q.lost += int64(n)
	if q.losing += n; q.losing == n {
		q.log.Error("forward: copies of records are lost; the file has them", slog.String("to", q.name), slog.Any("err", why))
	}
}

// next returns what is sent next, at most n copies.
func (q *Queue) next(n int) (copies []Copy, closing bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	bytes := 0
	for i := range q.waiting {
		if bytes += len(q.waiting[i].Text); i > 0 && bytes > batchBytes || i == n {
			return q.waiting[:i:i], q.closing
		}
	}
	return slices.Clip(q.waiting), q.closing
}

// sent takes the first n copies out. The place has them, unless there is a reason why not.
func (q *Queue) sent(n int, why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range n {
		q.bytes -= q.waiting[i].size()
	}
	clear(q.waiting[:n])
	if q.waiting = q.waiting[n:]; len(q.waiting) == 0 {
		q.waiting = nil // or the room of an outage stays
	}
	switch {
	case why != nil:
		q.lose(n, why)
	case q.losing > 0 && q.bytes < MaxBytes/2: // and not with each copy that finds room
		q.log.Warn("forward: no more copies of records are lost", slog.String("to", q.name), slog.Int("lost", q.losing))
		q.losing = 0
	}
}

// run sends until the queue is empty and closes, or ctx is done.
func (q *Queue) run(ctx context.Context) {
	defer close(q.ended)
	pause := backoff.NewExponentialBackOff(backoff.WithInitialInterval(firstPause), backoff.WithMaxInterval(mostPause), backoff.WithMaxElapsedTime(0))
	size, refused := batch, 0
	for {
		copies, closing := q.next(size)
		if len(copies) == 0 {
			if closing {
				return
			}
			select {
			case <-q.added:
			case <-ctx.Done():
				return
			}
			continue
		}
		n, err := q.send(ctx, copies)
		if n > 0 {
			q.sent(n, nil)
			pause.Reset()
			refused = 0
		}
		if err == nil {
			size = min(2*size, batch)
			continue
		}
		if ctx.Err() != nil {
			return
		}
		// One copy that a place does not take must not keep it from the others. It is found by sending fewer at once.
		if size = max(size/2, 1); len(copies) == 1 && !unreachable(err) {
			if refused++; refused == tries {
				q.sent(1, err)
				refused = 0
			}
		}
		select {
		case <-time.After(pause.NextBackOff()):
		case <-ctx.Done():
			return
		}
	}
}

func (q *Queue) send(ctx context.Context, copies []Copy) (n int, err error) {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	n, err = q.place.Send(within, copies)
	if ctx.Err() == nil {
		q.report(ctx, err)
	}
	return n, err
}

// unreachable reports whether a place has not answered, so that the same copies are sent for as long as it takes.
func unreachable(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, context.DeadlineExceeded)
}

// Close sends what waits until ctx is done, and counts the rest as lost.
func (q *Queue) Close(ctx context.Context) error {
	q.mu.Lock()
	q.closing = true
	q.mu.Unlock()
	q.wake()
	select {
	case <-q.ended:
	case <-ctx.Done():
	}
	q.stop()
	<-q.ended
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.waiting); n > 0 {
		q.lost += int64(n)
		q.log.ErrorContext(ctx, "forward: the proxy ends before copies of records were sent; the file has them", slog.String("to", q.name), slog.Int("lost", n))
	}
	q.waiting, q.bytes = nil, 0
	return q.place.Close()
}
