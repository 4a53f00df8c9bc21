// Package postgres keeps approvals in a PostgreSQL of version 13 or later: remembered approvals, their
// revocations and the history of decisions outlive every process. It keeps calls in doubt and users' credentials as well.
//
// A [Store] is for hitl.Options.Store and inbox.Options.Store, and [Store.Doubt] for doubt.LedgerOptions.Store. Cache, limits and the board of questions can be in
// Redis beside it, by contrib/redis. A role that can write to the tables can approve: give them to a role of their own.
//
// # After a restore
//
// A backup may lack a revocation. So a row names the database system, its timeline and the transaction that wrote the
// row, and is valid only where PostgreSQL has the same three. A restart or a crash ends no approval. Dump and restore
// (also of some rows, and into the same server), a recovery to a point in time, pg_upgrade and the promotion of a
// standby, which may not have received a revocation, end all approvals. The store deletes remembered approvals that
// have become invalid, logs their number once and enters them into the history.
//
// One case cannot be noticed: a copy of the files that starts as if it had crashed, such as a snapshot of the volume
// or a base backup without recovery.signal. Run DELETE FROM fairlead.standing before the first process connects.
//
// # The history
//
// The table history has a row for each step, also for one without effect: at, id, step (a state of an approval, or
// remembered or revoked), effect, by ("restore" for what a restore has ended), scope, server, tool, and details in
// JSON. Of arguments it has hashes, never the text. The store deletes nothing from it. To list a month, and to prune:
//
//	SELECT at, server, tool, step, by, effect, id FROM fairlead.history WHERE at > now() - interval '1 month' ORDER BY at;
//	DELETE FROM fairlead.history WHERE at < now() - interval '2 years';
package postgres

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Options configures [Open] and [New]. The zero value is ready.
type Options struct {
	// Schema has the tables; processes that share approvals have the same. It is created if it is missing, for which
	// the role needs the privilege CREATE on the database. "" means "fairlead".
	Schema string
	// Timeout bounds one operation, beside the context's deadline. A change that has run out of time may still take
	// effect. 0 means 2 seconds.
	Timeout time.Duration
	// Logger gets a line when remembered approvals are ended because the database was restored; nil is silent.
	Logger *slog.Logger
	// Observe is called after each statement with its name, such as "advance", how long it took and its error. It must be
	// fast and safe for concurrent use; nil observes nothing.
	Observe func(ctx context.Context, operation string, took time.Duration, err error)
}

const (
	defaultTimeout = 2 * time.Second
	startTimeout   = 10 * time.Second // to connect, and to wait for another process that creates the tables
	oldestServer   = 130_000
)

// here names the database system and its timeline, which is new after a promotion and a recovery to a point in time.
const here = `((pg_control_system()).system_identifier::text || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) || '/')`

// valid reports whether a row was written here, by the transaction that it names: a row that a restore has written
// names another one. Freezing keeps a row's xmin. A subtransaction has another xmin, so no statement uses one.
const valid = `origin = (SELECT ` + here + `) || xmin::text`

// What indexes have of a remembered approval.
const (
	ofTool = `hashtext(scope || '/' || server || '/' || tool)`
	ofCall = `hashtext(scope || '/' || server || '/' || tool || '/' || coalesce(form ->> 'arguments', ''))`
)

// Each file is one statement, and so one transaction, except for tables.sql.
//
//go:embed sql/*.sql
var files embed.FS

// A Store is an approvals.Store in PostgreSQL. Make one with [Open] or [New], and close it. It is safe for concurrent use.
type Store struct {
	pool    *pgxpool.Pool
	names   *strings.Replacer // of what the statements leave open
	timeout time.Duration
	log     *slog.Logger
	observe func(ctx context.Context, operation string, took time.Duration, err error)
	swept   atomic.Int64 // when sweep was last called, in Unix nanoseconds
	close   func()
}

// Open connects to a PostgreSQL by its URL, such as postgres://user:password@host:5432/database; further
// parameters and the variables PG… are those of libpq. It fails if the server is a standby, is too old, or
// commits without writing to disk (synchronous_commit=off).
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w; an example is postgres://user:password@host:5432/database", err)
	}
	s, err := New(ctx, pool, o)
	if err != nil {
		pool.Close()
		return nil, err
	}
	s.close = pool.Close
	return s, nil
}

