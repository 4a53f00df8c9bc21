package listing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	places = 4           // lists of one session that have not returned
	grace  = time.Second // in which a session that looks at its context has returned
)

// A Reader lists the tools of one session. It is safe for concurrent use.
//
// A session of the SDK does not look at a context while it writes, and hangs if the other end
// reads nothing; so a list is given up without it, and the next ones wait for its place.
type Reader struct {
	id      string
	session Session
	limits  Limits
	places  chan struct{}
}

// NewReader returns a reader for the server with the id.
func NewReader(id string, s Session, l Limits) *Reader {
	return &Reader{id: id, session: s, limits: l, places: make(chan struct{}, places)}
}

// Read lists the tools, and returns in time whatever the session does.
func (r *Reader) Read(ctx context.Context) (*Listing, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.limits.Timeout,
		fmt.Errorf("no answer within %v; see whether it works, or raise catalog.Options.Timeout", r.limits.Timeout))
	defer cancel()
	select {
	case r.places <- struct{}{}:
	case <-ctx.Done():
		return nil, r.unlisted(context.Cause(ctx))
	}
	type outcome struct {
		l        *Listing
		err      error
		panicked any
	}
	done := make(chan outcome, 1)
	go func() {
		o := outcome{err: r.unlisted(errors.New("its session ended the goroutine"))}
		defer func() {
			o.panicked = recover()
			<-r.places
			done <- o
		}()
		o.l, o.err = r.read(ctx)
	}()
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		select {
		case o = <-done:
		case <-time.After(grace):
			return nil, r.unlisted(context.Cause(ctx))
		}
	}
	if o.panicked != nil {
		panic(o.panicked) // on the caller's goroutine
	}
	return o.l, o.err
}

// Lost says what a session cannot give because it was not prepared before it connected, "" for
// nothing: its lists as the server wrote them, and notices of changes. Of a session of the host's own
// nothing is known.
func Lost(s Session, prepared, notices bool) string {
	cs, ok := s.(*mcp.ClientSession)
	if !ok {
		return ""
	}
	var lost []string
	if !prepared {
		lost = append(lost, "a hint that is absent cannot be told from one that is false, and one malformed tool fails the whole list: connect through mount.Transport")
	}
	if about := cs.InitializeResult(); !notices && about != nil && about.Capabilities != nil && about.Capabilities.Tools != nil && about.Capabilities.Tools.ListChanged {
		lost = append(lost, "it tells when its tools change, and nobody listens: make the client with mount.Options")
	}
	if len(lost) == 0 {
		return ""
	}
	return "its session was not prepared; " + strings.Join(lost, "; ")
}
