package proxy

// The tools of a session are listed when they are first wanted. Each server has one listing at a time, which all calls
// wait for, and which goes on if they give up. The rules are about what a call may take for true:
//
//   - A list that a server has announced to be out of date (its tools are stale) is not used: the call waits for a
//     listing that was asked for after the announcement. One that was asked for before may or may not have the change.
//   - A call of a tool that is known waits for its own server only, and only if its list is stale.
//   - With several servers, a list of tools waits [lateAfter] for each, and not at all for one that was late before.
//   - A name that is unknown has the servers asked again, at most once a second: not every client gets notices of changes.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"weak"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
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
		t.compare(now)
		err = listError(errs)
		if !errors.Is(err, catalog.ErrClosed) || t.session.ctx.Err() != nil {
			return now, err
		}
	}
}

// compare warns, once for each policy, of names in it that no tool has. Of a server that is away it is not known.
func (t *tools) compare(now *set) {
	t.mu.Lock()
	var listed []*server
	for _, s := range t.session.servers {
		if now.added[s] {
			listed = append(listed, s)
		}
	}
	t.mu.Unlock()
	if now.plan.compared.Swap(int64(len(listed))) == int64(len(listed)) {
		return
	}
	there := policy.There{Listed: make(map[string][]string), Classes: make(map[string]annotation.Safety)}
	for _, s := range t.session.servers {
		there.Servers = append(there.Servers, s.Name)
	}
	for _, s := range listed {
		there.Listed[s.Name], _ = s.tools.listed()
		for _, name := range there.Listed[s.Name] {
			if tool, ok := now.catalog.Lookup(s.Name, name); ok {
				there.Classes[s.Name+"/"+name] = tool.Safety()
			}
		}
	}
	for _, warning := range now.plan.policy.Unused(there) {
		if _, warned := now.plan.warned.LoadOrStore(warning, true); !warned {
			t.session.proxy.log.Warn("policy: " + warning)
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

// run asks a server for its tools and ends the listing.
func (t *tools) run(now *set, s *server, l *listing, about string) {
	t.mu.Lock()
	l.begun = true
	added := now.added[s]
	stale := s.tools.stale.Swap(false)
	t.mu.Unlock()
	ctx := &underWay{Context: t.session.ctx, about: about}
	var err error
	if added {
		err = now.catalog.Refresh(ctx, s.Name)
	} else {
		err = now.catalog.Add(ctx, s.Name, s)
	}
	t.mu.Lock()
	if err == nil {
		now.added[s] = true
		s.tools.accept()
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

// wait waits for servers to be listed, and returns what came of it: for one of several not long, and for one that was
// late already not at all, as long as another is there. The client is notified later of servers that are away.
func (t *tools) wait(ctx context.Context, under []*listing) []error {
	servers, within := t.session.servers, ctx
	if len(servers) > 1 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, t.session.proxy.late)
		defer cancel()
	}
	for {
		t.mu.Lock()
		errs, early := make([]error, len(under)), false
		for i, l := range under {
			switch {
			case l != nil && l.ended:
				errs[i] = l.err
			case l != nil:
				errs[i] = errLate
				early = early || within.Err() == nil && !servers[i].isLate()
			}
		}
		if ctx.Err() != nil || !slices.Contains(errs, errLate) || !early && slices.Contains(errs, nil) {
			defer t.mu.Unlock() // so that a listing ends before or after
			for i, err := range errs {
				if err != nil && len(servers) > 1 && ctx.Err() == nil && !unknownMethod(err) {
					servers[i].without("tools", err)
				}
			}
			return errs
		}
		ended, over := t.ended, within.Done()
		t.mu.Unlock()
		if !early {
			over = ctx.Done()
		}
		select {
		case <-ended:
		case <-over:
		}
	}
}

// find returns the tool that the client calls by this name.
func (t *tools) find(ctx context.Context, name, about string) (*set, *middleware.Tool, error) {
	now, tool, err := t.known(ctx, name, about)
	for _, always := range []bool{false, true} {
		if tool != nil || err != nil || always && !t.mayAskAgain() { // it may be new: not every client takes notifications
			break
		}
		if now, err = t.set(ctx, always, about); err == nil {
			tool = t.session.named(now, name)
		}
	}
	if tool != nil && err == nil {
		err = now.hide(ctx, t.session.proxy.o.Policy(), tool)
	}
	if tool != nil || err != nil {
		return now, tool, err
	}
	servers := t.session.servers
	for _, s := range servers {
		if s.isLate() && strings.HasPrefix(name, prefixed(s.Name, "")) {
			return now, nil, &refusal{
				error: fmt.Errorf("proxy: %q was not called: the server %q is not there so far; its tools are listed when it is", name, s.Name),
				told:  name + " was not called: its server is not there at the moment. Nothing has happened. Tell the user, or go on without it.",
				by:    "proxy", later: true,
			}
		}
	}
	for _, c := range t.session.proxy.o.Lock.Changes(now.catalog) {
		if (len(servers) == 1 && c.Tool == name || prefixed(c.Server, c.Tool) == name) && now.shows(ctx, c) {
			return now, nil, &pins.NotAcceptedError{Change: c}
		}
	}
	return now, nil, invalid(fmt.Sprintf("unknown tool %q", name))
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
	tool := t.session.named(now, name)
	var l *listing
	for _, s := range t.session.servers {
		if tool != nil && s.Name == tool.Server {
			l = t.list(now, s, false, about)
		}
	}
	t.mu.Unlock()
	if l == nil {
		return now, tool, nil
	}
	select {
	case <-l.over:
		if l.err != nil {
			return nil, nil, l.err
		}
		return now, t.session.named(now, name), nil
	case <-ctx.Done():
		return nil, nil, &middleware.NotSentError{Err: context.Cause(ctx)}
	}
}
