package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Healthy returns nil if PostgreSQL answers within Options.Timeout and takes writes.
func (s *Store) Healthy(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	var readOnly bool
	if err := s.pool.QueryRow(within, `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on'`).Scan(&readOnly); err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	if readOnly {
		return errors.New("postgres: it is read-only")
	}
	return nil
}

// Unreachable reports whether an error of [Open] may go away without a change of settings: PostgreSQL is not there, does
// not answer, or is starting, ending or full.
func Unreachable(err error) bool {
	if said, answered := errors.AsType[*pgconn.PgError](err); answered {
		// cannot_connect_now, admin_shutdown, crash_shutdown, too_many_connections
		return slices.Contains([]string{"57P03", "57P01", "57P02", "53300"}, said.Code)
	}
	_, network := errors.AsType[net.Error](err)
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	return network || errors.Is(err, context.DeadlineExceeded) || connecting && !strings.Contains(err.Error(), "tls error")
}
