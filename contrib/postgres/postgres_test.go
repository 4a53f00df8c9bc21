package postgres_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/contrib/postgres"
	"github.com/fairlead-go/fairlead/contrib/postgres/postgrestest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/storetest"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// shared is the server of the tests that leave it running.
var shared *postgrestest.Server

func TestMain(m *testing.M) {
	flag.Parse()
	s, err := postgrestest.Run()
	if err == nil {
		shared = s
	} else { // which an example cannot report
		_ = flag.Set("test.skip", "^Example")
		fmt.Fprintln(os.Stderr, "SKIPPED, NOT TESTED: the examples:", err)
	}
	code := m.Run()
	if shared != nil {
		shared.Remove()
	}
	os.Exit(code)
}

// server returns the shared server, and skips the test without one.
func server(tb testing.TB) *postgrestest.Server {
	tb.Helper()
	if shared == nil {
		return postgrestest.New(tb)
	}
	return shared
}

// patient is for machines with much else to do.
const patient = 20 * time.Second

func open(tb testing.TB, s *postgrestest.Server, o postgres.Options) *postgres.Store {
	tb.Helper()
	if o.Timeout == 0 {
		o.Timeout = patient
	}
	store, err := postgres.Open(context.Background(), s.URL(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(store.Close)
	return store
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// PostgreSQL keeps the promises that the embedded store keeps.
func TestStores(t *testing.T) {
	t.Parallel()
	s := server(t)
	storetest.Run(t, func(t *testing.T) (_, _ storetest.Stores) {
		t.Helper()
		o := postgres.Options{Schema: `a "schema", ` + schema(), Timeout: patient}
		b, err := postgres.Open(t.Context(), s.URL()+"&default_query_exec_mode=exec", o) // for a pooler without prepared statements
		must(t, err)
		t.Cleanup(b.Close)
		return storetest.Stores{Approvals: open(t, s, o)}, storetest.Stores{Approvals: b}
	})
}

// names has the schemas of tests.
var names atomic.Int64

func schema() string { return fmt.Sprint("test_", names.Add(1)) }

func standing(id string) approvals.Standing {
	return approvals.Standing{
		ID: id, Scope: "ann", Server: "bank", Tool: "pay", Definition: "d", Class: "dangerous", Arguments: "h", By: "ann",
		Until: time.Now().Add(time.Hour),
	}
}

// ids returns the remembered approvals of ann, as each of the ways to read them does.
func ids(t *testing.T, s *postgres.Store) string {
	t.Helper()
	all, err := s.List(t.Context())
	must(t, err)
	its, err := s.Remembered(t.Context(), "ann", "bank", "pay")
	must(t, err)
	var got []string
	for i := range all {
		if i >= len(its) || its[i].ID != all[i].ID {
			t.Fatalf("List has %v and Remembered %v", all, its)
		}
		got = append(got, all[i].ID)
	}
	slices.Sort(got)
	return strings.Join(got, " ")
}

// answered asks for an approval by a remembered one.
func answered(ctx context.Context, s *postgres.Store, id, by string) error {
	return s.Add(ctx, approvals.Approval{
		ID: id, State: approvals.Approved, Standing: by, Scope: "ann", Server: "bank", Tool: "pay", Until: time.Now().Add(time.Minute),
	})
}

// Processes that start at once create the tables once. A role that may not create them uses them, and one that has
// its schema needs no privilege on the database.
func TestTablesAreCreatedOnce(t *testing.T) {
	t.Parallel()
	s, o := server(t), postgres.Options{Schema: schema()}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { open(t, s, o) })
	}
	all.Wait()
	pool := connect(t, s)
	role, own := o.Schema, schema()
	execute(t, pool, `CREATE ROLE `+role+` LOGIN; GRANT USAGE ON SCHEMA `+role+` TO `+role+`; CREATE SCHEMA `+own+` AUTHORIZATION `+role+`;
		GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA `+role+` TO `+role)
	for _, o.Schema = range []string{role, own} {
		store, err := postgres.Open(t.Context(), strings.Replace(s.URL(), "//postgres@", "//"+role+"@", 1), o)
		must(t, err)
		must(t, store.Remember(t.Context(), standing("1")))
		must(t, answered(t.Context(), store, "2", "1"))
		if got := ids(t, store); got != "1" {
			t.Errorf("%s: got %s", o.Schema, got)
		}
		store.Close()
	}
}

func connect(tb testing.TB, s *postgrestest.Server) *pgxpool.Pool {
	tb.Helper()
	pool, err := pgxpool.New(context.Background(), s.URL())
	must(tb, err)
	tb.Cleanup(pool.Close)
	return pool
}

func execute(tb testing.TB, pool *pgxpool.Pool, sql string) {
	tb.Helper()
	_, err := pool.Exec(context.Background(), sql)
	must(tb, err)
}

// An unusable server is a clear error at the start, without the password.
func TestOpenExplainsItsError(t *testing.T) {
	t.Parallel()
	s := server(t)
	for _, tt := range []struct{ name, url, want string }{
		{"nothing listens there", "postgres://ann:secret@127.0.0.1:1/x", "127.0.0.1:1"},
		{"no URL", "postgres://ann:secret@host:x/y", "an example is postgres://user:password@host:5432/database"},
		{"a wrong database", strings.Replace(s.URL(), "/postgres?", "/none?password=secret&", 1), `database "none" does not exist`},
		{"commits that a crash loses", s.URL() + "&synchronous_commit=off&password=secret", "a crash could lose a revocation"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := postgres.Open(t.Context(), tt.url, postgres.Options{Schema: schema()})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got error %v, want %q", err, tt.want)
			}
		})
	}
}

