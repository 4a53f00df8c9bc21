package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// lateAfter is how long several servers wait for one. Then the others are offered without it, since
// clients give up a start after ten seconds and more; list_changed follows.
const lateAfter = 8 * time.Second

var errLate = notSent(errors.New("it has not answered so far"))

// without notes that the client was given a list that the server has no part in.
func (s *server) without(kind string, why error) {
	if _, again := s.late.LoadOrStore(kind, true); !again {
		s.log.Warn("proxy: a server is not waited for; the others are offered without it",
			slog.String("list", kind), slog.Any("why", why))
	}
}

// here notifies the client of the lists that were made without the server.
func (s *server) here(kinds ...string) {
	for _, kind := range kinds {
		if _, late := s.late.LoadAndDelete(kind); late {
			s.session.out(&message{Method: "notifications/" + kind + "/list_changed"}, "")
		}
	}
}

func (s *server) isLate() bool {
	_, late := s.late.Load("tools")
	return late
}

func (s *server) isAway() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.away != nil
}

// sendAway marks a server that has not shaken hands as away; false if it is already restarting.
func (s *server) sendAway() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away != nil {
		return false
	}
	s.away = make(chan struct{})
	return true
}

type greeting struct {
	of     int
	result json.RawMessage
	err    error
}

// greetings shakes hands with all servers, or at least one. The results of the others are nil.
func (s *session) greetings(ctx context.Context, m *message) ([]json.RawMessage, error) {
	asking := s.ctx // who began an initialize has to end it
	if m.Method != "initialize" {
		var cancel context.CancelFunc
		asking, cancel = context.WithCancel(ctx)
		defer cancel()
	}
	came, over := make(chan greeting), make(chan struct{})
	defer close(over)
	left := make([]bool, len(s.servers)) // those whose handshakes the client is not part of
	for i, one := range s.servers {
		s.calls.Go(func() {
			l, result, err := one.greeted(asking, m)
			select {
			case came <- greeting{i, result, err}:
			case <-over:
			}
			if <-over; left[i] {
				one.meet(l, result, err)
			}
		})
	}
	all := slices.Repeat([]greeting{{err: errLate}}, len(s.servers))
	patience := time.After(s.proxy.late)
	heard, late := false, false
	for open := len(all); open > 0 && !(heard && late); {
		select {
		case g := <-came:
			open--
			all[g.of] = g
			_, refused := errors.AsType[*jsonrpc.Error](g.err)
			heard = heard || refused || g.err == nil
		case <-patience:
			late = true
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if err := s.nobody(all); err != nil {
		return nil, err
	}
	results := make([]json.RawMessage, len(all))
	for i, g := range all {
		if results[i] = g.result; g.err != nil {
			s.servers[i].without("tools", g.err) // until it has shaken hands
			left[i] = m.Method == "initialize" && s.servers[i].sendAway()
		}
	}
	return results, nil
}

// greeted asks for a handshake. An initialize goes to the process that is there, since a restart
// shakes hands anyway.
func (s *server) greeted(ctx context.Context, m *message) (link, json.RawMessage, error) {
	if m.Method == "initialize" && s.isAway() {
		return nil, nil, errLate
	}
	l, err := s.ready(ctx)
	if err != nil {
		return nil, nil, err
	}
	answer, err := s.exchange(ctx, l, m.Method, m.Params, m.id())
	if err != nil {
		return l, nil, err
	}
	return l, answer.Result, nil
}

// nobody is the error of a handshake without a result of any server, nil if there is one.
func (s *session) nobody(all []greeting) error {
	if slices.ContainsFunc(all, func(g greeting) bool { return g.err == nil }) {
		return nil
	}
	for _, g := range all {
		if _, said := errors.AsType[*jsonrpc.Error](g.err); said {
			return g.err
		}
	}
	if one := s.servers[0]; !s.greeted.Load() {
		s.stop(&UnreachableError{Server: one.Name, Err: fmt.Errorf("none of the servers has answered at all: %w%s", all[0].err, one.Stderr.LastWords())})
	}
	return all[0].err
}

// hopeless reports whether all servers have gone away before any of them had answered.
func (s *session) hopeless() bool {
	return !s.greeted.Load() && !slices.ContainsFunc(s.servers, func(one *server) bool { return !one.isAway() })
}

// meet ends a handshake that no call waited for, or begins anew if it failed.
func (s *server) meet(l link, result json.RawMessage, err error) {
	if err == nil {
		ctx, cancel := context.WithTimeout(s.session.ctx, handshakePatience)
		defer cancel()
		if err = s.session.welcome(ctx, s, l, result); err == nil {
			err = s.back(l)
		}
	}
	if err != nil && s.session.ctx.Err() == nil {
		if l != nil {
			go l.close()
		}
		go s.restart(err)
	}
}

// none is why there is no list at all, nil where one server has its part of it.
func none(errs []error) (failed error) {
	for _, err := range errs {
		switch {
		case err == nil:
			return nil
		case !unknownMethod(err):
			failed = errors.Join(failed, err)
		}
	}
	return cmp.Or(failed, errs[0])
}
