package proxy

import (
	"cmp"
	"errors"
	"log/slog"
	"time"
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

// isLate reports whether the client was given a list of tools without the server's.
func (s *server) isLate() bool {
	_, late := s.late.Load("tools")
	return late
}

// isAway reports whether the server cannot be used at the moment; a call of it would wait, see [server.ready].
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

// listError returns why there is no list at all, nil if one server has its part of it.
func listError(errs []error) (failed error) {
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
