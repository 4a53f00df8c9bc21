package catalog

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// asking holds a place for each list of one session that has not returned. A session of
// the SDK looks at no context while it writes, and hangs where the other end reads
// nothing; so a list is given up without it, and the next ones wait for the place.
type asking chan struct{}

const (
	maxAsking = 4
	grace     = time.Second // in which a session that looks at its context has returned
)

func newAsking() asking { return make(asking, maxAsking) }

// list lists a server's tools, and returns in time whatever the session does.
func (c *Catalog) list(ctx context.Context, id string, s Session, places asking) (*listing, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout,
		fmt.Errorf("no answer within %v; see whether it works, or raise catalog.Options.Timeout", c.timeout))
	defer cancel()
	select {
	case places <- struct{}{}:
	case <-ctx.Done():
		return nil, unlisted(id, context.Cause(ctx))
	}
	type outcome struct {
		l        *listing
		err      error
		panicked any
	}
	done := make(chan outcome, 1)
	go func() {
		o := outcome{err: unlisted(id, errors.New("its session ended the goroutine"))}
		defer func() {
			o.panicked = recover()
			<-places
			done <- o
		}()
		o.l, o.err = c.read(ctx, id, s)
	}()
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		select {
		case o = <-done:
		case <-time.After(grace):
			return nil, unlisted(id, context.Cause(ctx))
		}
	}
	if o.panicked != nil {
		panic(o.panicked) // on the goroutine of who asked
	}
	return o.l, o.err
}