// An operation ends in its time, and with its call.
func TestTimeBoundsAnOperation(t *testing.T) {
	t.Parallel()
	s, o := server(t), postgres.Options{Schema: schema(), Timeout: 200 * time.Millisecond}
	store, pool := open(t, s, postgres.Options{Schema: o.Schema}), connect(t, s)
	short := open(t, s, o)
	must(t, store.Remember(t.Context(), standing("1")))
	tx, err := pool.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), `SELECT FROM `+o.Schema+`.standing FOR UPDATE`)
	must(t, err)
	if err := short.Forget(t.Context(), "ann", "1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	cause := errors.New("the call has ended")
	ctx, end := context.WithCancelCause(t.Context())
	forgotten := make(chan error, 1)
	go func() { forgotten <- store.Forget(ctx, "ann", "1") }()
	end(cause)
	if err := <-forgotten; !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	must(t, tx.Rollback(t.Context()))
	must(t, store.Forget(t.Context(), "ann", "1"))
}

// Steps that wait for the same row see each other's changes: one answer wins, and each use is counted.
func TestStepsThatWaitForARow(t *testing.T) {
	t.Parallel()
	s, in, ctx := server(t), schema(), t.Context()
	both := []*postgres.Store{open(t, s, postgres.Options{Schema: in}), open(t, s, postgres.Options{Schema: in})}
	pool := connect(t, s)
	must(t, both[0].Remember(ctx, standing("S")))
	until := time.Now().Add(time.Hour)
	must(t, both[0].Add(ctx, approvals.Approval{ID: "1", State: approvals.Pending, Scope: "ann", Until: until}))
	tx, err := pool.Begin(ctx)
	must(t, err)
	_, err = tx.Exec(ctx, `SELECT FROM `+in+`.approvals, `+in+`.standing FOR UPDATE`)
	must(t, err)
	var won, used atomic.Int64
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			if both[i%2].Advance(ctx, "1", approvals.Change{To: []approvals.State{approvals.Approved, approvals.Denied}[i/2], Until: until}) == nil {
				won.Add(1)
			}
		})
		all.Go(func() {
			if answered(ctx, both[i%2], fmt.Sprint("by ", i), "S") == nil {
				used.Add(1)
			}
		})
	}
	eventually(t, "they do not wait", func() bool {
		var n int
		must(t, pool.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"`+in+`"%'`).Scan(&n))
		return n == 8
	})
	must(t, tx.Rollback(ctx))
	all.Wait()
	got, err := both[0].List(ctx)
	must(t, err)
	if won.Load() != 1 || used.Load() != 4 || len(got) != 1 || got[0].Uses != 4 {
		t.Errorf("%d answers won, want 1; %d of 4 uses had an effect: %+v", won.Load(), used.Load(), got)
	}
}