// New is [Open] with a pool of the host's, which the host closes.
func New(ctx context.Context, pool *pgxpool.Pool, o Options) (*Store, error) {
	if pool == nil {
		panic("postgres: New needs a pool")
	}
	if o.Timeout < 0 {
		panic("postgres: Options.Timeout is negative")
	}
	schema := cmp.Or(o.Schema, "fairlead")
	s := &Store{
		pool: pool,
		names: strings.NewReplacer("{schema}", pgx.Identifier{schema}.Sanitize(), "{here}", here, "{valid}", valid,
			"{of tool}", ofTool, "{of call}", ofCall),
		timeout: cmp.Or(o.Timeout, defaultTimeout),
		log:     cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
		observe: o.Observe,
		close:   func() {},
	}
	if s.observe == nil {
		s.observe = func(context.Context, string, time.Duration, error) {}
	}
	within, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := pgx.BeginFunc(within, pool, func(tx pgx.Tx) error { return s.start(within, tx, schema) }); err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	if err := s.restored(ctx); err != nil {
		return nil, err
	}
	if err := s.sweep(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Close ends the connections that Open made.
func (s *Store) Close() { s.close() }

// start checks the server, and creates the tables if they are missing. One process at a time creates them.
func (s *Store) start(ctx context.Context, tx pgx.Tx, schema string) error {
	var version int
	var standby, lossy bool
	err := tx.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, pg_is_in_recovery(), current_setting('synchronous_commit') = 'off'`).
		Scan(&version, &standby, &lossy)
	switch {
	case err != nil:
		return err
	case version < oldestServer:
		return errors.New("the server is older than version 13")
	case standby:
		return errors.New("the server is a standby; connect to its primary, or name both and add ?target_session_attrs=primary")
	case lossy:
		return errors.New("synchronous_commit is off, so that a crash could lose a revocation; add ?synchronous_commit=on")
	}
	if _, err = tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext($1))`, schema); err != nil {
		return err
	}
	var place, tables, doubt, credentials, indexes bool
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1),
		EXISTS (SELECT FROM pg_tables WHERE schemaname = $1 AND tablename = 'history'), EXISTS (SELECT FROM pg_tables WHERE schemaname = $1 AND tablename = 'doubt'),
		EXISTS (SELECT FROM pg_tables WHERE schemaname = $1 AND tablename = 'credentials'),
		EXISTS (SELECT FROM pg_indexes WHERE schemaname = $1 AND indexname = 'standing_until')`, schema).
		Scan(&place, &tables, &doubt, &credentials, &indexes)
	if err == nil && !place {
		_, err = tx.Exec(ctx, s.names.Replace(`CREATE SCHEMA {schema}`))
	}
	if err == nil && !tables {
		_, err = tx.Exec(ctx, s.sql("tables"))
	}
	if err == nil && !doubt { // an earlier version had none
		_, err = tx.Exec(ctx, s.sql("doubttable"))
	}
	if err == nil && !credentials { // likewise
		_, err = tx.Exec(ctx, s.sql("credentialtable"))
	}
	if err == nil && !indexes { // likewise
		_, err = tx.Exec(ctx, s.sql("indexes"))
	}
	return err
}

// sql returns a statement with the names filled in.
func (s *Store) sql(name string) string {
	text, err := files.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err) // the file is embedded
	}
	return s.names.Replace(string(text))
}

// query runs a statement, reads each row into the variables and calls next after it.
func (s *Store) query(ctx context.Context, name string, args, row []any, next func() error) (err error) {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	began := time.Now()
	defer func() { s.observe(ctx, name, time.Since(began), err) }()
	within, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	rows, err := s.pool.Query(within, s.sql(name), args...)
	if err == nil {
		_, err = pgx.ForEachRow(rows, row, next)
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	return nil
}

// one is query for a statement that returns one row.
func (s *Store) one(ctx context.Context, name string, args []any, row ...any) error {
	return s.query(ctx, name, args, row, func() error { return nil })
}

// sweep deletes some of what has expired. If there may be more, the next one is soon.
func (s *Store) sweep(ctx context.Context) error {
	now := time.Now()
	s.swept.Store(now.UnixNano())
	var more bool
	err := s.one(ctx, "sweep", []any{maxSweep}, &more)
	if more {
		s.swept.Store(now.Add(sweepAgain - sweepEvery).UnixNano())
	}
	return err
}

// due reports whether it is time to sweep.
func (s *Store) due() bool { return time.Since(time.Unix(0, s.swept.Load())) > sweepEvery }

// restored deletes the remembered approvals that are invalid.
func (s *Store) restored(ctx context.Context) error {
	var invalid int
	err := s.one(ctx, "restored", nil, &invalid)
	if invalid > 0 {
		s.log.LogAttrs(ctx, slog.LevelWarn, "postgres: remembered approvals are ended: the database was restored, promoted or moved, "+
			"and may lack a revocation", slog.Int("approvals", invalid))
	}
	return err
}

var _ approvals.Finder = (*Store)(nil)
