package proxy

import (
	"context"
	"errors"
	"strings"
	"time"
	"weak"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/middleware"
)

// A listing is one server's list of tools on its way into a set. It outlives the calls that wait.
type listing struct {
	begun, ended bool          // both under the lock
	over         chan struct{} // closed when it has ended
	err          error         // set before
}

// current returns the set of the policy as it is now; the lock is held.
func (t *tools) current() (*set, error) {
	plan := t.session.proxy.plan()
	if t.now != nil && t.now.plan == plan {
		return t.now, nil
	}
	fresh, err := plan.newSet(t.session.caller)
	if err != nil {
		return nil, err
	}
	if old := t.now; old != nil {
		t.before = append(t.before, weak.Make(old.catalog))
		t.session.calls.Go(func() { _ = old.catalog.Close() }) // it waits for a list that is under way
	}
	t.now = fresh
	return fresh, nil
}

// set returns the current set with every server listed, or every one that is not late. The servers
// are asked again if always is set or their list is stale.
func (t *tools) set(ctx context.Context, always bool, about string) (*set, error) {
	for {
		t.mu.Lock()
		now, err := t.current()
		if err != nil {
			t.mu.Unlock()
			return nil, err
		}
		under := make([]*listing, len(t.session.servers))
		for i, s := range t.session.servers {
			under[i] = t.list(now, s, always, about)
		}
		t.mu.Unlock()
		errs := t.wait(ctx, under)
		if ctx.Err() != nil {
			return nil, &middleware.NotSentError{Err: context.Cause(ctx)}
		}
		err = none(errs)
		if !errors.Is(err, catalog.ErrClosed) || t.session.ctx.Err() != nil {
			return now, err
		}
	}
}

// list has a server asked for its tools if needed, and returns what to wait for. The lock is held.
func (t *tools) list(now *set, s *server, always bool, about string) *listing {
	last := now.last[s]
	under := last != nil && !last.ended
	stale := s.tools.stale.Load()
	switch {
	case now.added[s] && !always && !under && !stale:
		return nil
	case under && (!last.begun || !stale && (!always || s.isLate())):
		return last
	case !under:
		last = nil
	}
	l := &listing{over: make(chan struct{})}
	now.last[s] = l
	t.session.calls.Go(func() {
		if last != nil { // what was asked for earlier may be older than the question, or than an announcement
			<-last.over
		}
		t.run(now, s, l, about)
	})
	return l
}

func (t *tools) run(now *set, s *server, l *listing, about string) {
	t.mu.Lock()
	l.begun = true
	added := now.added[s]
	stale := s.tools.stale.Swap(false)
	t.mu.Unlock()
	ctx := context.WithValue(t.session.ctx, underWayKey{}, &underWay{about: about})
	var err error
	if added {
		err = now.catalog.Refresh(ctx, s.Name)
	} else {
		err = now.catalog.Add(ctx, s.Name, s)
	}
	t.mu.Lock()
	if err == nil {
		now.added[s] = true
	} else if stale {
		s.tools.stale.Store(true)
	}
	l.err, l.ended = err, true
	close(l.over)
	close(t.ended)
	t.ended = make(chan struct{})
	t.mu.Unlock()
	if err == nil {
		s.here("tools")
	}
}

// wait waits for servers to be listed: for one of several not long, and for one that was late already
// not at all, as long as another is there.
func (t *tools) wait(ctx context.Context, under []*listing) []error {
	several := len(under) > 1
	patience := time.After(t.session.proxy.late)
	patient := true
	for {
		t.mu.Lock()
		there, open, late := 0, 0, 0
		for i, l := range under {
			switch {
			case l == nil || l.ended && l.err == nil:
				there++
			case l.ended:
			case !several || patient && !t.session.servers[i].isLate():
				open++
			default:
				late++
			}
		}
		if ctx.Err() != nil || open == 0 && (there > 0 || late == 0) {
			defer t.mu.Unlock()
			return t.outcomes(under, several && ctx.Err() == nil)
		}
		ended := t.ended
		t.mu.Unlock()
		select {
		case <-ended:
		case <-patience:
			patient = false
		case <-ctx.Done():
		}
	}
}

// outcomes are what came of listings so far. The client is notified later of servers that are away.
// The lock is held, so that a listing ends before or after.
func (t *tools) outcomes(under []*listing, several bool) []error {
	errs := make([]error, len(under))
	for i, l := range under {
		if l == nil {
			continue
		}
		if errs[i] = errLate; l.ended {
			errs[i] = l.err
		}
		if errs[i] != nil && several && !unknownMethod(errs[i]) {
			t.session.servers[i].without("tools", errs[i])
		}
	}
	return errs
}

// find returns the tool that the client calls by this name.
func (t *tools) find(ctx context.Context, name, about string) (*set, *middleware.Tool, error) {
	if now, tool, err := t.known(ctx, name, about); tool != nil || err != nil {
		return now, tool, err
	}
	var now *set
	for _, always := range []bool{false, true} {
		if always && !t.mayAskAgain() { // it may be new: not every client takes notifications
			break
		}
		var err error
		if now, err = t.set(ctx, always, about); err != nil {
			return nil, nil, err
		}
		if tool, ok := t.session.named(now, name); ok {
			return now, tool, nil
		}
	}
	for _, s := range t.session.servers {
		if len(t.session.servers) > 1 && s.isLate() && strings.HasPrefix(name, prefixed(s, "")) {
			return now, nil, &awayError{s.Name, name}
		}
	}
	refused, err := now.unknown(t.session, name)
	return now, refused, err
}

// known finds a tool that was listed, whatever the other servers do. Its own server is asked first if
// its list is stale.
func (t *tools) known(ctx context.Context, name, about string) (*set, *middleware.Tool, error) {
	t.mu.Lock()
	now, err := t.current()
	if err != nil {
		t.mu.Unlock()
		return nil, nil, err
	}
	tool, ok := t.session.named(now, name)
	var l *listing
	for _, s := range t.session.servers {
		if ok && s.Name == tool.Server {
			l = t.list(now, s, false, about)
		}
	}
	t.mu.Unlock()
	if !ok || l == nil {
		return now, tool, nil
	}
	select {
	case <-l.over:
	case <-ctx.Done():
		return nil, nil, &middleware.NotSentError{Err: context.Cause(ctx)}
	}
	if l.err != nil {
		return nil, nil, l.err
	}
	tool, _ = t.session.named(now, name)
	return now, tool, nil
}
