package postgres_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/contrib/postgres"
	"github.com/fairlead-go/fairlead/contrib/postgres/postgrestest"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/retry/doubt"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A cost is what an operation costs the server: statements, times that the client waited for an answer, bytes both
// ways, rows read and rows written.
type cost struct{ statements, trips, bytes, read, written int }

// A meter counts what one connection costs.
type meter struct {
	pool       *pgxpool.Pool
	schema     string
	statements atomic.Int64

	mu      sync.Mutex
	trips   int
	bytes   int
	written bool // since the last answer
}

// TraceQueryStart implements [pgx.QueryTracer].
func (m *meter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	m.statements.Add(1)
	return ctx
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (m *meter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

type metered struct {
	net.Conn

	meter *meter
}

func (c metered) Read(text []byte) (int, error) {
	n, err := c.Conn.Read(text)
	c.meter.mu.Lock()
	defer c.meter.mu.Unlock()
	if c.meter.written && n > 0 {
		c.meter.trips, c.meter.written = c.meter.trips+1, false
	}
	c.meter.bytes += n
	return n, err
}

func (c metered) Write(text []byte) (int, error) {
	c.meter.mu.Lock()
	defer c.meter.mu.Unlock()
	c.meter.bytes, c.meter.written = c.meter.bytes+len(text), true
	return c.Conn.Write(text)
}

// metering returns a store with one connection, which is counted.
func metering(t *testing.T, s *postgrestest.Server) (*postgres.Store, *meter) {
	t.Helper()
	m := &meter{schema: schema()}
	config, err := pgxpool.ParseConfig(s.URL())
	must(t, err)
	config.MaxConns, config.ConnConfig.Tracer = 1, m
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		return metered{c, m}, err
	}
	m.pool, err = pgxpool.NewWithConfig(t.Context(), config)
	must(t, err)
	t.Cleanup(m.pool.Close)
	var version int
	must(t, m.pool.QueryRow(t.Context(), `SELECT current_setting('server_version_num')::int`).Scan(&version))
	if version < 150_000 {
		t.Skip("rows cannot be counted before version 15")
	}
	store, err := postgres.New(t.Context(), m.pool, postgres.Options{Schema: m.schema, Timeout: patient})
	must(t, err)
	return store, m
}

// rows returns how many rows of the schema's tables were read and written.
func (m *meter) rows(t *testing.T) (read, written int) {
	t.Helper()
	execute(t, m.pool, `SELECT pg_stat_force_next_flush()`)
	must(t, m.pool.QueryRow(t.Context(), `SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), sum(n_tup_ins + n_tup_upd + n_tup_del)
		FROM pg_stat_user_tables WHERE schemaname = $1`, m.schema).Scan(&read, &written))
	return read, written
}

// of returns what something costs.
func (m *meter) of(t *testing.T, what func()) cost {
	t.Helper()
	readBefore, writtenBefore := m.rows(t)
	m.statements.Store(0)
	m.mu.Lock()
	m.trips, m.bytes = 0, 0
	m.mu.Unlock()
	what()
	m.mu.Lock()
	c := cost{statements: int(m.statements.Load()), trips: m.trips, bytes: m.bytes}
	m.mu.Unlock()
	read, written := m.rows(t)
	c.read, c.written = read-readBefore, written-writtenBefore
	return c
}

const thisCall = "arguments of this call"

// The calls whose cost docs/reference/capacity.md states.
func calls(t *testing.T, s *postgres.Store) map[string]func(id string) {
	t.Helper()
	ctx := t.Context()
	spend := func(id string, c approvals.Change) {
		c.To = approvals.Spent
		must(t, s.Advance(ctx, id, c))
		c.To = approvals.Done
		must(t, s.Advance(ctx, id, c))
	}
	entered := func(id string) doubt.Entry {
		return doubt.Entry{Call: doubt.Call{ID: id, Scope: "ann", Server: "bank", Tool: "pay", Time: time.Now()}, Key: id, Until: time.Now().Add(time.Hour)}
	}
	return map[string]func(id string){
		"asked": func(id string) {
			until := time.Now().Add(time.Minute)
			_, err := s.Find(ctx, "ann", "bank", "ask", thisCall)
			must(t, err)
			must(t, s.Add(ctx, approvals.Approval{ID: id, State: approvals.Pending, Scope: "ann", Server: "bank", Tool: "ask", Until: until}))
			must(t, s.Advance(ctx, id, approvals.Change{To: approvals.Approved, By: "bob", Until: until}))
			spend(id, approvals.Change{})
		},
		"unasked": func(string) {
			found, err := s.Remembered(ctx, "ann", "bank", "ask")
			if must(t, err); len(found) > 0 {
				t.Fatalf("found %d", len(found))
			}
		},
		"remembered": func(id string) {
			found, err := s.Find(ctx, "ann", "bank", "pay", thisCall)
			if must(t, err); len(found) != 1 {
				t.Fatalf("found %d", len(found))
			}
			must(t, answered(ctx, s, id, "standing"))
			spend(id, approvals.Change{Scope: "ann", Standing: "standing"})
		},
		"not harmless to repeat": func(id string) {
			held, err := s.Doubt().Find(ctx, "ann", "bank", "pay")
			must(t, err)
			must(t, s.Doubt().Put(ctx, entered(id)))
			if was, err := s.Doubt().Remove(ctx, entered(id)); err != nil || !was || len(held) > 0 {
				t.Errorf("got %v, %v", was, err)
			}
		},
	}
}

// remembers enters many approvals at once, as Remember does: a tenth for the tool of the calls, of other arguments, and
// the others for other tools and scopes.
func (m *meter) remembers(t *testing.T, from, n int) {
	t.Helper()
	execute(t, m.pool, fmt.Sprintf(`INSERT INTO %[1]s.standing (scope, id, server, tool, until, uses, form)
		SELECT CASE i %% 10 WHEN 0 THEN 'ann' WHEN 1 THEN 'ann' ELSE 'scope ' || i END, 'many ' || i, 'bank', CASE i %% 10 WHEN 0 THEN 'pay' ELSE 'tool ' || i END,
			now() + interval '1 hour', 0, replace(form::text, '%[2]s', 'other ' || i)::json
		FROM %[1]s.standing, generate_series(%[3]d, %[4]d) i WHERE id = 'standing';
		INSERT INTO %[1]s.approvals (id, state, scope, server, tool, standing, until)
		SELECT 'many ' || i, 'pending', 'scope ' || i, 'bank', 'pay', '', now() + interval '1 hour' FROM generate_series(%[3]d, %[4]d) i;
		ANALYZE %[1]s.standing, %[1]s.approvals`, m.schema, thisCall, from, n))
}

// A call costs PostgreSQL the same statements, bytes and rows, however many approvals are remembered and calls are open.
func TestCostOfACall(t *testing.T) {
	t.Parallel()
	s, ctx := server(t), t.Context()
	store, m := metering(t, s)
	y := standing("standing")
	y.Arguments = thisCall
	must(t, store.Remember(ctx, y))
	all := calls(t, store)
	want := map[string]cost{ // bytes and rows read are at most so many
		"asked":                  {statements: 5, trips: 5, bytes: 3500, read: 10, written: 8},
		"unasked":                {statements: 1, trips: 1, bytes: 500, read: 2},
		"remembered":             {statements: 4, trips: 4, bytes: 3000, read: 20, written: 7},
		"not harmless to repeat": {statements: 3, trips: 3, bytes: 1500, read: 10, written: 2},
	}
	had := 1
	for _, n := range []int{1, 100, 10_000} {
		if n > 1 {
			m.remembers(t, had+1, n)
			had = n
		}
		for name, do := range all {
			for i := range 8 { // its statements are prepared, and planned for all arguments if the server wants to
				do(fmt.Sprint(name, " before ", n, " ", i))
			}
			got := m.of(t, func() { do(fmt.Sprint(name, " ", n)) })
			t.Logf("%6d remembered: %s: %+v", n, name, got)
			w := want[name]
			// A table of one page is read whole, which is cheaper.
			if got.statements != w.statements || got.trips != w.trips || got.written != w.written || got.bytes > w.bytes || n > 100 && got.read > w.read {
				t.Errorf("%d are remembered: %s costs %+v, want %+v", n, name, got, w)
			}
		}
	}
}

// A sweep reads what has expired, and not all that is remembered.
func TestCostOfASweep(t *testing.T) {
	t.Parallel()
	store, m := metering(t, server(t))
	must(t, store.Remember(t.Context(), standing("standing")))
	m.remembers(t, 2, 10_000)
	execute(t, m.pool, strings.ReplaceAll(`UPDATE {schema}.approvals SET until = now() - interval '2 days' WHERE id IN ('many 2', 'many 3');
		ANALYZE {schema}.approvals, {schema}.standing`, "{schema}", m.schema))
	got := m.of(t, func() { must(t, store.Sweep(t.Context())) })
	if got.statements != 1 || got.written != 2 || got.read > 100 {
		t.Errorf("got %+v", got)
	}
}

// Sweeps keep up with more calls than one of them deletes.
func TestSweepsKeepUp(t *testing.T) {
	t.Parallel()
	store, m := metering(t, server(t))
	must(t, store.Remember(t.Context(), standing("standing")))
	m.remembers(t, 2, 2500)
	execute(t, m.pool, `UPDATE `+m.schema+`.approvals SET until = now() - interval '2 days'`)
	for i, want := range []bool{true, true, false} {
		must(t, store.Sweep(t.Context()))
		if got := store.SweepsSoon(); got != want {
			t.Errorf("after sweep %d the next is soon: got %v", i+1, got)
		}
	}
}