// Each step is in the history, also one without effect, and no text of arguments.
func TestHistory(t *testing.T) {
	t.Parallel()
	s, o, ctx := server(t), postgres.Options{Schema: schema()}, t.Context()
	store := open(t, s, o)
	y := standing("S")
	y.Arguments, y.Pattern = "", approvals.Pattern{{Name: "to", Value: []byte(`"secret"`)}}
	must(t, store.Remember(ctx, y))
	must(t, store.Add(ctx, approvals.Approval{ID: "1", State: approvals.Pending, Scope: "ann", Server: "bank", Tool: "pay", Arguments: "h", Until: time.Now().Add(time.Minute)}))
	must(t, store.Advance(ctx, "1", approvals.Change{To: approvals.Denied, By: "bob"}))
	_ = store.Advance(ctx, "1", approvals.Change{To: approvals.Approved, By: "eve", Until: time.Now().Add(time.Minute)})
	must(t, answered(ctx, store, "2", "S"))
	must(t, store.Forget(ctx, "ann", "S"))
	must(t, store.Forget(ctx, "ann", "S"))
	_ = answered(ctx, store, "3", "S")
	rows, err := connect(t, s).Query(ctx, `SELECT concat_ws(' ', id, step, CASE WHEN NOT effect THEN 'without effect' END, 'by', by, 'of', scope, server, tool, details->>'arguments'),
		details::text LIKE '%secret%' FROM `+o.Schema+`.history ORDER BY at`)
	must(t, err)
	var got []string
	var row string
	var text *bool
	_, err = pgx.ForEachRow(rows, []any{&row, &text}, func() error {
		if got = append(got, row); text != nil && *text {
			t.Errorf("%s has the text of an argument", row)
		}
		return nil
	})
	must(t, err)
	want := []string{
		"S remembered by ann of ann bank pay", "1 pending by  of ann bank pay h", "1 denied by bob of ann bank pay",
		"1 approved without effect by eve of ann bank pay", "2 approved by  of ann bank pay ", "S revoked by  of ann bank pay",
		"3 approved without effect by  of ann bank pay ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A scope has so many remembered approvals and no more, whatever the others have, and what has expired makes room.
func TestRememberedAreBoundedByScope(t *testing.T) {
	t.Parallel()
	s, o, ctx := server(t), postgres.Options{Schema: schema()}, t.Context()
	store, pool := open(t, s, o), connect(t, s)
	execute(t, pool, `INSERT INTO `+o.Schema+`.standing SELECT 'ann', n, 'bank', 'pay', now() + interval '1 day', 0, '{}' FROM generate_series(1, 10000) n`)
	if err := store.Remember(ctx, standing("more")); err == nil || !strings.Contains(err.Error(), "forget some") {
		t.Errorf("got %v", err)
	}
	bob := standing("bob")
	bob.Scope = "bob"
	must(t, store.Remember(ctx, bob))
	execute(t, pool, `UPDATE `+o.Schema+`.standing SET until = now() - interval '1 second', origin = DEFAULT WHERE id = '7'`)
	must(t, store.Remember(ctx, standing("more")))
	execute(t, pool, `UPDATE `+o.Schema+`.standing SET until = now() - interval '1 second', origin = DEFAULT WHERE scope = 'ann'`)
	_ = open(t, s, o) // which sweeps
	var left int
	must(t, pool.QueryRow(ctx, `SELECT count(*) FROM `+o.Schema+`.standing`).Scan(&left))
	if left != 1 {
		t.Errorf("%d are left, want bob's", left)
	}
}

func ExampleOpen() {
	ctx := context.Background()
	store, err := postgres.Open(ctx, shared.URL(), postgres.Options{Logger: slog.Default()}) // postgres://user:password@host:5432/database
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	_ = hitl.Options{Store: store, Remember: hitl.Always}
	all, err := store.List(ctx)
	fmt.Println(len(all), err)
	// Output: 0 <nil>
}

func ExampleNew() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, shared.URL()) // the host's, with its own limits and credentials
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	store, err := postgres.New(ctx, pool, postgres.Options{Schema: "agents"})
	if err != nil {
		fmt.Println(err)
		return
	}
	all, err := store.List(ctx)
	fmt.Println(len(all), err)
	// Output: 0 <nil>
}
