package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
)

// Healthy returns nil while Redis takes heartbeats, which refuse a read-only one too, and all masters of a cluster do.
// It agrees with the log: there is an error if there is a line that Redis does not work, and not for one late heartbeat.
// It sends nothing: ten heartbeats a second are sent anyway.
func (s *Store) Healthy(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.contacts.mu.Lock()
	defer s.contacts.mu.Unlock()
	down := 0
	for address := range s.contacts.of {
		if s.said.fails(serverAt(address)) {
			down++
		}
	}
	switch all := len(s.contacts.of); {
	case down == 0:
		return nil
	case all > 1:
		return fmt.Errorf("%w: %d of %d masters", errGone, down, all)
	}
	return errGone
}

// Unreachable reports whether an error of [Open] may go away without a change of settings: Redis is not there, does not
// answer, or is not ready.
func Unreachable(err error) bool {
	_, network := errors.AsType[net.Error](err)
	if _, resolving := errors.AsType[*net.DNSError](err); resolving {
		return true
	}
	for ; err != nil; err = errors.Unwrap(err) {
		if isAnswer(err) && slices.Contains([]string{"LOADING", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN"}, kindOf(err)) {
			return true
		}
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) {
			return true
		}
	}
	return network
}
